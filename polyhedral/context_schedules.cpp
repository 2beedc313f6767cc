// Rebuilding isl schedule trees with changed sets and bands.
#include <isl/aff.h>
#include <isl/schedule_node.h>

#include "polyhedral/context_detail.h"

namespace nautilus::poly {

using detail::take;

namespace {

struct Rebuild {
  const std::function<isl::union_set(const isl::union_set&)>& sets;
  const std::function<isl::multi_union_pw_aff(const isl::multi_union_pw_aff&)>& bands;

  // Grows a copy of what is below `from` at the leaf `at`; returns the node in the place of `at`.
  isl::schedule_node below(isl::schedule_node at, const isl::schedule_node& from) const {
    if (from.isa<isl::schedule_node_leaf>()) return at;
    if (from.isa<isl::schedule_node_band>()) return band(at, from.as<isl::schedule_node_band>());
    if (from.isa<isl::schedule_node_sequence>() || from.isa<isl::schedule_node_set>())
      return children(at, from);
    if (from.isa<isl::schedule_node_filter>()) {
      isl::union_set f = sets(from.as<isl::schedule_node_filter>().filter());
      return below(at.insert_filter(f).child(0), from.child(0)).parent();
    }
    if (from.isa<isl::schedule_node_mark>())
      return below(
                 at.insert_mark(take(at.ctx(), isl_schedule_node_mark_get_id(from.get()))).child(0),
                 from.child(0))
          .parent();
    if (from.isa<isl::schedule_node_context>()) return below(at, from.child(0));
    isl::exception::throw_invalid("schedule node of a kind that cannot be copied", __FILE__,
                                  __LINE__);
    return at;
  }

  isl::schedule_node band(isl::schedule_node at, isl::schedule_node_band from) const {
    isl::multi_union_pw_aff partial = bands(from.partial_schedule());
    isl::schedule_node node = at.insert_partial_schedule(partial);
    auto made = node.as<isl::schedule_node_band>().set_permutable(from.permutable());
    for (unsigned k = 0; k < from.n_member(); ++k)
      made = made.member_set_coincident(static_cast<int>(k),
                                        from.member_get_coincident(static_cast<int>(k)));
    return below(made.child(0), from.child(0)).parent();
  }

  // Sequence or set: children whose filter is not empty.
  isl::schedule_node children(isl::schedule_node at, const isl::schedule_node& from) const {
    std::vector<isl::union_set> filters;
    std::vector<isl::schedule_node> bodies;
    for (unsigned k = 0; k < from.n_children(); ++k) {
      isl::schedule_node child = from.child(static_cast<int>(k));
      isl::union_set f = sets(child.as<isl::schedule_node_filter>().filter());
      if (f.is_empty()) continue;
      filters.push_back(f);
      bodies.push_back(child.child(0));
    }
    if (bodies.empty()) return at;
    if (bodies.size() == 1) return below(at, bodies[0]);
    isl::union_set_list list = filters[0].to_list();
    for (size_t k = 1; k < filters.size(); ++k) list = list.add(filters[k]);
    isl::schedule_node node =
        from.isa<isl::schedule_node_set>() ? at.insert_set(list) : at.insert_sequence(list);
    for (size_t k = 0; k < bodies.size(); ++k)
      node = below(node.child(static_cast<int>(k)).child(0), bodies[k]).parent().parent();
    return node;
  }
};

}  // namespace

isl::schedule map_schedule(
    const isl::schedule& s, const std::function<isl::union_set(const isl::union_set&)>& sets,
    const std::function<isl::multi_union_pw_aff(const isl::multi_union_pw_aff&)>& bands) {
  isl::union_set domain = sets(s.domain());
  isl::schedule fresh = isl::schedule::from_domain(domain);
  if (domain.is_empty()) return fresh;
  const Rebuild rebuild{sets, bands};
  return rebuild.below(fresh.root().child(0), s.root().child(0)).schedule();
}

isl::schedule in_sequence(const std::vector<isl::schedule>& parts) {
  isl::schedule out = parts.at(0);
  for (size_t k = 1; k < parts.size(); ++k)
    out = take(out.ctx(), isl_schedule_sequence(out.copy(), parts[k].copy()));
  return out;
}

std::string mark_name(const isl::schedule_node& mark) {
  return take(mark.ctx(), isl_schedule_node_mark_get_id(mark.get())).name();
}

isl::schedule intersect_domain(const isl::schedule& s, const isl::union_set& domain) {
  return map_schedule(
      s, [&](const isl::union_set& u) { return u.intersect(domain); },
      [&](const isl::multi_union_pw_aff& m) { return m.intersect_domain(domain); });
}

namespace {

isl::union_set substitute_union(const isl::union_set& u, const Sizes& sizes) {
  isl::union_set out = isl::union_set::empty(u.ctx());
  for (const isl::set& s : sets_of(u)) out = out.unite(substitute_params(s, sizes));
  return out;
}

// Piece by piece: affine functions keep their divisions.
isl::union_pw_aff substitute_union(const isl::union_pw_aff& u, const Sizes& sizes) {
  isl::ctx ctx = u.ctx();
  isl::union_pw_aff out = take(ctx, isl_union_pw_aff_empty_ctx(ctx.get()));
  isl::pw_aff_list pieces = take(ctx, isl_union_pw_aff_get_pw_aff_list(u.get()));
  pieces.foreach ([&](isl::pw_aff pa) {
    isl::pw_multi_aff(pa).foreach_piece([&](isl::set domain, isl::multi_aff ma) {
      isl::set d = substitute_params(domain, sizes);
      if (!d.is_empty())
        out = out.union_add(isl::pw_aff(substitute_params(ma.at(0), sizes)).intersect_domain(d));
    });
  });
  return out;
}

}  // namespace

isl::schedule substitute_params(const isl::schedule& s, const Sizes& sizes) {
  return map_schedule(
      s, [&](const isl::union_set& u) { return substitute_union(u, sizes); },
      [&](const isl::multi_union_pw_aff& m) {
        std::vector<isl::union_pw_aff> parts;
        for (unsigned k = 0; k < m.size(); ++k)
          parts.push_back(substitute_union(m.at(static_cast<int>(k)), sizes));
        isl::union_pw_aff_list list = parts.at(0).to_list();
        for (size_t k = 1; k < parts.size(); ++k) list = list.add(parts[k]);
        const char* name = isl_multi_union_pw_aff_get_tuple_name(m.get(), isl_dim_out);
        const isl::space unit = isl::space::unit(s.ctx());
        return isl::multi_union_pw_aff(
            name ? unit.add_named_tuple(name, m.size()) : unit.add_unnamed_tuple(m.size()), list);
      });
}

}  // namespace nautilus::poly
