#include "polyhedral/leaf_solve.h"

#include <algorithm>

#include "polyhedral/context_ast.h"

namespace nautilus::poly {
namespace {

// Dims that an affine expression involves, through divisions too; and those under a division.
struct Involved {
  std::vector<bool> any, divided;
  std::vector<int64_t> coef;
};
Involved involved(const LinearAff& l, size_t n) {
  Involved v{std::vector<bool>(n), std::vector<bool>(n), std::vector<int64_t>(n)};
  for (size_t k = 0; k < n && k < l.dims.size(); ++k) {
    v.coef[k] = l.denominator == 1 ? l.dims[k] : 0;
    v.any[k] = l.dims[k] != 0;
  }
  for (const LinearDiv& d : l.div_defs)
    for (size_t k = 0; k < n && k < d.dims.size(); ++k)
      if (d.dims[k] != 0) v.any[k] = v.divided[k] = true;
  return v;
}

bool all_zero(const std::vector<int64_t>& v) {
  return std::all_of(v.begin(), v.end(), [](int64_t c) { return c == 0; });
}

std::optional<std::pair<size_t, int64_t>> only_unit(const std::vector<int64_t>& dims) {
  std::optional<std::pair<size_t, int64_t>> found;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] == 0) continue;
    if (found || std::abs(dims[k]) != 1) return {};
    found = {k, dims[k]};
  }
  return found;
}
std::optional<OneDim> one_dim(const LinearAff& l) {
  if (l.denominator != 1 || !all_zero(l.params)) return {};
  if (all_zero(l.divs)) {
    if (auto u = only_unit(l.dims)) return OneDim{u->first, u->second, l.constant, 1, 0};
    return {};
  }
  auto div = only_unit(l.divs);
  if (!div || div->second != 1 || !all_zero(l.dims)) return {};
  const LinearDiv& d = l.div_defs[div->first];
  if (!all_zero(d.params) || !all_zero(d.divs)) return {};
  if (auto u = only_unit(d.dims))
    return OneDim{u->first, u->second, d.constant, d.denominator, l.constant};
  return {};
}

isl::space set_space(isl::ctx ctx, const std::vector<std::string>& params, const std::string& name,
                     size_t n) {
  isl::space s = isl::space::unit(ctx);
  for (const std::string& p : params) s = s.add_param(p);
  return s.add_named_tuple(name, static_cast<unsigned>(n));
}

// Parameters of all that a problem is made of, in one order: isl's affine functions need that.
std::vector<std::string> align_problem(LeafProblem& p) {
  std::vector<std::string> order = param_names(p.domain);
  for (const LeafProblem::Member& m : p.members)
    for (const std::string& name : param_names(m.schedule.domain()))
      if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  if (order.empty()) return order;
  p.domain = set_dim_names(align_params(p.domain, order), p.dim_names);
  for (LeafProblem::Member& m : p.members) m.schedule = align_params(m.schedule, order);
  return order;
}

isl::multi_aff tuple(const isl::space& in, const std::string& out,
                     const std::vector<isl::aff>& affs) {
  isl::space space = in.add_named_tuple(out, static_cast<unsigned>(affs.size()));
  isl::aff_list list(in.ctx(), static_cast<int>(affs.size()));
  for (const isl::aff& a : affs) list = list.add(a);
  return isl::multi_aff(space, list);
}

class Solver {
 public:
  explicit Solver(const LeafProblem& p)
      : p_(p), params_(align_problem(p_)), n_(p.dim_names.size()), axis_of_(n_, -1), recipe_(n_) {}

  Expected<LeafGeometry> solve() {
    classify();
    if (auto r = cover()) return *r;
    add_implicit_loops();
    if (auto r = bases()) return *r;
    points();
    return std::move(g_);
  }

 private:
  // Loops with a one-dim form determine or bound their dim; Tile members are set aside.
  void classify() {
    g_.stmt = p_.stmt;
    g_.leaf = p_.leaf;
    g_.label = p_.label;
    g_.domain = p_.domain;
    for (size_t m = 0; m < p_.members.size(); ++m) {
      const LinearAff l = linear_form(p_.members[m].schedule);
      if (p_.members[m].loop.mapping == Mapping::Tile) {
        tiles_.push_back(m);
        tile_forms_.push_back(involved(l, n_));
        continue;
      }
      const size_t t = g_.loops.size();
      g_.loops.push_back(p_.members[m].loop);
      times_.push_back(p_.members[m].schedule);
      g_.forms.push_back(one_dim(l));
      if (const auto& form = g_.forms.back()) {
        auto& r = recipe_[form->dim];
        if (!r || form->tile < r->form.tile) r = Recipe{*form, t};
      }
    }
  }

