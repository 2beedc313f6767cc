// Candidates that stand out on the roofline plot: markers, joins of levels, the path of transforms.
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "gui/models/quantity.h"
#include "gui/views/roofline_frame.h"

namespace nautilus::gui {
namespace {

constexpr double kMarker = 7;  // pixels
constexpr int kJoined = 40;    // with no more candidates all have their levels joined

QPainterPath shape_of(int level, QPointF c, double size) {
  const double r = size / 2;
  QPainterPath path;
  switch (level % 4) {
    case 0:
      path.addEllipse(c, r, r);
      break;
    case 1:
      path.addRect(QRectF(c.x() - r * 0.9, c.y() - r * 0.9, r * 1.8, r * 1.8));
      break;
    case 2:
      path.addPolygon(QPolygonF{c + QPointF(0, -r * 1.25), c + QPointF(r * 1.25, 0),
                                c + QPointF(0, r * 1.25), c + QPointF(-r * 1.25, 0)});
      path.closeSubpath();
      break;
    default:
      path.addPolygon(QPolygonF{c + QPointF(0, -r * 1.15), c + QPointF(r * 1.15, r * 0.85),
                                c + QPointF(-r * 1.15, r * 0.85)});
      path.closeSubpath();
  }
  return path;
}

}  // namespace

RooflinePainter::Mark mark_of(const CloudPoint& c) {
  using Mark = RooflinePainter::Mark;
  return !c.measured ? Mark::Hollow : c.right ? Mark::Ringed : c.wrong ? Mark::Wrong : Mark::Filled;
}

void RooflinePainter::marker(QPainter& p, QPointF at, int level, double size, const QColor& colour,
                             Mark mark) const {
  const QColor ground = theme_.background();
  const QColor ink = mark == Mark::Wrong ? theme_.bad() : colour;
  const QColor inside = faded(ground, 0.55);
  p.setPen(QPen(ink, std::max(1.3, size / 5.5)));
  p.setBrush(mark == Mark::Hollow ? inside : ink);
  p.drawPath(shape_of(level, at, size));
  if (mark == Mark::Ringed) {
    p.setBrush(Qt::NoBrush);
    p.setPen(QPen(ink, std::max(1.2, size / 7)));
    p.drawEllipse(at, size * 0.5 + 3.2, size * 0.5 + 3.2);
  } else if (mark == Mark::Wrong) {
    const double r = size * 0.75;
    p.setPen(QPen(ground, 1.4));
    p.drawLine(at + QPointF(-r, -r), at + QPointF(r, r));
    p.drawLine(at + QPointF(-r, r), at + QPointF(r, -r));
  }
}

// The levels of one candidate, joined: the distance between them is the reuse.
void RooflinePainter::focus(Frame& f, int node, double size) {
  auto [begin, end] = f.look.cloud.of(node);
  const CloudPoint *first = nullptr, *last = nullptr;
  for (const CloudPoint* c = begin; c != end; ++c) {
    if (!f.shows(*c)) continue;
    if (!first || c->x < first->x) first = c;
    if (!last || c->x > last->x) last = c;
  }
  if (!first || (f.look.as_text && !f.visible.contains(first->x, first->y))) return;
  CloudPoint lit = *first;
  lit.lit = true;
  const QColor ink = node == f.look.best ? theme_.accent() : colour(f.look, lit);
  f.p.setPen(QPen(ink, size > kMarker ? 1.8 : 1.0));
  f.p.drawLine(f.at(*first), f.at(*last));
  if (size <= 0) return;
  for (const CloudPoint* c = begin; c != end; ++c) {
    if (!f.shows(*c)) continue;
    if (c->measured && std::abs(c->predicted_y - c->y) > 1e-4F) {
      const QPointF was = f.view.to_screen({c->x, c->predicted_y});
      f.p.setPen(QPen(ink, 1.2, Qt::DotLine));
      f.p.drawLine(was, f.at(*c));
      marker(f.p, was, c->level, kMarker, ink, Mark::Hollow);
    }
    if (node == f.look.selection.now().node) {
      f.p.setPen(QPen(theme_.text(), 1.6));
      f.p.setBrush(theme_.selection());
      f.p.drawEllipse(f.at(*c), size * 0.5 + 5.5, size * 0.5 + 5.5);
    }
    marker(f.p, f.at(*c), c->level, size, ink, mark_of(*c));
  }
}

void RooflinePainter::joins(Frame& f) {
  const auto& cloud = f.look.cloud;
  if (cloud.candidates <= kJoined) {
    int last = -1;
    for (const CloudPoint& c : cloud.points)
      if (c.node != last && c.lit) focus(f, last = c.node, 0);
  }
  int drawn = 0;
  for (int node : f.look.selection.now().isolated)
    if (++drawn <= 50) focus(f, node, kMarker + 1);
  for (int node : f.look.document.pins()) focus(f, node, kMarker + 1);
  if (f.look.best >= 0) focus(f, f.look.best, kMarker + 3);
  const int selected = f.look.selection.now().node;
  if (selected >= 0) focus(f, selected, kMarker + 3);
  const int hovered = f.look.selection.hovered();
  if (hovered >= 0 && hovered != selected) focus(f, hovered, kMarker + 2);
  auto [begin, end] = cloud.of(f.look.best);
  for (const CloudPoint* c = begin; c != end; ++c)
    if (f.shows(*c) && f.visible.contains(c->x, c->y)) {
      f.p.setFont(font(14, true));
      f.p.setPen(theme_.accent());
      f.p.drawText(f.at(*c) + QPointF(-6, -9), QStringLiteral("\u2605"));
      break;
    }
}

// From stop to stop at the outermost level shown.
void RooflinePainter::arrows(Frame& f) {
  std::vector<QPointF> at;
  for (const PathStop& s : f.look.path) {
    auto [begin, end] = f.look.cloud.of(s.plan);
    const CloudPoint* c = begin;
    while (c != end && !f.shows(*c)) ++c;
    const bool there = c != end && (!f.look.as_text || f.visible.contains(c->x, c->y));
    at.push_back(there ? f.at(*c) : QPointF(NAN, NAN));
  }
  for (size_t k = 0; k + 1 < at.size(); ++k) arrow(f, {at[k], at[k + 1]});
  if (at.size() > 1) numbers(f, at);
}

// Curved to the left, so that marks stay visible.
void RooflinePainter::arrow(Frame& f, const QLineF& chord) {
  if (!std::isfinite(chord.length()) || chord.length() < 12) return;
  const QPointF unit = (chord.p2() - chord.p1()) / chord.length(), side(unit.y(), -unit.x());
  const QPointF from = chord.p1() + unit * 7, to = chord.p2() - unit * 9;
  const QPointF bow = (from + to) / 2 + side * std::min(28.0, chord.length() * 0.12);
  const QPointF back = (to - bow) / std::max(1e-9, QLineF(bow, to).length());
  const QColor ink = theme_.series(3);
  QPainterPath path(from);
  path.quadTo(bow, to - back * 6);
  f.p.setBrush(Qt::NoBrush);
  f.p.setPen(QPen(theme_.background(), 4.5));
  f.p.drawPath(path);
  f.p.setPen(QPen(ink, 2.2));
  f.p.drawPath(path);
  const QPointF wing(-back.y(), back.x());
  f.p.setPen(Qt::NoPen);
  f.p.setBrush(ink);
  f.p.drawPolygon(QPolygonF{to, to - back * 10 + wing * 4.5, to - back * 10 - wing * 4.5});
}

// A number beside each stop, where no other number and no label is; farther ones with a line to it.
void RooflinePainter::numbers(Frame& f, const std::vector<QPointF>& stops) {
  const QColor ink = theme_.series(3);
  for (const QPointF& s : stops)
    if (std::isfinite(s.x())) f.taken.push_back(QRectF(s - QPointF(5, 5), QSizeF(10, 10)));
  f.p.setFont(font(10, true));
  for (size_t k = 0; k < stops.size(); ++k) {
    if (!std::isfinite(stops[k].x()) || !f.look.plot.contains(stops[k])) continue;
    QPointF c = stops[k] + QPointF(-11, 9);
    bool placed = false;
    for (double away = 15; away < 60 && !placed; away += 11)
      for (double angle : {2.4, 0.75, -0.75, -2.4, 1.57, -1.57, 3.14, 0.0}) {
        const QPointF there = stops[k] + away * QPointF(std::cos(angle), std::sin(angle));
        const QRectF box(there - QPointF(8, 8), QSizeF(16, 16));
        if (!f.look.plot.contains(box) || !f.take(box)) continue;
        c = there;
        placed = true;
        break;
      }
    if (QLineF(c, stops[k]).length() > 20) {
      f.p.setPen(QPen(ink, 1));
      f.p.drawLine(c, stops[k]);
    }
    f.p.setPen(QPen(theme_.background(), 1));
    f.p.setBrush(ink);
    f.p.drawEllipse(c, 7.5, 7.5);
    f.p.setPen(ink_on(ink));
    f.p.drawText(QRectF(c.x() - 8, c.y() - 8, 16, 16), Qt::AlignCenter, QString::number(k));
  }
}

// Above the roofs nothing can be: a box in the upper left corner whose lower right one is there.
QRectF RooflinePainter::key_box(const Frame& f, size_t rows) const {
  const double height = 16 * static_cast<double>(rows + 1) + 8;
  double bandwidth = 0;
  for (const Roof& r : f.look.roofs)
    if (r.shown && r.diagonal()) bandwidth = std::max(bandwidth, r.value);
  for (double width = 360; width >= 180; width -= 15) {
    const QRectF box(f.look.plot.topLeft() + QPointF(8, 8), QSizeF(width, height));
    const QPointF corner = f.view.to_world(box.bottomRight());
    if (f.look.plot.contains(box) && bandwidth > 0 &&
        -corner.y() > std::log10(bandwidth) + corner.x())
      return box;
  }
  return {};
}

// What the numbers of the path are.
void RooflinePainter::path_key(Frame& f) {
  const auto& path = f.look.path;
  const double row = 16;
  size_t n = std::min<size_t>(path.size(), 9);
  QRectF box = key_box(f, n);
  while (box.isNull() && n > 2) box = key_box(f, --n);
  if (path.size() < 2 || box.isNull()) return;
  f.p.setFont(font(11));
  const QFontMetricsF m(f.p.font());
  const double width = box.width();
  const QColor ground = faded(theme_.background(), 0.85);
  f.p.setPen(QPen(theme_.line(), 1));
  f.p.setBrush(ground);
  f.p.drawRoundedRect(box, 4, 4);
  f.p.setPen(theme_.muted());
  QString title = QStringLiteral("best plan without the next decision");
  if (n < path.size())
    title = QStringLiteral("the first %1 of %2 decisions").arg(n).arg(path.size());
  f.p.drawText(QRectF(box.left() + 8, box.top() + 4, width - 16, row), Qt::AlignVCenter,
               m.elidedText(title, Qt::ElideRight, width - 16));
  for (size_t k = 0; k < n; ++k)
    key_row(f, k, {box.left(), box.top() + 4 + row * static_cast<double>(k + 1), width, row});
}

void RooflinePainter::key_row(Frame& f, size_t k, const QRectF& r) {
  const sched::SearchNode* at = f.look.document.node(f.look.path[k].node);
  const sched::SearchNode* plan = f.look.document.node(f.look.path[k].plan);
  if (!at || !plan) return;
  const QColor ink = theme_.series(3);
  f.p.setPen(Qt::NoPen);
  f.p.setBrush(ink);
  f.p.drawEllipse(QPointF(r.left() + 14, r.center().y()), 6.5, 6.5);
  f.p.setPen(ink_on(ink));
  f.p.setFont(font(9, true));
  f.p.drawText(QRectF(r.left() + 6, r.top(), 16, r.height()), Qt::AlignCenter, QString::number(k));
  f.p.setFont(font(11));
  f.p.setPen(theme_.text());
  const QFontMetricsF m(f.p.font());
  const QString time = seconds_text(plan->seconds);
  const double tw = m.horizontalAdvance(time);
  f.p.drawText(QRectF(r.right() - 8 - tw, r.top(), tw + 2, r.height()), Qt::AlignVCenter, time);
  f.p.drawText(
      QRectF(r.left() + 26, r.top(), r.width(), r.height()), Qt::AlignVCenter,
      m.elidedText(QString::fromStdString(at->decision), Qt::ElideRight, r.width() - 44 - tw));
}

// From the point under the mouse up to its roof, and the roof of its mix of units.
void RooflinePainter::hover_lines(Frame& f) {
  if (f.look.hovered < 0 || f.look.hovered >= static_cast<int>(f.look.cloud.points.size())) return;
  const CloudPoint& c = f.look.cloud.points[f.look.hovered];
  const sched::SearchNode* n = f.look.document.node(c.node);
  if (!n) return;
  for (const sched::RooflinePoint& r : n->points) {
    if (r.level != f.look.cloud.levels[c.level] || r.roof <= 0) continue;
    const QPointF roof = f.view.to_screen({c.x, -std::log10(r.roof)});
    f.p.setPen(QPen(theme_.accent(), 1.4, Qt::DotLine));
    f.p.drawLine(f.at(c), roof);
    f.p.setPen(QPen(theme_.accent(), 2));
    f.p.drawLine(roof + QPointF(-14, 0), roof + QPointF(14, 0));
  }
}

}  // namespace nautilus::gui
