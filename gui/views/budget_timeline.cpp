// The pipeline of a block as bars in time.
#include <algorithm>
#include <cmath>

#include "gui/models/quantity.h"
#include "gui/views/budget_paint.h"
#include "gui/views/hatch.h"

namespace nautilus::gui {

namespace {

constexpr double kRow = 20, kNames = 150;

QColor work_colour(const Theme& t, Work w) {
  switch (w) {
    case Work::Copy:
      return t.series(0);
    case Work::Matrix:
      return t.series(2);
    case Work::Lanes:
      return t.series(4);
    case Work::Special:
      return t.series(3);
    case Work::Shared:
      return t.series(5);
    case Work::Global:
      return t.series(6);
    case Work::Wait:
      return t.muted();
  }
  return t.muted();
}

}  // namespace

double BudgetPainter::pipeline(QPainter& p, const KernelBudget& k, QRectF box, double from,
                               double to, const Focus& lit) {
  const Timeline& t = k.timeline;
  QString more = QObject::tr("predicted: one block alone on a unit");
  if (t.trips > t.shown_trips)
    more += QObject::tr("; %1 of %2 iterations of %3").arg(t.shown_trips).arg(t.trips).arg(t.loop);
  double y = heading(p, box.left(), box.top(), box.width(), QObject::tr("Pipeline"), more);
  if (t.bars.empty()) {
    p.setPen(theme_.muted());
    p.drawText(QRectF(box.left(), y, box.width(), kRow),
               QObject::tr("No instruction of this kernel takes time by the machine's figures."));
    return y + kRow;
  }
  if (t.stuck) {
    p.setPen(theme_.bad());
    p.drawText(QRectF(box.left(), y, box.width(), kRow),
               QObject::tr("✗ the roles wait for each other for ever"));
    y += kRow;
  }
  const QRectF area(box.left() + kNames, y + 16, box.width() - kNames,
                    kRow * double(t.rows.size()));
  timeline_ = area;
  // Time above, in round steps.
  const double begin = t.seconds * from, span = std::max(1e-12, t.seconds * (to - from));
  const double step = round_step(span, std::max(2, int(area.width() / 90)));
  p.setFont(theme_.ui());
  for (double s = std::ceil(begin / step) * step; s <= begin + span; s += step) {
    const double x = area.left() + (s - begin) / span * area.width();
    p.setPen(theme_.line());
    p.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    p.setPen(theme_.muted());
    p.drawText(QRectF(x - 45, y - 1, 90, 16), Qt::AlignCenter, seconds_text(s));
  }
  QString role;
  for (size_t r = 0; r < t.rows.size(); ++r) {
    const QRectF name(box.left(), area.top() + double(r) * kRow, kNames - 6, kRow);
    const bool first = t.rows[r].role != role;
    role = t.rows[r].role;
    if (first && r) {
      p.setPen(theme_.text());
      p.drawLine(QPointF(box.left(), name.top()), QPointF(area.right(), name.top()));
    }
    const bool several = !t.rows.empty() && t.rows.front().role != t.rows.back().role;
    label(p, name,
          several ? t.rows[r].role + QStringLiteral(": ") + t.rows[r].title : t.rows[r].title,
          theme_.text());
    p.setPen(theme_.line());
    p.drawLine(QPointF(area.left(), name.bottom()), QPointF(area.right(), name.bottom()));
  }
  p.save();
  p.setClipRect(area, Qt::IntersectClip);
  bars(p, t, area, kRow, from, to, lit);
  p.restore();
  // What colours mean.
  double x = area.left();
  y = area.bottom() + 6;
  for (const Work w : {Work::Copy, Work::Matrix, Work::Lanes, Work::Special, Work::Shared,
                       Work::Global, Work::Wait}) {
    const QString name = work_name(w);
    const double used = p.fontMetrics().horizontalAdvance(name) + 26;
    if (x + used > area.right()) break;
    const QRectF sample(x, y + 4, 10, 10);
    if (w == Work::Wait)
      hatch(p, sample, theme_.muted());
    else
      p.fillRect(sample, work_colour(theme_, w));
    label(p, QRectF(x + 14, y, used, 18), name, theme_.muted());
    x += used;
  }
  return y + 20;
}

// Bars narrower than a pixel are drawn once a pixel.
void BudgetPainter::bars(QPainter& p, const Timeline& t, const QRectF& area, double row,
                         double from, double to, const Focus& lit) {
  const double begin = t.seconds * from, span = std::max(1e-12, t.seconds * (to - from));
  const auto x_of = [&](double s) { return area.left() + (s - begin) / span * area.width(); };
  std::vector<double> drawn(t.rows.size(), -1e9);
  for (const TimelineBar& b : t.bars) {
    if (b.begin > begin + span) break;
    if (b.end < begin) continue;
    const double left = x_of(b.begin), right = x_of(b.end);
    double& last = drawn[size_t(b.row)];
    if (right - left < 0.7 && left < last) continue;
    last = std::max(left + 1, right);
    QRectF bar(left, area.top() + b.row * row + 2, std::max(1.0, right - left), row - 4);
    // Copies overlap: each slot of the ring has its lane.
    if (b.work == Work::Copy && b.slot >= 0) {
      const double lane = bar.height() / 2;
      bar = QRectF(bar.left(), bar.top() + (b.slot % 2) * lane, bar.width(), lane - 1);
    }
    bar &= area;  // by itself: the SVG writer of Qt forgets clips
    if (bar.isEmpty()) continue;
    const bool on = lit.empty() || about(lit, b.statement, b.node);
    const QColor c = faded(work_colour(theme_, b.work), on ? 0.85 : 0.3);
    if (b.work == Work::Wait)
      hatch(p, bar, c);
    else
      p.fillRect(bar, c);
    if (bar.width() > 4 && b.work != Work::Wait) {
      p.setPen(QPen(theme_.background(), 0.6));
      p.drawRect(bar);
    }
    if (bar.width() > 44 && b.work != Work::Copy && b.work != Work::Wait)
      label(p, bar.adjusted(3, 0, -2, 0), b.what, theme_.background());
    if (bar.width() >= 2)
      hits_.push_back(
          {bar.adjusted(0, -1, 0, 1),
           QStringLiteral("%1\n%2 from %3%4%5")
               .arg(b.what, seconds_text(b.end - b.begin), seconds_text(b.begin),
                    b.iteration >= 0 ? QObject::tr(", iteration %1").arg(b.iteration) : QString(),
                    b.slot >= 0 ? QObject::tr(", slot %1").arg(b.slot) : QString()),
           {b.node, b.statement}});
  }
}

}  // namespace nautilus::gui
