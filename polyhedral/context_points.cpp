// Values, extremes and sample points of sets.
#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

#include <limits>
#include <stdexcept>

#include "polyhedral/context_detail.h"

namespace nautilus::poly {

using detail::take;

int64_t to_int(const isl::val& v) {
  if (!v.is_int() || v.cmp_si(std::numeric_limits<long>::max()) > 0 ||
      v.cmp_si(std::numeric_limits<long>::min()) < 0)
    throw std::range_error("the integer " + isl_text(v) + " does not fit in 64 bits");
  return v.num_si();
}

bool is_bounded(const isl::set& s) {
  const isl_bool b = isl_set_is_bounded(s.get());
  detail::check(s.ctx(), b != isl_bool_error);
  return b == isl_bool_true;
}

isl::set simplify(const isl::set& s) {
  return take(s.ctx(), isl_set_remove_redundancies(isl_set_coalesce(s.copy())));
}
isl::map simplify(const isl::map& m) {
  return take(m.ctx(), isl_map_remove_redundancies(isl_map_coalesce(m.copy())));
}
isl::map lex_before(const isl::map& a, const isl::map& b) {
  return take(a.ctx(), isl_map_lex_lt_map(a.copy(), b.copy()));
}
isl::map same_time(const isl::map& a, const isl::map& b) { return a.apply_range(b.reverse()); }

namespace {

// An extreme value of one dim over a set; nothing if the set is empty or unbounded in that
// direction.
std::optional<int64_t> finite(const isl::val& v) {
  if (!v.is_int()) return std::nullopt;
  return to_int(v);
}

Point point_of(const isl::set& s, const isl::point& p) {
  isl::ctx ctx = s.ctx();
  Point out;
  auto coordinate = [&](isl_dim_type type, unsigned k) {
    return to_int(take(ctx, isl_point_get_coordinate_val(p.get(), type, static_cast<int>(k))));
  };
  for (unsigned k = 0; k < n_dim(s); ++k) out.dims.push_back(coordinate(isl_dim_set, k));
  const std::vector<std::string> params = param_names(s);
  for (unsigned k = 0; k < params.size(); ++k) out.params[params[k]] = coordinate(isl_dim_param, k);
  return out;
}

}  // namespace

std::optional<int64_t> dim_min(const isl::set& s, unsigned dim) {
  if (s.is_empty()) return std::nullopt;
  return finite(s.dim_min_val(static_cast<int>(dim)));
}
std::optional<int64_t> dim_max(const isl::set& s, unsigned dim) {
  if (s.is_empty()) return std::nullopt;
  return finite(s.dim_max_val(static_cast<int>(dim)));
}

std::optional<Point> sample_point(const isl::set& s) {
  if (s.is_empty()) return std::nullopt;
  return point_of(s, s.sample_point());
}

// Lexicographically smallest (params, then dims); a set without one falls back to any point.
std::optional<Point> lexmin_point(const isl::set& s) {
  if (s.is_empty()) return std::nullopt;
  isl::ctx ctx = s.ctx();
  const unsigned n = static_cast<unsigned>(param_names(s).size());
  isl::set flat = s;
  if (n > 0)
    flat = take(ctx, isl_set_move_dims(take(ctx, isl_set_reset_tuple_id(s.copy())).release(),
                                       isl_dim_set, 0, isl_dim_param, 0, n));
  try {
    const Point all = point_of(flat, flat.lexmin().sample_point());
    Point out;
    const std::vector<std::string> params = param_names(s);
    for (unsigned k = 0; k < n; ++k) out.params[params[k]] = all.dims[k];
    out.dims.assign(all.dims.begin() + n, all.dims.end());
    return out;
  } catch (const isl::exception_quota&) {
    throw;
  } catch (const isl::exception&) {
    return sample_point(s);  // unbounded below
  }
}

}  // namespace nautilus::poly
