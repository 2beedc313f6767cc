// Where a canvas looks: a part of a plane, shown undistorted on a rectangle of the screen. One
// world unit is as long across as down, so a line at 45 degrees stays one.
#pragma once

#include <QJsonObject>
#include <QMarginsF>
#include <QPointF>
#include <QRectF>

namespace nautilus::gui {

struct Viewport {
  QRectF area{0, 0, 1, 1};          // of the screen, in logical pixels
  QPointF centre;                   // the world's point in the middle of `area`
  double scale = 1;                 // pixels a world unit
  double least = 1e-6, most = 1e6;  // bounds of `scale`

  QPointF to_screen(QPointF world) const { return area.center() + (world - centre) * scale; }
  QPointF to_world(QPointF screen) const { return centre + (screen - area.center()) / scale; }
  QRectF to_screen(const QRectF& world) const {
    return {to_screen(world.topLeft()), to_screen(world.bottomRight())};
  }
  QRectF visible() const;  // of the world

  // The world's point under `screen` stays where it is.
  void zoom(QPointF screen, double factor);
  void pan(QPointF screen_delta) { centre -= screen_delta / scale; }
  // All of `world` in `area` less `margins`, magnified at most `most_scale` times.
  void fit(const QRectF& world, const QMarginsF& margins, double most_scale);
  // The shortest pan that brings `world` into view, `margin` pixels from the edge; its top left
  // corner when it is larger than the view.
  void reveal(const QRectF& world, double margin);

  QJsonObject to_json() const;
  void from_json(const QJsonObject& j);  // damaged values are left out
  bool operator==(const Viewport&) const = default;
};

}  // namespace nautilus::gui
