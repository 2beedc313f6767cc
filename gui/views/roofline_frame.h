// What one call of RooflinePainter::paint works with.
#pragma once

#include <QPolygonF>
#include <cmath>
#include <unordered_set>

#include "gui/views/roofline_painter.h"

namespace nautilus::gui {

inline constexpr uint32_t kPoint = (1U << 30) - 1;  // of a bin: index of its point, plus 1

struct RooflinePainter::Frame {
  QPainter& p;
  const Viewport& view;
  const RooflineLook& look;
  QRectF visible;                  // of the world, within the plot
  std::vector<QPolygonF> taken{};  // by labels
  // While roofs are labelled: where points are, in squares of kSquare pixels of the plot, and
  // whether labels keep off them and off other roofs.
  static constexpr double kSquare = 6;
  std::unordered_set<int64_t> dotted{};
  bool choosy = false;
  int64_t square(QPointF at) const {
    const auto whole = [](double v) { return static_cast<int64_t>(std::floor(v / kSquare)); };
    return whole(at.y() - look.plot.top()) << 20 | whole(at.x() - look.plot.left());
  }

  // Whether a label fits there; then the place is taken.
  bool take(const QPolygonF& place) {
    for (const QPolygonF& t : taken)
      if (t.intersects(place)) return false;
    taken.push_back(place);
    return true;
  }
  bool shows(const CloudPoint& c) const { return look.levels >> c.level & 1; }
  QPointF at(const CloudPoint& c) const { return view.to_screen({c.x, c.y}); }
};

}  // namespace nautilus::gui
