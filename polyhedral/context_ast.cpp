#include "polyhedral/context_ast.h"

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/local_space.h>

#include "polyhedral/context_detail.h"

namespace nautilus::poly {

using detail::take;

isl::ast_node annotate(const isl::ast_node& n, const std::string& text) {
  isl::ctx ctx = n.ctx();
  return take(
      ctx, isl_ast_node_set_annotation(n.copy(), isl_id_alloc(ctx.get(), text.c_str(), nullptr)));
}

std::string annotation(const isl::ast_node& n) {
  isl_id* id = isl_ast_node_get_annotation(n.get());
  if (!id) return "";
  std::string text = isl_id_get_name(id);
  isl_id_free(id);
  return text;
}

std::optional<isl::multi_aff> as_single_affine(const isl::map& m) {
  if (!m.is_single_valued()) return {};
  isl::pw_multi_aff p = take(m.ctx(), isl_pw_multi_aff_from_map(m.copy()));
  p = p.coalesce();
  if (!p.isa_multi_aff()) {
    std::optional<isl::multi_aff> only;
    int pieces = 0;
    p.foreach_piece([&](isl::set, isl::multi_aff a) {
      if (only && a.plain_is_equal(*only)) return;
      only = a;
      ++pieces;
    });
    if (pieces != 1) return {};
    return only;
  }
  return p.as_multi_aff();
}

isl::set dims_to_params(const isl::set& s, const std::vector<std::string>& names) {
  isl::ctx ctx = s.ctx();
  const isl_size n_params = isl_set_dim(s.get(), isl_dim_param);
  detail::check(ctx, n_params >= 0);
  const std::string tuple = tuple_name(s);
  isl_set* r = isl_set_move_dims(s.copy(), isl_dim_param, static_cast<unsigned>(n_params),
                                 isl_dim_set, 0, static_cast<unsigned>(names.size()));
  for (size_t k = 0; k < names.size(); ++k)
    r = isl_set_set_dim_name(r, isl_dim_param,
                             static_cast<unsigned>(n_params) + static_cast<unsigned>(k),
                             names[k].c_str());
  isl::set out = take(ctx, r);
  return tuple.empty() ? out : set_tuple_name(out, tuple);
}

isl::set simple_hull(const isl::set& s) {
  return isl::set(take(s.ctx(), isl_set_simple_hull(s.copy())));
}

isl::pw_aff dim_bound(const isl::set& s, unsigned dim, bool largest) {
  const int d = static_cast<int>(dim);
  return take(s.ctx(), largest ? isl_set_dim_max(s.copy(), d) : isl_set_dim_min(s.copy(), d));
}

isl::aff dim_aff(const isl::space& set_space, unsigned dim) {
  isl::ctx ctx = set_space.ctx();
  return take(
      ctx, isl_aff_var_on_domain(isl_local_space_from_space(set_space.copy()), isl_dim_set, dim));
}

isl::aff constant_aff(const isl::space& set_space, int64_t c) {
  isl::ctx ctx = set_space.ctx();
  return take(ctx, isl_aff_val_on_domain(isl_local_space_from_space(set_space.copy()),
                                         isl_val_int_from_si(ctx.get(), static_cast<long>(c))));
}

}  // namespace nautilus::poly
