// Products as dense tables: which element of c is which row and column, and where the factors of
// each term lie in the registers of the warp.
#include <algorithm>

#include "compiler/memory/interpret_fragments.h"

namespace nautilus::memory {
namespace {

// Coordinates on some axes, numbered in order of appearance.
struct Tuples {
  std::vector<size_t> axes;  // of c
  std::map<std::vector<int32_t>, int32_t> number;
  std::vector<std::vector<int32_t>> all;
  int32_t of(const Points& p, size_t point) {
    std::vector<int32_t> t;
    for (size_t a : axes) t.push_back(p.at[a][point]);
    const auto [it, fresh] = number.emplace(t, int32_t(all.size()));
    if (fresh) all.push_back(std::move(t));
    return it->second;
  }
};

// Coordinates of the contracted axes, the last fastest.
std::vector<std::vector<int32_t>> terms(const std::vector<Axis>& axes) {
  std::vector<std::vector<int32_t>> all(1);
  for (const Axis& a : axes) {
    std::vector<std::vector<int32_t>> next;
    for (const auto& t : all)
      for (int64_t x = 0; x < a.extent; ++x) {
        next.push_back(t);
        next.back().push_back(int32_t(x));
      }
    all = std::move(next);
  }
  return all;
}

// Points outer x inner (or inner x outer) in their axes.
Points grid(const std::vector<std::string>& outer_axes,
            const std::vector<std::vector<int32_t>>& outer,
            const std::vector<std::string>& inner_axes,
            const std::vector<std::vector<int32_t>>& inner) {
  Points p;
  p.axes = outer_axes;
  p.axes.insert(p.axes.end(), inner_axes.begin(), inner_axes.end());
  p.count = outer.size() * inner.size();
  p.at.resize(p.axes.size());
  for (const auto& o : outer)
    for (const auto& i : inner) {
      for (size_t a = 0; a < o.size(); ++a) p.at[a].push_back(o[a]);
      for (size_t a = 0; a < i.size(); ++a) p.at[o.size() + a].push_back(i[a]);
    }
  return p;
}

}  // namespace

std::optional<std::vector<int32_t>> positions(const Fragment& f, int w, const Points& points) {
  std::vector<int32_t> where(size_t(f.elements), -1), out;
  const Held& h = f.of(w);
  for (size_t p = 0; p < h.logical.size(); ++p)
    if (h.logical[p] >= 0 && h.first[p] == int32_t(p)) where[size_t(h.logical[p])] = int32_t(p);
  std::vector<size_t> from;
  for (const Axis& a : f.axes) {
    const auto it = std::find(points.axes.begin(), points.axes.end(), a.name);
    if (it == points.axes.end()) return std::nullopt;
    from.push_back(size_t(it - points.axes.begin()));
  }
  for (size_t p = 0; p < points.count; ++p) {
    int64_t e = 0;
    for (size_t a = 0; a < f.axes.size(); ++a) {
      if (points.at[from[a]][p] >= f.axes[a].extent) return std::nullopt;
      e = e * f.axes[a].extent + points.at[from[a]][p];
    }
    if (where[size_t(e)] < 0) return std::nullopt;
    out.push_back(where[size_t(e)]);
  }
  return out;
}

Expected<const Product*> Fragments::product(const Fragment& c, const Fragment* a, const Fragment* b,
                                            const std::vector<Axis>& contracted,
                                            const std::vector<std::string>& b_axes) {
  auto pointer = [](const void* p) { return std::to_string(reinterpret_cast<uintptr_t>(p)) + " "; };
  std::string key = pointer(&c) + pointer(a) + pointer(b);
  for (const Axis& x : contracted) key += x.name + ":" + std::to_string(x.extent) + " ";
  for (const std::string& x : b_axes) key += x + " ";
  if (const auto it = product_keys_.find(key); it != product_keys_.end()) return it->second;

  auto out = std::make_unique<Product>();
  const std::vector<std::vector<int32_t>> k = terms(contracted);
  std::vector<std::string> k_axes;
  for (const Axis& x : contracted) k_axes.push_back(x.name);
  size_t warps = c.held.size();
  for (const Fragment* f : {a, b})
    if (f) warps = std::max(warps, f->held.size());
  for (size_t w = 0; w < warps; ++w) {
    Product::Warp p;
    Tuples rows, columns;
    std::vector<std::string> row_axes, column_axes;
    for (size_t x = 0; x < c.axes.size(); ++x) {
      const bool column = std::find(b_axes.begin(), b_axes.end(), c.axes[x].name) != b_axes.end();
      (column ? columns : rows).axes.push_back(x);
      (column ? column_axes : row_axes).push_back(c.axes[x].name);
    }
    const Held& h = c.of(int(w));
    std::vector<std::pair<int32_t, int32_t>> at;
    for (size_t q = 0; q < h.logical.size(); ++q) {
      if (h.logical[q] < 0)
        at.emplace_back(-1, -1);
      else
        at.emplace_back(rows.of(h.points, q), columns.of(h.points, q));
    }
    p.m = int(rows.all.size()), p.n = int(columns.all.size()), p.k = int(k.size());
    for (auto [row, column] : at) p.c.push_back(row < 0 ? -1 : row * p.n + column);
    p.a_points = grid(row_axes, rows.all, k_axes, k);
    p.b_points = grid(k_axes, k, column_axes, columns.all);
    for (const bool left : {true, false}) {
      const Fragment* f = left ? a : b;
      if (!f) continue;
      auto found = positions(*f, int(w), left ? p.a_points : p.b_points);
      if (!found)
        return Refusal{"", "",
                       "warp " + std::to_string(w) + " does not hold all of the " +
                           (left ? "left" : "right") + " factor that its part of the sum needs",
                       "give fragments of one shape"};
      (left ? p.a : p.b) = std::move(*found);
    }
    out->warps.push_back(std::move(p));
  }
  products_.push_back(std::move(out));
  return product_keys_[key] = products_.back().get();
}

}  // namespace nautilus::memory
