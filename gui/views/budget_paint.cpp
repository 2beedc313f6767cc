#include "gui/views/budget_paint.h"

#include <algorithm>
#include <cmath>

#include "gui/models/quantity.h"
#include "gui/views/hatch.h"

namespace nautilus::gui {

namespace {

constexpr double kMargin = 12, kLine = 18;

QString name_of(const RegisterValue& v) { return u'%' + QString::number(v.value); }

}  // namespace

QColor BudgetPainter::of_statement(const QString& s) const {
  const auto at = std::find(budget_.statements.begin(), budget_.statements.end(), s);
  return at == budget_.statements.end() ? theme_.muted()
                                        : theme_.series(int(at - budget_.statements.begin()));
}

bool BudgetPainter::about(const Focus& f, const QString& statement, int node) {
  if (!f.statement.isEmpty()) return f.statement == statement;
  return f.node >= 0 && f.node == node;
}

void BudgetPainter::label(QPainter& p, const QRectF& box, const QString& text, const QColor& c,
                          int align) {
  p.setPen(c);
  p.drawText(box, align, p.fontMetrics().elidedText(text, Qt::ElideRight, int(box.width())));
}

double BudgetPainter::heading(QPainter& p, double x, double y, double width, const QString& text,
                              const QString& more) {
  QFont bold = theme_.ui();
  bold.setBold(true);
  p.setFont(bold);
  const double used = QFontMetricsF(bold).horizontalAdvance(text) + 10;
  label(p, QRectF(x, y, width, kLine), text, theme_.text());
  p.setFont(theme_.ui());
  if (!more.isEmpty() && used < width)
    label(p, QRectF(x + used, y, width - used, kLine), more, theme_.muted());
  return y + kLine + 4;
}

double BudgetPainter::registers(QPainter& p, const KernelBudget& k, QRectF box, const Focus& lit) {
  const bool over = k.tile_registers + kRegistersBeside > kRegistersOfThread;
  double y =
      heading(p, box.left(), box.top(), box.width(),
              QObject::tr("Registers a thread: %1 of %2").arg(k.registers).arg(kRegistersOfThread),
              QObject::tr("predicted; tiles take %1%2")
                  .arg(k.tile_registers)
                  .arg(over ? QObject::tr(", what is over the line may spill") : QString()));
  const double scale = box.width() / double(std::max<int64_t>(kRegistersOfThread,
                                                              k.tile_registers + kRegistersBeside));
  const QRectF bar(box.left(), y, box.width(), 24);
  p.fillRect(bar, theme_.surface());
  double x = bar.left();
  for (const RegisterValue& v : k.live) {
    const QRectF part(x, bar.top(), double(v.registers) * scale, bar.height());
    const bool about_it = about(lit, v.statement, v.node);
    p.fillRect(part.adjusted(0.5, 0, -0.5, 0),
               faded(of_statement(v.statement), about_it || lit.empty() ? 0.8 : 0.35));
    const QString name = name_of(v),
                  whole = name + QStringLiteral(" · ") + QString::number(v.registers);
    const QRectF room = part.adjusted(3, 0, -2, 0);
    for (const QString& text : {whole, name})
      if (p.fontMetrics().horizontalAdvance(text) <= int(room.width())) {
        label(p, room, text, theme_.background());
        break;
      }
    hits_.push_back({part,
                     QObject::tr("%1: %2\n%3 registers a thread, of statement %4")
                         .arg(name_of(v), v.type, QString::number(v.registers),
                              v.statement.isEmpty() ? QStringLiteral("–") : v.statement),
                     {v.node, v.statement}});
    x += part.width();
  }
  const QRectF rest(x, bar.top(), double(kRegistersBeside) * scale, bar.height());
  hatch(p, rest, theme_.muted());
  hits_.push_back(
      {rest,
       QObject::tr("%1 registers for addresses and temporaries, as the lowering assumes")
           .arg(kRegistersBeside),
       {}});
  const double limit = bar.left() + kRegistersOfThread * scale;
  p.setPen(QPen(over ? theme_.bad() : theme_.text(), 2));
  p.drawLine(QPointF(limit, bar.top() - 3), QPointF(limit, bar.bottom() + 3));
  y = bar.bottom() + 8;
  // The largest values by name.
  const int shown = std::min<int>(5, int(k.live.size()));
  for (int n = 0; n < shown; ++n) {
    const RegisterValue& v = k.live[size_t(n)];
    p.fillRect(QRectF(box.left(), y + 4, 9, 9), of_statement(v.statement));
    label(p, QRectF(box.left() + 14, y, box.width() - 60, kLine),
          name_of(v) + QStringLiteral(": ") + v.type + QStringLiteral("  ") + v.statement,
          theme_.text());
    label(p, QRectF(box.left(), y, box.width(), kLine), QString::number(v.registers), theme_.text(),
          Qt::AlignRight | Qt::AlignVCenter);
    y += kLine;
  }
  if (int(k.live.size()) > shown) {
    int64_t rest_of = 0;
    for (size_t n = size_t(shown); n < k.live.size(); ++n) rest_of += k.live[n].registers;
    label(p, QRectF(box.left() + 14, y, box.width() - 14, kLine),
          QObject::tr("%1 smaller values: %2").arg(k.live.size() - size_t(shown)).arg(rest_of),
          theme_.muted());
    y += kLine;
  }
  label(p, QRectF(box.left(), y + 2, box.width(), kLine),
        QObject::tr("behind each instruction, in order"), theme_.muted());
  const QRectF chart(box.left(), y + kLine + 4, box.width(), 64);
  pressure(p, k, chart, lit);
  return chart.bottom();
}

void BudgetPainter::pressure(QPainter& p, const KernelBudget& k, const QRectF& box,
                             const Focus& lit) {
  p.fillRect(box, theme_.surface());
  const size_t count = k.pressure.size();
  if (count == 0) return;
  const double most = double(std::max<int64_t>(kRegistersOfThread, k.tile_registers));
  const double step = box.width() / double(count);
  const auto y_of = [&](int64_t r) { return box.bottom() - double(r) / most * box.height(); };
  p.setRenderHint(QPainter::Antialiasing, false);
  double drawn = -1;
  for (size_t n = 0; n < count; ++n) {
    const PressurePoint& at = k.pressure[n];
    const double x = box.left() + double(n) * step;
    if (x < drawn) continue;
    const double w = std::max(1.0, step);
    drawn = x + w;
    const QRectF column(x, y_of(at.registers), w, box.bottom() - y_of(at.registers));
    p.fillRect(column, faded(of_statement(at.statement),
                             lit.empty() || about(lit, at.statement, at.node) ? 0.75 : 0.3));
    if (step >= 2 || n % 8 == 0)
      hits_.push_back({QRectF(x, box.top(), std::max(w, 3.0), box.height()),
                       QObject::tr("%1 registers behind %2 %3")
                           .arg(at.registers)
                           .arg(at.instruction, at.statement),
                       {at.node, at.statement}});
  }
  const double peak = box.left() + (double(k.peak) + 0.5) * step;
  p.setPen(QPen(theme_.text(), 1));
  p.drawLine(QPointF(peak, box.top()), QPointF(peak, box.bottom()));
  const double limit = y_of(kRegistersOfThread - kRegistersBeside);
  p.setPen(QPen(theme_.muted(), 1, Qt::DashLine));
  p.drawLine(QPointF(box.left(), limit), QPointF(box.right(), limit));
  const QString words = QObject::tr("%1 for tiles, the rest for addresses")
                            .arg(kRegistersOfThread - kRegistersBeside);
  const QRectF place(box.left() + 4, box.top(), p.fontMetrics().horizontalAdvance(words) + 4,
                     std::min(kLine, limit - box.top()));
  p.fillRect(place, theme_.surface());
  label(p, place, words, theme_.muted());
}

// Its name, and below it, where there is room, its size.
void BudgetPainter::name_block(QPainter& p, const SharedBlock& b, const QRectF& block) {
  QString size = bytes_text(double(b.slots > 1 ? b.slot_bytes : b.bytes));
  if (b.slots > 1) size.prepend(QStringLiteral("%1 × ").arg(b.slots));
  const double width = block.width() - 5;
  const bool two =
      block.height() >= 2 * kLine && p.fontMetrics().horizontalAdvance(size) <= int(width);
  QRectF line(block.left() + 3, block.center().y() - (two ? kLine : kLine / 2), width, kLine);
  label(p, line, b.name, theme_.text());
  if (two) label(p, line.translated(0, kLine), size, theme_.text());
}

double BudgetPainter::shared(QPainter& p, const KernelBudget& k, QRectF box, const Focus& lit) {
  const double capacity = double(std::max<int64_t>({1, k.shared_capacity, k.shared_bytes}));
  double y =
      heading(p, box.left(), box.top(), box.width(),
              QObject::tr("Shared memory: %1 of %2")
                  .arg(bytes_text(double(k.shared_bytes)), bytes_text(capacity)),
              k.barrier_bytes ? QObject::tr("barriers take %1 B").arg(k.barrier_bytes) : QString());
  if (k.shared.empty()) {
    label(p, QRectF(box.left(), y, box.width(), kLine),
          QObject::tr("The kernel keeps nothing in shared memory."), theme_.muted());
    return y + kLine;
  }
  label(p, QRectF(box.left(), y, box.width(), kLine),
        QObject::tr("down: the kernel's instructions in order; across: bytes"), theme_.muted());
  y += kLine + 2;
  const QRectF area(box.left(), y, box.width(), 150);
  p.fillRect(area, theme_.surface());
  const double scale = area.width() / capacity;
  for (const SharedBlock& b : k.shared) {
    const QRectF block(area.left() + double(b.offset) * scale, area.top() + b.first * area.height(),
                       std::max(2.0, double(b.bytes) * scale),
                       std::max(6.0, (b.last - b.first) * area.height()));
    const QColor c = of_statement(b.statement);
    p.fillRect(block, faded(c, lit.empty() || about(lit, b.statement, b.node) ? 0.55 : 0.22));
    p.setPen(QPen(c, 1));
    p.drawRect(block);
    for (int s = 1; s < b.slots; ++s) {
      const double x = block.left() + block.width() * s / b.slots;
      p.drawLine(QPointF(x, block.top()), QPointF(x, block.bottom()));
    }
    if (block.width() > 26 && block.height() >= kLine) name_block(p, b, block);
    hits_.push_back({block,
                     QObject::tr("%1: %2\n%3 slot(s) of %4 at byte %5, filled by %6")
                         .arg(b.name, b.type)
                         .arg(b.slots)
                         .arg(bytes_text(double(b.slot_bytes)))
                         .arg(b.offset)
                         .arg(b.statement.isEmpty() ? QStringLiteral("–") : b.statement),
                     {b.node, b.statement}});
  }
  const double used = area.left() + double(k.shared_bytes) * scale;
  p.setPen(QPen(theme_.text(), 1, Qt::DashLine));
  p.drawLine(QPointF(used, area.top()), QPointF(used, area.bottom() + 4));
  y = area.bottom() + 2;
  label(p, QRectF(area.left(), y, 60, kLine), QStringLiteral("0"), theme_.muted());
  label(p, QRectF(area.right() - 120, y, 120, kLine), bytes_text(capacity), theme_.muted(),
        Qt::AlignRight | Qt::AlignVCenter);
  return y + kLine;
}

double BudgetPainter::share(QPainter& p, const QRectF& box, const QString& name, double value,
                            double most, const QString& text, const QColor& c) {
  const double head = std::min(130.0, box.width() * 0.35), tail = 74;
  label(p, QRectF(box.left(), box.top(), head - 6, kLine), name, theme_.text());
  const QRectF bar(box.left() + head, box.top() + 3, box.width() - head - tail, kLine - 6);
  p.fillRect(bar, theme_.surface());
  if (most > 0)
    p.fillRect(QRectF(bar.left(), bar.top(), bar.width() * std::clamp(value / most, 0.0, 1.0),
                      bar.height()),
               c);
  label(p, QRectF(bar.right() + 6, box.top(), tail - 6, kLine), text, theme_.text(),
        Qt::AlignRight | Qt::AlignVCenter);
  return box.top() + kLine;
}

double BudgetPainter::occupancy(QPainter& p, const KernelBudget& k, QRectF box) {
  double y = heading(p, box.left(), box.top(), box.width(),
                     QObject::tr("Occupancy: %1").arg(percent_text(k.occupancy)),
                     QObject::tr("predicted; blocks on a unit at once"));
  double most = 1;
  for (const OccupancyLimit& l : k.limits) most = std::max(most, std::min(l.blocks, 32.0));
  for (size_t n = 0; n < k.limits.size(); ++n)
    y = share(
        p, QRectF(box.left(), y, box.width(), kLine), k.limits[n].what, k.limits[n].blocks, most,
        k.limits[n].blocks > 32 ? QStringLiteral("> 32") : QString::number(k.limits[n].blocks),
        n == 0 ? theme_.bad() : theme_.muted());
  label(p, QRectF(box.left(), y, box.width(), kLine),
        QObject::tr("%1 blocks of %2 threads in the grid").arg(k.grid).arg(k.threads),
        theme_.muted());
  return y + kLine;
}

double BudgetPainter::units(QPainter& p, QRectF box) {
  if (!budget_.cost) return box.top();
  const sched::Cost& c = *budget_.cost;
  double y = heading(p, box.left(), box.top(), box.width(),
                     QObject::tr("Time: %1").arg(seconds_text(c.seconds)),
                     QObject::tr("predicted, all kernels; by unit and level"));
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& [unit, s] : c.unit_seconds)
    if (s > 0) parts.emplace_back(s, unit);
  std::sort(parts.rbegin(), parts.rend());
  if (parts.size() > 7) parts.resize(7);
  for (size_t n = 0; n < parts.size(); ++n)
    y = share(p, QRectF(box.left(), y, box.width(), kLine), QString::fromStdString(parts[n].second),
              parts[n].first, parts[0].first, seconds_text(parts[n].first),
              n == 0 ? theme_.accent() : theme_.muted());
  return y;
}

double BudgetPainter::paint(QPainter& p, int k, double width, double from, double to,
                            const Focus& lit) {
  hits_.clear();
  timeline_ = {};
  p.setFont(theme_.ui());
  if (k < 0 || size_t(k) >= budget_.kernels.size()) return 0;
  const KernelBudget& kernel = budget_.kernels[size_t(k)];
  const bool two = width > 640;
  const double column = two ? (width - 3 * kMargin) / 2 : width - 2 * kMargin;
  const double second = two ? 2 * kMargin + column : kMargin;
  double y = kMargin;
  const double left = registers(p, kernel, QRectF(kMargin, y, column, 0), lit);
  const double right = shared(p, kernel, QRectF(second, two ? y : left + kMargin, column, 0), lit);
  y = std::max(left, right) + kMargin;
  const double third = occupancy(p, kernel, QRectF(kMargin, y, column, 0));
  const double fourth = units(p, QRectF(second, two ? y : third + kMargin, column, 0));
  y = std::max(third, fourth) + kMargin;
  return pipeline(p, kernel, QRectF(kMargin, y, width - 2 * kMargin, 0), from, to, lit) + kMargin;
}

}  // namespace nautilus::gui
