// Fragments of matrix products over the warps of a block.
#include <algorithm>

#include "compiler/memory/checks.h"
#include "compiler/memory/f2.h"
#include "compiler/memory/lower/products.h"

namespace nautilus::memory::lowering {

namespace {

int64_t ceil_power(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}
int64_t power_part(int64_t n) { return n & -n; }

// The block of an axis in instructions of `least` rows or columns: all of it with its padding
// where little is lost, else a part that repeats.
int64_t block_of(int64_t extent, int64_t least) {
  int64_t best = least, lost = (extent + least - 1) / least * least;
  for (int64_t b = 2 * least; b <= ceil_power(std::max(extent, least)); b *= 2) {
    const int64_t padded = (extent + b - 1) / b * b;
    if (padded <= lost) best = b, lost = padded;
  }
  return best;
}

const tile::Instr* find_load(const tile::Region& r, TileId v) {
  for (const tile::Instr& i : r.body) {
    if (i.code == tile::Code::Load && i.results[0] == v) return &i;
    for (const tile::Region& inner : i.regions)
      if (const tile::Instr* found = find_load(inner, v)) return found;
  }
  return nullptr;
}
bool stores_to(const tile::Region& r, const std::string& tensor) {
  return std::any_of(r.body.begin(), r.body.end(), [&](const tile::Instr& i) {
    return (i.code == tile::Code::Store && i.tensor == tensor) ||
           std::any_of(i.regions.begin(), i.regions.end(),
                       [&](const tile::Region& inner) { return stores_to(inner, tensor); });
  });
}

struct Dimension {         // rows or columns: axes with their blocks, the highest bits over warps
  std::vector<Split> own;  // of one warp
  std::vector<std::pair<std::string, int>> warps;  // axis, bits; lowest first
  std::vector<Extent> repeats;
};

// `fixed`: blocks that are decided elsewhere (contracted axes of other products).
Dimension spread(const std::vector<Axis>& axes, const std::map<std::string, int64_t>& fixed,
                 int64_t least, int warps) {
  std::vector<int64_t> blocks;
  int64_t total = 1;
  for (const Axis& a : axes) {
    auto it = fixed.find(a.name);
    blocks.push_back(it != fixed.end()  ? power_part(a.extent)
                     : axes.size() == 1 ? block_of(a.extent, least * warps)
                                        : ceil_power(a.extent));
    total *= blocks.back();
  }
  for (; total < least * warps; total *= 2) blocks.front() *= 2;
  Dimension d;
  std::vector<int64_t> own = blocks;
  std::vector<std::pair<std::string, int>> taken;
  int left = log2_exact(warps);
  for (size_t n = axes.size(); n-- > 0 && left > 0;) {
    int64_t others = 1;
    for (size_t m = 0; m < axes.size(); ++m)
      if (m != n) others *= own[m];
    int bits = 0;
    while (bits < left && own[n] > 1 && others * own[n] / 2 >= least) own[n] /= 2, ++bits;
    if (bits) taken.emplace_back(axes[n].name, bits);
    left -= bits;
  }
  d.warps.assign(taken.rbegin(), taken.rend());
  for (size_t n = 0; n < axes.size(); ++n) {
    d.own.push_back({axes[n].name, own[n]});
    if (axes[n].extent > blocks[n])
      d.repeats.push_back({axes[n].name, (axes[n].extent + blocks[n] - 1) / blocks[n]});
  }
  return d;
}

Dimension contracted(const std::vector<Axis>& axes) {
  Dimension d;
  for (const Axis& a : axes) {
    const int64_t block = power_part(a.extent);
    d.own.push_back({a.name, block});
    if (a.extent > block) d.repeats.push_back({a.name, a.extent / block});
  }
  return d;
}

Linear over_warps(Linear l, const Dimension* rows, const Dimension* columns, int row_bits,
                  int column_bits) {
  auto add = [&](const Dimension* d, int bits) {
    if (!d) {
      if (bits) l = l * Linear::zeros("warp", bits);
      return;
    }
    for (const auto& [axis, n] : d->warps) l = l * Linear::identity("warp", axis, n);
  };
  add(rows, row_bits);
  add(columns, column_bits);
  return l;
}

std::vector<Extent> repeats_of(const Dimension& x, const Dimension& y) {
  std::vector<Extent> out = x.repeats;
  out.insert(out.end(), y.repeats.begin(), y.repeats.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const Extent& a, const Extent& b) { return a.axis < b.axis; });
  return out;
}

}  // namespace

