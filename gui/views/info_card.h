// What is under the mouse, in words, painted over a picture.
#pragma once

#include <QPainter>
#include <QString>
#include <vector>

#include "gui/models/theme.h"

namespace nautilus::gui {

struct InfoCard {
  QString title;
  QColor colour;  // of the bar at its left edge
  struct Line {
    QString name, value;  // without a name: a paragraph
  };
  std::vector<Line> lines;
  QString plain_text() const;  // for screen readers and exports
};

// Beside `target` (of the screen), wholly within `area`, off `target` where there is room.
void paint_card(QPainter& p, const InfoCard& card, const QRectF& target, const QRectF& area,
                const Theme& theme);

}  // namespace nautilus::gui
