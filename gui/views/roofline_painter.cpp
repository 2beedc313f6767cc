// Axes, grid and roofs of the roofline plot.
#include "gui/views/roofline_painter.h"

#include <algorithm>
#include <cmath>

#include "gui/models/quantity.h"
#include "gui/views/roofline_frame.h"

namespace nautilus::gui {

constexpr double kCloseRoofs = 7;  // pixels: one label above them, one below

QFont RooflinePainter::font(double pixels, bool bold) const {
  QFont f = theme_.ui();
  f.setPixelSize(static_cast<int>(std::lround(pixels)));
  f.setBold(bold);
  return f;
}

void RooflinePainter::paint(QPainter& p, const Viewport& v, const RooflineLook& look) {
  paint_base(p, v, look);
  paint_marks(p, v, look);
}

RooflinePainter::Frame RooflinePainter::begin(QPainter& p, const Viewport& v,
                                              const RooflineLook& look) const {
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.setClipRect(look.plot, Qt::IntersectClip);
  return {p, v, look, {v.to_world(look.plot.topLeft()), v.to_world(look.plot.bottomRight())}};
}

void RooflinePainter::paint_base(QPainter& p, const Viewport& v, const RooflineLook& look) {
  outside_ = {};
  Frame f = begin(p, v, look);
  shading(f);
  grid(f);
  roofs(f);
  cloud(f);
  labels(f);
  taken_ = f.taken;
  p.restore();
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  axes(f);
  p.restore();
}

void RooflinePainter::paint_marks(QPainter& p, const Viewport& v, const RooflineLook& look) {
  badges_.clear();
  Frame f = begin(p, v, look);
  f.taken = taken_;
  hovered_roof(f);
  joins(f);
  arrows(f);
  hover_lines(f);
  path_key(f);
  p.restore();
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  edge_badges(f);
  p.restore();
}

void RooflinePainter::grid(Frame& f) {
  const double scale = f.view.scale;
  const QRectF& plot = f.look.plot;
  const QColor major = mixed(theme_.line(), theme_.background(), 0.45);
  const QColor minor = mixed(theme_.line(), theme_.background(), 0.8);
  for (bool decades : {false, true}) {
    if (!decades && scale <= 90) continue;
    const QColor& ink = decades ? major : minor;
    for (const LogTick& t : log_ticks(f.visible.left(), f.visible.right(), scale))
      if (t.decade == decades)
        f.p.fillRect(
            QRectF(std::round(f.view.to_screen({t.at, 0.0}).x()), plot.top(), 1, plot.height()),
            ink);
    for (const LogTick& t : log_ticks(-f.visible.bottom(), -f.visible.top(), scale))
      if (t.decade == decades)
        f.p.fillRect(
            QRectF(plot.left(), std::round(f.view.to_screen({0.0, -t.at}).y()), plot.width(), 1),
            ink);
  }
}

// Above the fastest memory and the highest arithmetic roof nothing can be.
void RooflinePainter::shading(Frame& f) {
  double memory = 0, arithmetic = 0;
  for (const Roof& r : f.look.roofs) {
    if (!r.shown) continue;
    double& most = r.diagonal() ? memory : arithmetic;
    most = std::max(most, r.value);
  }
  if (memory <= 0 || arithmetic <= 0) return;
  const double top = -std::log10(arithmetic), ridge = -top - std::log10(memory);
  const QRectF& w = f.visible;
  QPolygonF beyond;
  for (QPointF c : {QPointF(w.left() - 1, w.top() - 1), QPointF(w.right() + 1, w.top() - 1),
                    QPointF(w.right() + 1, top), QPointF(ridge, top),
                    QPointF(w.left() - 1, -std::log10(memory) - w.left() + 1)})
    beyond << f.view.to_screen(c);
  f.p.setPen(Qt::NoPen);
  f.p.setBrush(mixed(theme_.surface(), theme_.background(), 0.25));
  f.p.drawPolygon(beyond.intersected(QPolygonF(f.look.plot)));
}

void RooflinePainter::roofs(Frame& f) {
  for (size_t k = 0; k < f.look.roofs.size(); ++k) {
    const Roof& r = f.look.roofs[k];
    const QLineF world = roof_line(f.look.roofs, k, f.visible);
    if (!r.shown || world.isNull()) continue;
    QPen pen(r.secondary() ? theme_.muted() : theme_.text(), r.secondary() ? 1.1 : 1.7);
    if (r.secondary()) pen.setDashPattern({5, 3});
    if (r.kind == Roof::Kind::Special) pen.setDashPattern({1.5, 2.5});
    f.p.setPen(pen);
    f.p.drawLine(QLineF(f.view.to_screen(world.p1()), f.view.to_screen(world.p2())));
  }
  f.p.setPen(QPen(theme_.background(), 1.2));
  f.p.setBrush(theme_.text());
  for (const Ridge& r : ridges_of(f.look.roofs))
    if (f.visible.contains(r.world)) f.p.drawEllipse(f.view.to_screen(r.world), 3.2, 3.2);
}

void RooflinePainter::hovered_roof(Frame& f) {
  const int k = f.look.hovered_roof;
  if (k < 0 || k >= static_cast<int>(f.look.roofs.size())) return;
  const QLineF world = roof_line(f.look.roofs, k, f.visible);
  if (world.isNull()) return;
  f.p.setPen(QPen(theme_.accent(), 2.6));
  f.p.drawLine(QLineF(f.view.to_screen(world.p1()), f.view.to_screen(world.p2())));
}

// Along the line: bandwidths from the lower left, the slowest one below its line; arithmetic from
// the right. Whole labels first, then without the source, where there is room.
void RooflinePainter::labels(Frame& f) {
  for (uint32_t cell : bins_) {
    const QPointF at = f.at(f.look.cloud.points[(bin_of_[cell] & kPoint) - 1]);
    if (f.look.plot.contains(at)) f.dotted.insert(f.square(at));
  }
  for (bool secondary : {false, true})
    for (size_t k = 0; k < f.look.roofs.size(); ++k) {
      const Roof& r = f.look.roofs[k];
      const QLineF world = roof_line(f.look.roofs, k, f.visible);
      if (!r.shown || world.isNull() || r.secondary() != secondary) continue;
      const QLineF line(f.view.to_screen(world.p1()), f.view.to_screen(world.p2()));
      const QStringList texts{r.label(), r.name + u' ' + r.value_text(), r.name};
      const auto placed = [&](const QString& text) {
        return r.diagonal() ? label_diagonal(f, k, text, line) : label_flat(f, k, text, line);
      };
      // Rather without the source than over points or another roof; flat ones rather by their name
      // alone, for they have one beside them that the label would hide.
      f.choosy = true;
      if (std::any_of(texts.begin(), texts.end() - (r.diagonal() ? 1 : 0), placed)) continue;
      f.choosy = false;
      if (secondary) continue;  // its line is named where it has room, and under the mouse
      (void)std::any_of(texts.begin(), texts.end(), placed);
    }
}

// Whether no point and no other roof is there.
bool RooflinePainter::clear(const Frame& f, size_t k, const QPolygonF& place) const {
  const QPointF along = place[1] - place[0], across = place[3] - place[0];
  const double length = QLineF(place[0], place[1]).length(),
               height = QLineF(place[0], place[3]).length();
  for (double x = 0; x <= length; x += Frame::kSquare)
    for (double y = 0; y <= height; y += Frame::kSquare)
      if (f.dotted.contains(f.square(place[0] + along * (x / length) + across * (y / height))))
        return false;
  for (size_t other = 0; other < f.look.roofs.size(); ++other) {
    const QLineF world = roof_line(f.look.roofs, other, f.visible);
    if (other == k || !f.look.roofs[other].shown || world.isNull()) continue;
    const QLineF line(f.view.to_screen(world.p1()), f.view.to_screen(world.p2()));
    for (int side = 0; side < 4; ++side)
      if (line.intersects(QLineF(place[side], place[(side + 1) % 4]), nullptr) ==
          QLineF::BoundedIntersection)
        return false;
  }
  return true;
}

bool RooflinePainter::label_diagonal(Frame& f, size_t k, const QString& text, const QLineF& line) {
  const QFontMetricsF m(font(11));
  const Roof& r = f.look.roofs[k];
  bool slowest = true, fastest = true;
  for (const Roof& other : f.look.roofs)
    if (other.shown && other.diagonal()) {
      slowest = slowest && other.value >= r.value;
      fastest = fastest && other.value <= r.value;
    }
  const double along = std::sqrt(0.5), w = m.horizontalAdvance(text);
  const double off = slowest && !fastest ? m.height() + 1 : 0;
  for (double d = 14; d + w < line.length() - 4; d += 18) {
    const QPointF on = line.p1() + QPointF(d * along, -d * along);
    if (label(f, k, text, on + QPointF(off * along, off * along), -45)) return true;
  }
  return false;
}

bool RooflinePainter::label_flat(Frame& f, size_t k, const QString& text, const QLineF& line) {
  const QFontMetricsF m(font(11));
  const double w = m.horizontalAdvance(text), h = m.height();
  // Above the line, below it, or below one that is close to it; below another it would be that
  // one's.
  double lowest = 3 * h;
  for (const Roof& r : f.look.roofs) {
    const double y = f.view.to_screen({0.0, -std::log10(r.value)}).y() - line.p2().y();
    if (r.shown && !r.diagonal() && r.value > 0 && y > kCloseRoofs) lowest = std::min(lowest, y);
  }
  for (double below = -1; below < lowest; below = below < 0 ? h + 1 : below + 4)
    for (double d = 8; d + w < line.length() - 4; d += 24)
      if (label(f, k, text, {line.p2().x() - d - w, line.p2().y() + below}, 0)) return true;
  return false;
}

// With the left end of its baseline at `at`, unless another label is there.
bool RooflinePainter::label(Frame& f, size_t k, const QString& text, QPointF at, double angle) {
  f.p.setFont(font(11));
  const QFontMetricsF m(f.p.font());
  const double w = m.horizontalAdvance(text), h = m.height();
  QTransform t;
  t.translate(at.x(), at.y());
  t.rotate(angle);
  const QRectF box(-2, -h, w + 4, h);
  const QPolygonF place = t.map(QPolygonF(box));
  if (!f.look.plot.contains(place.boundingRect()) || (f.choosy && !clear(f, k, place)) ||
      !f.take(place))
    return false;
  f.p.save();
  f.p.setTransform(t, true);
  const QColor halo = faded(theme_.background(), 0.72);
  const double cap = m.capHeight();  // no more than the text, for other roofs may be close
  f.p.fillRect(QRectF(-2, -m.descent() - cap - 1, w + 4, cap + 3), halo);
  f.p.setPen(f.look.roofs[k].secondary() ? theme_.muted() : theme_.text());
  f.p.drawText(QPointF(0, -m.descent()), text);
  f.p.restore();
  return true;
}

void RooflinePainter::axes(Frame& f) {
  const QRectF& plot = f.look.plot;
  f.p.setPen(QPen(theme_.muted(), 1.2));
  f.p.setBrush(Qt::NoBrush);
  f.p.drawRect(plot);
  f.p.setFont(font(11));
  const QFontMetricsF m(f.p.font());
  f.p.setPen(theme_.text());
  double last = -1e9;
  for (const LogTick& t : log_ticks(f.visible.left(), f.visible.right(), f.view.scale)) {
    const double x = f.view.to_screen({t.at, 0.0}).x();
    f.p.drawLine(QPointF(x, plot.bottom()), QPointF(x, plot.bottom() + (t.decade ? 5 : 3)));
    const QString s = t.value >= 1 && t.value < 1000   ? QString::number(t.value)
                      : t.value >= 1e-3 && t.value < 1 ? QString::number(t.value)
                                                       : si(t.value, {}, 1);
    const double w = m.horizontalAdvance(s);
    if (!t.labelled || x - w / 2 < last) continue;
    last = x + w / 2 + 8;
    f.p.drawText(QPointF(x - w / 2, plot.bottom() + 6 + m.ascent()), s);
  }
  double lowest = 1e9;
  for (const LogTick& t : log_ticks(-f.visible.bottom(), -f.visible.top(), f.view.scale)) {
    const double y = f.view.to_screen({0.0, -t.at}).y();
    f.p.drawLine(QPointF(plot.left() - (t.decade ? 5 : 3), y), QPointF(plot.left(), y));
    if (!t.labelled || y > lowest) continue;
    lowest = y - m.height();
    const QString s = si(t.value, {}, 1);
    f.p.drawText(QPointF(plot.left() - 8 - m.horizontalAdvance(s), y + m.ascent() / 2 - 1), s);
  }
  f.p.setFont(font(12));
  const QFontMetricsF big(f.p.font());
  const QString x_title =
      plot.width() > 420
          ? QStringLiteral("arithmetic intensity (useful FLOP a byte moved at the level)")
          : QStringLiteral("intensity (FLOP/byte)");
  f.p.drawText(QRectF(plot.left() - 60, plot.bottom() + 20, plot.width() + 120, 20),
               Qt::AlignCenter, x_title);
  f.p.save();
  f.p.translate(plot.left() - 46, plot.center().y());
  f.p.rotate(-90);
  const QString y_title = QStringLiteral("useful FLOP/s");
  f.p.drawText(
      QRectF(-150, -10, 300, 20), Qt::AlignCenter,
      big.horizontalAdvance(y_title) < plot.height() + 20 ? y_title : QStringLiteral("FLOP/s"));
  f.p.restore();
}

void RooflinePainter::edge_badges(Frame& f) {
  const QRectF plot = f.look.plot.adjusted(4, 4, -4, -4);
  f.p.setFont(font(11, true));
  const QFontMetricsF m(f.p.font());
  auto chip = [&](char side, int count, const QString& arrow, Qt::Alignment where,
                  const QColor& c) {
    if (count == 0) return;
    const QString text = arrow + u' ' + count_text(count);
    QRectF box(0, 0, m.horizontalAdvance(text) + 14, m.height() + 4);
    QPointF at = plot.center() - QPointF(box.width() / 2, box.height() / 2);
    if (where & Qt::AlignLeft) at.setX(plot.left());
    if (where & Qt::AlignRight) at.setX(plot.right() - box.width());
    if (where & Qt::AlignTop) at.setY(plot.top());
    if (where & Qt::AlignBottom) at.setY(plot.bottom() - box.height());
    box.moveTopLeft(at);
    f.p.setPen(QPen(c, 1.2));
    f.p.setBrush(theme_.surface());
    f.p.drawRoundedRect(box, box.height() / 2, box.height() / 2);
    f.p.setPen(theme_.text());
    f.p.drawText(box, Qt::AlignCenter, text);
    badges_[side] = box;
  };
  const QColor ink = theme_.muted();
  chip('l', outside_.left, QStringLiteral("\u25c2"), Qt::AlignLeft, ink);
  chip('r', outside_.right, QStringLiteral("\u25b8"), Qt::AlignRight, ink);
  chip('a', outside_.above, QStringLiteral("\u25b4"), Qt::AlignTop, ink);
  chip('b', outside_.below, QStringLiteral("\u25be"), Qt::AlignBottom, ink);
  chip('!', outside_.suspicious, QStringLiteral("\u26a0 above a roof:"),
       Qt::AlignTop | Qt::AlignRight, theme_.warning());
}

}  // namespace nautilus::gui
