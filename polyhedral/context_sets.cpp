// Tuples, names, dimensions and parameters of sets and maps.
#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/val.h>

#include "polyhedral/context_detail.h"

namespace nautilus::poly {

using detail::take;

namespace {

unsigned size_of(isl::ctx ctx, isl_size n) {
  detail::check(ctx, n >= 0);
  return static_cast<unsigned>(n);
}

std::string text_or_empty(const char* s) { return s ? s : ""; }

isl::set with_names(isl::set s, const std::vector<std::string>& names) {
  isl::ctx ctx = s.ctx();
  for (unsigned k = 0; k < names.size(); ++k)
    if (!names[k].empty())
      s = take(ctx, isl_set_set_dim_name(s.release(), isl_dim_set, k, names[k].c_str()));
  return s;
}

isl::map with_tuples(isl::map m, const std::string& in, const std::string& out) {
  isl::ctx ctx = m.ctx();
  if (!in.empty()) m = take(ctx, isl_map_set_tuple_name(m.release(), isl_dim_in, in.c_str()));
  if (!out.empty()) m = take(ctx, isl_map_set_tuple_name(m.release(), isl_dim_out, out.c_str()));
  return m;
}

isl::map project_map(const isl::map& m, isl_dim_type type, unsigned first, unsigned n) {
  const std::string in = tuple_name_in(m), out = tuple_name_out(m);
  return with_tuples(take(m.ctx(), isl_map_project_out(m.copy(), type, first, n)), in, out);
}

}  // namespace

std::vector<std::string> detail::raw_dim_names(const isl::set& s) {
  std::vector<std::string> names;
  for (unsigned k = 0; k < n_dim(s); ++k)
    names.push_back(isl_set_has_dim_name(s.get(), isl_dim_set, k) == isl_bool_true
                        ? text_or_empty(isl_set_get_dim_name(s.get(), isl_dim_set, k))
                        : "");
  return names;
}

unsigned n_dim(const isl::set& s) { return size_of(s.ctx(), isl_set_dim(s.get(), isl_dim_set)); }
unsigned n_in(const isl::map& m) { return size_of(m.ctx(), isl_map_dim(m.get(), isl_dim_in)); }
unsigned n_out(const isl::map& m) { return size_of(m.ctx(), isl_map_dim(m.get(), isl_dim_out)); }

std::string tuple_name(const isl::set& s) {
  return isl_set_has_tuple_id(s.get()) == isl_bool_true
             ? text_or_empty(isl_set_get_tuple_name(s.get()))
             : "";
}
std::string tuple_name_in(const isl::map& m) {
  return isl_map_has_tuple_id(m.get(), isl_dim_in) == isl_bool_true
             ? text_or_empty(isl_map_get_tuple_name(m.get(), isl_dim_in))
             : "";
}
std::string tuple_name_out(const isl::map& m) {
  return isl_map_has_tuple_id(m.get(), isl_dim_out) == isl_bool_true
             ? text_or_empty(isl_map_get_tuple_name(m.get(), isl_dim_out))
             : "";
}
isl::set set_tuple_name(const isl::set& s, const std::string& name) {
  if (name.empty()) return take(s.ctx(), isl_set_reset_tuple_id(s.copy()));
  return take(s.ctx(), isl_set_set_tuple_name(s.copy(), name.c_str()));
}

std::vector<std::string> dim_names(const isl::set& s) {
  std::vector<std::string> names = detail::raw_dim_names(s);
  for (size_t k = 0; k < names.size(); ++k)
    if (names[k].empty()) names[k] = "i" + std::to_string(k);
  return names;
}
std::vector<std::string> param_names(const isl::set& s) {
  std::vector<std::string> names;
  const unsigned n = size_of(s.ctx(), isl_set_dim(s.get(), isl_dim_param));
  for (unsigned k = 0; k < n; ++k)
    names.push_back(text_or_empty(isl_set_get_dim_name(s.get(), isl_dim_param, k)));
  return names;
}
isl::set set_dim_names(const isl::set& s, const std::vector<std::string>& names) {
  return with_names(s, names);
}

isl::set project_out(const isl::set& s, unsigned first, unsigned n) {
  const std::string name = tuple_name(s);
  std::vector<std::string> names = detail::raw_dim_names(s);
  isl::set out = take(s.ctx(), isl_set_project_out(s.copy(), isl_dim_set, first, n));
  names.erase(names.begin() + first, names.begin() + first + n);
  return with_names(name.empty() ? out : set_tuple_name(out, name), names);
}

// Image of s under { [x0, x1, ...] -> [x_dims[0], x_dims[1], ...] }.
isl::set keep_dims(const isl::set& s, const std::vector<unsigned>& dims) {
  const std::string name = tuple_name(s);
  const std::vector<std::string> names = detail::raw_dim_names(s);
  isl::space domain = s.space();
  isl::space range = domain.params().add_unnamed_tuple(static_cast<unsigned>(dims.size()));
  isl::space space =
      take(s.ctx(), isl_space_map_from_domain_and_range(domain.copy(), range.release()));
  isl::multi_aff identity = domain.identity_multi_aff_on_domain();
  isl::multi_aff pick = isl::multi_aff::zero(space);
  std::vector<std::string> kept;
  for (size_t k = 0; k < dims.size(); ++k) {
    pick = pick.set_at(static_cast<int>(k), identity.at(static_cast<int>(dims[k])));
    kept.push_back(names.at(dims[k]));
  }
  isl::set out = s.apply(pick.as_map());
  return with_names(name.empty() ? out : set_tuple_name(out, name), kept);
}

isl::map project_out_in(const isl::map& m, unsigned first, unsigned n) {
  return project_map(m, isl_dim_in, first, n);
}
isl::map project_out_out(const isl::map& m, unsigned first, unsigned n) {
  return project_map(m, isl_dim_out, first, n);
}

isl::set insert_dims(const isl::set& s, unsigned pos, unsigned n) {
  const std::string name = tuple_name(s);
  std::vector<std::string> names = detail::raw_dim_names(s);
  isl::set out = take(s.ctx(), isl_set_insert_dims(s.copy(), isl_dim_set, pos, n));
  names.insert(names.begin() + pos, n, "");
  return with_names(name.empty() ? out : set_tuple_name(out, name), names);
}

isl::set fix_dim(const isl::set& s, unsigned dim, int64_t value) {
  return take(s.ctx(),
              isl_set_fix_val(s.copy(), isl_dim_set, dim, isl::val(s.ctx(), value).release()));
}

namespace {

// { : p = value for every entry of sizes } over a parameter space of exactly those names.
isl::set parameter_point(isl::ctx ctx, const Sizes& sizes) {
  isl::set out = isl::space::unit(ctx).universe_set();
  for (const auto& [name, value] : sizes) {
    isl::set one = isl::space::unit(ctx).add_param(name).universe_set();
    one =
        take(ctx, isl_set_fix_val(one.release(), isl_dim_param, 0, isl::val(ctx, value).release()));
    out = out.intersect(one);
  }
  return out;
}

}  // namespace

isl::set fix_params(const isl::set& s, const Sizes& sizes) {
  return s.intersect_params(parameter_point(s.ctx(), sizes));
}

isl::set substitute_params(const isl::set& s, const Sizes& sizes) {
  isl::ctx ctx = s.ctx();
  isl::set out = s;
  for (const auto& [name, value] : sizes) {
    const int at = isl_set_find_dim_by_name(out.get(), isl_dim_param, name.c_str());
    if (at < 0) continue;
    out = take(ctx,
               isl_set_fix_val(out.release(), isl_dim_param, at, isl::val(ctx, value).release()));
    out = take(ctx, isl_set_project_out(out.release(), isl_dim_param, at, 1));
  }
  return out;
}

isl::map substitute_params(const isl::map& m, const Sizes& sizes) {
  isl::ctx ctx = m.ctx();
  isl::map out = m;
  for (const auto& [name, value] : sizes) {
    const int at = isl_map_find_dim_by_name(out.get(), isl_dim_param, name.c_str());
    if (at < 0) continue;
    out = take(ctx,
               isl_map_fix_val(out.release(), isl_dim_param, at, isl::val(ctx, value).release()));
    out = take(ctx, isl_map_project_out(out.release(), isl_dim_param, at, 1));
  }
  return out;
}

// Turns each parameter into a trailing domain dimension and pulls back along { S[x] -> [x, value]
// }.
isl::aff substitute_params(const isl::aff& a, const Sizes& sizes) {
  isl::ctx ctx = a.ctx();
  // An object of its own: where the copy of a shared one fails (quota, deadline), isl 0.25's
  // isl_aff_move_dims goes on with the null pointer.
  isl::aff out = a.neg().neg();
  for (const auto& [name, value] : sizes) {
    const int at = isl_aff_find_dim_by_name(out.get(), isl_dim_param, name.c_str());
    if (at < 0) continue;
    const isl_size n = isl_aff_dim(out.get(), isl_dim_in);
    detail::check(ctx, n >= 0);
    isl_space* raw = isl_aff_get_domain_space(out.get());
    const isl::space x =
        take(ctx, isl_space_drop_dims(raw, isl_dim_param, static_cast<unsigned>(at), 1));
    out = take(ctx, isl_aff_move_dims(out.release(), isl_dim_in, static_cast<unsigned>(n),
                                      isl_dim_param, static_cast<unsigned>(at), 1));
    const isl::space wide = take(ctx, isl_aff_get_domain_space(out.get()));
    const auto local = [&] { return isl_local_space_from_space(x.copy()); };
    isl::multi_aff lift =
        isl::multi_aff::zero(take(ctx, isl_space_map_from_domain_and_range(x.copy(), wide.copy())));
    for (int k = 0; k < n; ++k)
      lift = lift.set_at(
          k, take(ctx, isl_aff_var_on_domain(local(), isl_dim_set, static_cast<unsigned>(k))));
    lift = lift.set_at(static_cast<int>(n),
                       take(ctx, isl_aff_val_on_domain(local(), isl::val(ctx, value).release())));
    out = out.pullback(lift);
  }
  return out;
}

isl::pw_aff substitute_params(const isl::pw_aff& a, const Sizes& sizes) {
  return substitute_params(a.as_set(), sizes).as_pw_multi_aff().at(0);
}

isl::multi_aff tuple_of(const isl::set& domain, const std::vector<isl::aff>& affs) {
  isl::space space = domain.space().add_unnamed_tuple(static_cast<unsigned>(affs.size()));
  if (affs.empty()) return space.zero_multi_aff();
  isl::aff_list list = affs[0].to_list();
  for (size_t k = 1; k < affs.size(); ++k) list = list.add(affs[k]);
  return isl::multi_aff(space, list);
}

}  // namespace nautilus::poly
