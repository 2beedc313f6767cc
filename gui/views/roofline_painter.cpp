// Axes, grid and roofs of the roofline plot.
#include "gui/views/roofline_painter.h"

#include <algorithm>
#include <cmath>

#include "gui/views/quantity.h"
#include "gui/views/roofline_frame.h"
#include "gui/views/search_tree_painter.h"

namespace nautilus::gui {

QFont RooflinePainter::font(double pixels, bool bold) const {
  QFont f = theme_.ui();
  f.setPixelSize(static_cast<int>(std::lround(pixels)));
  f.setBold(bold);
  return f;
}

void RooflinePainter::paint(QPainter& p, const Viewport& v, const RooflineLook& look) {
  outside_ = {};
  badges_.clear();
  const QRectF world(v.to_world(look.plot.topLeft()), v.to_world(look.plot.bottomRight()));
  Frame f{p, v, look, world, {}};
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.save();
  p.setClipRect(look.plot, Qt::IntersectClip);
  shading(f);
  grid(f);
  roofs(f);
  cloud(f);
  labels(f);
  joins(f);
  arrows(f);
  hover_lines(f);
  path_key(f);
  p.restore();
  axes(f);
  edge_badges(f);
  p.restore();
}

void RooflinePainter::grid(Frame& f) {
  const double scale = f.view.scale;
  QVector<QLineF> major, minor;
  for (const LogTick& t : log_ticks(f.visible.left(), f.visible.right(), scale)) {
    const double x = f.view.to_screen({t.at, 0.0}).x();
    (t.decade ? major : minor).push_back({x, f.look.plot.top(), x, f.look.plot.bottom()});
  }
  for (const LogTick& t : log_ticks(-f.visible.bottom(), -f.visible.top(), scale)) {
    const double y = f.view.to_screen({0.0, -t.at}).y();
    (t.decade ? major : minor).push_back({f.look.plot.left(), y, f.look.plot.right(), y});
  }
  f.p.setRenderHint(QPainter::Antialiasing, false);
  f.p.setPen(QPen(mixed(theme_.line(), theme_.background(), 0.8), 1));
  if (scale > 90) f.p.drawLines(minor);
  f.p.setPen(QPen(mixed(theme_.line(), theme_.background(), 0.45), 1));
  f.p.drawLines(major);
  f.p.setRenderHint(QPainter::Antialiasing);
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
    const bool hovered = static_cast<int>(k) == f.look.hovered_roof;
    QColor ink = r.secondary() ? theme_.muted() : theme_.text();
    if (hovered) ink = theme_.accent();
    QPen pen(ink, hovered ? 2.6 : r.secondary() ? 1.1 : 1.7);
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

// On the line, along it: bandwidths from the lower left, arithmetic from the right.
void RooflinePainter::labels(Frame& f) {
  const QFont plain = font(11);
  f.p.setFont(plain);
  const QFontMetricsF m(plain);
  auto draw = [&](size_t k, const QString& text, QPointF at, double angle) {
    const double w = m.horizontalAdvance(text), h = m.height();
    QTransform t;
    t.translate(at.x(), at.y());
    t.rotate(angle);
    const QRectF box(-2, -h, w + 4, h);
    if (!f.take(t.map(QPolygonF(box)))) return false;
    f.p.save();
    f.p.setTransform(t, true);
    QColor halo = theme_.background();
    halo.setAlphaF(0.72F);
    f.p.fillRect(box.adjusted(0, 1, 0, 0), halo);
    const bool hovered = static_cast<int>(k) == f.look.hovered_roof;
    f.p.setPen(hovered                       ? theme_.accent()
               : f.look.roofs[k].secondary() ? theme_.muted()
                                             : theme_.text());
    f.p.drawText(QPointF(0, -m.descent()), text);
    f.p.restore();
    return true;
  };
  for (int pass = 0; pass < 2; ++pass)
    for (size_t k = 0; k < f.look.roofs.size(); ++k) {
      const Roof& r = f.look.roofs[k];
      const QLineF world = roof_line(f.look.roofs, k, f.visible);
      if (!r.shown || world.isNull() || r.secondary() != (pass == 1)) continue;
      const QLineF line(f.view.to_screen(world.p1()), f.view.to_screen(world.p2()));
      for (const QString& text : {r.label(), QString(r.name + u' ' + r.value_text())}) {
        const double w = m.horizontalAdvance(text);
        bool done = false;
        if (r.diagonal()) {
          const double along = std::sqrt(0.5);
          for (double d = 14; !done && d + w < line.length() - 4; d += 24) {
            const QPointF on = line.p1() + QPointF(d * along, -d * along);
            done = draw(k, text, on + QPointF(-3 * along, -3 * along), -45);
          }
        } else {
          for (double d = 8; !done && d + w < line.length() - 4; d += 40)
            for (double below : {-2.0, m.height() + 2, 2 * m.height() + 4})
              if (!done) done = draw(k, text, {line.p2().x() - d - w, line.p2().y() + below}, 0);
        }
        if (done) break;
      }
    }
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
  f.p.drawText(QRectF(-150, -10, 300, 20), Qt::AlignCenter, QStringLiteral("useful FLOP/s"));
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
