// What glyphs, colours and marks of the search tree mean.
#include <QFontMetricsF>

#include "gui/models/quantity.h"
#include "gui/views/search_tree_painter.h"

namespace nautilus::gui {

struct SearchTreePainter::Explained {
  QString glyph, text;
  QColor colour;
  TimeMark mark = TimeMark::Hollow;                             // where there is no glyph
  double text_at() const { return glyph.isEmpty() ? 16 : 20; }  // pixels
};

// Glyph, colour and number of each state that occurs, and the marks of times that do.
std::vector<SearchTreePainter::Explained> SearchTreePainter::explained(const TreeLook& look) const {
  std::array<int, 11> counts{};
  const int n = std::min(look.limit, static_cast<int>(look.facts.size()));
  int timed = 0;
  for (int i = 0; i < n; ++i) {
    ++counts[static_cast<size_t>(look.facts[i].state)];
    timed += look.facts[i].seconds > 0;
  }
  std::array<bool, kTimeMarks> marks{};
  for (const auto& [node, m] : look.document.session().measured) {
    const TimeMark mark = time_mark_of(m);
    if (node < 0 || node >= n) continue;
    // One with a wrong result is told by its glyph, too.
    marks[static_cast<size_t>(mark)] |= look.facts[node].seconds > 0 || mark == TimeMark::Wrong;
    timed -= look.facts[node].seconds > 0;
  }
  marks[static_cast<size_t>(TimeMark::Hollow)] = timed > 0;
  std::vector<Explained> out;
  if (look.best() >= 0)
    out.push_back({Theme::star(), QStringLiteral("best, and the path to it"), theme_.accent()});
  for (size_t s = 0; s < counts.size(); ++s) {
    if (counts[s] == 0) continue;
    const auto state = static_cast<sched::NodeState>(s);
    out.push_back(
        {Theme::glyph(state), Theme::state_words(state) + u' ' + count_text(counts[s]), state_[s]});
  }
  for (int k = 0; k < kTimeMarks; ++k) {
    const auto mark = static_cast<TimeMark>(k);
    if (!marks[static_cast<size_t>(k)]) continue;
    const bool wrong = mark == TimeMark::Wrong;
    out.push_back({wrong ? different() : QString(), Theme::mark_words(mark),
                   wrong ? theme_.bad() : theme_.text(), mark});
  }
  return out;
}

double SearchTreePainter::paint_legend(QPainter& p, const QRectF& area, const TreeLook& look) {
  const std::vector<Explained> entries = explained(look);
  QFont font = small_.font();
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  const QFontMetricsF m(font);
  const double row = 20;
  std::vector<QPointF> at;
  double x = 0, y = 0;
  for (const Explained& e : entries) {
    const double w = e.text_at() + m.horizontalAdvance(e.text) + 16;
    if (x > 0 && x + w > area.width() - 16) x = 0, y += row;
    at.emplace_back(x, y);
    x += w;
  }
  const double height = y + row + 8, top = area.bottom() - height;
  p.fillRect(QRectF(area.left(), top, area.width(), height), theme_.background());
  p.setPen(QPen(theme_.line(), 1));
  p.drawLine(QPointF(area.left(), top), QPointF(area.right(), top));
  for (size_t k = 0; k < entries.size(); ++k) {
    const Explained& e = entries[k];
    const QPointF o = QPointF(area.left() + 8, top + 4) + at[k];
    if (e.glyph.isEmpty()) {
      const QPointF middle(o.x() + 6, o.y() + row / 2);
      p.setPen(QPen(e.colour, 1.3));
      p.setBrush(e.mark == TimeMark::Hollow ? QBrush(Qt::NoBrush) : QBrush(e.colour));
      p.drawEllipse(middle, 3, 3);
      p.setBrush(Qt::NoBrush);
      if (e.mark == TimeMark::Ringed) p.drawEllipse(middle, 5.2, 5.2);
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
    p.drawText(QRectF(o.x() + e.text_at(), o.y(), 2000, row), Qt::AlignVCenter | Qt::AlignLeft,
               e.text);
  }
  p.restore();
  return height;
}

}  // namespace nautilus::gui
