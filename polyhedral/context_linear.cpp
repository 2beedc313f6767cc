// Constraint matrices of sets and coefficients of affine expressions, for code that walks them.
#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/mat.h>
#include <isl/set.h>

#include "polyhedral/context_detail.h"

namespace nautilus::poly {

using detail::take;

namespace {

struct MatFree {
  void operator()(isl_mat* m) const { isl_mat_free(m); }
};
using Mat = std::unique_ptr<isl_mat, MatFree>;

struct MatrixColumns {
  unsigned dims, params, divs;
};

// Rows of a constraint matrix whose columns are dims, params, divs, constant.
void read_rows(isl::ctx ctx, isl_mat* raw, const MatrixColumns& c, bool equality,
               std::vector<LinearConstraint>& out) {
  Mat mat(raw);
  if (!mat) isl::exception::throw_last_error(ctx);
  auto at = [&](int row, unsigned col) {
    return to_int(take(ctx, isl_mat_get_element_val(mat.get(), row, static_cast<int>(col))));
  };
  for (int row = 0; row < isl_mat_rows(mat.get()); ++row) {
    LinearConstraint k;
    k.equality = equality;
    unsigned col = 0;
    for (unsigned i = 0; i < c.dims; ++i) k.dims.push_back(at(row, col++));
    for (unsigned i = 0; i < c.params; ++i) k.params.push_back(at(row, col++));
    for (unsigned i = 0; i < c.divs; ++i) k.divs.push_back(at(row, col++));
    k.constant = at(row, col);
    out.push_back(std::move(k));
  }
}

// Numerator coefficients of `a` over its denominator; divs are those of its local space.
struct Coefficients {
  std::vector<int64_t> dims, params, divs;
  int64_t constant, denominator;
};
Coefficients coefficients(const isl::aff& a, unsigned n_divs) {
  isl::ctx ctx = a.ctx();
  const isl::val den = take(ctx, isl_aff_get_denominator_val(a.get()));
  auto scaled = [&](isl_val* v) { return to_int(take(ctx, v).mul(den)); };
  Coefficients c;
  c.denominator = to_int(den);
  const isl_size dims = isl_aff_dim(a.get(), isl_dim_in),
                 params = isl_aff_dim(a.get(), isl_dim_param),
                 divs = isl_aff_dim(a.get(), isl_dim_div);
  detail::check(ctx, dims >= 0 && params >= 0 && divs >= 0);
  for (int i = 0; i < dims; ++i)
    c.dims.push_back(scaled(isl_aff_get_coefficient_val(a.get(), isl_dim_in, i)));
  for (int i = 0; i < params; ++i)
    c.params.push_back(scaled(isl_aff_get_coefficient_val(a.get(), isl_dim_param, i)));
  for (int i = 0; i < divs; ++i)
    c.divs.push_back(scaled(isl_aff_get_coefficient_val(a.get(), isl_dim_div, i)));
  c.divs.resize(n_divs, 0);
  c.constant = scaled(isl_aff_get_constant_val(a.get()));
  return c;
}

// floor(num/den) as LinearDiv, from isl's rational aff num/den. Coefficients refer to n_divs
// columns.
LinearDiv div_of(const isl::aff& a, unsigned n_divs) {
  const Coefficients c = coefficients(a, n_divs);
  return {c.dims, c.params, c.divs, c.constant, c.denominator, true};
}

LinearSet read_basic_set(const isl::basic_set& b) {
  isl::ctx ctx = b.ctx();
  auto count = [&](isl_dim_type t) {
    const isl_size n = isl_basic_set_dim(b.get(), t);
    detail::check(ctx, n >= 0);
    return static_cast<unsigned>(n);
  };
  const MatrixColumns c{count(isl_dim_set), count(isl_dim_param), count(isl_dim_div)};
  LinearSet out;
  read_rows(ctx,
            isl_basic_set_equalities_matrix(b.get(), isl_dim_set, isl_dim_param, isl_dim_div,
                                            isl_dim_cst),
            c, true, out.constraints);
  read_rows(ctx,
            isl_basic_set_inequalities_matrix(b.get(), isl_dim_set, isl_dim_param, isl_dim_div,
                                              isl_dim_cst),
            c, false, out.constraints);
  for (unsigned k = 0; k < c.divs; ++k) {
    isl_aff* raw = isl_basic_set_get_div(b.get(), static_cast<int>(k));
    if (raw) {
      out.divs.push_back(div_of(isl::manage(raw), c.divs));
    } else {
      isl_ctx_reset_error(ctx.get());
      out.divs.push_back({std::vector<int64_t>(c.dims), std::vector<int64_t>(c.params),
                          std::vector<int64_t>(c.divs), 0, 1, false});
    }
  }
  return out;
}

}  // namespace

// The set as disjoint basic sets with explicit divs, each read as integer constraint rows.
std::vector<LinearSet> linear_form(const isl::set& s) {
  isl::ctx ctx = s.ctx();
  isl::set split = take(ctx, isl_set_make_disjoint(isl_set_compute_divs(s.copy())));
  std::vector<LinearSet> out;
  split.foreach_basic_set([&](isl::basic_set b) { out.push_back(read_basic_set(b)); });
  return out;
}

LinearAff linear_form(const isl::aff& a) {
  isl::ctx ctx = a.ctx();
  const isl_size n = isl_aff_dim(a.get(), isl_dim_div);
  detail::check(ctx, n >= 0);
  const Coefficients c = coefficients(a, static_cast<unsigned>(n));
  LinearAff out;
  out.dims = c.dims;
  out.params = c.params;
  out.divs = c.divs;
  out.constant = c.constant;
  out.denominator = c.denominator;
  for (int k = 0; k < n; ++k)
    out.div_defs.push_back(
        div_of(take(ctx, isl_aff_get_div(a.get(), k)), static_cast<unsigned>(n)));
  return out;
}

}  // namespace nautilus::poly
