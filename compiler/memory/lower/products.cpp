// Fragments of matrix products over the warps of a block.
#include <algorithm>

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

// Warps in a grid over rows and columns: as square as possible in what each reads; along the rows
// alone where columns are reduced.
void grid_of_warps(Product& p, int warps, int64_t columns) {
  const int64_t size_m = shape_size(p.shape).m, size_n = shape_size(p.shape).n;
  const int64_t m = padded_rows(p.axes.m, size_m), n = padded_rows(p.axes.n, size_n);
  int64_t best = -1;
  p.row_warps = p.column_warps = 1;
  for (int wm = 1; wm <= warps; wm *= 2)
    for (int wn = 1; wm * wn <= warps; wn *= 2) {
      if (wm * size_m > m || wn * size_n > n || (columns && wn > columns)) continue;
      // More warps first, then the least that all of them read; rows of a warp rather than columns.
      const int64_t reads = (m / wm + n / wn) * wm * wn;
      const int64_t cost = -int64_t(wm * wn) * (int64_t(1) << 40) + reads * 2 + (wm > wn ? 1 : 0);
      if (best == -1 || cost < best) best = cost, p.row_warps = wm, p.column_warps = wn;
    }
}

void place_product(Product& p, int warps, const std::set<std::string>& contracted_axes) {
  const ShapeSize size = shape_size(p.shape);
  std::map<std::string, int64_t> fixed;
  for (const auto* part : {&p.axes.m, &p.axes.n})
    for (const Axis& a : *part)
      if (contracted_axes.count(a.name) && a.extent % size.k == 0) fixed[a.name] = a.extent;
  const Dimension m = spread(p.axes.m, fixed, size.m, p.row_warps),
                  n = spread(p.axes.n, fixed, size.n, p.column_warps), k = contracted(p.axes.k);
  const int row_bits = log2_exact(p.row_warps), column_bits = log2_exact(p.column_warps);
  const int spare = log2_exact(warps) - row_bits - column_bits;  // copies
  auto all_warps = [&](Linear l) { return spare > 0 ? l * Linear::zeros("warp", spare) : l; };
  p.c = {all_warps(over_warps(accumulator(p.shape, m.own, n.own), &m, &n, row_bits, column_bits)),
         repeats_of(m, n)};
  p.a = {
      all_warps(over_warps(operand_a(p.shape, m.own, k.own), &m, nullptr, row_bits, column_bits)),
      repeats_of(m, k)};
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
