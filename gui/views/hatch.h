// Hatching as lines: fill patterns of Qt are pictures that many readers of SVG do not resolve.
#pragma once

#include <QColor>
#include <QPainter>

namespace nautilus::gui {

// Lines that rise to the right, cut at the rectangle by themselves: the SVG writer of Qt forgets
// clips. They lie on one grid over the page, so that neighbours join.
void hatch(QPainter& p, const QRectF& where, const QColor& colour, double step = 5);

}  // namespace nautilus::gui
