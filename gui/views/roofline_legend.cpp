// What markers and colours of the roofline mean.
#include <QFontMetricsF>
#include <algorithm>

#include "gui/views/quantity.h"
#include "gui/views/roofline_frame.h"

namespace nautilus::gui {

double RooflinePainter::paint_legend(QPainter& p, const QRectF& area, const RooflineLook& look) {
  struct Entry {
    int level;  // -1: a swatch of colour
    Mark mark;
    QColor colour;
    QString text;
  };
  std::vector<Entry> entries;
  const QColor ink = theme_.text();
  const auto& levels = look.cloud.levels;
  for (size_t k = 0; k < levels.size(); ++k) {
    if (!(look.levels >> k & 1)) continue;
    QString name = QString::fromStdString(levels[k]);
    for (const Roof& r : look.roofs)
      if (r.kind == Roof::Kind::Memory && r.level == name) name = r.name;
    entries.push_back({static_cast<int>(k), Mark::Filled, theme_.muted(), name});
  }
  entries.push_back({0, Mark::Hollow, ink, QStringLiteral("predicted")});
  bool wrong = false, measured = false;
  for (const CloudPoint& c : look.cloud.points) {
    measured = measured || c.measured;
    wrong = wrong || (c.measured && !c.right);
  }
  entries.push_back({0, Mark::Ringed, ink, QStringLiteral("measured, result right")});
  if (wrong) entries.push_back({0, Mark::Wrong, ink, QStringLiteral("measured, result wrong")});
  if (look.colour == ColourBy::State) {
    uint32_t seen = 0;
    for (const CloudPoint& c : look.cloud.points) seen |= 1U << static_cast<unsigned>(c.state);
    for (unsigned s = 0; s < 11; ++s)
      if (seen >> s & 1) {
        const auto state = static_cast<sched::NodeState>(s);
        entries.push_back({-1, Mark::Filled, theme_.state(state),
                           Theme::glyph(state) + u' ' + Theme::state_words(state)});
      }
  } else {
    for (size_t k = 0; k < look.cloud.families.size(); ++k) {
      const Family& f = look.cloud.families[k];
      entries.push_back(
          {-1, Mark::Filled, theme_.series(static_cast<int>(k)),
           QStringLiteral("#%1 %2, %3").arg(f.node).arg(f.name, seconds_text(f.best_seconds))});
    }
    if (look.cloud.families.size() == kOtherFamilies)
      entries.push_back(
          {-1, Mark::Filled, theme_.muted(), QStringLiteral("other structures, or over capacity")});
  }
  QFont small = font(11);
  const QFontMetricsF m(small);
  const double row = 18, room = area.width() - 20;
  const double column = room > 900 ? room / 2 : room;
  std::vector<QRectF> at;
  double x = 0, y = 0;
  bool families = false;
  for (Entry& e : entries) {
    const bool family = e.level < 0 && look.colour == ColourBy::Family;
    if (family) e.text = m.elidedText(e.text, Qt::ElideRight, column - 32);
    const double w = family ? column : m.horizontalAdvance(e.text) + 38;
    if (x > 0 && (x + w > room + 1 || (family && !families))) x = 0, y += row;
    families = families || family;
    at.emplace_back(x, y, w, row);
    x += w;
  }
  const double height = y + row + 8, top = area.bottom() - height;
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.fillRect(QRectF(area.left(), top, area.width(), height), theme_.background());
  p.setPen(QPen(theme_.line(), 1));
  p.drawLine(QPointF(area.left(), top), QPointF(area.right(), top));
  p.setFont(small);
  for (size_t k = 0; k < entries.size(); ++k) {
    const Entry& e = entries[k];
    const QRectF r = at[k].translated(area.left() + 10, top + 4);
    const QPointF c(r.left() + 8, r.center().y());
    if (e.level >= 0) {
      marker(p, c, e.level, 7, e.colour, e.mark);
    } else {
      p.setPen(Qt::NoPen);
      p.setBrush(e.colour);
      p.drawRoundedRect(QRectF(c.x() - 5, c.y() - 5, 10, 10), 2, 2);
    }
    p.setPen(theme_.text());
    p.drawText(r.adjusted(20, 0, 40, 0), Qt::AlignVCenter | Qt::AlignLeft, e.text);
  }
  p.restore();
  return height;
}

}  // namespace nautilus::gui
