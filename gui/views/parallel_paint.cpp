// How the parallel coordinates look. Few lines are drawn one by one in the colour of their time;
// many as density, in a picture that is kept until lines or axes change: panning only moves it.
// While a brush moves, what it lights is drawn with a third of the pixels each way, and finely at
// rest.
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/views/parallel_view.h"

namespace nautilus::gui {

namespace {

constexpr int kHead = 32, kFoot = 30, kSide = 64;
constexpr double kLeastSpacing = 72;
constexpr int kFew = 700;  // lines that are drawn one by one

// On a ground of its own: to copy is several times quicker than to blend.
QImage opaque(const QImage& layer, const QColor& ground) {
  QImage out(layer.size(), QImage::Format_RGB32);
  out.fill(ground);
  QPainter(&out).drawImage(0, 0, layer);
  return out;
}

QColor blended(const QColor& a, const QColor& b, double t) {
  return QColor::fromRgbF(float(a.redF() + (b.redF() - a.redF()) * t),
                          float(a.greenF() + (b.greenF() - a.greenF()) * t),
                          float(a.blueF() + (b.blueF() - a.blueF()) * t));
}

}  // namespace

QRectF ParallelView::plot() const {
  return QRectF(0, kHead, extent().width(), std::max(20.0, extent().height() - kHead - kFoot));
}

double ParallelView::spacing() const {
  const int gaps = std::max(1, int(data_.axes().size()) - 1);
  return std::max(kLeastSpacing, (extent().width() - 2.0 * kSide) / gaps);
}

double ParallelView::scroll_limit() const {
  const int gaps = std::max(0, int(data_.axes().size()) - 1);
  return std::max(0.0, gaps * spacing() + 2 * kSide - extent().width());
}

double ParallelView::axis_x(int axis) const { return kSide + axis * spacing() - scroll_; }

double ParallelView::y_of(double position) const {
  const QRectF area = plot();
  const double t = (position - double(kMissing)) / (1 - double(kMissing));
  return area.bottom() - t * area.height();
}

double ParallelView::position_of(double y) const {
  const QRectF area = plot();
  const double t = (area.bottom() - y) / area.height();
  return double(kMissing) + t * (1 - double(kMissing));
}

void ParallelView::scroll_to(double x) {
  scroll_ = std::clamp(x, 0.0, scroll_limit());
  update();
}

void ParallelView::resizeEvent(QResizeEvent*) {
  base_ = bright_ = QImage();
  scroll_ = std::clamp(scroll_, 0.0, scroll_limit());
}

// All gaps beside each other, from the first axis to the last, whatever is scrolled; a pixel of it
// stands for `pixels` by `pixels` of the screen.
QImage ParallelView::layer(const std::vector<uint8_t>* mask, const QColor& colour,
                           int pixels) const {
  const int gaps = int(data_.axes().size()) - 1, height = int(plot().height()) / pixels;
  const double gap = spacing() / pixels;
  const int total = int(std::ceil(gaps * gap)) + 1;
  QImage image(std::max(1, total), std::max(1, height), QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  std::vector<std::vector<uint32_t>> fields;
  uint32_t most = 1;
  for (int g = 0; g < gaps; ++g) {
    const int x = int(std::lround(g * gap)), end = int(std::lround((g + 1) * gap));
    const auto pairs = count_pairs(data_.axes()[size_t(g)], data_.axes()[size_t(g) + 1], mask);
    fields.push_back(density_field(pairs, end - x + 1, height));
    for (uint32_t c : pairs) most = std::max(most, c);
  }
  for (int g = 0; g < gaps; ++g) {
    const int x = int(std::lround(g * gap)), end = int(std::lround((g + 1) * gap));
    paint_density(image, x, fields[size_t(g)], end - x + 1, colour, most);
  }
  return image;
}

// Of the predicted time, fast to slow, on a logarithmic scale.
QColor ParallelView::line_colour(int index) const {
  const sched::SearchNode* n = shared_.document.node(data_.nodes()[size_t(index)]);
  const int at = data_.axis(QStringLiteral("predicted"));
  if (!n || n->seconds <= 0 || at < 0) return shared_.theme.muted();
  const ParallelAxis& a = data_.axes()[size_t(at)];
  if (a.high <= a.low || a.low <= 0) return shared_.theme.series(0);
  const double t = std::log(n->seconds / a.low) / std::log(a.high / a.low);
  const QColor middle = blended(shared_.theme.series(0), shared_.theme.series(4), 0.5);
  return t < 0.5 ? blended(shared_.theme.series(0), middle, 2 * t)
                 : blended(middle, shared_.theme.series(1), 2 * t - 1);
}

void ParallelView::paint_lines(QPainter& p, const std::vector<uint8_t>& which, double alpha) const {
  p.setRenderHint(QPainter::Antialiasing);
  QPolygonF line;
  for (size_t n = 0; n < which.size(); ++n) {
    if (!which[n]) continue;
    line.clear();
    for (size_t a = 0; a < data_.axes().size(); ++a)
      line << QPointF(axis_x(int(a)), y_of(double(data_.axes()[a].at[n])));
    p.setPen(QPen(faded(line_colour(int(n)), alpha), 1.1));
    p.drawPolyline(line);
  }
}

void ParallelView::paint_line(QPainter& p, int node, const QColor& colour, double width) const {
  const auto at = std::lower_bound(data_.nodes().begin(), data_.nodes().end(), node);
  if (at == data_.nodes().end() || *at != node) return;
  const size_t n = size_t(at - data_.nodes().begin());
  QPolygonF line;
  for (size_t a = 0; a < data_.axes().size(); ++a)
    line << QPointF(axis_x(int(a)), y_of(double(data_.axes()[a].at[n])));
  p.setRenderHint(QPainter::Antialiasing);
  p.setPen(QPen(faded(shared_.theme.background(), 0.9), width + 3));
  p.drawPolyline(line);
  p.setPen(QPen(colour, width));
  p.drawPolyline(line);
  p.setBrush(colour);
  for (const QPointF& point : line) p.drawEllipse(point, width + 0.5, width + 0.5);
  p.setBrush(Qt::NoBrush);
}

void ParallelView::paint_axes(QPainter& p) const {
  const Theme& theme = shared_.theme;
  const QFontMetricsF m(theme.ui());
  p.setFont(theme.ui());
  const double gap = spacing();
  for (int k = 0; k < int(data_.axes().size()); ++k) {
    const ParallelAxis& a = data_.axes()[size_t(k)];
    const double x = axis_x(k);
    if (x < -gap || x > extent().width() + gap) continue;
    const bool chosen = k == axis_ && hasFocus();
    p.setRenderHint(QPainter::Antialiasing, false);
    p.setPen(QPen(chosen || k == drag_axis_ ? theme.accent() : theme.muted(), chosen ? 2 : 1));
    p.drawLine(QPointF(x, y_of(0)), QPointF(x, y_of(1)));
    QString title = a.column.title();
    if (a.log) title += QStringLiteral(" log");
    if (a.flip) title += QStringLiteral(" ↓");
    p.setPen(chosen ? theme.accent() : theme.text());
    QFont bold = theme.ui();
    bold.setBold(true);
    p.setFont(bold);
    p.drawText(QRectF(x - gap / 2 + 2, 4, gap - 4, 18), Qt::AlignCenter,
               QFontMetricsF(bold).elidedText(title, Qt::ElideMiddle, gap - 4));
    p.setFont(theme.ui());
    const bool missing = std::any_of(a.at.begin(), a.at.end(), [](float v) { return v < 0; });
    const double none = plot().bottom() + 5;  // the middle of that word
    if (missing) {
      p.setPen(theme.muted());
      p.drawText(QRectF(x - gap / 2, none - 7, gap, 14), Qt::AlignCenter, tr("none"));
    }
    double last = missing ? none : 1e9;
    std::vector<AxisTick> ticks = a.ticks;
    std::sort(ticks.begin(), ticks.end(),
              [](const AxisTick& s, const AxisTick& t) { return s.at < t.at; });
    for (const AxisTick& t : ticks) {
      const double y = y_of(t.at);
      p.setPen(theme.muted());
      p.drawLine(QPointF(x - 3, y), QPointF(x + 3, y));
      if (last - y < m.height() * 0.9) continue;  // labels do not overlap
      last = y;
      // Text on a ground of its own, so that lines do not run through it.
      const QString label = m.elidedText(t.label, Qt::ElideRight, gap - 14);
      const double w = m.horizontalAdvance(label);
      const bool left = k + 1 == int(data_.axes().size()) && x + 6 + w > extent().width();
      const QRectF box(left ? x - 7 - w : x + 6, y - m.height() / 2, w + 2, m.height());
      p.fillRect(box, faded(theme.background(), 0.78));
      p.setPen(theme.text());
      p.drawText(box, Qt::AlignVCenter | Qt::AlignLeft, label);
    }
    if (a.brush) {
      const QRectF box(QPointF(x - 7, y_of(a.brush->second)), QPointF(x + 7, y_of(a.brush->first)));
      p.setPen(QPen(theme.accent(), 1.5));
      p.setBrush(faded(theme.accent(), 0.25));
      p.drawRect(box);
      p.setBrush(Qt::NoBrush);
    }
  }
}

void ParallelView::paint_legend(QPainter& p) const {
  const Theme& theme = shared_.theme;
  p.setFont(theme.ui());
  p.setPen(theme.muted());
  const int all = int(data_.nodes().size());
  const QRectF foot(8, extent().height() - 18, extent().width() - 16, 16);
  const QString count = lit_count_ == all ? tr("%1 candidates").arg(all)
                                          : tr("%1 of %2 candidates lit").arg(lit_count_).arg(all);
  p.drawText(foot, Qt::AlignLeft | Qt::AlignVCenter, count);
  const QFontMetricsF m(theme.ui());
  const double room = foot.width() - m.horizontalAdvance(count) - 12;
  if (lit_count_ > kFew) {
    const QString opacity = tr("opacity: how many lines, logarithmic");
    if (m.horizontalAdvance(opacity) <= room)
      p.drawText(foot, Qt::AlignRight | Qt::AlignVCenter, opacity);
    return;
  }
  const QString slow = tr("slow");
  QString fast = tr("fast (predicted)");
  const auto needs = [&] { return m.horizontalAdvance(fast) + 82 + m.horizontalAdvance(slow); };
  if (needs() > room) fast = tr("fast");
  if (needs() > room) return;
  double x = foot.right() - m.horizontalAdvance(slow);
  p.drawText(QRectF(x, foot.top(), 200, foot.height()), Qt::AlignVCenter, slow);
  QLinearGradient g(x - 76, 0, x - 6, 0);
  g.setColorAt(0, theme.series(0));
  g.setColorAt(0.5, blended(theme.series(0), theme.series(4), 0.5));
  g.setColorAt(1, theme.series(1));
  p.fillRect(QRectF(x - 76, foot.center().y() - 3, 70, 6), g);
  x -= 82 + m.horizontalAdvance(fast);
  p.drawText(QRectF(x, foot.top(), 300, foot.height()), Qt::AlignVCenter, fast);
}

void ParallelView::paint_all(QPainter& p, bool cached) {
  const Theme& theme = shared_.theme;
  p.fillRect(QRectF(0, 0, extent().width(), extent().height()), theme.background());
  if (data_.axes().size() < 2 || data_.nodes().empty()) {
    p.setPen(theme.muted());
    p.setFont(theme.ui());
    p.drawText(QRectF(0, 0, extent().width(), extent().height()), Qt::AlignCenter,
               shared_.document.empty() ? tr("Open a session to see its candidates.")
                                        : tr("No candidate with a predicted time passes."));
    return;
  }
  const bool some = lit_count_ < int(lit_.size());
  const bool few = lit_count_ <= kFew;
  const QPointF origin(axis_x(0), plot().top());
  if (some || !few) {
    if (base_.isNull() || !cached || base_dim_ != some) {
      base_ = opaque(layer(nullptr, some ? faded(theme.muted(), 0.28) : theme.accent()),
                     theme.background());
      base_dim_ = some;
    }
    p.drawImage(origin, base_);
  }
  if (some && !few) {
    const int pixels = coarse_ ? 3 : 1;
    if (bright_.isNull() || !cached) bright_ = layer(&lit_, theme.accent(), pixels);
    p.drawImage(QRectF(origin, QSizeF(bright_.size() * pixels)), bright_);
  }
  if (few) paint_lines(p, lit_, lit_count_ > 150 ? 0.5 : 0.8);
  const std::vector<int>& best = shared_.document.best();
  if (!best.empty()) paint_line(p, best[0], theme.series(2), 1.6);
  if (shared_.selection.now().node >= 0)
    paint_line(p, shared_.selection.now().node, theme.accent(), 2.2);
  if (shared_.selection.hovered() >= 0)
    paint_line(p, shared_.selection.hovered(), theme.warning(), 1.8);
  paint_axes(p);
  paint_legend(p);
}

void ParallelView::paintEvent(QPaintEvent*) {
  QPainter p(this);
  paint_all(p, true);
}

// Laid out for the page: what is on screen may have another shape.
void ParallelView::paint_picture(QPainter& p, const QRectF& page) {
  catch_up();
  const double scroll = std::exchange(scroll_, 0);
  page_ = page.size();
  coarse_ = false;
  p.save();
  p.translate(page.topLeft());
  paint_all(p, false);
  p.restore();
  page_.reset();
  scroll_ = scroll;
  base_ = bright_ = QImage();
}

}  // namespace nautilus::gui