  bool determined(size_t k) const { return recipe_[k] && recipe_[k]->form.tile == 1; }

  // Which Tile member stands for which dim: the one dim of it that neither loops nor other members
  // determine.
  std::optional<Refusal> cover() {
    std::vector<bool> used(tiles_.size());
    for (bool again = true; again;) {
      again = false;
      for (size_t j = 0; j < tiles_.size(); ++j) {
        if (used[j]) continue;
        std::vector<size_t> open;
        for (size_t k = 0; k < n_; ++k)
          if (tile_forms_[j].any[k] && axis_of_[k] < 0 && !determined(k)) open.push_back(k);
        if (open.empty()) {  // a loop already visits its values one by one: an axis of extent 1
          size_t count = 0, dim = 0;
          for (size_t k = 0; k < n_; ++k)
            if (tile_forms_[j].any[k]) ++count, dim = k;
          if (count == 1 && axis_of_[dim] < 0) open.push_back(dim);
        }
        if (open.size() != 1) continue;
        const size_t k = open[0];
        if (tile_forms_[j].divided[k] || std::abs(tile_forms_[j].coef[k]) != 1) continue;
        axis_of_[k] = static_cast<int>(tiles_[j]);
        used[j] = again = true;
      }
    }
    for (size_t j = 0; j < tiles_.size(); ++j) {
      size_t open = 0;
      for (size_t k = 0; k < n_; ++k)
        if (tile_forms_[j].any[k] && axis_of_[k] < 0 && !determined(k)) ++open;
      if (!used[j] && open > 1)
        return refuse(p_.members[tiles_[j]].loop,
                      "it mixes several dimensions that no other member determines",
                      "map one member a dimension to tile, or map this one serial");
    }
    return {};
  }

  // { label[t] -> stmt[x] }, over the domain or (universe) for any x.
  isl::map inverse(bool universe) const {
    isl::space stmt = p_.domain.space();
    isl::map m = tuple(stmt, p_.label, times_).as_map();
    return (universe ? m : m.intersect_domain(p_.domain)).reverse();
  }
  isl::map inverse_of_dim(bool universe, size_t k) const {
    isl::map m = inverse(universe);
    const unsigned n = static_cast<unsigned>(n_), d = static_cast<unsigned>(k);
    return project_out_out(project_out_out(m, d + 1, n - d - 1), 0, d);
  }
  std::optional<isl::aff> determined_by_loops(size_t k) const {
    for (bool universe : {true, false}) {
      if (universe && times_.empty()) continue;
      if (auto a = as_single_affine(inverse_of_dim(universe, k))) return a->at(0);
    }
    return {};
  }

  void add_implicit_loops() {
    general_.resize(n_);
    for (size_t k = 0; k < n_; ++k) {
      if (determined(k) || axis_of_[k] >= 0) continue;
      if (determined_by_loops(k)) {
        general_[k] = true;
        recipe_[k].reset();
        continue;
      }
      const size_t t = g_.loops.size();
      g_.loops.push_back(
          {p_.stmt + "_" + p_.dim_names[k], p_.leaf, Mapping::Serial, 1, true, p_.dim_names[k]});
      times_.push_back(dim_aff(p_.domain.space(), static_cast<unsigned>(k)));
      g_.forms.push_back(OneDim{k, 1, 0, 1, 0});
      recipe_[k] = Recipe{*g_.forms.back(), t};
    }
  }

