#include "gui/views/parallel_view.h"

#include <QJsonArray>
#include <QMenu>
#include <algorithm>
#include <cmath>

namespace nautilus::gui {

namespace {

constexpr int kNoCandidate = -1;

}  // namespace

ParallelView::ParallelView(Shared shared, QWidget* parent)
    : View(shared, QStringLiteral("parallel"), tr("Parallel coordinates"), parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumSize(320, 160);
  setAccessibleName(tr("Parallel coordinates of the candidates"));
  setAccessibleDescription(
      tr("Left and right choose an axis, up and down brush it, L and F scale and flip it"));
  make_actions();
  later_.setSingleShot(true);
  later_.setInterval(300);
  isolate_.setSingleShot(true);
  isolate_.setInterval(80);
  refine_.setSingleShot(true);
  refine_.setInterval(120);
  connect(&refine_, &QTimer::timeout, this, [this] {
    coarse_ = false;
    bright_ = QImage();
    update();
  });
  connect(&later_, &QTimer::timeout, this, [this] {
    if (making_.slices.busy()) return later_.start();  // of a moment ago: it is shown first
    reload_shown();
  });
  connect(&isolate_, &QTimer::timeout, this, [this] {
    std::set<int> nodes;
    if (data_.brushed())
      for (int n : data_.nodes_of(data_.lit())) nodes.insert(nodes.end(), n);
    // Brushes that cover no line dim all: an empty set would light all in the other views.
    if (data_.brushed() && nodes.empty()) nodes.insert(kNoCandidate);
    sent_ = nodes;
    shared_.selection.isolate(std::move(nodes));
  });
  const auto soon = [this] {
    if (!later_.isActive()) later_.start();
  };
  connect(&shared_.document, &Document::reset, this, [this] {
    making_.slices.stop();
    shown_.clear();
    saved_.reset();
    data_ = ParallelData();
    lit_.clear();
    lit_count_ = 0;
    stale_ = true;  // in an event of its own: others have work with a new document, too
    later_.stop();
    QTimer::singleShot(0, this, [this] {
      if (isVisible()) catch_up_soon();
    });
  });
  // What is being made may have old costs beside new ones.
  connect(&shared_.document, &Document::options_changed, this, [this] {
    making_.slices.stop();
    stale_ = true;
    later_.start();
  });
  connect(&shared_.document, &Document::appended, this, soon);
  connect(&shared_.document, &Document::changed, this, soon);
  connect(&shared_.document, &Document::measured_changed, this, soon);
  connect(&shared_.filters, &FilterStack::changed, this, &ParallelView::reload_shown);
  connect(&shared_.selection, &Selection::changed, this, [this](unsigned parts) {
    if (stale_) return;
    if (parts & Selection::Isolated) {
      const auto& isolated = shared_.selection.now().isolated;
      if (isolated != sent_ && !isolate_.isActive()) data_.clear_brushes(), sent_.clear();
      relight();
    } else if (parts & (Selection::Node | Selection::Hover)) {
      update();
    }
  });
  connect(&shared_.theme, &Theme::changed, this, [this] {
    base_ = bright_ = QImage();
    update();
  });
}

void ParallelView::showEvent(QShowEvent* e) {
  View::showEvent(e);
  catch_up_soon();
}

std::vector<int> ParallelView::candidates() const {
  std::vector<int> out;
  for (const sched::SearchNode& n : shared_.document.nodes())
    if ((all_candidates_ || n.seconds > 0) && shared_.filters.passes(n.id)) out.push_back(n.id);
  return out;
}

void ParallelView::relight() {
  const std::set<int>& isolated = shared_.selection.now().isolated;
  if (isolated.empty() || isolated == sent_) {
    lit_ = data_.lit();
  } else {
    std::vector<uint8_t> among(data_.nodes().size());
    for (size_t n = 0; n < among.size(); ++n) among[n] = uint8_t(isolated.count(data_.nodes()[n]));
    lit_ = data_.lit(&among);
  }
  lit_count_ = int(std::count(lit_.begin(), lit_.end(), 1));
  bright_ = QImage();
  update();
}

void ParallelView::isolate_soon() {
  if (!isolate_.isActive()) isolate_.start();
}

void ParallelView::set_log(int axis, bool on) {
  data_.set_log(axis, on);
  base_ = QImage();
  relight();
}

void ParallelView::set_flip(int axis, bool on) {
  data_.set_flip(axis, on);
  base_ = QImage();
  relight();
}

void ParallelView::move_axis(int from, int to) {
  const int count = int(data_.axes().size());
  if (from == to || from < 0 || to < 0 || from >= count || to >= count) return;
  data_.move(from, to);
  shown_.clear();
  for (const ParallelAxis& a : data_.axes()) shown_.push_back(a.column.id());
  base_ = QImage();
  relight();
}

void ParallelView::show_axis(const QString& id, bool on) {
  std::vector<QString> ids;
  for (const ParallelAxis& a : data_.axes())
    if (a.column.id() != id) ids.push_back(a.column.id());
  if (on) ids.push_back(id);
  if (ids.empty()) return;
  shown_ = std::move(ids);
  const bool brushed = data_.brushed();
  reload();
  if (brushed) isolate_soon();
}

void ParallelView::set_brush(int axis, std::optional<std::pair<double, double>> span) {
  if (axis < 0 || axis >= int(data_.axes().size())) return;  // gone meanwhile
  data_.set_brush(axis, span);
  std::vector<uint8_t> now = data_.lit();
  lit_ = std::move(now);
  lit_count_ = int(std::count(lit_.begin(), lit_.end(), 1));
  bright_ = QImage();
  coarse_ = true;
  refine_.start();
  isolate_soon();
  update();
}

void ParallelView::clear_brushes() {
  data_.clear_brushes();
  isolate_.stop();
  sent_.clear();
  shared_.selection.isolate({});
  relight();
}

void ParallelView::make_actions() {
  const auto axis = [this](auto change) {
    return [this, change] {
      if (!data_.axes().empty()) change(axis_);
    };
  };
  log_ = add_command(tr("Logarithmic axis"), Qt::Key_L, tr("Scale of the chosen axis"),
                     axis([this](int a) { set_log(a, !data_.axes()[size_t(a)].log); }));
  flip_ = add_command(tr("Flip axis"), Qt::Key_F, tr("Turns the chosen axis upside down"),
                      axis([this](int a) { set_flip(a, !data_.axes()[size_t(a)].flip); }));
  hide_ =
      add_command(tr("Hide axis"), QKeySequence::Delete, tr("Takes the chosen axis away"),
                  axis([this](int a) { show_axis(data_.axes()[size_t(a)].column.id(), false); }));
  clear_ = add_command(tr("Clear brushes"), Qt::Key_Escape, tr("Lights all lines again"),
                       [this] { clear_brushes(); });
  all_ = add_command(tr("Also without a time"), Qt::Key_A,
                     tr("Shows candidates without a predicted time too"), [this](bool on) {
                       all_candidates_ = on;
                       reload();
                     });
  all_->setCheckable(true);
}

void ParallelView::contextMenuEvent(QContextMenuEvent* e) {
  const int a = axis_at(e->pos(), false);
  if (a >= 0) axis_ = a;
  QMenu menu(this);
  if (!data_.axes().empty()) {
    const ParallelAxis& axis = data_.axes()[size_t(axis_)];
    menu.addSection(axis.column.title());
    menu.addActions({log_, flip_, hide_});
    if (axis.brush)
      menu.addAction(tr("Clear its brush"), this,
                     [this, k = axis_] { set_brush(k, std::nullopt); });
  }
  menu.addSeparator();
  QMenu* more = menu.addMenu(tr("Axes"));
  for (const Column& c : columns_of(shared_.document)) {
    if (c.what == Column::What::Decision) continue;
    QAction* entry = more->addAction(c.title());
    entry->setCheckable(true);
    entry->setChecked(data_.axis(c.id()) >= 0);
    connect(entry, &QAction::toggled, this, [this, id = c.id()](bool on) { show_axis(id, on); });
  }
  menu.addActions({clear_, all_});
  menu.exec(e->globalPos());
}

QList<QJsonObject> ParallelView::export_rows() const {
  QList<QJsonObject> out;
  std::vector<Column> columns;
  for (const ParallelAxis& a : data_.axes()) columns.push_back(a.column);
  if (stale_) columns = default_columns();  // never shown
  const std::vector<int> nodes = stale_ ? candidates() : data_.nodes();
  for (size_t n = 0; n < nodes.size(); ++n) {
    const sched::SearchNode* node = shared_.document.node(nodes[n]);
    QJsonObject row{{"id", nodes[n]}, {"lit", stale_ || lit_[n] != 0}};
    for (const Column& c : columns) {
      const double v = number_of(shared_.document, *node, c);
      if (c.numeric())
        row[c.id()] = std::isnan(v) ? QJsonValue() : QJsonValue(v);
      else
        row[c.id()] = shown(shared_.document, *node, c);
    }
    out << row;
  }
  return out;
}

QJsonObject ParallelView::viewport() const {
  if (saved_) return *saved_;
  QJsonArray axes;
  for (const ParallelAxis& a : data_.axes()) {
    QJsonObject o{{"id", a.column.id()}, {"log", a.log}, {"flip", a.flip}};
    if (a.brush) o["brush"] = QJsonArray{a.value(a.brush->first), a.value(a.brush->second)};
    axes.append(o);
  }
  return {{"axes", axes}, {"all", all_candidates_}};
}

void ParallelView::set_viewport(const QJsonObject& v) {
  saved_ = v;
  stale_ = true;
  if (isVisible()) catch_up_soon();
}

View* make_parallel_view(Shared shared, QWidget* parent) {
  return new ParallelView(shared, parent);
}

}  // namespace nautilus::gui
