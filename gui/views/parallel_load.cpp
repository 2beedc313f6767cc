// From the document to lines and axes. A hundred thousand lines take longer than a frame: in
// slices, while what was there before stays on screen.
#include <QJsonArray>
#include <algorithm>

#include "gui/views/parallel_view.h"

namespace nautilus::gui {

// What is hidden costs nothing.
void ParallelView::reload_shown() {
  stale_ = true;
  later_.stop();
  making_.slices.stop();
  if (isVisible()) catch_up_soon();
}

void ParallelView::reload() {
  stale_ = true;
  catch_up();
}

void ParallelView::catch_up() {
  making_.slices.stop();
  if (!stale_) return;
  begin_making();
  while (make_step()) {
  }
  end_making();
}

void ParallelView::catch_up_soon() {
  if (!stale_ || making_.slices.busy()) return;
  begin_making();
  making_.slices.start([this] { return make_step(); }, [this] { end_making(); });
}

// Knobs first, then figures, as a plan leads to its cost.
std::vector<Column> ParallelView::possible_columns() const {
  const std::vector<Column> all = columns_of(shared_.document);
  std::vector<Column> out;
  const auto add = [&](auto which) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(out), which);
  };
  using What = Column::What;
  add([](const Column& c) { return c.what == What::Knob; });
  add([](const Column& c) { return c.what == What::Depth; });
  add([](const Column& c) { return c.what == What::Intensity; });
  add([](const Column& c) { return c.what == What::Limiter || c.what == What::Measured; });
  add([](const Column& c) { return c.what == What::Predicted; });
  return out;
}

std::vector<Column> ParallelView::default_columns() const {
  std::vector<Column> out = possible_columns();
  const std::vector<int> nodes = candidates();
  std::erase_if(out, [&](const Column& c) {
    return !ParallelData::worth_showing(shared_.document, c, nodes);
  });
  return out;
}

void ParallelView::begin_making() {
  later_.stop();
  if (saved_) {
    all_candidates_ = (*saved_)["all"].toBool();
    all_->setChecked(all_candidates_);
    shown_.clear();
    for (const QJsonValue& a : (*saved_)["axes"].toArray()) shown_.push_back(a["id"].toString());
  }
  making_.data.begin(candidates());
  making_.before = data_.axes();
  making_.next = 0;
  making_.chosen = !shown_.empty();
  making_.columns.clear();
  if (!making_.chosen) {
    making_.columns = possible_columns();
    return;
  }
  const std::vector<Column> all = columns_of(shared_.document);
  for (const QString& id : shown_)
    for (const Column& c : all)
      if (c.id() == id) making_.columns.push_back(c);
}

bool ParallelView::make_step() {
  if (making_.next >= making_.columns.size()) return false;
  const Column& c = making_.columns[making_.next++];
  if (making_.chosen || ParallelData::worth_showing(shared_.document, c, making_.data.nodes()))
    making_.data.add(shared_.document, c, making_.before);
  return making_.next < making_.columns.size();
}

void ParallelView::end_making() {
  stale_ = false;
  for (const ParallelAxis& a : data_.axes())  // brushed meanwhile
    if (const int n = making_.data.axis(a.column.id()); n >= 0)
      if (const auto& made = making_.data.axes()[size_t(n)];
          made.log == a.log && made.flip == a.flip)
        making_.data.set_brush(n, a.brush);
  data_ = std::move(making_.data);
  making_.data = ParallelData();
  axis_ = std::clamp(axis_, 0, std::max(0, int(data_.axes().size()) - 1));
  if (saved_) restore_axes(*std::exchange(saved_, std::nullopt));
  base_ = QImage();
  relight();
}

void ParallelView::restore_axes(const QJsonObject& v) {
  for (const QJsonValue& a : v["axes"].toArray()) {
    const int n = data_.axis(a["id"].toString());
    if (n < 0) continue;
    data_.set_log(n, a["log"].toBool());
    data_.set_flip(n, a["flip"].toBool());
    const QJsonArray brush = a["brush"].toArray();
    const ParallelAxis& axis = data_.axes()[size_t(n)];
    if (brush.size() == 2)
      set_brush(n, std::pair{axis.position(brush[0].toDouble()) - 1e-6,
                             axis.position(brush[1].toDouble()) + 1e-6});
  }
}

}  // namespace nautilus::gui