int64_t padded_rows(const std::vector<Axis>& axes, int64_t least) {
  int64_t n = 1;
  for (const Axis& a : axes) n *= axes.size() == 1 ? a.extent : ceil_power(a.extent);
  return std::max(least, ceil_power(n));
}

bool bulk_load(const tile::Instr& load, const tile::Kernel& k, const tile::Module& m) {
  const tile::TileType& t = k.types.at(load.results[0]);
  const auto tensor = std::find_if(m.tensors.begin(), m.tensors.end(),
                                   [&](const TensorDecl& d) { return d.name == load.tensor; });
  if (load.code != tile::Code::Load || !load.operands.empty() || load.value != 0 ||
      tensor == m.tensors.end() || stores_to(k.body, load.tensor))
    return false;
  const int bytes = type_bytes(t.elem);
  std::map<std::string, int64_t> uniform;
  for (const std::string& s : m.sizes) uniform[s] = 1;
  for (const auto& [s, n] : m.multiples) uniform[s] = n;
  if (t.elem != tensor->type || !inner_axis(load, t.axes) || tensor->extents.size() > 5 ||
      (tensor->extents.size() > 1 && divisor(tensor->extents.back(), uniform) * bytes % 16))
    return false;
  std::set<std::string> seen;
  for (size_t d = 0; d < load.index.size(); ++d) {
    const auto axis = plain_axis(load.index[d], t.axes);
    std::vector<std::string> vars;
    load.index[d].collect_vars(vars);
    for (const std::string& v : vars)
      if (has_axis(t.axes, v) && (!axis || v != *axis || !seen.insert(v).second)) return false;
  }
  if (seen.size() != t.axes.size() || load.cond.any.size() != 1) return false;
  return std::all_of(load.cond.any[0].begin(), load.cond.any[0].end(), [&](const Cond::Atom& a) {
    if (a.equality) return false;
    if (a.expr.is_const()) return a.expr.constant() >= 0;
    for (size_t d = 0; d < load.index.size(); ++d)
      if (a.expr == load.index[d] || a.expr == tensor->extents[d] - 1 - load.index[d]) return true;
    return false;
  });
}

bool takes_warpgroup(const tile::Kernel& k, const Product& p, const Units& units) {
  if (!units.warpgroups || p.shape != Shape::M16N8K16 || p.split_second || p.axes.m.size() != 1 ||
      p.axes.n.size() != 1 || p.axes.k.size() != 1)
    return false;
  const int64_t rows = p.axes.m[0].extent, columns = p.axes.n[0].extent, depth = p.axes.k[0].extent;
  if (rows % 64 || power_part(rows) != rows || columns % 8 || depth % 16) return false;
  const tile::Instr* loads[2] = {find_load(k.body, p.first), find_load(k.body, p.second)};
  if (!loads[1]) return false;
  for (const tile::Instr* l : loads) {
    if (!l) continue;
    if (!bulk_load(*l, k, *units.module)) return false;
    // Panels follow the rows of one block: rows in several blocks need the contracted axis inside.
    const std::string inner = *inner_axis(*l, k.types.at(l->results[0]).axes);
    for (const Axis& a : k.types.at(l->results[0]).axes) {
      if (a.name == inner && a.extent % 16) return false;
      if (a.name != inner && (a.extent % 8 || a.extent > 256 || power_part(a.extent) != a.extent))
        return false;
    }
  }
  return true;
}

