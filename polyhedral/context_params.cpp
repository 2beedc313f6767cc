// One order of parameters for all objects of a program.
#include <isl/aff.h>
#include <isl/schedule.h>

#include "polyhedral/context_detail.h"

namespace nautilus::poly {

using detail::take;

namespace {

// A parameter space with these names in this order.
isl::space space_of(isl::ctx ctx, const std::vector<std::string>& order) {
  isl::space space =
      take(ctx, isl_space_params_alloc(ctx.get(), static_cast<unsigned>(order.size())));
  for (unsigned k = 0; k < order.size(); ++k)
    space = take(ctx, isl_space_set_dim_name(space.release(), isl_dim_param, k, order[k].c_str()));
  return space;
}

}  // namespace

isl::set align_params(const isl::set& s, const std::vector<std::string>& order) {
  return take(s.ctx(), isl_set_align_params(s.copy(), space_of(s.ctx(), order).release()));
}
isl::map align_params(const isl::map& m, const std::vector<std::string>& order) {
  return take(m.ctx(), isl_map_align_params(m.copy(), space_of(m.ctx(), order).release()));
}
isl::aff align_params(const isl::aff& a, const std::vector<std::string>& order) {
  return take(a.ctx(), isl_aff_align_params(a.copy(), space_of(a.ctx(), order).release()));
}
isl::pw_aff align_params(const isl::pw_aff& a, const std::vector<std::string>& order) {
  return take(a.ctx(), isl_pw_aff_align_params(a.copy(), space_of(a.ctx(), order).release()));
}
isl::schedule align_params(const isl::schedule& s, const std::vector<std::string>& order) {
  return take(s.ctx(), isl_schedule_align_params(s.copy(), space_of(s.ctx(), order).release()));
}

}  // namespace nautilus::poly
