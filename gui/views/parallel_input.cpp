// Mouse and keyboard of the parallel coordinates.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/models/quantity.h"
#include "gui/views/parallel_view.h"

namespace nautilus::gui {

namespace {

constexpr double kAxisReach = 9;  // pixels beside an axis that belong to it

}  // namespace

int ParallelView::axis_at(const QPointF& at, bool on_line) const {
  const QRectF area = plot();
  if (on_line && (at.y() < area.top() - 6 || at.y() > area.bottom() + 6)) return -1;
  const double reach = on_line ? kAxisReach : spacing() / 2;
  int best = -1;
  double least = reach;
  for (int a = 0; a < int(data_.axes().size()); ++a)
    if (const double d = std::abs(axis_x(a) - at.x()); d <= least) least = d, best = a;
  return best;
}

int ParallelView::line_at(const QPointF& at) const {
  const QRectF area = plot();
  if (!area.adjusted(0, -4, 0, 4).contains(at) || data_.axes().size() < 2) return -1;
  int left = -1;
  for (int a = 0; a + 1 < int(data_.axes().size()); ++a)
    if (at.x() >= axis_x(a) && at.x() <= axis_x(a + 1)) left = a;
  if (left < 0) return -1;
  const double x = (at.x() - axis_x(left)) / spacing();
  const double reach = 6 * (1 - double(kMissing)) / area.height();
  const int n = data_.nearest(left, x, position_of(at.y()), reach, lit_);
  return n < 0 ? -1 : data_.nodes()[size_t(n)];
}

void ParallelView::mousePressEvent(QMouseEvent* e) {
  pressed_ = at_ = e->position();
  if (e->button() == Qt::MiddleButton) {
    drag_ = Drag::Pan;
    return;
  }
  if (e->button() != Qt::LeftButton || data_.axes().empty()) return;
  const int on = axis_at(pressed_, true);
  if (on >= 0) {
    axis_ = drag_axis_ = on;
    brush_from_ = position_of(pressed_.y());
    const auto& brush = data_.axes()[size_t(on)].brush;
    const bool inside = brush && brush_from_ > brush->first && brush_from_ < brush->second;
    drag_ = inside ? Drag::MoveBrush : Drag::Brush;
    if (inside) brush_before_ = *brush;
    return update();
  }
  const int head = pressed_.y() < plot().top() ? axis_at(pressed_, false) : -1;
  if (head >= 0) {
    axis_ = drag_axis_ = head;
    drag_ = Drag::Axis;
    return update();
  }
  drag_ = Drag::Pan;
}

void ParallelView::mouseMoveEvent(QMouseEvent* e) {
  const QPointF before = at_;
  at_ = e->position();
  switch (drag_) {
    case Drag::None: {
      const int on = axis_at(at_, true);
      const bool head = on < 0 && at_.y() < plot().top() && axis_at(at_, false) >= 0;
      setCursor(on >= 0 ? Qt::SizeVerCursor : head ? Qt::OpenHandCursor : Qt::ArrowCursor);
      shared_.selection.hover(on < 0 && !head ? line_at(at_) : -1);
      return;
    }
    case Drag::Brush:
      if (std::abs(at_.y() - pressed_.y()) < 3) return;
      return set_brush(drag_axis_, std::pair{brush_from_, position_of(at_.y())});
    case Drag::MoveBrush: {
      const double by = position_of(at_.y()) - brush_from_;
      return set_brush(drag_axis_, std::pair{brush_before_.first + by, brush_before_.second + by});
    }
    case Drag::Axis: {
      const int over = axis_at(at_, false);
      if (over >= 0 && over != drag_axis_) {
        move_axis(drag_axis_, over);
        drag_axis_ = axis_ = over;
      }
      setCursor(Qt::ClosedHandCursor);
      return update();
    }
    case Drag::Pan:
      return scroll_to(scroll_ - (at_.x() - before.x()));
  }
}

void ParallelView::mouseReleaseEvent(QMouseEvent* e) {
  const Drag was = drag_;
  drag_ = Drag::None;
  const bool moved = (e->position() - pressed_).manhattanLength() > 3;
  if (was == Drag::Axis) setCursor(Qt::OpenHandCursor);
  if (e->button() == Qt::LeftButton && !moved) {
    const bool there = drag_axis_ >= 0 && drag_axis_ < int(data_.axes().size());
    if ((was == Drag::Brush || was == Drag::MoveBrush) && there &&
        data_.axes()[size_t(drag_axis_)].brush)
      set_brush(drag_axis_, std::nullopt);
    if (was == Drag::Pan)
      if (const int node = line_at(e->position()); node >= 0) {
        if (e->modifiers() & Qt::ControlModifier)
          shared_.selection.toggle(node);
        else
          shared_.selection.select(node);
      }
  }
  drag_axis_ = -1;
  update();
}

void ParallelView::mouseDoubleClickEvent(QMouseEvent* e) {
  const int head = e->position().y() < plot().top() ? axis_at(e->position(), false) : -1;
  if (head >= 0) set_flip(head, !data_.axes()[size_t(head)].flip);
}

void ParallelView::leaveEvent(QEvent*) {
  if (drag_ == Drag::None) shared_.selection.hover(-1);
}

void ParallelView::wheelEvent(QWheelEvent* e) {
  const QPoint d = e->angleDelta();
  scroll_to(scroll_ - (std::abs(d.x()) > std::abs(d.y()) ? d.x() : d.y()));
  e->accept();
}

// A brush from one tick to the next, moved or grown by the keyboard.
void ParallelView::key_brush(int direction, bool grow) {
  const ParallelAxis& a = data_.axes()[size_t(axis_)];
  std::vector<double> stops;
  for (const AxisTick& t : a.ticks) stops.push_back(t.at);
  std::sort(stops.begin(), stops.end());
  if (stops.empty()) return;
  const double half = 0.5 / std::max<double>(8, double(stops.size()));
  int low = direction > 0 ? 0 : int(stops.size()) - 1, high = low;
  if (a.brush) {
    const auto nearest = [&](double position) {
      int best = 0;
      for (size_t n = 0; n < stops.size(); ++n)
        if (std::abs(stops[n] - position) < std::abs(stops[size_t(best)] - position)) best = int(n);
      return best;
    };
    low = nearest(a.brush->first + half), high = nearest(a.brush->second - half);
    const int last = int(stops.size()) - 1;
    if (direction > 0)
      high = std::min(last, high + 1), low = grow ? low : std::min(last, low + 1);
    else
      low = std::max(0, low - 1), high = grow ? high : std::max(0, high - 1);
  }
  set_brush(axis_, std::pair{stops[size_t(low)] - half, stops[size_t(high)] + half});
}

void ParallelView::keyPressEvent(QKeyEvent* e) {
  const int count = int(data_.axes().size());
  if (count == 0) return View::keyPressEvent(e);
  const bool shift = e->modifiers() & Qt::ShiftModifier;
  const int key = e->key();
  if (key == Qt::Key_Left || key == Qt::Key_Right) {
    const int to = std::clamp(axis_ + (key == Qt::Key_Right ? 1 : -1), 0, count - 1);
    if (shift) move_axis(axis_, to);
    axis_ = to;
    const double x = axis_x(axis_);
    if (x < 40 || x > width() - 40) scroll_to(scroll_ + x - width() / 2.0);
    return update();
  }
  if (key == Qt::Key_Up || key == Qt::Key_Down) return key_brush(key == Qt::Key_Up ? 1 : -1, shift);
  if (key == Qt::Key_Space) return scroll_to(0);
  View::keyPressEvent(e);
}

bool ParallelView::event(QEvent* e) {
  if (e->type() != QEvent::ToolTip) return View::event(e);
  auto* help = static_cast<QHelpEvent*>(e);
  QString text;
  const int head = help->pos().y() < plot().top() ? axis_at(help->pos(), false) : -1;
  if (head >= 0) {
    const ParallelAxis& a = data_.axes()[size_t(head)];
    text = a.column.tip() + tr("\nDrag to move it, double click to flip it, right click for more");
  } else if (axis_at(help->pos(), true) >= 0) {
    text = tr("Drag along the axis to brush it; click to take the brush away");
  } else if (const int node = line_at(help->pos()); node >= 0) {
    const sched::SearchNode* n = shared_.document.node(node);
    text = QStringLiteral("#%1  %2\n%3")
               .arg(node)
               .arg(QString::fromStdString(n->decision), seconds_text(n->seconds));
    for (const auto& [name, value] : n->knobs)
      text += QStringLiteral("\n%1 = %2").arg(QString::fromStdString(name)).arg(value);
    text += QLatin1Char('\n') + QString::fromStdString(n->limiter);
  }
  QToolTip::showText(help->globalPos(), text, this);
  return true;
}

}  // namespace nautilus::gui
