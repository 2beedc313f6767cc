// All candidates on the roofline plot: one point a cell of a few pixels, so that a frame's time is
// bounded by the screen and one pass over plain arrays.
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/views/roofline_frame.h"

namespace nautilus::gui {
namespace {

constexpr double kMarker = 7, kCell = 3;  // pixels
constexpr size_t kStamps = 1200;          // more cells than that are painted as squares
constexpr size_t kSuspects = 300;         // no more are marked one by one

// Opaque pixels of 32 bits, which squares can be written to.
bool on_pixels(const QPainter& p) {
  auto* image =
      p.device()->devType() == QInternal::Image ? static_cast<QImage*>(p.device()) : nullptr;
  return image && image->format() == QImage::Format_RGB32;
}

}  // namespace

// The cells move with the world, so that panning does not change which points share one.
struct RooflinePainter::Cells {
  double size;     // whole pixels of the device
  QPointF corner;  // of the first cell on the screen, at most a cell outside the plot
  int columns, rows;

  Cells(const Viewport& v, const QRectF& plot, double dpr)
      : size(std::max(1.0, std::round(kCell * dpr)) / dpr) {
    auto first = [this](double plot_edge, double origin) {
      return origin + std::floor((plot_edge - origin) / size) * size;
    };
    const QPointF origin = v.to_screen(QPointF(0, 0));
    corner = {first(plot.left(), origin.x()), first(plot.top(), origin.y())};
    columns = static_cast<int>((plot.right() - corner.x()) / size) + 1;
    rows = static_cast<int>((plot.bottom() - corner.y()) / size) + 1;
  }
};

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
  const bool plain = mark == Mark::Hollow || mark == Mark::Filled;  // others have a ring or a cross
  const int side = static_cast<int>(std::ceil(plain ? size * 1.3 + 3 : size * 1.5 + 12)) | 1;
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

// Lit ones before dimmed ones, measured before predicted.
void RooflinePainter::bin(const Frame& f, const Cells& cells) {
  gather(f);
  const std::vector<CloudPoint>& points = f.look.cloud.points;
  const QRectF& plot = f.look.plot;
  bin_of_.assign(static_cast<size_t>(cells.columns) * cells.rows, 0);
  bins_.clear();
  suspects_.clear();
  const QPointF origin = f.view.to_screen(QPointF(0, 0)) - cells.corner;
  const auto scale = static_cast<float>(f.view.scale / cells.size);
  const auto ox = static_cast<float>(origin.x() / cells.size);
  const auto oy = static_cast<float>(origin.y() / cells.size);
  const QPointF near = (plot.topLeft() - cells.corner) / cells.size;
  const QPointF far = (plot.bottomRight() - cells.corner) / cells.size;
  const auto x0 = static_cast<float>(near.x()), y0 = static_cast<float>(near.y());
  const auto x1 = static_cast<float>(far.x()), y1 = static_cast<float>(far.y());
  for (const Spot& c : spots_) {
    const float x = c.x * scale + ox, y = c.y * scale + oy;
    const bool lit = c.point >> 31;
    if (x < x0 || x > x1 || y < y0 || y > y1) {
      if (lit)
        ++(x < x0   ? outside_.left
           : x > x1 ? outside_.right
           : y < y0 ? outside_.above
                    : outside_.below);
      continue;
    }
    const auto cell =
        static_cast<uint32_t>(y) * static_cast<uint32_t>(cells.columns) + static_cast<uint32_t>(x);
    const uint32_t held = bin_of_[cell];
    if (held == 0) bins_.push_back(cell);
    if (held == 0 || c.point >> 30 > held >> 30) bin_of_[cell] = c.point;
  }
  for (int i : suspicious_)
    if (f.visible.contains(points[i].x, points[i].y)) suspects_.push_back(i);
  outside_.suspicious = static_cast<int>(suspicious_.size());
}

// What a frame needs of the points shown, in little memory: a pass over it is most of its time.
void RooflinePainter::gather(const Frame& f) {
  if (gathered_ == f.look.levels) return;
  gathered_ = f.look.levels;
  spots_.clear();
  suspicious_.clear();
  const std::vector<CloudPoint>& points = f.look.cloud.points;
  for (size_t i = 0; i < points.size(); ++i) {
    const CloudPoint& c = points[i];
    if (!f.shows(c)) continue;
    const uint32_t rank = c.lit * 2U + c.measured;
    spots_.push_back({c.x, c.y, rank << 30 | static_cast<uint32_t>(i + 1)});
    if (c.suspicious && c.lit) suspicious_.push_back(static_cast<int>(i));
  }
}

void RooflinePainter::cloud(Frame& f) {
  const Cells cells(f.view, f.look.plot, f.look.as_text ? 1 : f.p.device()->devicePixelRatioF());
  bin(f, cells);
  if (bins_.size() > kStamps) {
    dense(f, cells);
  } else {
    const auto& points = f.look.cloud.points;
    for (bool lit : {false, true})
      for (uint32_t cell : bins_)
        if (const CloudPoint& c = points[(bin_of_[cell] & kPoint) - 1]; c.lit == lit)
          stamp(f, c, c.state == sched::NodeState::Complete ? kMarker - 0.5 : kMarker - 2.5);
  }
  suspects(f);
}

// A square a cell. Lit and dimmed ones never share a cell, so their order does not matter.
void RooflinePainter::dense(Frame& f, const Cells& cells) {
  std::array<QRgb, 512> known{};
  auto colour_of = [&](uint32_t bin) {
    const CloudPoint& c = f.look.cloud.points[(bin & kPoint) - 1];
    const size_t key = size_t{c.lit} << 8 | size_t(c.family & 15) << 4 | (size_t(c.state) & 15);
    if (known[key] == 0) known[key] = colour(f.look, c).rgb();
    return known[key];
  };
  if (f.look.as_text || !on_pixels(f.p)) {  // neighbours of one colour are one rectangle
    std::sort(bins_.begin(), bins_.end());
    QHash<QRgb, QVector<QRectF>> batches;
    for (size_t k = 0; k < bins_.size();) {
      const QRgb c = colour_of(bin_of_[bins_[k]]);
      const int row = static_cast<int>(bins_[k]) / cells.columns;
      const int column = static_cast<int>(bins_[k]) % cells.columns;
      int run = 1;
      for (++k; k < bins_.size() && bins_[k] == bins_[k - 1] + 1 && column + run < cells.columns &&
                colour_of(bin_of_[bins_[k]]) == c;
           ++k)
        ++run;
      batches[c].push_back(
          {cells.corner + QPointF(column, row) * cells.size, QSizeF(run * cells.size, cells.size)});
    }
    f.p.setPen(Qt::NoPen);
    for (auto it = batches.constBegin(); it != batches.constEnd(); ++it) {
      f.p.setBrush(QColor(it.key()));
      f.p.drawRects(it.value());
    }
    return;
  }
  fill(f, cells, colour_of);
}

// Straight into the pixels of the base, which has no other contents there that would be blended.
template <class ColourOf>
void RooflinePainter::fill(Frame& f, const Cells& cells, ColourOf colour_of) {
  auto* image = static_cast<QImage*>(f.p.device());
  const double dpr = image->devicePixelRatio();
  const QRect plot =
      QRectF(f.look.plot.topLeft() * dpr, f.look.plot.size() * dpr).toRect() & image->rect();
  const QPoint corner = (cells.corner * dpr).toPoint();
  const int side = std::max(1, static_cast<int>(std::lround(cells.size * dpr)));
  auto* bits = reinterpret_cast<QRgb*>(image->bits());
  const auto stride = image->bytesPerLine() / 4;
  for (uint32_t cell : bins_) {
    const QRgb c = colour_of(bin_of_[cell]);
    const int column = static_cast<int>(cell) % cells.columns;
    const int row = static_cast<int>(cell) / cells.columns;
    const QRect square =
        QRect(corner.x() + column * side, corner.y() + row * side, side, side) & plot;
    for (int y = square.top(); y <= square.bottom(); ++y)
      std::fill_n(bits + y * stride + square.left(), square.width(), c);
  }
}

void RooflinePainter::suspects(Frame& f) {
  f.p.setPen(QPen(theme_.warning(), 1.6));
  f.p.setBrush(Qt::NoBrush);
  for (size_t k = 0; k < std::min(suspects_.size(), kSuspects); ++k) {
    const int i = suspects_[k];
    const QPointF at = f.at(f.look.cloud.points[i]);
    f.p.drawPolygon(QPolygonF{at + QPointF(0, -11), at + QPointF(10, 7), at + QPointF(-10, 7)});
  }
}

}  // namespace nautilus::gui
