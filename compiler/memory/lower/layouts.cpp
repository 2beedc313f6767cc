// Anchors and their spread over a kernel.
#include "compiler/memory/lower/layouts.h"

#include <algorithm>
#include <functional>

#include "compiler/memory/checks.h"
#include "compiler/memory/f2.h"
#include "compiler/memory/lower/products.h"

namespace nautilus::memory::lowering {

using tile::TileType;
using TileCode = tile::Code;

std::vector<std::string> missing(const std::vector<Axis>& all, const std::vector<Axis>& some) {
  std::vector<std::string> out;
  for (const Axis& a : all)
    if (!has_axis(some, a.name)) out.push_back(a.name);
  return out;
}

std::optional<std::string> inner_axis(const tile::Instr& access, const std::vector<Axis>& axes) {
  if (access.index.empty() || (!access.gather.empty() && access.gather.back() >= 0))
    return std::nullopt;
  return plain_axis(access.index.back(), axes);
}

namespace {

int ceil_log2(int64_t n) {
  int b = 0;
  while ((int64_t(1) << b) < n) ++b;
  return b;
}

void each(const tile::Region& r, const std::function<void(const tile::Instr&)>& f) {
  for (const tile::Instr& i : r.body) {
    f(i);
    for (const tile::Region& inner : i.regions) each(inner, f);
  }
}

std::set<std::string> reduced_axes(const tile::Kernel& k, const std::set<std::string>& spread) {
  std::set<std::string> out;
  each(k.body, [&](const tile::Instr& i) {
    if (i.code == TileCode::Reduce) out.insert(i.axes.begin(), i.axes.end());
  });
  for (const std::string& a : spread) out.erase(a);
  return out;
}

// Columns that warps may take: those that no reduction takes away, or all if none does.
int64_t free_columns(const std::vector<Axis>& n, const std::set<std::string>& reduced) {
  int64_t out = 1;
  bool any = false;
  for (const Axis& a : n)
    if (reduced.count(a.name))
      any = true;
    else
      out *= a.extent;
  return any ? out : 0;
}

bool any_in(const std::vector<Axis>& axes, const std::set<std::string>& names) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& a) { return names.count(a.name) > 0; });
}

std::set<TileId> loaded_values(const tile::Kernel& k) {
  std::set<TileId> out;
  each(k.body, [&](const tile::Instr& i) {
    if (i.code == TileCode::Load && i.operands.empty()) out.insert(i.results[0]);
  });
  return out;
}

// The matrix products of a kernel, turned so that rows are not reduced if that can be, and that
// what is computed rather than loaded comes first.
std::map<TileId, Product> find_products(const tile::Kernel& k, const Units& units,
                                        const std::set<std::string>& reduced) {
  std::map<TileId, Product> out;
  const std::set<TileId> loaded = loaded_values(k);
  each(k.body, [&](const tile::Instr& i) {
    const auto shape = i.code == TileCode::Dot ? matrix_shape(k, i, units.tf32) : std::nullopt;
    if (!shape) return;
    Product p;
    p.shape = *shape;
    p.axes = dot_axes(k, i);
    p.first = i.operands[0];
    p.second = i.operands[1];
    const bool m_reduced = any_in(p.axes.m, reduced), n_reduced = any_in(p.axes.n, reduced);
    if (m_reduced != n_reduced)
      p.swapped = m_reduced;
    else
      p.swapped = loaded.count(p.first) && !loaded.count(p.second);
    if (p.swapped) {
      std::swap(p.first, p.second);
      std::swap(p.axes.m, p.axes.n);
    }
    // Warps take the last columns first.
    std::stable_partition(p.axes.n.begin(), p.axes.n.end(),
                          [&](const Axis& a) { return reduced.count(a.name) > 0; });
    const Type a = k.types.at(p.first).elem, b = k.types.at(p.second).elem;
    if (p.shape == Shape::M16N8K8) {
      p.narrow = Type::F32;
    } else {
      p.split_first = a == Type::F32;
      p.split_second = b == Type::F32;
      p.narrow = p.split_first ? b : a;
    }
    if (takes_warpgroup(k, p, units)) p.shape = Shape::M64NxK16;
    out.emplace(i.results[0], std::move(p));
  });
  return out;
}

