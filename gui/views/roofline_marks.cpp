// Candidates on the roofline plot: markers, joins of levels, the path of transforms.
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "gui/views/quantity.h"
#include "gui/views/roofline_frame.h"
#include "gui/views/search_tree_painter.h"

namespace nautilus::gui {
namespace {

constexpr double kMarker = 7, kCell = 3;  // pixels
constexpr size_t kStamps = 1500;          // more bins than that are painted as squares
constexpr int kJoined = 40;               // with no more candidates all have their levels joined

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
  return !c.measured ? Mark::Hollow : c.right ? Mark::Ringed : Mark::Wrong;
}

void RooflinePainter::marker(QPainter& p, QPointF at, int level, double size, const QColor& colour,
                             Mark mark) const {
  const QColor ground = theme_.background();
  const QColor ink = mark == Mark::Wrong ? theme_.bad() : colour;
  QColor inside = ground;
  inside.setAlphaF(0.55F);
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

QColor RooflinePainter::colour(const RooflineLook& look, const CloudPoint& c) const {
  QColor ink = theme_.muted();
  if (look.colour == ColourBy::State)
    ink = theme_.state(c.state);
  else if (c.family < kOtherFamilies && c.state == sched::NodeState::Complete)
    ink = theme_.series(c.family);
  return c.lit ? ink : mixed(ink, theme_.background(), 0.78);
}

// A picture of each kind of marker, painted once.
void RooflinePainter::stamp(Frame& f, const CloudPoint& c, double size) {
  const QPointF at = f.at(c);
  const QColor ink = colour(f.look, c);
  const Mark mark = mark_of(c);
  if (f.look.as_text) return marker(f.p, at, c.level, size, ink, mark);
  const double dpr = f.p.device()->devicePixelRatioF();
  const quint64 key = quint64(ink.rgb()) << 32 | quint64(c.level) << 24 | quint64(mark) << 20 |
                      quint64(std::lround(size * 8)) << 8 | quint64(std::lround(dpr * 4));
  auto found = stamps_.find(key);
  const int side = static_cast<int>(std::ceil(size * 1.5 + 12)) | 1;
  if (found == stamps_.end()) {
    QImage image(QSize(side, side) * dpr, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(dpr);
    image.fill(Qt::transparent);
    QPainter p(&image);
    p.setRenderHint(QPainter::Antialiasing);
    marker(p, QPointF(side, side) / 2, c.level, size, ink, mark);
    p.end();
    found = stamps_.insert(key, image);
  }
  f.p.drawImage(at - QPointF(side, side) / 2, *found);
}

// One point a cell of a few pixels: lit ones before dimmed ones, measured before predicted.
void RooflinePainter::cloud(Frame& f) {
  const QRectF& plot = f.look.plot;
  const int columns = static_cast<int>(plot.width() / kCell) + 1;
  const int rows = static_cast<int>(plot.height() / kCell) + 1;
  bin_of_.assign(static_cast<size_t>(columns) * rows, 0);
  std::vector<int> bins;
  const QPointF origin = f.view.to_screen(QPointF(0, 0)) - plot.topLeft();
  const auto scale = static_cast<float>(f.view.scale);
  const auto ox = static_cast<float>(origin.x()), oy = static_cast<float>(origin.y());
  const auto w = static_cast<float>(plot.width()), h = static_cast<float>(plot.height());
  const auto& points = f.look.cloud.points;
  for (size_t i = 0; i < points.size(); ++i) {
    const CloudPoint& c = points[i];
    if (!f.shows(c)) continue;
    const float x = c.x * scale + ox, y = c.y * scale + oy;
    if (c.suspicious && c.lit) ++outside_.suspicious;
    if (x < 0 || x > w || y < 0 || y > h) {
      if (c.lit)
        ++(x < 0   ? outside_.left
           : x > w ? outside_.right
           : y < 0 ? outside_.above
                   : outside_.below);
      continue;
    }
    const size_t cell = static_cast<size_t>(y / static_cast<float>(kCell)) * columns +
                        static_cast<size_t>(x / static_cast<float>(kCell));
    int& bin = bin_of_[cell];
    if (bin == 0) {
      bin = static_cast<int>(i) + 1;
      bins.push_back(static_cast<int>(cell));
      continue;
    }
    const CloudPoint& held = points[bin - 1];
    if (c.lit * 2 + c.measured > held.lit * 2 + held.measured) bin = static_cast<int>(i) + 1;
  }
  if (bins.size() > kStamps && !f.look.as_text) return dense(f, bins);
  const double size = bins.size() > 1500 ? kMarker - 2 : kMarker - 0.5;
  for (bool lit : {false, true})
    for (int cell : bins)
      if (const CloudPoint& c = points[bin_of_[cell] - 1]; c.lit == lit)
        stamp(f, c, c.state == sched::NodeState::Complete ? size : size - 2);
  for (const CloudPoint& c : points)
    if (c.suspicious && c.lit && f.shows(c) && f.visible.contains(c.x, c.y)) {
      f.p.setPen(QPen(theme_.warning(), 1.6));
      f.p.setBrush(Qt::NoBrush);
      const QPointF at = f.at(c);
      f.p.drawPolygon(QPolygonF{at + QPointF(0, -11), at + QPointF(10, 7), at + QPointF(-10, 7)});
    }
}

void RooflinePainter::dense(Frame& f, const std::vector<int>& bins) {
  const int columns = static_cast<int>(f.look.plot.width() / kCell) + 1;
  QHash<QRgb, QVector<QRectF>> lit, dim;
  std::array<QColor, 512> known;
  for (int cell : bins) {
    const CloudPoint& c = f.look.cloud.points[bin_of_[cell] - 1];
    const size_t key = size_t{c.lit} << 8 | size_t(c.family & 15) << 4 | (size_t(c.state) & 15);
    if (!known[key].isValid()) known[key] = colour(f.look, c);
    const QPointF at(f.look.plot.left() + (cell % columns) * kCell,
                     f.look.plot.top() + (cell / columns) * kCell);
    (c.lit ? lit : dim)[known[key].rgb()].push_back({at.x(), at.y(), kCell, kCell});
  }
  f.p.setRenderHint(QPainter::Antialiasing, false);
  f.p.setPen(Qt::NoPen);
  for (auto* batches : {&dim, &lit})
    for (auto it = batches->constBegin(); it != batches->constEnd(); ++it) {
      f.p.setBrush(QColor(it.key()));
      f.p.drawRects(it.value());
    }
  f.p.setRenderHint(QPainter::Antialiasing);
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
  if (cloud.first_point.size() <= kJoined)
    for (auto& [node, index] : cloud.first_point)
      if (cloud.points[index].lit) focus(f, node, 0);
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

// From stop to stop at the outermost level shown, curved to the left so that marks stay visible.
void RooflinePainter::arrows(Frame& f) {
  std::vector<QPointF> at;
  for (const PathStop& s : f.look.path) {
    auto [begin, end] = f.look.cloud.of(s.plan);
    const CloudPoint* c = begin;
    while (c != end && !f.shows(*c)) ++c;
    const bool there = c != end && (!f.look.as_text || f.visible.contains(c->x, c->y));
    at.push_back(there ? f.at(*c) : QPointF(NAN, NAN));
  }
  const QColor ink = theme_.series(3);
  for (size_t k = 0; k + 1 < at.size(); ++k) {
    const QLineF chord(at[k], at[k + 1]);
    if (!std::isfinite(chord.length()) || chord.length() < 12) continue;
    const QPointF unit = (chord.p2() - chord.p1()) / chord.length(), side(unit.y(), -unit.x());
    const QPointF from = chord.p1() + unit * 7, to = chord.p2() - unit * 9;
    const QPointF bow = (from + to) / 2 + side * std::min(28.0, chord.length() * 0.12);
    const QPointF back = (to - bow) / std::max(1e-9, QLineF(bow, to).length());
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
  f.p.setFont(font(10, true));
  for (size_t k = 0; k < at.size() && at.size() > 1; ++k) {
    if (!std::isfinite(at[k].x())) continue;
    const QPointF c = at[k] + QPointF(-11, 9);
    f.p.setPen(QPen(theme_.background(), 1));
    f.p.setBrush(ink);
    f.p.drawEllipse(c, 7.5, 7.5);
    f.p.setPen(ink_on(ink));
    f.p.drawText(QRectF(c.x() - 8, c.y() - 8, 16, 16), Qt::AlignCenter, QString::number(k));
  }
}

// Above the roofs nothing can be, so the path's decisions are listed there.
void RooflinePainter::path_key(Frame& f) {
  const auto& path = f.look.path;
  if (path.size() < 2 || f.look.plot.width() < 380) return;
  f.p.setFont(font(11));
  const QFontMetricsF m(f.p.font());
  const double width = std::min(360.0, f.look.plot.width() * 0.5), row = 16;
  const size_t n = std::min<size_t>(path.size(), 9);
  const QPointF corner = f.look.plot.topLeft() + QPointF(8, 8);
  const QRectF box(corner, QSizeF(width, row * static_cast<double>(n + 1) + 8));
  if (box.height() > f.look.plot.height() * 0.6) return;
  QColor ground = theme_.background();
  ground.setAlphaF(0.85F);
  f.p.setPen(QPen(theme_.line(), 1));
  f.p.setBrush(ground);
  f.p.drawRoundedRect(box, 4, 4);
  f.p.setPen(theme_.muted());
  f.p.drawText(QRectF(box.left() + 8, box.top() + 4, width - 16, row), Qt::AlignVCenter,
               m.elidedText(QStringLiteral("best plan without the next decision"), Qt::ElideRight,
                            width - 16));
  for (size_t k = 0; k < n; ++k) {
    const double y = box.top() + 4 + row * static_cast<double>(k + 1);
    const sched::SearchNode* at = f.look.document.node(path[k].node);
    const sched::SearchNode* plan = f.look.document.node(path[k].plan);
    if (!at || !plan) continue;
    const QColor ink = theme_.series(3);
    f.p.setPen(Qt::NoPen);
    f.p.setBrush(ink);
    f.p.drawEllipse(QPointF(box.left() + 14, y + row / 2), 6.5, 6.5);
    f.p.setPen(ink_on(ink));
    f.p.setFont(font(9, true));
    f.p.drawText(QRectF(box.left() + 6, y, 16, row), Qt::AlignCenter, QString::number(k));
    f.p.setFont(font(11));
    f.p.setPen(theme_.text());
    const QString time = seconds_text(plan->seconds);
    const double tw = m.horizontalAdvance(time);
    f.p.drawText(QRectF(box.right() - 8 - tw, y, tw + 2, row), Qt::AlignVCenter, time);
    f.p.drawText(
        QRectF(box.left() + 26, y, width, row), Qt::AlignVCenter,
        m.elidedText(QString::fromStdString(at->decision), Qt::ElideRight, width - 44 - tw));
  }
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
