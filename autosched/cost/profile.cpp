#include <algorithm>
#include <cmath>
#include <set>

#include "autosched/cost/evaluate.h"
#include "autosched/cost/parts.h"

namespace nautilus::sched {
namespace {

using Entry = StructureOps::Entry;

// CUDA: threads of a warp, and lanes of a unit that issue in one clock (four schedulers).
constexpr double kWarp = 32, kLanesOfUnit = 128;
// Vectors of the CPU code (compiler/backend/cpu): 16 floats; the compiler's own code for half of
// one.
constexpr double kVector = 16, kShortestVector = 8;

// Padding of a product's tile to the matrix unit's shape: rows, columns, depth, with rows and
// columns swapped where that wastes less.
double matrix_padding(const StmtModel& s, const std::vector<int64_t>& shape) {
  auto [m, n, k, batch] = product_shape(s);
  auto pad = [](double x, int64_t unit) {
    return std::ceil(x / static_cast<double>(unit)) * static_cast<double>(unit) / x;
  };
  double straight = pad(m, shape[0]) * pad(n, shape[1]),
         swapped = pad(n, shape[0]) * pad(m, shape[1]);
  (void)batch;
  return std::min(straight, swapped) * pad(k, shape[2]);
}

// GPU: how much longer the matrix unit takes for a product than its peak rate says. A wide operand
// is split into two halves of the narrow type: two passes, and not by warpgroups.
double matrix_penalty(const StmtModel& s, bool split, const Machine& machine) {
  const double passes = split ? 2 : 1;
  if (machine.warp_shape.empty() || (!split && by_warpgroups(s, machine)))
    return passes * matrix_padding(s, machine.matrix_shape);
  return passes * matrix_padding(s, machine.warp_shape) / machine.warp_share.value;
}

// How badly a statement fills the unit. GPU: lanes of its last warp that idle, and lanes that all
// resident blocks together leave free. CPU: scalar or strided code.
double penalty(const StmtModel& s, const std::string& unit, const Machine& machine, double lanes,
               double resident) {
  if (machine.kind == "gpu") {
    const double held = kWarp * std::ceil(std::max(1.0, lanes) / kWarp);
    return held / std::max(1.0, lanes) * std::max(1.0, kLanesOfUnit / (resident * held));
  }
  if (s.tile.empty() || lanes < kShortestVector)
    return machine.figure(unit == "special" ? "scalar_special" : "scalar_slots");
  // One tile axis that is contiguous (or absent) in every access lets the compiler use whole
  // vectors.
  double best = machine.figure("strided_slots");
  for (const TileDim& t : s.tile) {
    double extent = static_cast<double>(tile_extent(s, t));
    if (extent < kShortestVector) continue;
    bool good = true;
    for (const AccessModel& a : s.accesses) {
      if (a.write && s.stmt->reduction) continue;
      for (size_t d = 0; d < a.index.size(); ++d)
        for (size_t k = 0; k < t.e.coef.size(); ++k)
          if (t.e.coef[k] != 0 && a.index[d].coef[k] != 0 &&
              (d + 1 < a.index.size() || std::abs(a.index[d].coef[k]) > 1))
            good = false;
    }
    if (good)
      best = std::min(
          best, machine.figure("vector_slots") * std::ceil(extent / kVector) * kVector / extent);
  }
  return best;
}

// Serial loop iterations of one block: over the distinct loop nests, those of the longest block.
double serial_steps(const StructureModel& m, int kernel, double imbalance, TileCounter& counter) {
  std::map<std::string, double> nests;
  for (int i : m.kernels[kernel].stmts) {
    const StmtModel& s = m.stmts[i];
    std::string nest;
    for (const LoopDim& l : s.loops)
      if (l.mapping != poly::Mapping::Grid) nest += l.member + "/";
    if (nest.empty()) continue;
    double all = counter.nonempty(s, coordinates(s, s.loops.size()));
    double grid = std::max(1.0, counter.nonempty(s, grid_coordinates(s)));
    nests[nest] = std::max(nests[nest], all / grid * imbalance);
  }
  double steps = 0;
  for (auto& [nest, n] : nests) steps += n;
  return steps;
}

// Set-up of tile operations and packing of the operands of products, in slots of an FMA.
double cpu_overheads(const StructureModel& m, int kernel, const Machine& machine,
                     TileCounter& counter) {
  double seconds = 0;
  for (int i : m.kernels[kernel].stmts) {
    const StmtModel& s = m.stmts[i];
    if (s.tile.empty()) continue;
    double tiles = counter.nonempty(s, coordinates(s, s.loops.size()));
    seconds += machine.figure("tile_setup") * tiles;
    if (!is_product_sum(s, nullptr)) continue;
    auto [rows, columns, depth, batch] = product_shape(s);
    seconds += machine.figure("pack_element") * tiles * batch * depth * columns;
  }
  return seconds * machine.fma.value / 2 / machine.units;
}

}  // namespace

ResourceProfile Evaluator::kernel(const StructureModel& m, int kernel, const StructureOps& ops,
                                  int stages) {
  ResourceProfile r;
  r.kernels = 1;
  // Warpgroups are fed by one that only copies; two of them share a block, or two blocks a unit.
  for (int i : m.kernels[kernel].stmts)
    r.fed |= machine_.kind == "gpu" && by_warpgroups(m.stmts[i], machine_);
  r.stages = r.fed ? std::max(2, stages) : stages;
  const LiveTiles live = live_tiles(m, kernel, r.stages);
  r.register_bytes = live.register_bytes;
  r.shared_bytes = live.shared_bytes;
  std::map<std::string, const StmtModel*> by_name;
  double heaviest = 0, groups = 0;
  int products = 0;
  for (int i : m.kernels[kernel].stmts) {
    const StmtModel& s = m.stmts[i];
    by_name[s.stmt->name] = &s;
    if (machine_.kind == "gpu" && is_product_sum(s, nullptr)) {
      groups = std::max(groups, std::ceil(product_shape(s).m / instruction_rows(s, machine_)));
      r.chained = ++products > 1;
    }
    r.blocks = std::max(r.blocks, counter_.nonempty(s, grid_coordinates(s)));
    if (s.instances > heaviest) {
      heaviest = s.instances;
      r.imbalance = counter_.imbalance(s, grid_coordinates(s), coordinates(s, s.loops.size()));
    }
  }
  if (groups > 0) r.groups = groups;
  if (r.fed) r.copier_bytes = kLeastRegisters, r.most_resident = groups > 1 ? 1 : 2;
  const double resident = resident_blocks(r, machine_);
  const Shares shares(ops, counter_);
  for (const Entry& e : ops.entries) {
    if (e.unit == "load" || e.unit == "store") continue;
    auto it = by_name.find(e.stmt);
    if (it == by_name.end()) continue;
    const StmtModel& s = *it->second;
    const double times = shares.times(e, s);
    double lanes = lanes_of(m, s, e.axes), n = e.per_lane * lanes * times;
    if (e.unit == "matrix" || e.unit == "split") {
      r.ops["matrix"] += n;
      Type t = Type::F16;
      is_product_sum(s, &t);
      const double rate = machine_.matrix_rate(t);
      r.matrix_rate = r.matrix_rate == 0 ? rate : std::min(r.matrix_rate, rate);
      const double pad = machine_.kind == "gpu" ? matrix_penalty(s, e.unit == "split", machine_)
                                                : penalty(s, "matrix", machine_, lanes, resident);
      // A thin product is better off on the FMA units.
      if (machine_.kind == "gpu" && pad / rate > 1 / machine_.fma.value)
        r.issue["fma"] += n / 2 * penalty(s, "fma", machine_, lanes, resident);
      else
        r.issue["matrix"] += n * pad;
    } else {
      r.ops[e.unit] += n;
      r.issue[e.unit] += n * penalty(s, e.unit, machine_, lanes, resident);
    }
  }
  if (machine_.kind == "cpu") r.issue["fma"] += cpu_overheads(m, kernel, machine_, counter_);
  r.steps = serial_steps(m, kernel, r.imbalance, counter_);
  for (const MemoryLevel& l : machine_.levels) r.bytes[l.name] += 0;
  add_traffic(m, kernel, ops, machine_, counter_, shares, r);
  // A lane's operation takes three operands of 4 bytes; a matrix instruction reads and writes its
  // accumulators once for the depth of its shape.
  for (auto& [unit, n] : r.ops)
    r.bytes["register"] +=
        unit == "matrix" ? n * 4 / static_cast<double>(machine_.matrix_shape[2]) : 12 * n;
  return r;
}

ResourceProfile Evaluator::total(std::vector<ResourceProfile> kernels,
                                 const StructureOps& ops) const {
  ResourceProfile total;
  total.kernels = static_cast<int>(kernels.size());
  total.blocks = 0;
  total.compulsory_bytes = facts_->compulsory_bytes;
  total.useful_flops = facts_->useful_flops;
  total.rewrites = ops.rewrites;
  for (const ResourceProfile& r : kernels) {
    for (auto& [unit, n] : r.ops) total.ops[unit] += n;
    for (auto& [unit, n] : r.issue) total.issue[unit] += n;
    for (auto& [level, n] : r.bytes) total.bytes[level] += n;
    total.blocks += r.blocks;
    total.register_bytes = std::max(total.register_bytes, r.register_bytes);
    total.shared_bytes = std::max(total.shared_bytes, r.shared_bytes);
    total.imbalance = std::max(total.imbalance, r.imbalance);
    total.steps = std::max(total.steps, r.steps);
    total.matrix_rate = std::max(total.matrix_rate, r.matrix_rate);
    total.stages = r.stages;
    total.groups = r.groups;
  }
  total.blocks = std::max(1.0, total.blocks);
  if (ops.live_register_elems > 0)
    total.register_bytes = std::max(total.register_bytes, 4 * ops.live_register_elems);
  total.parts = std::move(kernels);
  return total;
}

ResourceProfile Evaluator::profile(const StructureModel& m, const StructureOps& ops, int stages) {
  std::vector<ResourceProfile> kernels;
  for (size_t k = 0; k < m.kernels.size(); ++k)
    kernels.push_back(kernel(m, static_cast<int>(k), ops, stages));
  return total(std::move(kernels), ops);
}

Expected<ResourceProfile> profile(const Plan& p, const Machine& machine, const StructureOps& ops) {
  Expected<std::shared_ptr<const ProgramFacts>> facts = program_facts(p.schedule.program);
  if (!facts) return facts.error();
  Expected<StructureModel> m = structure_model(p.schedule, *facts);
  if (!m) return m.error();
  Evaluator e(*facts, machine);
  auto stages = p.knobs.find("stages");
  try {
    return e.profile(
        *m, ops.entries.empty() ? direct_ops(*m) : ops,
        stages == p.knobs.end() ? 2 : static_cast<int>(std::max<int64_t>(1, stages->second)));
  } catch (const isl::exception& x) {
    return Refusal{"profile a plan", "", x.what(), ""};
  } catch (const std::range_error& x) {
    return Refusal{"profile a plan", "", x.what(), ""};
  }
}

}  // namespace nautilus::sched