int power_floor(int64_t n) {
  int p = 1;
  while (2 * p <= n && p < 32) p *= 2;
  return p;
}

// Warps for a tile of lanes: up to 8, more only where a lane would hold many elements.
int lane_warps(int64_t lanes, int64_t each_warp) {
  return std::min(lanes > 16384 ? 16 : 8, power_floor(std::max<int64_t>(1, lanes / each_warp)));
}

// Spread of placements.
class Inference {
 public:
  Inference(const tile::Kernel& k, int warps, const Units& units,
            const std::set<std::string>& spread)
      : k_(k) {
    out_.warps = warps;
    out_.reduced = reduced_axes(k, spread);
    out_.products = find_products(k, units, out_.reduced);
    out_.bulk = std::any_of(out_.products.begin(), out_.products.end(),
                            [](const auto& p) { return p.second.warpgroup(); });
    each(k.body, [&](const tile::Instr& i) { all_.push_back(&i); });
  }
  Layouts run() {
    matrix_anchors();
    lane_anchors();
    operand_anchors();
    memory_anchors();
    return std::move(out_);
  }

 private:
  const tile::Kernel& k_;
  Layouts out_;
  std::vector<const tile::Instr*> all_;

  const TileType& type(TileId v) const { return k_.types.at(v); }

  bool set(TileId v, const Placement& p) {
    if (type(v).axes.empty() || out_.place.count(v)) return false;
    out_.place.emplace(v, p);
    return true;
  }
  // `narrow` has a subset of the axes of `wide`.
  bool down(TileId wide, TileId narrow) {
    auto it = out_.place.find(wide);
    if (it == out_.place.end() || !missing(type(narrow).axes, type(wide).axes).empty())
      return false;
    return set(narrow, without(it->second, missing(type(wide).axes, type(narrow).axes)));
  }
  bool same(TileId a, TileId b) {
    if (type(a).axes != type(b).axes) return down(a, b) || down(b, a);
    auto it = out_.place.find(a);
    if (it != out_.place.end()) return set(b, it->second);
    it = out_.place.find(b);
    return it != out_.place.end() && set(a, it->second);
  }
  bool renames(const tile::Instr& i) {
    std::map<std::string, std::string> to, from;
    for (const auto& [x, y] : i.renames) to[x] = y, from[y] = x;
    auto it = out_.place.find(i.operands[0]);
    if (it != out_.place.end()) return set(i.results[0], renamed(it->second, to));
    it = out_.place.find(i.results[0]);
    return it != out_.place.end() && set(i.operands[0], renamed(it->second, from));
  }
  bool step(const tile::Instr& i) {
    bool moved = false;
    switch (i.code) {
      case TileCode::Map:
      case TileCode::Cast:
      case TileCode::Mask:
        for (TileId v : i.operands)
          moved |= type(v).axes == type(i.results[0]).axes ? same(v, i.results[0])
                                                           : down(i.results[0], v);
        return moved;
      case TileCode::Load:
        for (TileId v : i.operands) moved |= down(i.results[0], v);
        return moved;
      case TileCode::Store:
        for (size_t n = 1; n < i.operands.size(); ++n) moved |= down(i.operands[0], i.operands[n]);
        return moved;
      case TileCode::Reduce:
        return down(i.operands[0], i.results[0]);
      case TileCode::Rename:
        return renames(i);
      case TileCode::For:
        for (size_t n = 0; n < i.results.size(); ++n) {
          const tile::Region& r = i.regions[0];
          moved |= same(r.args[n], i.results[n]);
          moved |= same(r.args[n], r.yields[n]);
          moved |= same(r.args[n], i.operands[n]);
        }
        return moved;
      case TileCode::If:
        for (const tile::Region& r : i.regions)
          for (size_t n = 0; n < i.results.size(); ++n) moved |= same(i.results[n], r.yields[n]);
        return moved;
      default:
        return false;
    }
  }
  void propagate() {
    for (bool moved = true; moved;) {
      moved = false;
      for (const tile::Instr* i : all_) moved |= step(*i);
    }
  }
  void anchor(TileId v, const Placement& p) {
    if (set(v, p)) propagate();
  }

