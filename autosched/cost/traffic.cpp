// Bytes by level. GPU: what blocks load passes the L2; what neighbouring blocks share reaches
// memory once. CPU: for each cache, the outermost loop whose footprint fits decides how often an
// operand is fetched again.
#include <algorithm>
#include <cmath>
#include <set>

#include "autosched/cost/evaluate.h"
#include "autosched/cost/parts.h"

namespace nautilus::sched {
namespace {

// Shared by all; NVIDIA's L2 fetches sectors of 32 bytes (CUDA programming guide). It is in two
// partitions, each of which holds what its own units read (A100 whitepaper), so what all units read
// has half of it (kCacheForTemps).
constexpr double kSector = 32;

// Number of loads of one element at once in neighbouring blocks of a wave: grid dims, fastest last,
// that the access does not depend on.
double wave_sharing(const StmtModel& s, const AccessModel& a, double wave, TileCounter& counter) {
  double share = 1, left = wave;
  for (size_t i = s.loops.size(); i-- > 0 && left > 1;) {
    const LoopDim& l = s.loops[i];
    if (l.mapping != poly::Mapping::Grid) continue;
    double extent = std::max(1.0, counter.nonempty(s, {{l.e, l.step}}));
    double here = std::min(extent, left);
    bool depends = false;
    for (size_t k = 0; k < a.depends.size(); ++k) depends |= a.depends[k] && l.e.coef[k] != 0;
    if (!depends) share *= here;
    left /= extent;
  }
  return std::max(1.0, share);
}

const AccessModel* access_of(const StmtModel& s, const std::string& tensor, bool write) {
  for (const AccessModel& a : s.accesses)
    if (a.tensor && a.tensor->name == tensor && a.write == write) return &a;
  for (const AccessModel& a : s.accesses)
    if (a.tensor && a.tensor->name == tensor) return &a;
  return nullptr;
}

// Bytes fetched in whole lines for one byte asked for along the tensor's last dim by one tile.
double line_waste(const StmtModel& s, const AccessModel& a, double line) {
  if (a.index.empty() || !a.tensor) return 1;
  double run = 1;
  for (size_t k = 0; k < s.lo.size(); ++k)
    if (a.index.back().coef[k] != 0) run += (dim_range(s, static_cast<int>(k), s.loops.size()) - 1);
  double bytes = run * type_bytes(a.tensor->type);
  return std::max(1.0, std::min(line, line / std::max(1.0, bytes)));
}

// Bytes of the sectors that one tile reads of a tensor; where data say which elements, of all that
// its lanes may ask for.
double distinct_bytes(const StmtModel& s, const AccessModel& a, const StructureModel& m,
                      size_t loops) {
  const double element = type_bytes(a.tensor->type);
  if (std::find(a.gathered.begin(), a.gathered.end(), true) != a.gathered.end())
    return std::min(tile_lanes(s) * std::max(kSector, element),
                    static_cast<double>(m.elements(*a.tensor)) * element + kSector);
  std::vector<double> range;
  for (size_t k = 0; k < s.lo.size(); ++k)
    range.push_back(dim_range(s, static_cast<int>(k), loops));
  return touched_elements(a, range, m, kSector) * element;
}

// Bytes that the matrix instructions (or warps of FMAs) of a product read of an operand in the
// scratch, of which `staged` are brought there. Each takes its rows of the one and all columns of
// the other. Rows of a short instruction stay in registers over the loops that do not change them;
// one of a whole warpgroup reads them every time (PTX ISA, wgmma: 64 rows, up to 256 columns).
double operand_reads(const StmtModel& s, const AccessModel& a, double staged,
                     const Machine& machine, TileCounter& counter) {
  constexpr double kMostColumns = 256;
  const AccessModel* first = nullptr;
  for (const AccessModel& x : s.accesses)
    if (!x.write && !first) first = &x;
  const ProductShape p = product_shape(s);
  if (&a != first) return staged * std::max(1.0, std::ceil(p.m / instruction_rows(s, machine)));
  if (!by_warpgroups(s, machine)) return staged;
  return p.batch * p.m * p.k * std::ceil(p.n / kMostColumns) * type_bytes(a.tensor->type) *
         counter.nonempty(s, coordinates(s, s.loops.size()));
}

void gpu_traffic(const StructureModel& m, int kernel, const StructureOps& ops,
                 const Machine& machine, TileCounter& counter, const Shares& shares,
                 ResourceProfile& out) {
  const MemoryLevel* l2 = machine.level("l2");
  const double cache = l2 ? l2->capacity.value * kCacheForTemps : 0;
  const std::string outer = machine.levels.front().name;
  const double resident = resident_blocks(out, machine);
  const double wave = std::min(out.blocks, machine.units * resident);
  struct Item {
    const AccessModel* access;
    double traffic, per_block, share, size;
    bool temp;
  };
  std::vector<Item> items;
  std::map<std::string, double> flight;  // by statement: bytes of its loads under way at once
  double wave_bytes = 0;
  std::set<std::string> own;
  for (int i : m.kernels[kernel].stmts) own.insert(m.stmts[i].stmt->name);
  std::map<std::string, const StmtModel*> by_name;
  for (int i : m.kernels[kernel].stmts) by_name[m.stmts[i].stmt->name] = &m.stmts[i];
  for (const StructureOps::Entry& e : ops.entries) {
    if ((e.unit != "load" && e.unit != "store") || !own.contains(e.stmt)) continue;
    const StmtModel& s = *by_name[e.stmt];
    const AccessModel* a = access_of(s, e.tensor, e.unit == "store");
    if (!a) continue;
    const double tiles = shares.times(e, s);
    double bytes = e.per_lane * lanes_of(m, s, e.axes) * tiles * type_bytes(a->tensor->type);
    if (m.scope(e.tensor) == poly::Scope::Shared) {
      out.bytes["shared"] += bytes;
      continue;
    }
    if (m.scope(e.tensor) == poly::Scope::Register) continue;
    const double staged = bytes;
    bytes *= line_waste(s, *a, kSector);
    if (e.unit == "load" && !is_product_sum(s, nullptr)) {
      // What lanes of one tile read again they find in the cache beside the scratch.
      const double again = tiles * distinct_bytes(s, *a, m, e.loops.size());
      if (again < bytes) {
        bytes = again;
        out.bytes["shared"] += staged;
      }
    }
    if (e.unit == "load") {
      // The copies of a pipelined loop are under way together; else one tile at a time.
      bool streams = false;
      for (const LoopDim& l : s.loops)
        if (l.mapping != poly::Mapping::Grid)
          for (size_t k = 0; k < a->depends.size(); ++k)
            streams |= a->depends[k] && l.e.coef[k] != 0;
      flight[e.stmt] += e.per_lane * lanes_of(m, s, e.axes) * type_bytes(a->tensor->type) *
                        (streams ? std::max(1, out.stages) : 1);
    }
    std::vector<double> range;
    size_t grid = 0;
    while (grid < s.loops.size() && s.loops[grid].mapping == poly::Mapping::Grid) ++grid;
    for (size_t k = 0; k < s.lo.size(); ++k)
      range.push_back(dim_range(s, static_cast<int>(k), grid));
    Item it;
    it.access = a;
    it.traffic = bytes;
    it.per_block = touched_elements(*a, range, m, kSector) * type_bytes(a->tensor->type);
    it.share = wave_sharing(s, *a, wave, counter);
    it.size = static_cast<double>(m.elements(*a->tensor)) * type_bytes(a->tensor->type);
    it.temp = a->tensor->kind == poly::TensorKind::Temp;
    wave_bytes += it.per_block * wave / it.share;
    items.push_back(it);
    out.bytes["l2"] += bytes;
    if (is_product_sum(s, nullptr))
      out.bytes["shared"] += staged + operand_reads(s, *a, staged, machine, counter);
  }
  for (auto& [stmt, bytes] : flight) out.flight_bytes = std::max(out.flight_bytes, bytes);
  out.flight_bytes = std::min(out.flight_bytes, machine.registers_per_unit.value / resident +
                                                    machine.shared_per_unit.value / resident);
  for (const Item& it : items) {
    double distinct = std::min(it.size, it.traffic);
    double bytes;
    if (it.temp && it.size <= cache) {
      bytes = 0;
    } else if (it.size <= cache) {
      bytes = distinct;
    } else if (wave_bytes <= cache) {
      bytes = std::min(it.traffic, it.per_block * out.blocks) / it.share;
    } else {
      bytes = it.traffic / it.share;
    }
    if (!(it.temp && it.size <= cache)) bytes = std::max(bytes, distinct);
    out.bytes[outer] += bytes;
  }
}

void cpu_traffic(const StructureModel& m, int kernel, const StructureOps&, const Machine& machine,
                 TileCounter& counter, ResourceProfile& out) {
  const double line = 64;  // bytes of a cache line: x86-64, most of AArch64
  const double room = machine.figure("cache_room");
  // What tiles and scalars move between the registers and the cache that holds the block's values.
  LiveTiles live = live_tiles(m, kernel, 1);
  double held = live.register_bytes + live.shared_bytes;
  std::string home = "l1";
  for (const char* name : {"l1", "l2", "l3", "dram"})
    if (const MemoryLevel* l = machine.level(name)) {
      home = name;
      if (held <= room * l->capacity.value) break;
    }
  for (int i : m.kernels[kernel].stmts) {
    const StmtModel& s = m.stmts[i];
    double lanes = tile_lanes(s) * counter.nonempty(s, coordinates(s, s.loops.size()));
    bool product = is_product_sum(s, nullptr) && s.tile.size() >= 2;
    double moved = 4.0 * static_cast<double>(s.accesses.size()) * lanes;
    if (product) {
      // Blocks of 6 x 32 in registers: operands are read once a block row or column, results once a
      // tile.
      auto [rows, columns, depth, batch] = product_shape(s);
      double tile =
          4 * rows * columns * depth * (1 / std::min(rows, 6.0) + 1 / std::min(columns, 32.0)) +
          8 * rows * columns;
      moved = batch * tile * counter.nonempty(s, coordinates(s, s.loops.size()));
    }
    out.bytes["l1"] += moved;
    // What of the working set does not fit the first level is served by the level that holds it.
    double l1 = machine.level("l1") ? room * machine.level("l1")->capacity.value : 0;
    if (home != "l1") out.bytes[home] += moved * std::max(0.0, 1 - l1 / std::max(held, 1.0));
    // Fetches from each farther level: by the footprint of the loops that fit the nearer one.
    for (size_t level = 0; level + 1 < machine.levels.size(); ++level) {
      const MemoryLevel& nearer = machine.levels[level + 1];
      if (nearer.name == "register") break;
      const double fits = room * nearer.capacity.value;
      size_t depth = 0;
      std::vector<double> each;
      for (;; ++depth) {
        std::vector<double> range;
        for (size_t k = 0; k < s.lo.size(); ++k)
          range.push_back(dim_range(s, static_cast<int>(k), depth));
        each.clear();
        double sum = 0;
        for (const AccessModel& a : s.accesses) {
          bool memory = a.tensor && m.scope(a.tensor->name) == poly::Scope::Global;
          each.push_back(memory ? touched_elements(a, range, m, line) * type_bytes(a.tensor->type)
                                : 0);
          sum += each.back();
        }
        if (sum <= fits || depth >= s.loops.size()) break;
      }
      for (size_t a = 0; a < each.size(); ++a) {
        if (each[a] == 0) continue;
        size_t inside = std::min(depth, hoisted_depth(s, s.accesses[a]));
        double bytes = each[a] * counter.nonempty(s, coordinates(s, inside));
        const poly::Tensor& t = *s.accesses[a].tensor;
        double size = static_cast<double>(m.elements(t)) * type_bytes(t.type);
        // A written line is read first. A temporary that fits the nearer level as a whole never
        // leaves it.
        if (s.accesses[a].write) bytes *= 2;
        if (t.kind == poly::TensorKind::Temp && !nearer.per_unit &&
            size <= kCacheForTemps * nearer.capacity.value)
          continue;
        out.bytes[machine.levels[level].name] += bytes;
      }
    }
  }
}

}  // namespace

void add_traffic(const StructureModel& m, int kernel, const StructureOps& ops,
                 const Machine& machine, TileCounter& counter, const Shares& shares,
                 ResourceProfile& out) {
  if (machine.kind == "cpu")
    cpu_traffic(m, kernel, ops, machine, counter, out);
  else
    gpu_traffic(m, kernel, ops, machine, counter, shares, out);
}

}  // namespace nautilus::sched