// Warps in a grid over rows and columns: as square as possible in what each reads; along the rows
// alone where columns are reduced.
void grid_of_warps(Product& p, int warps, int64_t columns) {
  const int64_t size_m = shape_size(p.shape).m, size_n = shape_size(p.shape).n;
  const int64_t m = padded_rows(p.axes.m, size_m), n = padded_rows(p.axes.n, size_n);
  const int each = p.warpgroup() ? 4 : 1;  // warps an instruction
  int64_t best = -1;
  p.row_warps = each;
  p.column_warps = 1;
  for (int wm = 1; each * wm <= warps; wm *= 2)
    for (int wn = 1; each * wm * wn <= warps; wn *= 2) {
      if (wm * size_m > m || wn * size_n > n || (columns && wn > columns)) continue;
      // More warps first, then the least that all of them read; rows of a warp rather than columns,
      // of a warpgroup the other way round: wide instructions read less of shared memory.
      const int64_t reads = (m / wm + n / wn) * wm * wn;
      const int64_t cost =
          -int64_t(wm * wn) * (int64_t(1) << 40) + reads * 2 + ((wm > wn) != p.warpgroup() ? 1 : 0);
      if (best == -1 || cost < best) best = cost, p.row_warps = each * wm, p.column_warps = wn;
    }
}

void place_product(Product& p, int warps, const std::set<std::string>& contracted_axes) {
  const ShapeSize size = shape_size(p.shape);
  std::map<std::string, int64_t> fixed;
  for (const auto* part : {&p.axes.m, &p.axes.n})
    for (const Axis& a : *part)
      if (contracted_axes.count(a.name) && a.extent % size.k == 0) fixed[a.name] = a.extent;
  const int each = p.warpgroup() ? 4 : 1;
  const Dimension m = spread(p.axes.m, fixed, size.m, p.row_warps / each),
                  n = spread(p.axes.n, fixed, size.n, p.column_warps), k = contracted(p.axes.k);
  const int row_bits = log2_exact(p.row_warps / each), column_bits = log2_exact(p.column_warps);
  const int spare = log2_exact(warps / each) - row_bits - column_bits;  // copies
  auto all_warps = [&](Linear l) { return spare > 0 ? l * Linear::zeros("warp", spare) : l; };
  p.c = {all_warps(over_warps(accumulator(p.shape, m.own, n.own), &m, &n, row_bits, column_bits)),
         repeats_of(m, n)};
  p.a = {
      all_warps(over_warps(operand_a(p.shape, m.own, k.own), &m, nullptr, row_bits, column_bits)),
      repeats_of(m, k)};
  if (p.warpgroup()) return;
  p.b = {
      all_warps(over_warps(operand_b(p.shape, n.own, k.own), nullptr, &n, row_bits, column_bits)),
      repeats_of(n, k)};
  // Parts: about 32 registers of factors at a time.
  auto registers = [&](int64_t depth) {
    int64_t rows = 1, columns = 1;
    for (const Split& s : m.own) rows *= s.extent;
    for (const Split& s : n.own) columns *= s.extent;
    for (const Extent& e : m.repeats) rows *= e.count;
    for (const Extent& e : n.repeats) columns *= e.count;
    return (rows + columns) * depth * (size.k == 16 ? 2 : 4) / 32 / 4;
  };
  p.depth = size.k;
  while (p.depth < 64 && k.own[0].extent % (2 * p.depth) == 0 && registers(2 * p.depth) <= 40)
    p.depth *= 2;
  const std::vector<Split> part{{p.axes.k[0].name, p.depth}};
  p.a_part = {
      all_warps(over_warps(operand_a(p.shape, m.own, part), &m, nullptr, row_bits, column_bits)),
      m.repeats};
  p.b_part = {
      all_warps(over_warps(operand_b(p.shape, n.own, part), nullptr, &n, row_bits, column_bits)),
      n.repeats};
  auto by_name = [](const Extent& a, const Extent& b) { return a.axis < b.axis; };
  std::stable_sort(p.a_part.repeats.begin(), p.a_part.repeats.end(), by_name);
  std::stable_sort(p.b_part.repeats.begin(), p.b_part.repeats.end(), by_name);
}

}  // namespace nautilus::memory::lowering