  std::optional<Refusal> bases() {
    isl::ctx ctx = p_.domain.ctx();
    const isl::space t_space = set_space(ctx, params_, p_.label, g_.loops.size());
    for (size_t k = 0; k < n_; ++k) {
      const bool axis = axis_of_[k] >= 0;
      g_.axis.push_back(axis ? p_.members[static_cast<size_t>(axis_of_[k])].loop.name : "");
      if (axis) g_.axes.push_back(g_.axis.back());
      if (recipe_[k]) {  // sign*x + offset in [tile*(t - shift), + tile - 1]
        const OneDim& f = recipe_[k]->form;
        isl::aff t = dim_aff(t_space, static_cast<unsigned>(recipe_[k]->loop))
                         .add_constant(static_cast<long>(-f.shift));
        isl::aff low =
            t.scale(static_cast<long>(f.tile)).add_constant(static_cast<long>(-f.offset));
        if (f.sign < 0) low = low.neg().add_constant(static_cast<long>(1 - f.tile));
        g_.base.push_back(low);
        g_.extent.push_back(f.tile);
        continue;
      }
      if (general_[k]) {
        g_.base.push_back(*determined_by_loops(k));
        g_.extent.push_back(1);
        continue;
      }
      const LoopDim& member = p_.members[static_cast<size_t>(axis_of_[k])].loop;
      isl::fixed_box box = inverse_of_dim(false, k).range_simple_fixed_box_hull();
      if (!box.is_valid())
        return refuse(
            member,
            "the extent of " + p_.dim_names[k] + " in statement " + p_.stmt + " is not constant",
            "tile this dimension, or bind the sizes");
      g_.base.push_back(box.offset().at(0));
      g_.extent.push_back(to_int(box.size().at(0)));
    }
    return {};
  }

  // Images and preimages: times, box, inside.
  void points() {
    isl::ctx ctx = p_.domain.ctx();
    const size_t n = g_.loops.size(), m = g_.axes.size();
    g_.coords = tuple(p_.domain.space(), p_.label, times_).as_map().intersect_domain(p_.domain);
    g_.times = g_.coords.range().coalesce();
    const isl::space all = set_space(ctx, params_, p_.label, n + m);
    std::vector<isl::aff> t;
    for (size_t k = 0; k < n; ++k) t.push_back(dim_aff(all, static_cast<unsigned>(k)));
    const isl::multi_aff to_times = tuple(all, p_.label, t);
    g_.box = g_.times.preimage(to_times);
    std::vector<isl::aff> x;
    size_t next = n;
    for (size_t k = 0; k < n_; ++k) {
      isl::aff base = g_.base[k].pullback(to_times);
      if (!g_.axis[k].empty()) {
        isl::aff a = dim_aff(all, static_cast<unsigned>(next++));
        base = base.add(a);
        g_.box = g_.box.intersect(a.ge_set(constant_aff(all, 0)))
                     .intersect(a.le_set(constant_aff(all, g_.extent[k] - 1)));
      }
      x.push_back(base);
    }
    const isl::multi_aff to_domain = tuple(all, p_.stmt, x);
    isl::set inside = p_.domain.preimage(to_domain);
    for (size_t k = 0; k < n; ++k)
      if (!implied(k)) inside = inside.intersect(times_[k].pullback(to_domain).eq_set(t[k]));
    g_.inside = inside.gist(g_.box).coalesce();
    g_.always_full = m == 0 || g_.box.is_subset(g_.inside);
  }

  // Loops that the recipes reproduce by construction.
  bool implied(size_t loop) const {
    return std::any_of(recipe_.begin(), recipe_.end(),
                       [&](const auto& r) { return r && r->loop == loop; });
  }

  Refusal refuse(const LoopDim& member, const std::string& why, const std::string& suggest) const {
    return Refusal{"map member " + member.name + " to tile",
                   "band " + std::to_string(member.node) + ", statement " + p_.stmt, why, suggest};
  }

  struct Recipe {
    OneDim form;
    size_t loop;
  };
  LeafProblem p_;
  const std::vector<std::string> params_;
  size_t n_;
  LeafGeometry g_;
  std::vector<isl::aff> times_;  // per loop, over stmt[x]
  std::vector<size_t> tiles_;    // members mapped Tile
  std::vector<Involved> tile_forms_;
  std::vector<int> axis_of_;  // per dim: member, or -1
  std::vector<std::optional<Recipe>> recipe_;
  std::vector<bool> general_;  // per dim: determined, but not by one loop alone
};

}  // namespace

Expected<LeafGeometry> solve_leaf(const LeafProblem& p) { return Solver(p).solve(); }

}  // namespace nautilus::poly
