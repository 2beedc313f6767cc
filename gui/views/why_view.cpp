#include "gui/views/why_view.h"

#include <QSplitter>
#include <QTextBrowser>
#include <QTextDocument>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>

#include "gui/views/why_text.h"

namespace nautilus::gui {

constexpr double kPageWidth = 900, kPictureHeight = 420;  // of an exported picture

WhyPicture::WhyPicture(Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setMinimumSize(180, 140);
  setAccessibleName(tr("The violated dependence"));
}

// Only the planes of the two instances: other dimensions are fixed where they are.
void WhyPicture::set(const Why& w) {
  state_ = {};
  caption_ = picture_caption(w);
  setAccessibleDescription(caption_);
  setToolTip(caption_);
  if (!w.picture) {
    scene_.set({}, {}, false);
    return update();
  }
  std::vector<PanelChoice> choices;
  for (const IterStatement& s : w.picture->statements) choices.push_back(first_choice(s));
  if (w.arrow >= 0) {
    const IterArrow& a = w.picture->arrows[static_cast<size_t>(w.arrow)];
    for (int end : {a.from, a.to}) {
      const IterPoint& at = w.picture->points[static_cast<size_t>(end)];
      PanelChoice& c = choices[static_cast<size_t>(at.statement)];
      for (int d = 0; d < static_cast<int>(at.at.size()); ++d)
        if (d != c.x && d != c.y) c.fixed[d] = at.at[static_cast<size_t>(d)];
    }
    state_.only_arrow = w.arrow;
  }
  scene_.set(*w.picture, choices, false);
  update();
}

void WhyPicture::paint_on(QPainter& p, const QRectF& page) const {
  p.fillRect(page, theme_.background());
  if (scene_.empty()) return;
  const double margin = 8;
  p.setFont(theme_.ui());
  const QRectF words = page.adjusted(margin, margin, -margin, -margin);
  const QRectF below =
      p.boundingRect(words, Qt::AlignLeft | Qt::AlignBottom | Qt::TextWordWrap, caption_);
  const QRectF area = words.adjusted(0, 0, 0, -below.height() - 6);
  const QRectF world = scene_.bounds();
  const double scale =
      std::min({area.width() / world.width(), area.height() / world.height(), 2.0});
  if (scale > 0) {
    p.save();
    p.setClipRect(area);
    p.translate(area.left() + (area.width() - world.width() * scale) / 2, area.top());
    p.scale(scale, scale);
    p.translate(-world.topLeft());
    scene_.paint(p, theme_, world, std::max(scale, 0.4), state_);
    p.restore();
  }
  p.setPen(theme_.text());
  p.setFont(theme_.ui());
  p.drawText(words, Qt::AlignLeft | Qt::AlignBottom | Qt::TextWordWrap, caption_);
}

void WhyPicture::paintEvent(QPaintEvent*) {
  QPainter p(this);
  paint_on(p, rect());
}

WhyView::WhyView(Shared shared, QWidget* parent)
    : View(shared, QStringLiteral("why"), tr("Why"), parent) {
  splitter_ = new QSplitter(Qt::Vertical, this);
  text_ = new QTextBrowser(splitter_);
  text_->setOpenLinks(false);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setAccessibleName(tr("Why"));
  picture_ = new WhyPicture(shared_.theme, splitter_);
  splitter_->addWidget(text_);
  splitter_->addWidget(picture_);
  splitter_->setStretchFactor(0, 1);
  splitter_->setStretchFactor(1, 1);
  splitter_->setChildrenCollapsible(false);
  picture_->hide();
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(splitter_);
  setFocusProxy(text_);
  connect(text_, &QTextBrowser::anchorClicked, this, &WhyView::follow);
  connect(&shared_.selection, &Selection::changed, this, [this](unsigned parts) {
    if (parts & Selection::Node) ask();
  });
  connect(&shared_.document, &Document::reset, this, [this] {
    shown_ = -2;
    waiting_ = false;
    ask();
  });
  connect(&shared_.document, &Document::options_changed, this, [this] { shown_ = -2, ask(); });
  connect(&shared_.document, &Document::changed, this, [this](const QList<int>& ids) {
    if (ids.contains(shared_.selection.now().node)) shown_ = -2, ask();
  });
  connect(&shared_.document, &Document::measured_changed, this, [this](int id) {
    if (id == shared_.selection.now().node) shown_ = -2, ask();
  });
  connect(&shared_.theme, &Theme::changed, this, [this] {
    if (!waiting_ && why_.node >= 0) show_why();
    picture_->update();
  });
  when_bench_fails([this](const QString&, const QString& why) {
    waiting_ = false;
    say(why);
  });
  ask();
}

void WhyView::resizeEvent(QResizeEvent*) {
  splitter_->setOrientation(width() > 1.3 * height() ? Qt::Horizontal : Qt::Vertical);
}

void WhyView::say(const QString& message) {
  text_->setHtml(QStringLiteral("<p style='color:%1'>%2</p>")
                     .arg(shared_.theme.muted().name(), message.toHtmlEscaped()));
  picture_->hide();
}

WhyContext WhyView::context_of(const sched::SearchNode& n) const {
  WhyContext c;
  if (!shared_.document.best().empty())
    if (const auto* best = shared_.document.node(shared_.document.best().front()))
      c.best_seconds = best->id == n.id ? 0 : best->seconds;
  c.same_as = n.duplicate_of;
  if (const auto* same = shared_.document.node(n.duplicate_of)) c.same_decision = same->decision;
  c.measured = shared_.document.measured(n.id);
  for (int id : shared_.document.path(n.parent)) {
    const sched::SearchNode* above = shared_.document.node(id);
    const bool corrects = std::ranges::any_of(above->steps, [](const poly::TransformStep& s) {
      return s.name == "rolling_update" || s.name == "split_k";
    });
    if (corrects && !was_refused(*above)) c.repaired_at.emplace_back(id, above->decision);
  }
  return c;
}

// What the node itself says is there at once; the verdict follows when it was found out again.
void WhyView::ask() {
  const int id = shared_.selection.now().node;
  if (id == shown_ || !isVisible()) return;  // what nobody sees is not made
  shown_ = id;
  why_ = {};
  const sched::SearchNode* n = shared_.document.node(id);
  if (!n) {
    waiting_ = false;
    return say(nothing_selected(tr("to see why it is what it is")));
  }
  const WhyContext context = context_of(*n);
  text_->setHtml(why_html(why_, *n, context, shared_.theme) +
                 QStringLiteral("<p><i>%1</i></p>").arg(tr("… judging its steps again")));
  picture_->hide();
  waiting_ = true;
  const Path path = Bench::path_nodes(shared_.document.session().result, id);
  shared_.bench.ask<Why>(
      this, QStringLiteral("why"),
      [path, context](const Workpiece& w, const CancelToken& c) {
        return why_job(w, c, path, context);
      },
      [this](Why w) {
        waiting_ = false;
        why_ = std::move(w);
        show_why();
      });
}

void WhyView::show_why() {
  const sched::SearchNode* n = shared_.document.node(shown_);
  if (!n) return;
  text_->setHtml(why_html(why_, *n, context_of(*n), shared_.theme));
  picture_->set(why_);
  picture_->setVisible(!picture_->empty());
}

void WhyView::follow(const QUrl& link) {
  const QString what = link.toString();
  const QString value = what.section(u':', 1);
  if (what.startsWith(QStringLiteral("candidate:"))) shared_.selection.select(value.toInt());
  if (what.startsWith(QStringLiteral("node:"))) shared_.selection.select_tree_node(value.toInt());
  if (what.startsWith(QStringLiteral("statement:"))) shared_.selection.select_statement(value);
}

// As tall as the words are, with room for the picture.
QSizeF WhyView::picture_size() const {
  const std::unique_ptr<QTextDocument> copy(text_->document()->clone());
  copy->setDefaultFont(shared_.theme.ui());
  copy->setTextWidth(kPageWidth - 24);
  return {kPageWidth, copy->size().height() + 36 + (picture_->empty() ? 0 : kPictureHeight)};
}

void WhyView::paint_picture(QPainter& p, const QRectF& page) {
  p.fillRect(page, shared_.theme.background());
  QRectF words = page.adjusted(12, 12, -12, -12);
  if (!picture_->empty()) {
    const double height = std::min(kPictureHeight, page.height() * 0.45);
    picture_->paint_on(p, QRectF(page.left(), page.bottom() - height, page.width(), height));
    words.setBottom(page.bottom() - height - 6);
  }
  const std::unique_ptr<QTextDocument> copy(text_->document()->clone());
  copy->setDefaultFont(shared_.theme.ui());
  copy->setTextWidth(words.width());
  p.save();
  p.translate(words.topLeft());
  const double scale = std::min(1.0, words.height() / std::max(1.0, copy->size().height()));
  p.scale(scale, scale);
  p.setPen(shared_.theme.text());
  copy->drawContents(&p);
  p.restore();
}

QList<QJsonObject> WhyView::export_rows() const {
  QList<QJsonObject> out;
  for (const WhyStep& s : why_.steps) {
    QJsonObject row;
    row[QStringLiteral("step")] = QString::fromStdString(step_text(s.step));
    const std::string_view verdict = poly::verdict_name(s.verdict.kind);
    row[QStringLiteral("verdict")] =
        QString::fromUtf8(verdict.data(), static_cast<qsizetype>(verdict.size()));
    row[QStringLiteral("why")] = QString::fromStdString(s.verdict.why);
    if (!s.verdict.witness.empty())
      row[QStringLiteral("witness")] = QString::fromStdString(s.verdict.witness.front().text);
    out << row;
  }
  return out;
}

View* make_why_view(Shared shared, QWidget* parent) { return new WhyView(shared, parent); }

}  // namespace nautilus::gui
