#include "gui/views/viewport.h"

#include <algorithm>
#include <cmath>

namespace nautilus::gui {

QRectF Viewport::visible() const {
  return {to_world(area.topLeft()), to_world(area.bottomRight())};
}

void Viewport::zoom(QPointF screen, double factor) {
  const QPointF fixed = to_world(screen);
  scale = std::clamp(scale * factor, least, most);
  centre = fixed - (screen - area.center()) / scale;
}

void Viewport::fit(const QRectF& world, const QMarginsF& margins, double most_scale) {
  const QRectF room = area.marginsRemoved(margins);
  if (room.width() <= 0 || room.height() <= 0) return;
  const double w = std::max(world.width(), 1e-9), h = std::max(world.height(), 1e-9);
  scale = std::clamp(std::min({room.width() / w, room.height() / h, most_scale}), least, most);
  centre = world.center() + (area.center() - room.center()) / scale;
}

void Viewport::reveal(const QRectF& world, double margin) {
  const QRectF on_screen = to_screen(world);
  const QRectF room = area.adjusted(margin, margin, -margin, -margin);
  auto shift = [](double lo, double hi, double from, double to) {
    if (hi - lo > to - from || lo < from) return from - lo;
    return hi > to ? to - hi : 0.0;
  };
  pan({shift(on_screen.left(), on_screen.right(), room.left(), room.right()),
       shift(on_screen.top(), on_screen.bottom(), room.top(), room.bottom())});
}

QJsonObject Viewport::to_json() const {
  return {{"x", centre.x()}, {"y", centre.y()}, {"scale", scale}};
}

void Viewport::from_json(const QJsonObject& j) {
  const double x = j["x"].toDouble(NAN), y = j["y"].toDouble(NAN), s = j["scale"].toDouble(NAN);
  constexpr double kFar = 1e9;  // a damaged session
  if (std::abs(x) <= kFar && std::abs(y) <= kFar) centre = {x, y};
  if (std::isfinite(s) && s > 0) scale = std::clamp(s, least, most);
}

}  // namespace nautilus::gui
