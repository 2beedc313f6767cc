// Seconds from resources: per unit, per level, what overlaps, what is left over at the edges.
// Figures that are measured come from the machine's description; the rest is derived, as said
// beside it.
#include "autosched/cost/parts.h"

#include <algorithm>
#include <cmath>

namespace nautilus::sched {
namespace {

// Scratch that the system keeps for every resident block (CUDA programming guide, compute
// capability 8.0 and later).
constexpr double kSystemShared = 1024;

// How much longer the busiest unit works than the mean one. Equal blocks run in waves. Of uneven
// blocks the longest start first (Graham 1969: the end is then ragged by less than one block); the
// end falls evenly into the last block, so half a block of mean length is waited for.
double spread(const ResourceProfile& r, double units) {
  const double mean = std::max(r.blocks / units, 1e-12);
  if (r.imbalance > 1.0001) return std::max({1.0, r.imbalance / mean, (mean + 0.5) / mean});
  return std::ceil(mean) / mean;
}

// Seconds of a level that all units share. Blocks that read the same lines drift apart, so the rate
// of lines that are asked for at once holds for none. With few loads under way, by Little's law:
// bytes in flight over the latency.
double level_seconds(const ResourceProfile& r, const Machine& m, const MemoryLevel& l, double bytes,
                     double resident) {
  const double busy = bytes / l.bandwidth.value;
  if (m.kind != "gpu" || r.flight_bytes <= 0 || l.name != m.levels.front().name) return busy;
  const double at_once = std::min(r.blocks, resident * m.units) * r.flight_bytes;
  return std::max(busy, bytes * m.memory_latency.value / at_once);
}

}  // namespace

double issued(const ResourceProfile& r, const std::string& unit) {
  const double n = get(r.issue, unit);
  return n > 0 || !r.issue.empty() ? n : get(r.ops, unit);
}

double matrix_rate_of(const ResourceProfile& r, const Machine& m) {
  return r.matrix_rate > 0 ? r.matrix_rate : m.matrix_rate(Type::F16);
}

// Tiles take the part of the registers that the compiler leaves to them.
double resident_blocks(const ResourceProfile& r, const Machine& m) {
  if (m.kind == "cpu") return 1;
  const double each =
      std::max(r.register_bytes / m.figure("register_room"), kLeastRegisters) + r.copier_bytes;
  const double registers = m.registers_per_unit.value / each;
  const double shared = m.shared_per_unit.value / (r.shared_bytes + kSystemShared);
  const double threads = m.max_threads_per_unit / kWarpgroup;
  const double fit = std::max(1.0, std::floor(std::min({registers, shared, threads})));
  return r.most_resident > 0 ? std::min(fit, r.most_resident) : fit;
}

TimeParts time_parts(const ResourceProfile& r, const Machine& m) {
  TimeParts p;
  const bool gpu = m.kind == "gpu";
  p.resident = resident_blocks(r, m);
  const double uneven = spread(r, m.units);
  const double lanes_rate = m.fma.value / 2;
  double slots = issued(r, "fma") + issued(r, "special");
  for (const char* unit : {"divide", "convert", "compare"})
    slots += issued(r, unit) * m.slots(unit);
  const double matrix = issued(r, "matrix");
  if (gpu) {
    p.units["lanes"] = slots / lanes_rate * uneven;
    if (matrix > 0)
      p.units["matrix"] = matrix / (matrix_rate_of(r, m) * m.sustained.value) * uneven;
  } else {
    // One kind of core: products and lanes take turns.
    p.units["lanes"] = (slots / lanes_rate + matrix / m.fma.value) * uneven;
  }
  const double special = issued(r, "special") + (gpu ? issued(r, "divide") : 0);
  if (special > 0) p.units["special"] = special / m.special.value * uneven;
  for (const MemoryLevel& l : m.levels) {
    const double bytes = get(r.bytes, l.name);
    if (bytes <= 0 || l.name == "register") continue;
    // A level of each unit's own fills with the units.
    p.levels[l.name] =
        l.per_unit ? bytes / l.bandwidth.value * uneven : level_seconds(r, m, l, bytes, p.resident);
  }
  p.fixed = m.launch_latency.value;
  if (gpu) {
    // A block waits for its first loads and its last stores; each step takes two barrier round
    // trips (filled, emptied), and with one copy the load itself.
    const double waves = std::ceil(r.blocks / (m.units * p.resident));
    const double step = 2 * m.barrier_latency.value + (r.stages <= 1 ? m.memory_latency.value : 0);
    p.latency = waves * (r.steps * step + 2 * m.memory_latency.value);
    p.fixed += 2 * m.memory_latency.value;
  }
  return p;
}

namespace {

// Products, lanes and the reads of products from the scratch overlap where two groups of warps take
// turns; one alone does them one after the other.
double overlapped_seconds(const TimeParts& p, const ResourceProfile& r, const Machine& m,
                          double turns) {
  double top = 0, sum = get(p.levels, "shared");
  for (auto& [u, t] : p.units) top = std::max(top, t), sum += t;
  return top + (turns * r.groups < 2 ? 1.0 : m.figure("unhidden")) * (sum - top);
}

// Warpgroups whose products of a step wait for each other. Of two blocks on a unit one has products
// while the other works on its rows. The groups of one run in step: the rows' work waits for the
// first product and runs beside the second. Neither hides how a step begins (a group of more than
// 64 rows does so several times) nor how a block begins and ends; another block does.
double chained_seconds(const TimeParts& p, const ResourceProfile& r, const Machine& m,
                       double turns) {
  const double each = r.blocks / m.units, steps_each = r.steps / r.imbalance;
  const double step = m.figure("chained_step", 2 * m.barrier_latency.value);
  const double block = m.figure("chained_block", 2 * m.memory_latency.value);
  const double waits = each * (steps_each * step * std::max(1.0, r.groups / 2) + block) / turns;
  const double lanes = get(p.units, "lanes"), special = get(p.units, "special");
  const double rows =
      std::max(lanes, special) + m.figure("chained_unhidden", 1) * std::min(lanes, special);
  const double matrix = get(p.units, "matrix");
  if (turns < 2) return matrix / 2 + std::max(matrix / 2, rows) + waits;
  return std::max(matrix, rows) +
         m.figure("unhidden") * (std::min(matrix, rows) + get(p.levels, "shared")) + waits;
}

}  // namespace

// The slowest of what overlaps, and the share of the rest that shows.
double combined_seconds(const TimeParts& p, const ResourceProfile& r, const Machine& m) {
  double memory = 0;
  const double unhidden = m.figure("unhidden");
  if (m.kind == "cpu") {
    double top = 0;
    for (auto& [u, t] : p.units) top = std::max(top, t);
    for (auto& [l, t] : p.levels) memory += l == "l1" ? unhidden * t : t;
    return p.fixed + std::max(top, memory) + unhidden * std::min(top, memory);
  }
  for (auto& [l, t] : p.levels) memory = std::max(memory, t);
  const double turns = std::min(p.resident, std::ceil(r.blocks / m.units));
  const double each = r.blocks / m.units, steps_each = r.steps / r.imbalance;
  const double compute = r.chained && r.fed
                             ? chained_seconds(p, r, m, turns)
                             : overlapped_seconds(p, r, m, turns) +
                                   unhidden * each * steps_each * 2 * m.barrier_latency.value;
  // With one copy a block loads or computes; only other blocks on its unit fill the gaps. With
  // more, the pipeline fills and drains: one of its steps does not overlap, unless other blocks run
  // then.
  const double steps = std::max(1.0, r.steps) * (turns > 1 ? std::ceil(r.blocks / m.units) : 1);
  const double rest = r.stages <= 1
                          ? std::max(0.0, (compute + memory) / turns - std::max(compute, memory))
                          : std::min(compute, memory) / steps;
  return p.fixed + std::max({compute, memory, p.latency}) + rest;
}

}  // namespace nautilus::sched
