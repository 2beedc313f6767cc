// How an iteration scene is painted.
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "gui/views/iteration_scene.h"

namespace nautilus::gui {
namespace {

constexpr double kCellDotsFrom = 0.35, kKeptArrowsFrom = 0.45;  // scales

// Every 1, 2, 5, 10, ... so that labels do not touch.
int64_t label_stride(double cell_pixels, double label_pixels) {
  int64_t stride = 1;
  for (int k = 0; static_cast<double>(stride) * cell_pixels < label_pixels && k < 18; ++k)
    stride = k % 3 == 1 ? stride / 2 * 5 : stride * 2;
  return stride;
}

// A bow with a head that ends at the rims of the two cells; its middle. Long ones bend, so that
// arrows along one row do not lie on each other.
QPointF paint_dependence(QPainter& p, QPointF from, QPointF to, double head) {
  const QPointF d = to - from;
  const double length = std::hypot(d.x(), d.y());
  if (length < 1) return from;
  const QPointF u = d / length, side(u.y(), -u.x());
  const double bend = length < 1.5 * IterationScene::kCell
                          ? 0
                          : std::min(0.14 * length, 1.5 * IterationScene::kCell);
  const QPointF bent = (from + to) / 2 + side * bend;
  auto towards = [](QPointF a, QPointF b) {
    const QPointF way = b - a;
    return way / std::max(1e-9, std::hypot(way.x(), way.y()));
  };
  const double rim = std::min(9.0, length / 4);
  const QPointF out = towards(from, bent), in = towards(bent, to), n(-in.y(), in.x());
  const QPointF a = from + out * rim, b = to - in * rim, stem = b - in * head * 0.6;
  QPainterPath path(a);
  path.quadTo(bent, stem);
  p.setBrush(Qt::NoBrush);
  p.drawPath(path);
  const QPointF tip[3] = {b, b - in * head + n * head * 0.5, b - in * head - n * head * 0.5};
  const QPen pen = p.pen();
  p.setPen(Qt::NoPen);
  p.setBrush(pen.color());
  p.drawPolygon(tip, 3);
  p.setPen(pen);
  return (a + 2 * bent + stem) / 4;
}

}  // namespace

void IterationScene::paint_axes(QPainter& p, const Theme& theme, const Panel& panel,
                                double scale) const {
  const IterStatement& s = picture_.statements[static_cast<size_t>(panel.statement)];
  auto name = [&](int dim) {
    return dim < 0 ? QString() : QString::fromStdString(s.dims[static_cast<size_t>(dim)]);
  };
  QFont font = theme.ui();
  font.setPixelSize(11);
  p.setFont(font);
  p.setPen(theme.muted());
  const QRectF& g = panel.grid;
  // Arrows pass behind the numbers, and leave some room around them.
  const auto number = [&](const QRectF& at, int how, int64_t k) {
    const QString text = QString::number(k);
    p.fillRect(p.boundingRect(at, how, text).adjusted(-2, 0, 2, 0), theme.background());
    p.drawText(at, how, text);
  };
  if (panel.choice.x >= 0) {
    const int64_t stride = label_stride(kCell * scale, 26);
    for (int64_t k = 0; k < panel.columns; k += stride)
      number(QRectF(g.left() + static_cast<double>(k) * kCell - kCell, g.top() - 18, 3 * kCell, 16),
             Qt::AlignHCenter | Qt::AlignBottom, panel.x0 + k);
  }
  if (panel.choice.y >= 0) {
    const int64_t stride = label_stride(kCell * scale, 16);
    for (int64_t k = 0; k < panel.rows; k += stride)
      number(QRectF(g.left() - 44, g.top() + static_cast<double>(k) * kCell, 38, kCell),
             Qt::AlignRight | Qt::AlignVCenter, panel.y0 + k);
  }
  font.setItalic(true);
  p.setFont(font);
  if (panel.choice.x >= 0)
    p.drawText(QRectF(g.right() - 60, g.bottom() + 2, 60, 16), Qt::AlignRight | Qt::AlignTop,
               name(panel.choice.x) + QStringLiteral(" →"));
  if (panel.choice.y >= 0)
    p.drawText(QRectF(g.left() - 44, g.bottom() + 2, 60, 16), Qt::AlignLeft | Qt::AlignTop,
               name(panel.choice.y) + QStringLiteral(" ↓"));
  font.setItalic(false);
  font.setBold(true);
  font.setPixelSize(13);
  p.setFont(font);
  p.setPen(theme.series(panel.statement * 2));
  p.drawText(QRectF(g.left(), g.top() - 40, std::max(g.width(), 200.0), 18),
             Qt::AlignLeft | Qt::AlignVCenter, QString::fromStdString(s.name));
}

void IterationScene::paint_cell(QPainter& p, const Theme& theme, const std::vector<int>& points,
                                QRectF cell, QColor colour, double scale,
                                const SceneState& state) const {
  p.fillRect(cell.adjusted(0.5, 0.5, -0.5, -0.5), theme.background());
  size_t done = 0, now = 0;
  for (int k : points) {
    const int step = steps_[static_cast<size_t>(k)];
    if (state.step < 0 || step < state.step) ++done;
    if (step == state.step) ++now;
  }
  if (scale < kCellDotsFrom) {
    if (now) return p.fillRect(cell, theme.accent());
    QColor c = colour;
    c.setAlphaF(done ? 0.35 + 0.5 * static_cast<float>(done) / static_cast<float>(points.size())
                     : 0.12f);
    return p.fillRect(cell, c);
  }
  const QPointF c = cell.center();
  p.setPen(QPen(colour, 1.2));
  if (done == points.size()) {
    p.setBrush(colour);
    p.drawEllipse(c, 5, 5);
  } else {
    p.setBrush(Qt::NoBrush);
    p.drawEllipse(c, 5, 5);
    if (done) {
      p.setBrush(colour);
      p.drawPie(QRectF(c.x() - 5, c.y() - 5, 10, 10), 90 * 16,
                -static_cast<int>(360.0 * 16 * static_cast<double>(done) /
                                  static_cast<double>(points.size())));
    }
  }
  if (now) {
    p.setBrush(theme.accent());
    p.setPen(Qt::NoPen);
    p.drawEllipse(c, 4, 4);
    p.setBrush(Qt::NoBrush);
    p.setPen(QPen(theme.accent(), 2));
    p.drawEllipse(c, 8, 8);
  }
}

void IterationScene::paint_panel(QPainter& p, const Theme& theme, const Panel& panel,
                                 const QRectF& seen, double scale, const SceneState& state) const {
  // The bounding box is dimmed; where there is an instance it is not.
  const QRectF g = panel.grid;
  p.fillRect(g, theme.surface().darker(theme.dark() ? 80 : 106));
  const QColor colour = theme.series(panel.statement * 2);
  auto rect_of = [&](int64_t x, int64_t y, int64_t columns, int64_t rows) {
    return QRectF(g.left() + static_cast<double>(x - panel.x0) * kCell,
                  g.top() + static_cast<double>(y - panel.y0) * kCell,
                  static_cast<double>(columns) * kCell, static_cast<double>(rows) * kCell);
  };
  for (const auto& [at, points] : panel.cells) {
    const QRectF cell = rect_of(at.first, at.second, 1, 1);
    if (!seen.intersects(cell)) continue;
    p.setRenderHint(QPainter::Antialiasing, scale >= kCellDotsFrom);
    paint_cell(p, theme, points, cell, colour, scale, state);
    if (points.size() > 1 && scale > 1.2) {
      QFont f = theme.ui();
      f.setPixelSize(7);
      p.setFont(f);
      p.setPen(theme.muted());
      p.drawText(cell.adjusted(0, 0, -1, 0), Qt::AlignRight | Qt::AlignBottom,
                 QStringLiteral("×%1").arg(points.size()));
    }
  }
  p.setRenderHint(QPainter::Antialiasing, false);
  p.setBrush(Qt::NoBrush);
  QPen frame(theme.text(), 1.4);
  frame.setCosmetic(true);
  p.setPen(frame);
  for (const TileRect& t : panel.tiles) {
    const QRectF r = rect_of(t.x0, t.y0, t.x1 - t.x0 + 1, t.y1 - t.y0 + 1);
    if (seen.intersects(r)) p.drawRect(r.adjusted(1, 1, -1, -1));
  }
  QPen rim(theme.line(), 1);
  rim.setCosmetic(true);
  p.setPen(rim);
  p.drawRect(g);
  p.setRenderHint(QPainter::Antialiasing, true);
  if (!panel.points.empty()) return;
  p.setPen(theme.muted());
  p.drawText(g.adjusted(0, kCell, 200, 2 * kCell), Qt::AlignLeft | Qt::AlignTop,
             QObject::tr("no instance"));
}

bool IterationScene::arrow_seen(int k, const QRectF& seen) const {
  const IterArrow& a = picture_.arrows[static_cast<size_t>(k)];
  const auto from = at_.constFind(a.from), to = at_.constFind(a.to);
  if (from == at_.constEnd() || to == at_.constEnd()) return false;
  const double bow = kCell;
  const QRectF box = QRectF(from.value(), to.value()).normalized().adjusted(-bow, -bow, bow, bow);
  return seen.intersects(box);
}

// First what is kept, last what is out of order; of many a part, and all at the point under the
// mouse.
void IterationScene::paint_arrows(QPainter& p, const Theme& theme, const QRectF& seen, double scale,
                                  const SceneState& state) const {
  drawn_ = 0;
  std::vector<int> near;
  for (int at : {state.hovered, state.chosen})
    if (at >= 0)
      for (int k : arrows_of(at)) near.push_back(k);
  const std::set<int> close(near.begin(), near.end());
  std::vector<int> order[3];
  if (state.only_arrow >= 0) {
    order[static_cast<size_t>(picture_.arrows[static_cast<size_t>(state.only_arrow)].fate)]
        .push_back(state.only_arrow);
  } else {
    for (size_t k = 0; k < picture_.arrows.size(); ++k)
      if (arrow_seen(static_cast<int>(k), seen))
        order[static_cast<size_t>(picture_.arrows[k].fate)].push_back(static_cast<int>(k));
  }
  for (size_t f = 0; f < 3; ++f) {
    const Fate fate = static_cast<Fate>(f);
    const bool kept = fate == Fate::Kept, many = order[f].size() > kFewArrows;
    const size_t stride = 1 + order[f].size() / kFewArrows;
    QColor colour = fate_colour(fate, theme);
    for (size_t n = 0; n < order[f].size(); ++n) {
      const int k = order[f][n];
      const bool emphasised = close.count(k) || k == state.only_arrow;
      if (!emphasised && kept && (!state.kept || scale < kKeptArrowsFrom)) continue;
      if (!emphasised && n % stride != 0) continue;
      const IterArrow& a = picture_.arrows[static_cast<size_t>(k)];
      colour.setAlphaF(emphasised ? 1.0f : kept ? 0.45f : many ? 0.7f : 0.9f);
      QPen pen(colour, emphasised ? 2.4 : kept ? 1.0 : 1.6);
      if (fate == Fate::Paid) pen.setStyle(Qt::DashLine);
      p.setPen(pen);
      const QPointF middle =
          paint_dependence(p, at_.value(a.from), at_.value(a.to), emphasised ? 9 : 7);
      ++drawn_;
      if (fate != Fate::Violated) continue;
      p.drawLine(middle + QPointF(-3, -3), middle + QPointF(3, 3));
      p.drawLine(middle + QPointF(-3, 3), middle + QPointF(3, -3));
    }
  }
}

void IterationScene::paint(QPainter& p, const Theme& theme, const QRectF& seen, double scale,
                           const SceneState& state) const {
  p.setRenderHint(QPainter::Antialiasing);
  for (const Panel& panel : panels_) paint_panel(p, theme, panel, seen, scale, state);
  paint_arrows(p, theme, seen, scale, state);
  for (const Panel& panel : panels_) paint_axes(p, theme, panel, scale);
  std::vector<int> marked = {state.hovered, state.chosen};
  if (state.only_arrow >= 0) {
    const IterArrow& a = picture_.arrows[static_cast<size_t>(state.only_arrow)];
    marked = {a.from, a.to};
  }
  for (int k : marked) {
    if (k < 0 || !at_.contains(k)) continue;
    p.setBrush(Qt::NoBrush);
    p.setPen(QPen(k == state.hovered ? theme.text() : theme.accent(), 2));
    p.drawEllipse(at_.value(k), 9.5, 9.5);
  }
}

}  // namespace nautilus::gui
