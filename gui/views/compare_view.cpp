#include "gui/views/compare_view.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QTabBar>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

namespace nautilus::gui {

namespace {

// A script as a text of its own kind.
Stage script_stage(const PlanStages& p) {
  Stage s;
  s.id = QStringLiteral("script"), s.title = QStringLiteral("Script");
  s.syntax = Syntax::Loops;
  s.lines = script_lines(p);
  return s;
}

}  // namespace

CompareView::CompareView(Shared shared, QWidget* parent)
    : View(shared, QStringLiteral("compare"), tr("Compare"), parent) {
  build();
  const auto shown = [this] { return tabs_->currentIndex() == 2 ? code_ : script_; };
  add_command(tr("Next difference"), Qt::Key_J, tr("Goes to the next difference"),
              [shown] { shown()->step(1); });
  add_command(tr("Previous difference"), Qt::Key_K, tr("Goes to the difference before"),
              [shown] { shown()->step(-1); });
  add_command(tr("Pin the selected candidate"), Qt::Key_P,
              tr("Takes the selected candidate into the comparison, or out of it"), [this] {
                const int node = shared_.selection.now().node;
                if (node >= 0) shared_.document.set_pinned(node, !shared_.document.pinned(node));
              });
  connect(&shared_.document, &Document::pins_changed, this, &CompareView::ask);
  connect(&shared_.document, &Document::answer_changed, this, &CompareView::ask);
  const auto anew = [this] {
    asked_for_.clear();
    ask();
  };
  connect(&shared_.document, &Document::reset, this, anew);
  connect(&shared_.document, &Document::options_changed, this, anew);
  connect(&shared_.document, &Document::measured_changed, this, [this](int id) {
    if (std::count(asked_for_.begin(), asked_for_.end(), id)) asked_for_.clear(), ask();
  });
  connect(&shared_.selection, &Selection::changed, this, [this](unsigned parts) {
    if (parts & Selection::Node) ask();
  });
  when_bench_fails([this](const QString&, const QString& why) {
    asked_ = false;
    asked_for_.clear();
    help_->setText(why);
    help_->show();
  });
  ask();
}

void CompareView::build() {
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(4, 2, 4, 0);
  all->setSpacing(2);
  help_ = new QLabel;
  help_->setWordWrap(true);
  all->addWidget(help_);
  auto* bar = new QHBoxLayout;
  left_ = new QComboBox;
  right_ = new QComboBox;
  stage_ = new QComboBox;
  left_->setAccessibleName(tr("Left candidate"));
  right_->setAccessibleName(tr("Right candidate"));
  stage_->setAccessibleName(tr("Stage"));
  left_->setToolTip(tr("Whose text stands on the left"));
  right_->setToolTip(tr("Whose text stands on the right"));
  stage_->setToolTip(tr("Which stage of the compiler is compared"));
  count_ = new QLabel;
  for (QComboBox* box : {left_, right_}) {
    box->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    bar->addWidget(box, 2);
    connect(box, &QComboBox::currentIndexChanged, this, &CompareView::fill_diffs);
  }
  connect(stage_, &QComboBox::currentIndexChanged, this, &CompareView::fill_diffs);
  bar->addWidget(stage_, 1);
  bar->addWidget(count_);
  all->addLayout(bar);
  tabs_ = new QTabWidget;
  tabs_->tabBar()->setAccessibleName(tr("Figures, script or code"));
  tabs_->setDocumentMode(true);
  metrics_ = new MetricTable(shared_.theme, this);
  table_ = new QTableView;
  table_->setModel(metrics_);
  table_->setAccessibleName(tr("Figures"));
  table_->setTabKeyNavigation(false);  // Tab goes on to the next control
  table_->setShowGrid(false);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(QFontMetrics(table_->font()).height() + 6);
  script_ = new DiffPanes(shared_.theme, this);
  code_ = new DiffPanes(shared_.theme, this);
  tabs_->addTab(table_, tr("Figures"));
  tabs_->addTab(script_, tr("Script"));
  tabs_->addTab(code_, tr("Code"));
  all->addWidget(tabs_, 1);
  const auto tab = [this](int t) {
    left_->setVisible(t > 0);
    right_->setVisible(t > 0);
    stage_->setVisible(t == 2);
    count_->setVisible(t > 0);
    fill_diffs();
  };
  connect(tabs_, &QTabWidget::currentChanged, this, tab);
  tab(0);
  connect(&shared_.theme, &Theme::changed, table_->viewport(), QOverload<>::of(&QWidget::update));
}

// The pinned ones; with one pin, the selected candidate beside it; without, the best and the
// selected.
std::vector<int> CompareView::nodes() const {
  std::vector<int> out = shared_.document.pins();
  const int selected = shared_.selection.now().node;
  if (out.size() < 2) {
    if (out.empty() && !shared_.document.best().empty()) out.push_back(shared_.document.best()[0]);
    if (selected >= 0 && !std::count(out.begin(), out.end(), selected)) out.push_back(selected);
    const std::vector<int>& best = shared_.document.best();  // the best itself: beside the next
    if (out.size() == 1 && out[0] == selected && best.size() > 1 && selected == best[0])
      out.push_back(best[1]);
  }
  std::erase_if(out, [this](int n) { return !shared_.document.node(n); });
  if (out.size() > 8) out.resize(8);
  return out;
}

QString CompareView::title_of(int node) const {
  const sched::SearchNode* n = shared_.document.node(node);
  QStringList knobs;
  for (const auto& [name, value] : n->knobs)
    knobs << QStringLiteral("%1=%2").arg(QString::fromStdString(name)).arg(value);
  return QStringLiteral("#%1 %2").arg(node).arg(
      knobs.isEmpty() ? QString::fromStdString(n->decision) : knobs.join(QLatin1Char(' ')));
}

void CompareView::showEvent(QShowEvent* e) {
  View::showEvent(e);
  if (stale_) ask();
}

void CompareView::ask() {
  if (!isVisible()) {
    stale_ = true;
    return;
  }
  stale_ = false;
  const std::vector<int> wanted = nodes();
  const bool enough = wanted.size() >= 2;
  show_help();
  tabs_->setEnabled(enough);
  if (!enough) {
    asked_ = false;
    asked_for_.clear();
    compared_.clear();
    plans_.clear();
    metrics_->set({}, {});
    return;
  }
  if (wanted == asked_for_) return;
  asked_for_ = wanted;
  asked_ = true;
  const sched::Session& session = shared_.document.session();
  const SpecText spec = SpecText::of(session);
  std::vector<std::vector<sched::SearchNode>> paths;
  for (int n : wanted) paths.push_back(Bench::path_nodes(session.result, n));
  shared_.bench.ask<std::vector<Compared>>(
      this, QStringLiteral("compare"),
      [paths = std::move(paths), spec](const Workpiece& w, const CancelToken& c) {
        std::vector<Compared> out;
        for (const auto& path : paths) {
          if (c.cancelled()) break;
          const PlanStagesPtr stages = stages_of(w, c, path, spec);
          out.push_back({path.back().id, {}, *stages, make_budget(*stages, w.options.machine)});
        }
        return out;
      },
      [this](std::vector<Compared> made) { answer(std::move(made)); });
}

// What is not pinned, and what could not be lowered as planned.
void CompareView::show_help() {
  QStringList parts;
  const bool pinned = !shared_.document.pins().empty();
  if (nodes().size() < 2)
    parts << tr("Pin two candidates (P), or select one beside the best.");
  else if (shared_.document.pins().size() < 2)
    parts << tr("Not pinned: %1. Pin candidates (P) to keep them here.")
                 .arg(pinned ? tr("the second candidate") : tr("what is beside the best"));
  for (const Compared& c : compared_)
    if (!c.stages.lowered_with.isEmpty())
      parts << tr("⚠ #%1 does not fit as planned: its block and its texts from the tile IR on are "
                  "with %2.")
                   .arg(c.node)
                   .arg(c.stages.lowered_with);
  help_->setVisible(!parts.isEmpty());
  help_->setText(parts.join(QLatin1Char('\n')));
}

// All candidates side by side, if that leaves each its figures.
void CompareView::fit_columns() {
  const int columns = metrics_->columnCount();
  if (columns < 3) return;
  table_->resizeColumnsToContents();
  const int room = table_->viewport()->width() - table_->columnWidth(0) - table_->columnWidth(1);
  for (int col = 2; col < columns; ++col)
    table_->setColumnWidth(
        col, std::clamp(std::min(table_->columnWidth(col), room / (columns - 2)), 150, 300));
}

void CompareView::resizeEvent(QResizeEvent* e) {
  View::resizeEvent(e);
  layout()->activate();
  fit_columns();
}

void CompareView::answer(std::vector<Compared> c) {
  asked_ = false;
  if (c.size() != asked_for_.size()) return;
  compared_ = std::move(c);
  plans_.clear();
  std::vector<NodeFigures> figures;
  QStringList titles;
  for (Compared& x : compared_) {
    x.title = title_of(x.node);
    titles << x.title;
    plans_.push_back(std::make_shared<const PlanStages>(x.stages));
    const sched::SearchNode* n = shared_.document.node(x.node);
    const auto measured = shared_.document.measured(x.node);
    figures.push_back({n->seconds, n->lower_bound,
                       measured && !measured->right.fails() ? measured->seconds : 0, n->points});
  }
  show_help();
  metrics_->set(compare_metrics(compared_, figures), titles);
  fit_columns();
  const QString stage = stage_->currentData().toString();
  {
    const QSignalBlocker a(left_), b(right_), s(stage_);
    for (QComboBox* box : {left_, right_}) {
      box->clear();
      box->addItems(titles);
    }
    right_->setCurrentIndex(1);
    stage_->clear();
    for (const auto& [id, title] : common_stages(compared_)) stage_->addItem(title, id);
    const int at = stage_->findData(stage.isEmpty() ? QStringLiteral("tile.rewrite") : stage);
    stage_->setCurrentIndex(std::max(0, at));
  }
  fill_diffs();
}

void CompareView::fill_diffs() {
  const int l = left_->currentIndex(), r = right_->currentIndex(), tab = tabs_->currentIndex();
  count_->clear();
  if (l < 0 || r < 0 || tab == 0 || size_t(std::max(l, r)) >= plans_.size()) return;
  const PlanStagesPtr &a = plans_[size_t(l)], &b = plans_[size_t(r)];
  if (tab == 1) {
    script_->set(a, script_stage(*a), b, script_stage(*b));
    count_->setText(tr("%n difference(s)", nullptr, script_->differences()));
    return;
  }
  const QString id = stage_->currentData().toString();
  const auto of = [&](const PlanStagesPtr& p) {
    const Stage* s = p->find(id);
    if (s) return *s;
    Stage none;
    none.id = id, none.title = stage_->currentText();
    none.refusal = Refusal{"show this stage", "", "the plan has no such stage", ""};
    return none;
  };
  code_->set(a, of(a), b, of(b));
  count_->setText(tr("%n difference(s)", nullptr, code_->differences()));
}

void CompareView::show_stage(const QString& id) {
  tabs_->setCurrentIndex(2);
  const int at = stage_->findData(id);
  if (at >= 0) stage_->setCurrentIndex(at);
}

QList<QJsonObject> CompareView::export_rows() const {
  QList<QJsonObject> out;
  for (const Metric& m : metrics_->metrics()) {
    QJsonObject row{{"group", m.group}, {"figure", m.name}};
    for (size_t k = 0; k < m.values.size(); ++k)
      row[QStringLiteral("#%1").arg(compared_[k].node)] =
          std::isnan(m.values[k]) ? QJsonValue() : QJsonValue(m.values[k]);
    out << row;
  }
  return out;
}

void CompareView::paint_picture(QPainter& p, const QRectF& page) {
  const Theme& theme = shared_.theme;
  p.fillRect(page, theme.background());
  p.setFont(theme.ui());
  if (tabs_->currentIndex() > 0) {
    DiffPanes* panes = tabs_->currentIndex() == 2 ? code_ : script_;
    constexpr int kHead = 22;
    const QRect left(page.left(), page.top() + kHead, page.width() / 2 - 3, page.height() - kHead);
    const QRect right = left.translated(int(page.width() / 2) + 3, 0);
    p.setPen(theme.text());
    for (const auto& [box, which] : {std::pair{left, left_}, std::pair{right, right_}})
      p.drawText(QRect(box.left() + 4, int(page.top()), box.width() - 8, kHead), Qt::AlignVCenter,
                 p.fontMetrics().elidedText(which->currentText(), Qt::ElideRight, box.width() - 8));
    panes->left()->paint_on(p, left);
    panes->right()->paint_on(p, right);
    return;
  }
  const int columns = metrics_->columnCount(), rows = metrics_->rowCount();
  const double height = QFontMetricsF(theme.ui()).height() + 6;
  double total = 0, x = page.left();
  for (int c = 0; c < columns; ++c) total += table_->columnWidth(c);
  const double scale = std::min(1.0, page.width() / std::max(1.0, total));
  for (int c = 0; c < columns; ++c) {
    const double width = table_->columnWidth(c) * scale;
    for (int r = -1; r < rows; ++r) {
      const QRectF cell(x, page.top() + (r + 1) * height, width, height);
      if (cell.bottom() > page.bottom()) break;
      const QColor shade = r >= 0 && c >= 2 ? metrics_->shade(r, size_t(c - 2)) : QColor();
      if (shade.isValid()) p.fillRect(cell, shade);
      p.setPen(r < 0 || c == 0 ? theme.muted() : theme.text());
      const QString text = r < 0 ? metrics_->headerData(c, Qt::Horizontal).toString()
                                 : metrics_->index(r, c).data().toString();
      p.drawText(cell.adjusted(4, 0, -4, 0),
                 (c < 2 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter,
                 p.fontMetrics().elidedText(text, Qt::ElideRight, int(width - 8)));
    }
    x += width;
  }
}

QJsonObject CompareView::viewport() const {
  return {{"tab", tabs_->currentIndex()}, {"stage", stage_->currentData().toString()}};
}
void CompareView::set_viewport(const QJsonObject& v) {
  tabs_->setCurrentIndex(std::clamp(v["tab"].toInt(), 0, 2));
  const int at = stage_->findData(v["stage"].toString());
  if (at >= 0) stage_->setCurrentIndex(at);
}

View* make_compare_view(Shared shared, QWidget* parent) { return new CompareView(shared, parent); }

}  // namespace nautilus::gui
