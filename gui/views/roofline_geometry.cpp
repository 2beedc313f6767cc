#include "gui/views/roofline_geometry.h"

#include <QStringList>
#include <algorithm>
#include <cmath>
#include <map>

#include "gui/models/quantity.h"

namespace nautilus::gui {
namespace {

// Beyond what doubles hold: a session or a machine of nonsense.
constexpr double kMostDecades = 400;
constexpr double kLeastRate = 1, kMostRate = 1e24;  // bytes or operations a second

using RoofKind = Roof::Kind;

QString qs(const std::string& s) { return QString::fromStdString(s); }

QString level_name(const std::string& level) {
  return level == "hbm" || level == "dram" || (level.size() == 2 && level[0] == 'l')
             ? qs(level).toUpper()
             : qs(level);
}

std::vector<Roof> matrix_roofs(const sched::Machine& m, const ProgramUse& use) {
  std::map<double, std::vector<std::string>, std::greater<>> by_rate;
  for (auto& [type, q] : m.matrix)
    if (q.value > 0) by_rate[q.value].push_back(type);
  std::vector<Roof> roofs;
  for (auto& [rate, types] : by_rate) {
    QStringList names;
    bool used = false;
    for (auto& t : types) {
      names << qs(t);
      used = used || use.types.contains(t);
    }
    if (use.types.empty()) used = m.matrix.contains("f16") && rate == m.matrix.at("f16").value;
    Roof r{RoofKind::Matrix,
           QStringLiteral("matrix unit ") + names.join(QStringLiteral(", ")),
           {},
           rate,
           qs(m.matrix.at(types.front()).source),
           {},
           used};
    roofs.push_back(r);
    if (m.sustained.value <= 0 || m.sustained.value >= 1) continue;
    r.kind = RoofKind::Sustained;
    r.name = QStringLiteral("sustained");
    r.value *= m.sustained.value;
    r.source = qs(m.sustained.source);
    r.note = QStringLiteral("%1 of the matrix rate above").arg(percent_text(m.sustained.value));
    roofs.push_back(r);
  }
  return roofs;
}

double lowest_world_y(const std::vector<Roof>& roofs, double x) {
  double slowest = 0;
  for (const Roof& r : roofs)
    if (r.diagonal() && r.shown && (slowest == 0 || r.value < slowest)) slowest = r.value;
  return std::log10(std::max(slowest, 1.0)) + x;
}

double highest(const std::vector<Roof>& roofs, bool diagonal) {
  double value = 0;
  for (const Roof& r : roofs)
    if (r.shown && r.diagonal() == diagonal) value = std::max(value, r.value);
  return value;
}

}  // namespace

QString Roof::value_text() const {
  return si(value, diagonal() ? QStringLiteral("B/s") : QStringLiteral("FLOP/s"));
}

QString Roof::source_word() const {
  if (kind == RoofKind::Special) return QStringLiteral("converted");
  if (source.isEmpty()) return QStringLiteral("no source");
  const auto measured = source.indexOf(QStringLiteral("measured"));
  const auto datasheet = source.indexOf(QStringLiteral("datasheet"));
  if (datasheet >= 0 && (measured < 0 || datasheet < measured)) return QStringLiteral("datasheet");
  return measured >= 0 ? QStringLiteral("measured") : QStringLiteral("derived");
}

QString Roof::label() const {
  return name + u' ' + value_text() + QStringLiteral(", ") + source_word();
}

QString Roof::explanation() const {
  QString s = name + u' ' + value_text();
  if (!note.isEmpty()) s += QStringLiteral(": ") + note;
  return s + QStringLiteral(". Source: ") +
         (source.isEmpty() ? QStringLiteral("none given") : source);
}

std::vector<Roof> roofs_of(const sched::Machine& m, const ProgramUse& use) {
  std::vector<Roof> roofs;
  for (const sched::MemoryLevel& l : m.levels) {
    if (l.bandwidth.value <= 0) continue;
    roofs.push_back({RoofKind::Memory,
                     level_name(l.name),
                     qs(l.name),
                     l.bandwidth.value,
                     qs(l.bandwidth.source),
                     {},
                     l.name != "register"});
    if (l.shared_bandwidth.value > l.bandwidth.value)
      roofs.push_back(
          {RoofKind::SharedReads, level_name(l.name) + QStringLiteral(" lines read by several"),
           qs(l.name), l.shared_bandwidth.value, qs(l.shared_bandwidth.source),
           QStringLiteral("of lines that several units read at about the same time"), true});
  }
  std::vector<Roof> flat = matrix_roofs(m, use);
  if (m.fma.value > 0)
    flat.push_back(
        {RoofKind::Fma, QStringLiteral("FMA f32"), {}, m.fma.value, qs(m.fma.source), {}, true});
  if (m.special.value > 0 && use.flops_per_special > 0)
    flat.push_back(
        {RoofKind::Special,
         QStringLiteral("special functions"),
         {},
         m.special.value * use.flops_per_special,
         qs(m.special.source),
         QStringLiteral(
             "%1 special functions a second, converted with the program's %2 useful FLOP "
             "for each")
             .arg(si(m.special.value, {}), QString::number(use.flops_per_special, 'g', 3)),
         true});
  std::stable_sort(flat.begin(), flat.end(), [](auto& a, auto& b) { return a.value > b.value; });
  roofs.insert(roofs.end(), flat.begin(), flat.end());
  std::erase_if(roofs,
                [](const Roof& r) { return !(r.value >= kLeastRate && r.value <= kMostRate); });
  return roofs;
}

std::vector<Ridge> ridges_of(const std::vector<Roof>& roofs) {
  std::vector<Ridge> out;
  for (size_t i = 0; i < roofs.size(); ++i)
    for (size_t j = 0; j < roofs.size(); ++j)
      if (roofs[i].diagonal() && !roofs[j].diagonal() && roofs[i].shown && roofs[j].shown &&
          !roofs[i].secondary() && !roofs[j].secondary())
        out.push_back({i, j, roofline_point(roofs[j].value / roofs[i].value, roofs[j].value)});
  return out;
}

QLineF roof_line(const std::vector<Roof>& roofs, size_t k, const QRectF& visible) {
  const Roof& r = roofs[k];
  const double value = std::log10(r.value);
  if (r.diagonal()) {
    const double top = highest(roofs, false);
    double from = std::max(visible.left(), -visible.bottom() - value);
    double to = std::min(visible.right(), -visible.top() - value);
    if (top > 0) to = std::min(to, std::log10(top) - value);
    if (from >= to) return {};
    return {from, -(from + value), to, -(to + value)};
  }
  if (-value < visible.top() || -value > visible.bottom()) return {};
  const double fastest = highest(roofs, true);
  const double from =
      fastest > 0 ? std::max(visible.left(), value - std::log10(fastest)) : visible.left();
  return from >= visible.right() ? QLineF() : QLineF(from, -value, visible.right(), -value);
}

QRectF machine_frame(const std::vector<Roof>& roofs) {
  double left = 1e9, right = -1e9;
  for (const Ridge& r : ridges_of(roofs)) {
    left = std::min(left, r.world.x());
    right = std::max(right, r.world.x());
  }
  const double top_value = highest(roofs, false);
  if (left > right || top_value <= 0) return {-1, -15, 5, 5};
  left = std::floor(left) - 1;
  right = std::ceil(right) + 1;
  const double top = std::ceil(std::log10(top_value) + 0.05);
  const double bottom = std::min(std::floor(lowest_world_y(roofs, left)), top - 2);
  return {left, -top, right - left, top - bottom};
}

QRectF frame_for(const QRectF& machine, QSizeF area) {
  QRectF frame = machine;
  const double shape = std::max(1.0, area.width()) / std::max(1.0, area.height());
  const auto whole = [](double decades) {
    return std::isfinite(decades) ? std::clamp(std::floor(decades), 0.0, kMostDecades) : 0.0;
  };
  frame.setBottom(frame.bottom() + whole(frame.width() / shape - frame.height()));
  const double room = std::min(frame.height() * shape, machine.width() + 4);
  if (frame.width() + 1 <= room) frame.setLeft(frame.left() - 1);
  frame.setRight(frame.right() + whole(room - frame.width()));
  return frame;
}

double highest_arithmetic(const sched::Machine& m) {
  double most = m.fma.value;
  for (auto& [type, q] : m.matrix) most = std::max(most, q.value);
  return most;
}

double attainable(double bandwidth, double arithmetic, double intensity) {
  if (bandwidth <= 0) return arithmetic;
  return arithmetic > 0 ? std::min(bandwidth * intensity, arithmetic) : bandwidth * intensity;
}

double attainable(const sched::Machine& m, const std::string& level, double intensity) {
  const sched::MemoryLevel* l = m.level(level);
  return attainable(l ? l->best_bandwidth() : 0, highest_arithmetic(m), intensity);
}

QPointF roofline_point(double intensity, double flops) {
  return {std::log10(intensity), -std::log10(flops)};
}
double world_intensity(QPointF w) { return std::pow(10.0, w.x()); }
double world_flops(QPointF w) { return std::pow(10.0, -w.y()); }

std::vector<LogTick> log_ticks(double lo, double hi, double pixels_a_decade) {
  std::vector<LogTick> ticks;
  if (!(std::abs(lo) <= kMostDecades && std::abs(hi) <= kMostDecades)) return ticks;
  const int first = static_cast<int>(std::floor(lo));
  const int stride = pixels_a_decade < 24 ? static_cast<int>(std::ceil(24 / pixels_a_decade)) : 1;
  for (int decade = first; decade <= hi; ++decade)
    for (int k = 1; k < 10; ++k) {
      const double at = decade + std::log10(k);
      if (at < lo - 1e-9 || at > hi + 1e-9) continue;
      if (k > 1 && pixels_a_decade < 60) continue;
      const bool label = k == 1             ? decade % stride == 0
                         : k == 2 || k == 5 ? pixels_a_decade > 260
                                            : pixels_a_decade > 900;
      ticks.push_back({at, k == 1, label, k * std::pow(10.0, decade)});
    }
  return ticks;
}

}  // namespace nautilus::gui
