// What glyphs, colours and marks of the search tree mean.
#include <QFontMetricsF>

#include "gui/models/quantity.h"
#include "gui/views/search_tree_painter.h"

namespace nautilus::gui {

// Glyph, colour and number of each state that occurs, and what lines and marks mean.
double SearchTreePainter::paint_legend(QPainter& p, const QRectF& area, const TreeLook& look) {
  std::array<int, 11> counts{};
  const int n = std::min(look.limit, static_cast<int>(look.facts.size()));
  for (int i = 0; i < n; ++i) ++counts[static_cast<size_t>(look.facts[i].state)];
  struct Entry {
    QString glyph, text;
    QColor colour;
  };
  std::vector<Entry> entries{
      {Theme::star(), QStringLiteral("best, and the path to it"), theme_.accent()}};
  for (size_t s = 0; s < counts.size(); ++s) {
    if (counts[s] == 0) continue;
    const auto state = static_cast<sched::NodeState>(s);
    entries.push_back(
        {Theme::glyph(state), Theme::state_words(state) + u' ' + count_text(counts[s]), state_[s]});
  }
  entries.push_back(
      {{},
       QStringLiteral(
           "time: hollow predicted, filled measured, ringed also right; \u2260 result wrong"),
       QColor()});
  QFont font = small_.font();
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  const QFontMetricsF m(font);
  const double row = 20;
  std::vector<QPointF> at;
  double x = 0, y = 0;
  for (const Entry& e : entries) {
    const double w = (e.glyph.isEmpty() ? 46 : 20) + m.horizontalAdvance(e.text) + 16;
    if (x > 0 && x + w > area.width() - 16) x = 0, y += row;
    at.emplace_back(x, y);
    x += w;
  }
  const double height = y + row + 8, top = area.bottom() - height;
  p.fillRect(QRectF(area.left(), top, area.width(), height), theme_.background());
  p.setPen(QPen(theme_.line(), 1));
  p.drawLine(QPointF(area.left(), top), QPointF(area.right(), top));
  for (size_t k = 0; k < entries.size(); ++k) {
    const Entry& e = entries[k];
    const QPointF o = QPointF(area.left() + 8, top + 4) + at[k];
    double text_x = o.x() + 20;
    if (e.glyph.isEmpty()) {
      const double middle = o.y() + row / 2;
      p.setPen(QPen(theme_.text(), 1.3));
      p.setBrush(Qt::NoBrush);
      p.drawEllipse(QPointF(o.x() + 5, middle), 3, 3);
      p.drawEllipse(QPointF(o.x() + 33, middle), 5.2, 5.2);
      p.setBrush(theme_.text());
      p.drawEllipse(QPointF(o.x() + 18, middle), 3, 3);
      p.drawEllipse(QPointF(o.x() + 33, middle), 3, 3);
      text_x = o.x() + 46;
    } else {
      const QRectF box(o.x(), o.y() + 2, 16, 16);
      p.setPen(Qt::NoPen);
      p.setBrush(e.colour);
      p.drawRoundedRect(box, 3, 3);
      p.setPen(ink_on(e.colour));
      p.setFont(bold_.font());
      p.drawText(box, Qt::AlignCenter, e.glyph);
    }
    p.setFont(font);
    p.setPen(theme_.text());
    p.drawText(QRectF(text_x, o.y(), 2000, row), Qt::AlignVCenter | Qt::AlignLeft, e.text);
  }
  p.restore();
  return height;
}

}  // namespace nautilus::gui