  void matrix_anchors() {
    std::set<std::string> contracted;
    for (const auto& [v, p] : out_.products)
      for (const Axis& a : p.axes.k) contracted.insert(a.name);
    // Products with the rows of one whose columns are reduced share its warps along the rows.
    std::set<std::vector<std::string>> row_wise;
    for (auto& [v, p] : out_.products) {
      const int64_t columns = free_columns(p.axes.n, out_.reduced);
      grid_of_warps(p, out_.warps, columns);
      if (columns && p.row_warps > (p.warpgroup() ? 4 : 1)) row_wise.insert(names_of(p.axes.m));
    }
    for (auto& [v, p] : out_.products) {
      if (row_wise.count(names_of(p.axes.m))) grid_of_warps(p, out_.warps, 1);
      place_product(p, out_.warps, contracted);
    }
    for (const tile::Instr* i : all_)
      if (auto it =
              i->code == TileCode::Dot ? out_.products.find(i->results[0]) : out_.products.end();
          it != out_.products.end())
        anchor(i->results[0], it->second.c);
  }
  // Register tiles of sums over both factors' axes.
  void lane_anchors() {
    for (const tile::Instr* i : all_) {
      if (i->code != TileCode::Dot || out_.products.count(i->results[0])) continue;
      out_.lane_products.insert(i->results[0]);
      const std::vector<Axis>& axes = type(i->results[0]).axes;
      if (axes.empty()) continue;
      const DotAxes d = dot_axes(k_, *i);
      Blocking how;
      how.inner = (!d.n.empty() ? d.n : !d.m.empty() ? d.m : d.batch)[0].name;
      for (const Axis& a : axes)
        if (a.name == how.inner) how.vector = std::min<int64_t>(4, a.extent & -a.extent);
      how.inner_lanes = axes.size() > 1 ? 8 : 32;
      how.warps = out_.warps;
      anchor(i->results[0], block_placement(axes, how, out_.reduced));
    }
  }
  // What is computed for a product whose warps all read other rows of it lies as the product
  // wants it.
  void operand_anchors() {
    for (const tile::Instr* i : all_) {
      auto it = i->code == TileCode::Dot ? out_.products.find(i->results[0]) : out_.products.end();
      if (it == out_.products.end() || it->second.column_warps > 1) continue;
      if (it->second.row_warps < out_.warps) continue;
      anchor(it->second.first, it->second.a);
    }
  }
  // Largest first: loads and stores along the rows of their tensors, then whatever is left.
  void memory_anchors() {
    struct Seed {
      TileId v;
      std::string inner;
      int64_t lanes;
      int kind;
    };
    std::vector<Seed> seeds;
    auto largest = [&](TileId v) {
      const auto& axes = type(v).axes;
      return std::max_element(axes.begin(), axes.end(),
                              [](const Axis& a, const Axis& b) { return a.extent < b.extent; })
          ->name;
    };
    for (const tile::Instr* i : all_) {
      const TileId access = i->code == TileCode::Load    ? i->results[0]
                            : i->code == TileCode::Store ? i->operands[0]
                                                         : -1;
      if (access >= 0 && !type(access).axes.empty()) {
        const auto inner = inner_axis(*i, type(access).axes);
        seeds.push_back(
            {access, inner.value_or(largest(access)), tile::lanes(type(access)), inner ? 0 : 1});
      }
      for (TileId v : i->results)
        if (!type(v).axes.empty()) seeds.push_back({v, largest(v), tile::lanes(type(v)), 2});
      for (const tile::Region& r : i->regions)
        for (TileId v : r.args)
          if (!type(v).axes.empty()) seeds.push_back({v, largest(v), tile::lanes(type(v)), 2});
    }
    std::stable_sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) {
      return a.lanes != b.lanes ? a.lanes > b.lanes : a.kind < b.kind;
    });
    for (const Seed& s : seeds) {
      if (out_.place.count(s.v)) continue;
      const TileType& t = type(s.v);
      Blocking how;
      how.inner = s.inner;
      how.warps = out_.warps;
      for (const Axis& a : t.axes)
        if (a.name == s.inner) {
          how.vector =
              std::min<int64_t>(std::max(1, 16 / type_bytes(t.elem)), a.extent & -a.extent);
          while (how.vector > 1 && tile::lanes(t) / how.vector < 32) how.vector /= 2;
        }
      anchor(s.v, block_placement(t.axes, how, out_.reduced));
    }
  }
};

}  // namespace

