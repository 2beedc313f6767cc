// The cost of a plan: its kernels' seconds, what limits them, and whether it fits.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "autosched/cost/parts.h"

namespace nautilus::sched {
namespace {

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

// Register tiles leave room for addresses and operands in flight; a thread of a warpgroup takes 40
// registers for them (of 240 allotted, tiles hold 200 before ptxas spills: the same measurement as
// "register_room"), so more groups hold less.
std::string over_capacity(const ResourceProfile& r, const Machine& m) {
  if (m.kind == "cpu") return "";
  constexpr double kOwn = 4 * 40 * kWarpgroup;
  double room = m.figure("register_room") * m.registers_per_unit.value;
  if (r.copier_bytes > 0)
    room = std::min(room, m.registers_per_unit.value - r.copier_bytes - r.groups * kOwn);
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
    TimeParts p = time_parts(part, m);
    c.seconds += combined_seconds(p, part, m);
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
  const double least = std::max(products > 0 ? products / matrix_rate_of(r, m) : 0.0,
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
