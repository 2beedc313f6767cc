#include <algorithm>
#include <cmath>

#include "autosched/cost/evaluate.h"

namespace nautilus::sched {

int64_t tile_extent(const StmtModel& s, const TileDim& t) {
  int64_t best = -1;
  for (const LoopDim& l : s.loops)
    if (l.e == t.e && (best < 0 || l.step < best)) best = l.step;
  if (best > 0) return best;
  double range = 1;
  for (size_t k = 0; k < t.e.coef.size(); ++k)
    range += std::abs(t.e.coef[k]) *
             static_cast<double>(std::max<int64_t>(0, s.extent(static_cast<int>(k)) - 1));
  return static_cast<int64_t>(std::max(1.0, range));
}

double tile_lanes(const StmtModel& s) {
  double n = 1;
  for (const TileDim& t : s.tile) n *= static_cast<double>(tile_extent(s, t));
  return n;
}

double lanes_of(const StructureModel& m, const StmtModel& s, const std::vector<std::string>& axes) {
  const auto extent = [](const StmtModel& of, const std::string& axis) -> std::optional<int64_t> {
    for (const TileDim& t : of.tile)
      if (t.member == axis) return tile_extent(of, t);
    return std::nullopt;
  };
  double n = 1;
  for (const std::string& a : axes) {
    std::optional<int64_t> e = extent(s, a);
    for (size_t k = 0; k < m.stmts.size() && !e; ++k)
      if (m.stmts[k].kernel == s.kernel) e = extent(m.stmts[k], a);
    if (e) n *= static_cast<double>(*e);
  }
  return n;
}

ProductShape product_shape(const StmtModel& s) {
  ProductShape out;
  const AccessModel *a = nullptr, *b = nullptr;
  for (const AccessModel& x : s.accesses)
    if (!x.write) (a ? b : a) = &x;
  if (!a || !b) return out;
  for (const TileDim& t : s.tile) {
    bool reduced = false, in_a = false, in_b = false;
    for (size_t d = 0; d < t.e.coef.size(); ++d) {
      if (t.e.coef[d] == 0) continue;
      reduced |= s.reduced[d];
      in_a |= a->depends[d];
      in_b |= b->depends[d];
    }
    double& slot = reduced ? out.k : in_a && in_b ? out.batch : in_a ? out.m : out.n;
    slot *= static_cast<double>(tile_extent(s, t));
  }
  return out;
}

bool by_warpgroups(const StmtModel& s, const Machine& machine) {
  constexpr int64_t kRows = 64;
  Type type = Type::F32;
  if (machine.matrix_shape.empty() || machine.matrix_shape[0] < kRows ||
      !is_product_sum(s, &type) || type_bytes(type) != 2)
    return false;
  int wide = 0;  // tile axes that are no single row
  for (const TileDim& t : s.tile) wide += tile_extent(s, t) > 1;
  const ProductShape p = product_shape(s);
  const auto multiple = [](double x, int64_t of) { return std::fmod(x, double(of)) == 0; };
  return wide == 3 && p.batch == 1 && multiple(p.m, kRows) &&
         multiple(p.n, machine.matrix_shape[1]) && multiple(p.k, machine.matrix_shape[2]);
}

double instruction_rows(const StmtModel& s, const Machine& machine) {
  const bool warps = !machine.warp_shape.empty() && !by_warpgroups(s, machine);
  return static_cast<double>((warps ? machine.warp_shape : machine.matrix_shape)[0]);
}

double dim_range(const StmtModel& s, int dim, size_t depth) {
  double range = static_cast<double>(std::max<int64_t>(1, s.extent(dim)));
  for (size_t i = 0; i < depth && i < s.loops.size(); ++i)
    if (s.loops[i].e.single_dim() == dim)
      range = std::min(range, static_cast<double>(s.loops[i].step));
  return range;
}

double touched_elements(const AccessModel& a, const std::vector<double>& range,
                        const StructureModel& m, double line) {
  double n = 1;
  double bytes = a.tensor ? type_bytes(a.tensor->type) : 4;
  for (size_t d = 0; d < a.index.size(); ++d) {
    double extent = 1;
    for (size_t k = 0; k < range.size() && k < a.index[d].coef.size(); ++k)
      extent += std::abs(a.index[d].coef[k]) * (range[k] - 1);
    if (d + 1 == a.index.size()) extent = std::max(extent, line / bytes);
    n *= std::max(1.0, std::ceil(extent - 1e-9));
  }
  if (!a.tensor) return n;
  return std::min(n, std::max(1.0, static_cast<double>(m.elements(*a.tensor))) + line / bytes);
}

std::vector<TileCoordinate> coordinates(const StmtModel& s, size_t depth) {
  std::vector<TileCoordinate> out;
  for (size_t i = 0; i < depth && i < s.loops.size(); ++i)
    out.push_back({s.loops[i].e, s.loops[i].step});
  return out;
}

std::vector<TileCoordinate> grid_coordinates(const StmtModel& s) {
  std::vector<TileCoordinate> out;
  for (const LoopDim& l : s.loops)
    if (l.mapping == poly::Mapping::Grid) out.push_back({l.e, l.step});
  return out;
}

size_t hoisted_depth(const StmtModel& s, const AccessModel& a) {
  for (size_t i = s.loops.size(); i-- > 0;) {
    for (size_t k = 0; k < a.depends.size(); ++k)
      if (a.depends[k] && s.loops[i].e.coef[k] != 0) return i + 1;
  }
  return 0;
}

std::string knob_prefix(const StructureModel& m, int kernel) {
  if (m.kernels.size() <= 1) return "";
  return m.stmts[m.kernels[kernel].stmts.back()].stmt->write.tensor + ".";
}

StructureModel with_knobs(StructureModel m, const ProgramAxes& axes, const Knobs& knobs) {
  std::vector<std::string> prefix;
  for (size_t k = 0; k < m.kernels.size(); ++k)
    prefix.push_back(knob_prefix(m, static_cast<int>(k)) + "tile.");
  for (StmtModel& s : m.stmts)
    for (LoopDim& l : s.loops) {
      int axis = l.step > 1 ? axes.axis(s.stmt->name, l.e.single_dim()) : -1;
      if (axis < 0) continue;
      auto it = knobs.find(prefix[s.kernel] + axes.names[axis]);
      if (it != knobs.end()) l.step = it->second;
    }
  return m;
}

LiveTiles live_tiles(const StructureModel& m, int kernel, int stages) {
  LiveTiles out;
  const std::vector<int>& order = m.kernels[kernel].stmts;
  struct Live {
    size_t first, last;
    double bytes;
    bool carried;
  };
  std::map<std::string, Live> registers;
  auto tile_bytes = [&](const StmtModel& s) {
    const AccessModel& w = s.accesses.back();
    double n = w.tensor ? type_bytes(w.tensor->type) : 4;
    for (const TileDim& t : s.tile) {
      bool spans = false;
      for (size_t k = 0; k < w.depends.size(); ++k)
        if (w.depends[k] && t.e.coef[k] != 0) spans = true;
      if (spans) n *= static_cast<double>(tile_extent(s, t));
    }
    return n;
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const StmtModel& s = m.stmts[order[i]];
    const std::string& t = s.stmt->write.tensor;
    // A reduction's accumulator is a tile value while its loops run, wherever the result goes.
    bool accumulates = s.stmt->reduction.has_value();
    if (m.scope(t) != poly::Scope::Register && !accumulates) continue;
    Live live{i, i, tile_bytes(s), false};
    for (size_t j = i; j < order.size(); ++j)
      for (const AccessModel& a : m.stmts[order[j]].accesses)
        if (!a.write && a.tensor && a.tensor->name == t && m.scope(t) == poly::Scope::Register)
          live.last = j;
    if (accumulates)
      for (const LoopDim& l : s.loops) {
        bool reduced = false;
        for (size_t k = 0; k < s.reduced.size(); ++k) reduced |= s.reduced[k] && l.e.coef[k] != 0;
        if (!reduced) continue;
        live.carried = true;
        for (size_t j = 0; j < order.size(); ++j)
          for (const LoopDim& o : m.stmts[order[j]].loops)
            if (o.member == l.member) {
              live.first = std::min(live.first, j);
              live.last = std::max(live.last, j);
            }
      }
    auto [it, fresh] = registers.emplace(t, live);
    if (!fresh) it->second.bytes = std::max(it->second.bytes, live.bytes);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    double sum = 0, dying = 0;
    const StmtModel& s = m.stmts[order[i]];
    for (auto& [name, l] : registers) {
      if (i < l.first || i > l.last) continue;
      sum += l.bytes;
      // A point-wise statement overwrites an operand tile that nothing reads later.
      if (l.last == i && l.first < i && !l.carried && !s.stmt->reduction)
        dying = std::max(dying, l.bytes);
    }
    out.register_bytes = std::max(out.register_bytes, sum - dying);
  }
  // Scratch: shared temporaries by the part of them that one block holds, and operands staged for
  // products.
  std::map<std::string, double> shared;
  for (int i : order) {
    const StmtModel& s = m.stmts[i];
    bool product = is_product_sum(s, nullptr) && s.tile.size() >= 2;
    for (const AccessModel& a : s.accesses) {
      if (!a.tensor) continue;
      poly::Scope scope = m.scope(a.tensor->name);
      bool staged = product && !a.write && scope == poly::Scope::Global;
      if (scope != poly::Scope::Shared && !staged) continue;
      std::vector<double> range;
      size_t depth = staged ? s.loops.size() : grid_coordinates(s).size();
      if (!staged) {
        // Loops that all statements touching the buffer share bound what is alive of it.
        depth = s.loops.size();
        for (int j : order) {
          const StmtModel& o = m.stmts[j];
          bool touches = false;
          for (const AccessModel& b : o.accesses) touches |= b.tensor == a.tensor;
          if (!touches) continue;
          size_t common = 0;
          while (common < depth && common < o.loops.size() &&
                 o.loops[common].member == s.loops[common].member)
            ++common;
          depth = common;
        }
      }
      for (size_t k = 0; k < s.lo.size(); ++k)
        range.push_back(dim_range(s, static_cast<int>(k), depth));
      double bytes = touched_elements(a, range, m, 0) * type_bytes(a.tensor->type);
      bool streams = false;
      for (const LoopDim& l : s.loops)
        if (l.mapping != poly::Mapping::Grid)
          for (size_t k = 0; k < a.depends.size(); ++k) streams |= a.depends[k] && l.e.coef[k] != 0;
      if (staged && streams) bytes *= stages;
      double& slot = shared[a.tensor->name];
      slot = std::max(slot, bytes);
    }
  }
  for (auto& [name, bytes] : shared) out.shared_bytes += bytes;
  return out;
}

}  // namespace nautilus::sched
