#include "gui/views/iteration_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <map>

#include "gui/views/elided_label.h"
#include "gui/views/iteration_canvas.h"

namespace nautilus::gui {

constexpr int kLowView = 300;  // pixels

IterationView::IterationView(Shared shared, QWidget* parent)
    : View(shared, QStringLiteral("iteration"), tr("Iteration space"), parent) {
  canvas_ = new IterationCanvas(shared_.theme, this);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  make_bar();
  notes_ = new ElidedLabel({}, this);
  notes_->setWordWrap(true);
  notes_->setContentsMargins(8, 2, 8, 2);
  notes_->setAccessibleName(tr("sizes and what is left out"));
  notes_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addWidget(notes_);
  column->addWidget(canvas_, 1);
  readout_ = new ElidedLabel({}, this);
  readout_->setContentsMargins(8, 2, 8, 2);
  readout_->setWordWrap(true);
  readout_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  readout_->setAccessibleName(tr("the instance under the cursor"));
  column->addWidget(readout_);
  make_player();
  make_actions();
  setFocusProxy(canvas_);
  connect(canvas_, &IterationCanvas::pointed, this, &IterationView::point_at);
  connect(canvas_, &IterationCanvas::play_key, this, [this] { play(!playing()); });
  connect(canvas_, &IterationCanvas::step_key, this, &IterationView::step_by);
  connect(&clock_, &QTimer::timeout, this, [this] {
    if (step_ + 1 >= canvas_->scene().step_count()) return play(false);
    set_step(step_ + 1);
  });
  connect(&shared_.selection, &Selection::changed, this, &IterationView::on_selection);
  connect(&shared_.document, &Document::reset, this, [this] {
    shown_ = -2;
    waiting_ = false;
    wanted_.clear();
    wanted_sizes_.clear();
    ask();
  });
  const auto made_otherwise = [this] {
    const sched::SearchNode* n = shared_.document.node(shown_);
    if (n && made_of(*n) != made_of_) shown_ = -2, ask();
  };
  connect(&shared_.document, &Document::options_changed, this, made_otherwise);
  connect(&shared_.document, &Document::changed, this,
          [this, made_otherwise](const QList<int>& ids) {
            if (ids.contains(shown_)) made_otherwise();
          });
  when_bench_fails([this](const QString&, const QString& why) {
    show_answer({{}, why.toStdString()});
  });
  ask();
}

// The picture comes first: where it would have no height, what is said about it is one line each.
void IterationView::resizeEvent(QResizeEvent* e) {
  View::resizeEvent(e);
  const bool low = height() < kLowView;
  for (QLabel* l : {notes_, readout_}) l->setWordWrap(!low);
  readout_->setMinimumHeight(low ? 0 : readout_->fontMetrics().height() * 2 + 4);
}

void IterationView::on_selection(unsigned parts) {
  if (parts & Selection::Node) {
    wanted_.clear();
    ask();
  }
  const std::string statement = shared_.selection.now().statement.toStdString();
  if (!(parts & Selection::Statement) || statement.empty()) return;
  for (const IterStatement& s : picture_.statements)
    if (s.name == statement) return;
  wanted_ = {statement};
  shown_ = -2;
  ask();
}

void IterationView::show_statements(const QString& first, const QString& second) {
  wanted_.clear();
  for (const QString& s : {first, second})
    if (!s.isEmpty()) wanted_.push_back(s.toStdString());
  shown_ = -2;
  ask();
}

void IterationView::ask() {
  const int id = shared_.selection.now().node;
  if (id == shown_ || !isVisible()) return;  // what nobody sees is not made
  shown_ = id;
  play(false);
  if (!shared_.document.node(id)) {
    waiting_ = false;
    return show_answer({{}, nothing_selected(tr("to see its iterations")).toStdString()});
  }
  waiting_ = true;
  made_of_ = made_of(*shared_.document.node(id));
  IterationRequest r;
  r.statements = wanted_;
  r.sizes = wanted_sizes_;
  const Path path = Bench::path_nodes(shared_.document.session().result, id);
  shared_.bench.ask<IterationAnswer>(
      this, QStringLiteral("iterations"),
      [path, r](const Workpiece& w, const CancelToken& c) { return iteration_job(w, c, path, r); },
      [this, id](IterationAnswer a) {
        if (id == shown_) show_answer(a);
      });
}

void IterationView::show_answer(const IterationAnswer& a) {
  waiting_ = false;
  step_ = -1;
  picture_ = a.picture;
  for (QWidget* w :
       std::initializer_list<QWidget*>{first_, second_, x_, y_, sizes_, play_, back_, forward_,
                                       begin_, end_, slider_, arrows_, together_, speed_})
    w->setEnabled(a.why.empty());
  if (!a.why.empty()) {
    choices_.clear();
    notes_->clear();
    readout_->clear();
    moment_->clear();
    canvas_->set_message(QString::fromStdString(a.why));
    return;
  }
  choices_.clear();
  for (const IterStatement& s : picture_.statements) choices_.push_back(first_choice(s));
  fill_choices();
  fill_slices();
  redraw();
}

void IterationView::redraw() {
  play(false);
  canvas_->set_scene(picture_, choices_, together_->isChecked());
  const int steps = canvas_->scene().step_count();
  filling_ = true;
  slider_->setRange(0, std::max(0, steps));
  slider_->setValue(steps);
  filling_ = false;
  notes_->setText(summary());
  notes_->setVisible(!notes_->text().isEmpty());
  step_ = -1;
  set_step(-1);
  point_at(-1);
}

// The sizes, what was changed, and what is out of order.
QString IterationView::summary() const {
  QStringList out;
  QStringList sizes;
  for (const auto& [name, value] : picture_.sizes)
    sizes << QStringLiteral("%1=%2").arg(QString::fromStdString(name)).arg(value);
  if (!sizes.isEmpty()) out << tr("At %1.").arg(sizes.join(QStringLiteral(", ")));
  for (const std::string& n : picture_.notes) {
    QString note = QString::fromStdString(n) + u'.';
    note[0] = note[0].toUpper();
    out << note;
  }
  for (const IterDependence& d : picture_.dependences) {
    if (d.fate == Fate::Kept) continue;
    QString where;
    if (!d.member.empty())
      where = tr(" at band %1, member %2").arg(d.node).arg(QString::fromStdString(d.member));
    out << tr("%1 %2 of %3 must come before %4%5: %6.")
               .arg(d.fate == Fate::Violated ? QStringLiteral("✗") : QStringLiteral("⚒"),
                    QString::fromStdString(d.source), QString::fromStdString(d.tensor),
                    QString::fromStdString(d.sink), where,
                    QString::fromStdString(fate_words(d.fate)));
  }
  std::map<Fate, size_t> many;
  for (const IterArrow& a : picture_.arrows) ++many[a.fate];
  for (const auto& [fate, count] : many)
    if (fate != Fate::Kept && count > IterationScene::kFewArrows)
      out << tr("A part of %1 arrows is drawn; point at an instance for all of its own.")
                 .arg(count);
  return out.join(u' ');
}

void IterationView::set_step(int step) {
  const int count = canvas_->scene().step_count();
  step_ = step < 0 || step >= count ? -1 : step;
  canvas_->set_step(step_);
  filling_ = true;
  slider_->setValue(step_ < 0 ? count : step_);
  filling_ = false;
  moment_->setText(step_ < 0 ? tr("all of %1 steps").arg(count)
                             : tr("step %1 of %2").arg(step_ + 1).arg(count));
}

void IterationView::play(bool on) {
  if (on == playing()) return;
  play_->setText(on ? QStringLiteral("❚❚") : QStringLiteral("▶"));
  play_->setToolTip(on ? tr("Pause (P)") : tr("Play the order of execution (P)"));
  if (!on) return clock_.stop();
  if (step_ < 0) set_step(0);
  clock_.start(speed_->currentData().toInt());
}

void IterationView::step_by(int by) {
  play(false);
  const int count = canvas_->scene().step_count();
  if (by <= -count || by >= count) return set_step(by < 0 ? 0 : -1);
  const int at = step_ < 0 ? count : step_;
  set_step(std::clamp(at + by, 0, count));
}

void IterationView::point_at(int point) {
  if (point < 0) {
    readout_->setText(tr("Point at an instance to see when it runs and what it depends on."));
    return;
  }
  const IterationScene& scene = canvas_->scene();
  const IterPoint& at = picture_.points[static_cast<size_t>(point)];
  const IterStatement& s = picture_.statements[static_cast<size_t>(at.statement)];
  const size_t many = scene.cell_of(point).size();
  int wrong = 0, paid = 0, kept = 0;
  for (int k : scene.arrows_of(point)) {
    const Fate f = picture_.arrows[static_cast<size_t>(k)].fate;
    ++(f == Fate::Violated ? wrong : f == Fate::Paid ? paid : kept);
  }
  QString text = tr("<b>%1</b>%2 · step %3 of %4 · time %5 · writes %6")
                     .arg(point_text(picture_, point).toHtmlEscaped(),
                          many > 1 ? tr(" and %1 more here").arg(many - 1) : QString())
                     .arg(scene.steps()[static_cast<size_t>(point)] + 1)
                     .arg(scene.step_count())
                     .arg(QString::fromStdString(time_text(picture_, point)).toHtmlEscaped(),
                          QString::fromStdString(element_text(s.tensor, at.element)));
  text += tr(" · dependences: %1 kept").arg(kept);
  if (paid) text += tr(", ⚒ %1 paid by a correction").arg(paid);
  if (wrong) text += tr(", ✗ %1 out of order").arg(wrong);
  readout_->setText(text);
  if (at.statement >= 0 && s.name != shared_.selection.hovered_statement().toStdString())
    shared_.selection.hover_tree(-1, QString::fromStdString(s.name));
}

QSizeF IterationView::picture_size() const {
  return canvas_->scene().bounds().size() + QSizeF(60, 90);
}

void IterationView::paint_picture(QPainter& p, const QRectF& page) {
  p.fillRect(page, shared_.theme.background());
  const IterationScene& scene = canvas_->scene();
  if (scene.empty()) return;
  const double margin = 12, words = 54;
  const QRectF world = scene.bounds();
  const double scale = std::min({(page.width() - 2 * margin) / world.width(),
                                 (page.height() - 2 * margin - words) / world.height(), 3.0});
  p.save();
  p.translate(page.left() + margin, page.top() + margin);
  p.scale(scale, scale);
  p.translate(-world.topLeft());
  scene.paint(p, shared_.theme, world, std::max(scale, 0.5), canvas_->state());
  p.restore();
  p.setFont(shared_.theme.ui());
  p.setPen(shared_.theme.muted());
  p.drawText(QRectF(page.left() + margin, page.bottom() - words, page.width() - 2 * margin, words),
             Qt::AlignBottom | Qt::TextWordWrap, summary() + u'\n' + IterationScene::legend());
}

QList<QJsonObject> IterationView::export_rows() const {
  QList<QJsonObject> out;
  const IterationScene& scene = canvas_->scene();
  for (size_t k = 0; k < picture_.points.size(); ++k) {
    if (!scene.visible(static_cast<int>(k))) continue;
    const IterPoint& at = picture_.points[k];
    const IterStatement& s = picture_.statements[static_cast<size_t>(at.statement)];
    QJsonObject row;
    row[QStringLiteral("statement")] = QString::fromStdString(s.name);
    for (size_t d = 0; d < at.at.size(); ++d)
      row[QString::fromStdString(s.dims[d])] = static_cast<qint64>(at.at[d]);
    row[QStringLiteral("step")] = scene.steps()[k];
    row[QStringLiteral("time")] = QString::fromStdString(time_text(picture_, static_cast<int>(k)));
    row[QStringLiteral("element")] = QString::fromStdString(element_text(s.tensor, at.element));
    out << row;
  }
  return out;
}

QJsonObject IterationView::viewport() const {
  QJsonObject j = canvas_->viewport().to_json();
  if (wanted_.size() > 0) j[QStringLiteral("first")] = QString::fromStdString(wanted_[0]);
  if (wanted_.size() > 1) j[QStringLiteral("second")] = QString::fromStdString(wanted_[1]);
  return j;
}

void IterationView::set_viewport(const QJsonObject& j) {
  const QString first = j[QStringLiteral("first")].toString();
  if (!first.isEmpty()) show_statements(first, j[QStringLiteral("second")].toString());
}

View* make_iteration_view(Shared shared, QWidget* parent) {
  return new IterationView(shared, parent);
}

}  // namespace nautilus::gui
