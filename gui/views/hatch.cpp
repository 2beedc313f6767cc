#include "gui/views/hatch.h"

#include <QLineF>
#include <QList>
#include <algorithm>
#include <cmath>

namespace nautilus::gui {

void hatch(QPainter& p, const QRectF& where, const QColor& colour, double step) {
  if (where.isEmpty()) return;
  QList<QLineF> lines;
  // x + y is the same along a line.
  const double first = std::ceil((where.left() + where.top()) / step) * step;
  for (double sum = first; sum < where.right() + where.bottom(); sum += step) {
    const double left = std::max(where.left(), sum - where.bottom());
    const double right = std::min(where.right(), sum - where.top());
    if (right > left) lines << QLineF(left, sum - left, right, sum - right);
  }
  p.save();
  p.setRenderHint(QPainter::Antialiasing, where.height() > 4);
  p.setPen(QPen(colour, 1));
  p.drawLines(lines);
  p.restore();
}

}  // namespace nautilus::gui