// Bits of each axis, lowest first: vector, lanes, warps; above them the block repeats.
Placement block_placement(const std::vector<Axis>& axes, const Blocking& how,
                          const std::set<std::string>& reduced) {
  std::vector<Axis> order;
  for (const Axis& a : axes)
    if (a.name == how.inner) order.push_back(a);
  for (const bool wanted : {true, false})  // reduced axes before those that warps can take
    for (auto a = axes.rbegin(); a != axes.rend(); ++a)
      if (a->name != how.inner && (reduced.count(a->name) > 0) == wanted) order.push_back(*a);
  std::map<std::string, int> used;
  std::vector<std::pair<std::string, int>> vector, lanes, warps;  // axis, bit
  auto left = [&](const Axis& a) { return ceil_log2(a.extent) - used[a.name]; };
  auto take = [&](std::vector<std::pair<std::string, int>>& into, const Axis& a, int bits) {
    for (; bits > 0 && left(a) > 0; --bits) into.emplace_back(a.name, used[a.name]++);
  };
  take(vector, order[0], log2_exact(std::max<int64_t>(1, how.vector)));
  take(lanes, order[0], log2_exact(how.inner_lanes));
  for (const Axis& a : order) take(lanes, a, 5 - int(lanes.size()));
  const int warp_bits = log2_exact(how.warps);
  for (auto a = order.rbegin(); a != order.rend(); ++a)
    if (!reduced.count(a->name)) take(warps, *a, warp_bits - int(warps.size()));
  lanes.resize(5, {"", 0});
  warps.resize(size_t(warp_bits), {"", 0});  // copies

  std::vector<Bits> in{{"register", int(vector.size())}, {"lane", 5}}, out;
  if (!warps.empty()) in.push_back({"warp", int(warps.size())});
  for (const Axis& a : axes)
    if (used[a.name]) out.push_back({a.name, used[a.name]});
  std::vector<std::vector<uint32_t>> images;
  for (const auto* bits : {&vector, &lanes, &warps})
    for (const auto& [axis, bit] : *bits) {
      std::vector<uint32_t> image;
      for (const Bits& o : out) image.push_back(o.name == axis ? uint32_t(1) << bit : 0);
      images.push_back(std::move(image));
    }
  Placement p;
  auto l = Linear::make(std::move(in), std::move(out), std::move(images));
  if (!l) throw std::logic_error(l.error().text());
  p.map = *std::move(l);
  for (const Axis& a : axes) {
    const int64_t block = int64_t(1) << used[a.name];
    if (a.extent > block) p.repeats.push_back({a.name, (a.extent + block - 1) / block});
  }
  return p;
}

