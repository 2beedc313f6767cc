// What markers and colours of the roofline mean: beside the plot where the view is wide, so that
// the plot has the height, else below it.
#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

#include "gui/models/quantity.h"
#include "gui/views/roofline_frame.h"

namespace nautilus::gui {
namespace {

constexpr double kRow = 18, kTwoRows = 33, kPad = 10, kText = 20;  // pixels
constexpr double kLowPlot = 240;    // a legend below would leave the plot no height
constexpr double kLeastPlot = 116;  // with its axes

}  // namespace

struct RooflinePainter::Explained {
  enum class As : uint8_t { Marker, Swatch, Star, Arrow } as = As::Marker;
  int level = 0;
  Mark mark = Mark::Filled;
  QColor colour;
  QString text;
  QString name{};  // of a structure
  QRectF at{};
};

std::vector<RooflinePainter::Explained> RooflinePainter::explained(const RooflineLook& look) const {
  using As = Explained::As;
  std::vector<Explained> out;
  const QColor ink = theme_.text();
  const auto& levels = look.cloud.levels;
  for (size_t k = 0; k < levels.size(); ++k) {
    if (!(look.levels >> k & 1)) continue;
    QString name = QString::fromStdString(levels[k]);
    for (const Roof& r : look.roofs)
      if (r.kind == Roof::Kind::Memory && r.level == name) name = r.name;
    out.push_back({As::Marker, static_cast<int>(k), Mark::Filled, theme_.muted(), name});
  }
  for (int k = 0; k < kTimeMarks; ++k)
    if (look.cloud.marks >> k & 1) {
      const auto mark = static_cast<Mark>(k);
      out.push_back({As::Marker, 0, mark, ink, Theme::mark_words(mark)});
    }
  if (look.best >= 0)
    out.push_back({As::Star, 0, Mark::Filled, theme_.accent(), QStringLiteral("best")});
  if (look.path.size() > 1)
    out.push_back({As::Arrow, 0, Mark::Filled, theme_.series(3), QStringLiteral("transforms")});
  if (look.colour == ColourBy::State) {
    for (unsigned s = 0; s < 11; ++s)
      if (look.cloud.states >> s & 1) {
        const auto state = static_cast<sched::NodeState>(s);
        out.push_back({As::Swatch, 0, Mark::Filled, theme_.state(state),
                       Theme::glyph(state) + u' ' + Theme::state_words(state)});
      }
    return out;
  }
  for (size_t k = 0; k < look.cloud.families.size(); ++k) {
    const Family& f = look.cloud.families[k];
    out.push_back({As::Swatch, 0, Mark::Filled, theme_.series(static_cast<int>(k)),
                   QStringLiteral("#%1  %2").arg(f.node).arg(seconds_text(f.best_seconds)),
                   f.name.isEmpty() ? QStringLiteral("the program as it was written") : f.name});
  }
  if (look.cloud.families.size() == kOtherFamilies)
    out.push_back({As::Swatch, 0, Mark::Filled, theme_.muted(),
                   QStringLiteral("other structures, or over capacity")});
  return out;
}

// Marks in lines, then the structures below them, as many as there is room for. Returns the height.
double RooflinePainter::place(std::vector<Explained>& all, QSizeF room, bool beside) const {
  const QFontMetricsF m(font(11));
  double x = 0, y = 0;
  auto first = std::find_if(all.begin(), all.end(), [](auto& e) { return !e.name.isEmpty(); });
  auto flow = [&](Explained& e) {
    const double w = std::min(room.width(), m.horizontalAdvance(e.text) + kText + 16);
    if (x > 0 && x + w > room.width() + 1) x = 0, y += kRow;
    e.at = {x, y, w, kRow};
    x += w;
  };
  std::for_each(all.begin(), first, flow);
  if (first == all.end()) return y + kRow;
  y += kRow;
  auto last = std::find_if(first, all.end(), [](auto& e) { return e.name.isEmpty(); });
  const auto structures = static_cast<int>(last - first);
  const int rest = last == all.end() ? 0 : 1;
  const int columns = beside ? 1 : std::max(1, static_cast<int>(room.width() / 330));
  const double left = room.height() - y - rest * kRow;
  const bool two = beside && left >= structures * kTwoRows;
  const double row = two ? kTwoRows : kRow, width = room.width() / columns;
  const int shown = std::min(structures, std::max(1, static_cast<int>(left / row)) * columns);
  for (int k = 0; k < shown; ++k) {
    Explained& e = first[k];
    e.at = {k % columns * width, y + k / columns * row, width, row};
    if (!two) e.text += QStringLiteral("  ") + std::exchange(e.name, QString());
  }
  y += (shown + columns - 1) / columns * row;
  if (rest) {
    if (shown < structures)
      last->text =
          QStringLiteral("%1 more, other structures, over capacity").arg(structures - shown);
    last->at = {0, y, room.width(), kRow};
    y += kRow;
  }
  all.erase(first + shown, last);
  return y;
}

void RooflinePainter::explain(QPainter& p, const Explained& e) const {
  const QPointF c(e.at.left() + 8, e.at.top() + kRow / 2);
  p.setFont(font(11));
  const QFontMetricsF m(p.font());
  p.setPen(Qt::NoPen);
  p.setBrush(e.colour);
  switch (e.as) {
    case Explained::As::Marker:
      marker(p, c, e.level, 7, e.colour, e.mark);
      break;
    case Explained::As::Swatch:
      p.drawRoundedRect(QRectF(c.x() - 5, c.y() - 5, 10, 10), 2, 2);
      break;
    case Explained::As::Star:
      p.setPen(e.colour);
      p.setFont(font(14, true));
      p.drawText(QRectF(c.x() - 8, c.y() - 9, 16, 18), Qt::AlignCenter, Theme::star());
      p.setFont(font(11));
      break;
    case Explained::As::Arrow:
      p.drawPolygon(QPolygonF{c + QPointF(7, 0), c + QPointF(-1, -4), c + QPointF(-1, 4)});
      p.setPen(QPen(e.colour, 2));
      p.drawLine(c + QPointF(-7, 0), c);
  }
  const double width = e.at.width() - kText - 4;
  p.setPen(theme_.text());
  p.drawText(QRectF(e.at.left() + kText, e.at.top(), width + 4, kRow), Qt::AlignVCenter,
             m.elidedText(e.text, Qt::ElideRight, width));
  if (e.name.isEmpty()) return;
  p.setPen(theme_.muted());
  p.drawText(QRectF(e.at.left() + kText, e.at.top() + 14, width + 4, kRow), Qt::AlignVCenter,
             m.elidedText(e.name, Qt::ElideRight, width));
}

QMarginsF RooflinePainter::paint_legend(QPainter& p, const QRectF& area, const RooflineLook& look) {
  const bool low = area.height() < kLowPlot && area.width() >= 360;
  const bool beside = low || (area.width() >= 520 && area.width() > 1.2 * area.height());
  const double width = beside ? std::clamp(area.width() * 0.3, 190.0, 340.0) : area.width();
  const QSizeF room(width - 2 * kPad,
                    beside ? area.height() - 2 * kPad : std::max(3 * kRow, area.height() * 0.3));
  std::vector<Explained> all = explained(look);
  double height = place(all, room, beside) + (beside ? 2 * kPad : 8);
  // The plot and the titles of its axes come first.
  const double rows = std::max(1.0, std::floor((area.height() - kLeastPlot - 8) / kRow));
  if (!beside) height = std::min(height, rows * kRow + 8);
  const QRectF box = beside ? QRectF(area.right() - width, area.top(), width, area.height())
                            : QRectF(area.left(), area.bottom() - height, width, height);
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.fillRect(box, theme_.background());
  p.setPen(QPen(theme_.line(), 1));
  p.drawLine(box.topLeft(), beside ? box.bottomLeft() : box.topRight());
  p.setClipRect(box, Qt::IntersectClip);
  p.translate(box.left() + kPad, box.top() + (beside ? kPad : 4));
  for (const Explained& e : all) explain(p, e);
  p.restore();
  return beside ? QMarginsF(0, 0, width, 0) : QMarginsF(0, 0, 0, height);
}

}  // namespace nautilus::gui
