// What a view's picture says in words.
#pragma once

#include <QBuffer>
#include <QRegularExpression>
#include <QSvgGenerator>

#include "gui/views/view.h"

namespace nautilus::gui {

// The texts of the picture, in the order of painting.
inline QStringList svg_texts(View& view, QSizeF size = {1200, 700}) {
  QBuffer out;
  QSvgGenerator svg;
  svg.setOutputDevice(&out);
  svg.setSize(size.toSize());
  QPainter p(&svg);
  view.paint_picture(p, QRectF({0, 0}, size));
  p.end();
  static const QRegularExpression text("<text[^>]*>([^<]*)</text>");
  QStringList texts;
  for (const auto& m : text.globalMatch(QString::fromUtf8(out.data())))
    texts << m.captured(1).trimmed();
  return texts;
}

}  // namespace nautilus::gui
