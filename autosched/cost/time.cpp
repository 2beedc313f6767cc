// Seconds from resources: per unit, per level, what overlaps, what is left over at the edges.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "autosched/cost.h"

namespace nautilus::sched {
namespace {

double get(const std::map<std::string, double>& m, const std::string& k) {
  auto it = m.find(k);
  return it == m.end() ? 0 : it->second;
}

double issued(const ResourceProfile& r, const std::string& unit) {
  double n = get(r.issue, unit);
  return n > 0 ? std::max(n, 0.0) : get(r.issue, unit) + (r.issue.empty() ? get(r.ops, unit) : 0);
}

double matrix_rate(const ResourceProfile& r, const Machine& m) {
  if (r.matrix_rate > 0) return r.matrix_rate;
  return m.matrix_rate(Type::F16);
}

// Shares of the slots of the lanes that one operation of a unit takes, relative to an FMA (measured
// on Hopper: conversions and maxima at half rate, a division about eight instructions).
double lane_slots(const std::string& unit) {
  if (unit == "divide") return 8;
  if (unit == "convert" || unit == "compare") return 2;
  if (unit == "special") return 1;
  return 1;
}

struct Parts {
  std::map<std::string, double> units, levels;
  double fixed = 0, latency = 0;
};

// Blocks run on `units` in waves; the last wave is partly empty, and a long block is waited for.
double spread(const ResourceProfile& r, double units) {
  double mean = r.blocks / units;
  if (r.imbalance > 1.0001)
    return std::max({1.0, r.imbalance / std::max(mean, 1e-12),
                     (mean + 0.5 * r.imbalance) / std::max(mean, 1e-12)});
  return std::ceil(mean) / mean;
}

int resident_blocks(const ResourceProfile& r, const Machine& m) {
  if (m.kind == "cpu") return 1;
  double reg = m.registers_per_unit.value / std::max(1.25 * r.register_bytes, 16.0 * 1024);
  double shared = m.shared_per_unit.value / std::max(r.shared_bytes + 1024, 4096.0);
  return static_cast<int>(std::clamp(std::min(reg, shared), 1.0, 8.0));
}

Parts parts_of(const ResourceProfile& r, const Machine& m) {
  Parts p;
  const bool gpu = m.kind == "gpu";
  const double uneven = spread(r, m.units);
  const double lanes_rate = m.fma.value / 2;
  double slots = 0;
  for (const char* unit : {"fma", "special", "divide", "convert", "compare"})
    slots += issued(r, unit) * lane_slots(unit);
  double matrix = issued(r, "matrix");
  if (gpu) {
    p.units["lanes"] = slots / lanes_rate * uneven;
    if (matrix > 0) p.units["matrix"] = matrix / (matrix_rate(r, m) * m.sustained.value) * uneven;
  } else {
    // One kind of core: products and lanes take turns.
    p.units["lanes"] = (slots / lanes_rate + matrix / m.fma.value) * uneven;
  }
  double special = issued(r, "special") + issued(r, "divide");
  if (special > 0) p.units["special"] = special / m.special.value * uneven;
  for (const MemoryLevel& l : m.levels) {
    double bytes = get(r.bytes, l.name);
    if (bytes <= 0 || l.name == "register") continue;
    // Half of the units are enough to fill a level that all share; a level of each unit's own fills
    // with them.
    double share = l.per_unit ? 1 / uneven : std::min(1.0, 2 * r.blocks / m.units);
    p.levels[l.name] = bytes / (l.bandwidth.value * share);
  }
  double waves = std::ceil(r.blocks / (static_cast<double>(m.units) * resident_blocks(r, m)));
  double per_step = 2 * m.barrier_latency.value + (r.stages <= 1 ? m.memory_latency.value : 0);
  if (gpu) {
    p.latency = waves * (r.steps * per_step + 2 * m.memory_latency.value);
    p.fixed = m.launch_latency.value + 2 * m.memory_latency.value;
  } else {
    p.fixed = m.launch_latency.value;
  }
  return p;
}

// The slowest of what overlaps, and a share of the rest that does not hide behind it.
double combine(const Parts& p, const ResourceProfile& r, const Machine& m) {
  double top = 0, sum = 0;
  for (auto& [u, t] : p.units) top = std::max(top, t), sum += t;
  double compute, memory = 0, rest = 0;
  if (m.kind == "gpu") {
    compute = top + 0.15 * (sum - top);
    for (auto& [l, t] : p.levels) memory = std::max(memory, t);
    double body = std::max({compute, memory, p.latency});
    rest = r.stages <= 1 ? std::min(compute, memory) * 0.7 : 0.08 * std::min(compute, memory);
    return p.fixed + body + rest;
  }
  compute = top;
  for (auto& [l, t] : p.levels) memory += l == "l1" ? 0.3 * t : t;
  return p.fixed + std::max(compute, memory) + 0.3 * std::min(compute, memory);
}

// Compulsory traffic at the outermost level, and products at the peak rate.
double lower_bound_of(const ResourceProfile& r, const Machine& m) {
  double t = r.compulsory_bytes / m.levels.front().bandwidth.value;
  return std::max(t, r.kernels * m.launch_latency.value);
}

std::string percent(double share) {
  char buf[32];
  std::snprintf(buf, sizeof buf, "%.0f %%", 100 * share);
  return buf;
}

std::string limiter_of(const std::map<std::string, double>& units, double seconds, double fixed,
                       const ResourceProfile& r, const Machine& m) {
  std::string best;
  double t = 0;
  for (auto& [u, s] : units)
    if (s > t) best = u, t = s;
  if (fixed > t)
    return "launch bound: " + percent(fixed / seconds) + " of the time starts and drains kernels";
  if (best == "matrix") return "matrix bound: " + percent(t / seconds) + " of cycles in products";
  if (best == "special") {
    double div = issued(r, "divide"), all = div + issued(r, "special");
    return "special-function bound: " + percent(t / seconds) + " of cycles in " +
           (div > all / 2 ? "divisions" : "exponentials");
  }
  if (best == "lanes")
    return "arithmetic bound: " + percent(t / seconds) + " of issue slots in element-wise work";
  if (best == "latency")
    return "latency bound: " + percent(t / seconds) + " of the time in dependent steps";
  if (best.empty()) return "nothing to do";
  return (best == m.levels.front().name ? "memory bound: " : best + " bound: ") +
         percent(t / seconds) + " of the time moves " + best + " bytes";
}

std::string bytes_text(double b) {
  char buf[48];
  std::snprintf(buf, sizeof buf, b >= 1 << 20 ? "%.1f MB" : "%.1f KB",
                b >= 1 << 20 ? b / (1 << 20) : b / 1024);
  return buf;
}

// Register tiles leave room for addresses and operands in flight: 78 % of the file (200 of 232 a
// thread on Hopper).
std::string over_capacity(const ResourceProfile& r, const Machine& m) {
  if (m.kind == "cpu") return "";
  double room = 0.78 * m.registers_per_unit.value;
  if (r.register_bytes > room)
    return "registers: tiles of one block need " + bytes_text(r.register_bytes) + ", " +
           bytes_text(room) + " are there (" + percent(r.register_bytes / room - 1) + " over)";
  if (r.shared_bytes > m.shared_per_unit.value)
    return "shared memory: one block needs " + bytes_text(r.shared_bytes) + ", " +
           bytes_text(m.shared_per_unit.value) + " are there (" +
           percent(r.shared_bytes / m.shared_per_unit.value - 1) + " over)";
  return "";
}

}  // namespace

Cost cost(const ResourceProfile& r, const Machine& m) {
  Cost c;
  c.profile = r;
  std::vector<ResourceProfile> whole{r};
  whole[0].parts.clear();
  double fixed = 0;
  for (const ResourceProfile& part : r.parts.empty() ? whole : r.parts) {
    Parts p = parts_of(part, m);
    c.seconds += combine(p, part, m);
    fixed += p.fixed;
    for (auto& [u, t] : p.units) c.unit_seconds[u] += t;
    for (auto& [l, t] : p.levels) c.unit_seconds[l] += t;
    if (p.latency > 0) c.unit_seconds["latency"] += p.latency;
    if (c.over_capacity.empty()) c.over_capacity = over_capacity(part, m);
  }
  c.lower_bound = lower_bound_of(r, m);
  c.seconds = std::max(c.seconds, c.lower_bound);
  c.fits = c.over_capacity.empty();
  c.limiter = limiter_of(c.unit_seconds, c.seconds, fixed, r, m);
  c.unit_seconds["fixed"] = fixed;
  // The roof of arithmetic: products on the matrix unit beside the rest on the lanes, whichever is
  // done last.
  const double products = std::min(get(r.ops, "matrix"), r.useful_flops);
  const double least = std::max(products > 0 ? products / matrix_rate(r, m) : 0.0,
                                (r.useful_flops - products) / m.fma.value);
  const double peak = least > 0 ? r.useful_flops / least : m.fma.value;
  for (const MemoryLevel& l : m.levels) {
    double bytes = get(r.bytes, l.name);
    if (l.name == m.levels.front().name) bytes = std::max(bytes, r.compulsory_bytes);
    if (bytes <= 0) continue;
    RooflinePoint pt;
    pt.level = l.name;
    pt.intensity = r.useful_flops / bytes;
    pt.achieved = c.seconds > 0 ? r.useful_flops / c.seconds : 0;
    pt.roof = std::min(peak, l.bandwidth.value * pt.intensity);
    c.points.push_back(pt);
  }
  return c;
}

}  // namespace nautilus::sched
