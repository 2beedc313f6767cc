#include "autosched/cost/counts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "polyhedral/footprint.h"

namespace nautilus::sched {
namespace {

// Coordinates without those that a finer one of the same function determines.
std::vector<TileCoordinate> essential(const std::vector<TileCoordinate>& coords) {
  std::vector<TileCoordinate> out;
  for (const TileCoordinate& c : coords) {
    bool determined =
        std::all_of(c.e.coef.begin(), c.e.coef.end(), [](double x) { return x == 0; });
    for (const TileCoordinate& o : coords)
      if (&o != &c && o.e == c.e && c.step % o.step == 0 && (o.step != c.step || &o < &c))
        determined = true;
    if (!determined) out.push_back(c);
  }
  std::sort(out.begin(), out.end(), [](const TileCoordinate& a, const TileCoordinate& b) {
    return std::tie(a.e, a.step) < std::tie(b.e, b.step);
  });
  return out;
}

bool integral(const Affine& e) {
  auto whole = [](double x) { return x == std::floor(x) && std::abs(x) < 1e9; };
  return whole(e.constant) && std::all_of(e.coef.begin(), e.coef.end(), whole);
}

// { [x..] -> [floor(e0/T0), ..] } over the projected dims.
isl::map tile_map(isl::ctx ctx, const std::vector<int>& dims,
                  const std::vector<TileCoordinate>& coords) {
  std::string in, out;
  for (size_t k = 0; k < dims.size(); ++k) in += (k ? ",x" : "x") + std::to_string(dims[k]);
  for (const TileCoordinate& c : coords) {
    std::string e = std::to_string(static_cast<int64_t>(c.e.constant));
    for (int d : dims)
      if (c.e.coef[d] != 0)
        e += " + " + std::to_string(static_cast<int64_t>(c.e.coef[d])) + "*x" + std::to_string(d);
    out += (out.empty() ? "" : ", ") + ("floor((" + e + ")/" + std::to_string(c.step) + ")");
  }
  return isl::map(ctx, "{ [" + in + "] -> [" + out + "] }");
}

std::string key_of(const std::string& text, const std::vector<int>& dims,
                   const std::vector<TileCoordinate>& coords, const char* what) {
  std::string k = what + text;
  for (const TileCoordinate& c : coords) {
    k += '|' + std::to_string(c.step) + ':' + std::to_string(c.e.constant);
    for (int d : dims) k += ',' + std::to_string(c.e.coef[d]);
  }
  return k;
}

// Tiles of the interval [lo, hi]: all, or only those wholly inside.
double interval_tiles(int64_t lo, int64_t hi, int64_t step, bool full_only) {
  auto fdiv = [](int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
  if (!full_only) return static_cast<double>(fdiv(hi, step) - fdiv(lo, step) + 1);
  return static_cast<double>(std::max<int64_t>(0, fdiv(hi + 1, step) - fdiv(lo + step - 1, step)));
}

}  // namespace

const TileCounter::Shape& TileCounter::shape(const StmtModel& s,
                                             const std::vector<TileCoordinate>& coords) {
  std::vector<int> dims;
  for (size_t k = 0; k < s.lo.size(); ++k)
    for (const TileCoordinate& c : coords)
      if (c.e.coef[k] != 0) {
        dims.push_back(static_cast<int>(k));
        break;
      }
  std::string key =
      s.stmt->name + "/" + std::to_string(s.instances) + "/" + std::to_string(s.kernel);
  for (int d : dims) key += "," + std::to_string(d);
  auto it = shapes_.find(key);
  if (it != shapes_.end()) return it->second;
  Shape sh;
  sh.dims = dims;
  std::vector<unsigned> keep(dims.begin(), dims.end());
  sh.set = poly::set_tuple_name(poly::keep_dims(s.domain, keep), "").coalesce();
  sh.box = s.box;
  if (!sh.box) {
    double box = 1;
    for (int d : dims) box *= static_cast<double>(s.extent(d));
    Expected<int64_t> n = poly::count_points(sh.set, {});
    sh.box = n && static_cast<double>(*n) == box;
  }
  // Names of dims do not matter to the counts.
  std::vector<std::string> names;
  for (size_t k = 0; k < dims.size(); ++k) names.push_back("x" + std::to_string(k));
  std::ostringstream text;
  text << poly::set_dim_names(sh.set, names);
  sh.text = text.str();
  return shapes_.emplace(key, std::move(sh)).first->second;
}

double TileCounter::count(const Shape& sh, const std::vector<TileCoordinate>& coords,
                          bool full_only) {
  std::string key = key_of(sh.text, sh.dims, coords, full_only ? "full" : "any");
  if (auto it = counts_.find(key); it != counts_.end()) return it->second;
  ++isl_counts;
  double result = 0;
  isl::map tiles = tile_map(sh.set.ctx(), sh.dims, coords);
  isl::set hit = sh.set.apply(tiles);
  if (full_only) {
    isl::set outside = isl::set::universe(sh.set.space()).subtract(sh.set);
    hit = hit.subtract(outside.apply(tiles));
  }
  Expected<int64_t> n = poly::count_points(hit.coalesce(), {});
  if (n) {
    result = static_cast<double>(*n);
  } else {
    // Too ragged to count: the volume's estimate.
    Expected<int64_t> points = poly::count_points(sh.set, {});
    result = points ? static_cast<double>(*points) : 1;
    for (const TileCoordinate& c : coords) result /= static_cast<double>(c.step);
    result = std::max(1.0, std::ceil(result));
  }
  counts_[key] = result;
  return result;
}

double TileCounter::nonempty(const StmtModel& s, const std::vector<TileCoordinate>& coords) {
  return tiles(s, coords, false);
}

double TileCounter::full(const StmtModel& s, const std::vector<TileCoordinate>& coords) {
  return tiles(s, coords, true);
}

// Boxes in closed form, one interval a dim; other domains by counting points.
double TileCounter::tiles(const StmtModel& s, const std::vector<TileCoordinate>& all,
                          bool full_only) {
  if (s.empty()) return 0;
  const std::vector<TileCoordinate> coords = essential(all);
  if (coords.empty()) return 1;
  const Shape& sh = shape(s, coords);
  std::set<int> seen;
  double product = 1;
  bool simple = sh.box;
  for (const TileCoordinate& c : coords) {
    const int d = c.e.single_dim();
    if (d < 0 || !seen.insert(d).second) {
      simple = false;
      break;
    }
    product *= interval_tiles(s.lo[d], s.hi[d], c.step, full_only);
  }
  if (simple) return product;
  for (const TileCoordinate& c : coords)
    if (!integral(c.e)) return s.instances;
  return count(sh, coords, full_only);
}

double TileCounter::longest(const Shape& sh, const std::vector<TileCoordinate>& outer,
                            const std::vector<TileCoordinate>& all) {
  std::string key = key_of(key_of(sh.text, sh.dims, outer, "max"), sh.dims, all, "");
  if (auto it = counts_.find(key); it != counts_.end()) return it->second;
  // The longest block holds the lexicographically largest or smallest outer tile or one in the
  // middle: three samples, exact for domains whose rows grow or shrink steadily (triangles, bands).
  isl::set hit = sh.set.apply(tile_map(sh.set.ctx(), sh.dims, outer));
  isl::map both = tile_map(sh.set.ctx(), sh.dims, all),
           first = tile_map(sh.set.ctx(), sh.dims, outer);
  double best = 1;
  for (const isl::set& sample : {hit.lexmin(), hit.lexmax()}) {
    isl::set points = sh.set.intersect(sample.apply(first.reverse()));
    Expected<int64_t> n = poly::count_points(points.apply(both).coalesce(), {});
    if (n) best = std::max(best, static_cast<double>(*n));
  }
  counts_[key] = best;
  return best;
}

double TileCounter::imbalance(const StmtModel& s, const std::vector<TileCoordinate>& outer_in,
                              const std::vector<TileCoordinate>& all_in) {
  if (s.empty() || s.box) return 1;
  std::vector<TileCoordinate> outer = essential(outer_in), all = essential(all_in);
  for (const TileCoordinate& c : all)
    if (!integral(c.e)) return 1;
  // Only dims whose coordinates are coupled matter; independent ones cancel.
  const Shape& sh = shape(s, all);
  if (sh.box || outer.empty()) return 1;
  for (const TileCoordinate& c : outer)
    if (!integral(c.e)) return 1;
  double mean = count(sh, all, false) / std::max(1.0, nonempty(s, outer));
  return std::max(1.0, longest(sh, outer, all) / std::max(mean, 1e-9));
}

}  // namespace nautilus::sched
