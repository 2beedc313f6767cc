// What one call of RooflinePainter::paint works with.
#pragma once

#include <QPolygonF>

#include "gui/views/roofline_painter.h"

namespace nautilus::gui {

struct RooflinePainter::Frame {
  QPainter& p;
  const Viewport& view;
  const RooflineLook& look;
  QRectF visible;                  // of the world, within the plot
  std::vector<QPolygonF> taken{};  // by labels

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