int choose_warps(const tile::Kernel& k, const Units& units, const std::set<std::string>& spread) {
  const std::set<std::string> reduced = reduced_axes(k, spread);
  const auto products = find_products(k, units, reduced);
  int rows = 0, groups = 0;  // warpgroups: two of 64 rows each where there are so many
  int64_t accumulators = 0, most = 1;
  for (const auto& [v, p] : products) {
    const int64_t m = padded_rows(p.axes.m, 16), n = padded_rows(p.axes.n, 8);
    if (p.warpgroup()) groups = std::max(groups, m >= 128 ? 2 : 1);
    if (any_in(p.axes.n, reduced))
      rows = std::max(rows, power_floor(m / 16 * free_columns(p.axes.n, reduced)));
    accumulators += m * n / 32;
    most = std::max(most, m / 16 * (n / 16));
  }
  if (rows) return std::clamp(rows, 4 * groups > 0 ? 4 : 1, 8);
  if (!products.empty()) {
    int w = std::max(4, 4 * groups);
    while (w < 16 && accumulators / w > 128) w *= 2;
    return int(std::min<int64_t>(w, power_floor(std::max<int64_t>(1, most))));
  }
  // Lanes: eight elements a lane of the largest tile, in warps that share no reduced axis.
  int64_t lanes = 1, apart = 1;
  for (const auto& [v, t] : k.types) {
    if (tile::lanes(t) < lanes) continue;
    int64_t a = 1;
    for (const Axis& x : t.axes)
      if (!reduced.count(x.name)) a *= x.extent;
    apart = tile::lanes(t) > lanes ? a : std::max(apart, a);
    lanes = tile::lanes(t);
  }
  return std::min(lane_warps(lanes, 256), power_floor(std::max<int64_t>(1, apart)));
}

Layouts infer_layouts(const tile::Kernel& k, int warps, const Units& units,
                      const std::set<std::string>& spread) {
  return Inference(k, warps, units, spread).run();
}

// Accumulators whose rows are reduced and too few for several warps; else the largest tile of
// lanes.
std::optional<Split> spread_axis(const tile::Kernel& k, const Units& units,
                                 const std::set<std::string>& spread) {
  const std::set<std::string> reduced = reduced_axes(k, spread);
  const auto products = find_products(k, units, reduced);
  for (const auto& [v, p] : products)
    if (any_in(p.axes.n, reduced) && padded_rows(p.axes.m, 16) > 16) return std::nullopt;
  for (const auto& [v, p] : products) {
    if (free_columns(p.axes.n, reduced) > 1) continue;  // spread already
    for (const Axis& a : p.axes.n)
      if (reduced.count(a.name) && a.extent % 32 == 0)
        return Split{a.name, std::min<int64_t>(4, a.extent / 16 & -(a.extent / 16))};
  }
  if (!products.empty()) return std::nullopt;
  TileId largest = -1;
  for (const auto& [v, t] : k.types)
    if (largest < 0 || tile::lanes(t) > tile::lanes(k.types.at(largest))) largest = v;
  if (largest < 0) return std::nullopt;
  const tile::TileType& t = k.types.at(largest);
  Blocking how;
  how.warps = lane_warps(tile::lanes(t), 512);
  if (how.warps < 2) return std::nullopt;
  how.inner = t.axes[0].name;
  each(k.body, [&](const tile::Instr& i) {
    if (i.code != TileCode::Load || k.types.at(i.results[0]).axes != t.axes) return;
    const auto inner = inner_axis(i, t.axes);
    if (!inner) return;
    how.inner = *inner;
    for (const Axis& a : t.axes)
      if (a.name == *inner)
        how.vector = std::min<int64_t>(16 / std::max(1, type_bytes(k.types.at(i.results[0]).elem)),
                                       a.extent & -a.extent);
  });
  const Placement p = block_placement(t.axes, how, reduced);
  int used = 1;
  for (int b = 0; b < p.map.in_bits("warp"); ++b)
    for (const Bits& o : p.map.out())
      if (p.map.image("warp", b, o.name)) used *= 2;
  const Axis* longest = nullptr;
  for (const Axis& a : t.axes)
    if (reduced.count(a.name) && (!longest || a.extent > longest->extent)) longest = &a;
  if (!longest) return std::nullopt;
  int64_t factor = how.warps / used;
  while (factor > 1 && (longest->extent % factor || longest->extent / factor < 16)) factor /= 2;
  if (factor < 2) return std::nullopt;
  return Split{longest->name, factor};
}

}  // namespace nautilus::memory::lowering
