#include "polyhedral/transforms/partition.h"

#include <algorithm>
#include <set>

#include "polyhedral/names.h"
#include "polyhedral/naut.h"
#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

namespace {

bool has_repair_below(const Schedule& s, const Node& n) {
  if (std::any_of(s.repairs.begin(), s.repairs.end(),
                  [&](const Repair& r) { return r.band == n.id; }))
    return true;
  return std::any_of(n.children.begin(), n.children.end(),
                     [&](const NodePtr& c) { return has_repair_below(s, *c); });
}

// A filter over one part of a subtree; ids are kept or fresh, names made unique in copies.
NodePtr part(Schedule& s, const NodePtr& body, const isl::union_set& set, NodeId filter_id,
             bool copy, std::vector<std::string>& taken) {
  NodePtr kept = restrict_subtree(body, set, s.next_id, !copy);
  if (!kept) kept = make_leaf(s.next_id++);
  if (copy) kept = edit::renamed(s, kept, taken);
  return make_filter(set, kept, filter_id);
}

// Instances of one statement whose every tile-mate (same values of the band's tile loops) is in the
// domain: the tile is full. Tile loops are the members with a step; all of them count together.
isl::set full_tiles(const Schedule& s, const Node& band, const Statement& st) {
  std::vector<isl::aff> loops;
  std::vector<int64_t> steps;
  for (const Node* n : path_to(s, band.id))
    for (const BandMember& m : n->members)
      if (m.step > 1) {
        auto f = m.schedule.find(st.name);
        if (f != m.schedule.end()) loops.push_back(f->second), steps.push_back(m.step);
      }
  if (loops.empty()) return st.domain;
  isl::space space = st.domain.space().add_unnamed_tuple(static_cast<unsigned>(loops.size()));
  isl::aff_list list = loops[0].to_list();
  for (size_t k = 1; k < loops.size(); ++k) list = list.add(loops[k]);
  const isl::map to_tile = isl::multi_aff(space, list).as_map();
  // Points outside the domain that share a tile with a point of it: along the tiled dims only,
  // within the box that the loops do not cut (other dims keep their value).
  isl::map mates = to_tile.apply_range(to_tile.reverse());
  std::set<size_t> tiled;
  for (const isl::aff& a : loops) {
    const LinearAff f = linear_form(a);
    auto add = [&](const std::vector<int64_t>& v) {
      for (size_t k = 0; k < v.size(); ++k)
        if (v[k] != 0) tiled.insert(k);
    };
    add(f.dims);
    for (const LinearDiv& d : f.div_defs) add(d.dims);
  }
  const isl::multi_aff id = st.domain.space().identity_multi_aff_on_domain();
  for (size_t k = 0; k < st.n_dims(); ++k) {
    if (tiled.count(k)) continue;
    const isl::map value = id.at(static_cast<int>(k)).as_map();
    mates = mates.intersect(value.apply_range(value.reverse()));
  }
  const isl::set outside = st.domain.complement();
  const isl::set partial = mates.reverse().intersect_domain(outside).range();
  return st.domain.subtract(partial).coalesce();
}

}  // namespace

Expected<Schedule> partition(const Schedule& s, NodeId node, const isl::union_set& condition) {
  const std::string what = "partition node " + std::to_string(node);
  const std::vector<const Node*> path = path_to(s, node);
  const Node* n = path.back();
  if (has_repair_below(s, *n))
    return edit::refused(what, edit::describe(s, *n), "a rolling update lives at or below it",
                         "partition before the rolling update");
  const isl::union_set here = instances_below(s, node);
  const isl::union_set first = here.intersect(condition).coalesce(),
                       rest = here.subtract(condition).coalesce();
  if (first.is_empty() || rest.is_empty())
    return edit::refused(what, edit::describe(s, *n),
                         first.is_empty() ? "no instance satisfies the condition"
                                          : "every instance satisfies the condition",
                         "choose a condition that cuts the instances in two");
  Schedule out = s;
  std::vector<std::string> taken;
  const bool filter = n->kind == NodeKind::Filter;
  const Node* own_filter = filter ? n
                           : path.size() >= 2 && path[path.size() - 2]->kind == NodeKind::Filter
                               ? path[path.size() - 2]
                               : nullptr;
  NodePtr body;
  if (filter) {
    body = n->children[0];
  } else {
    const Node* parent = path[path.size() - 2];
    for (const NodePtr& c : parent->children)
      if (c.get() == n) body = c;
  }
  const NodeId first_id = own_filter ? own_filter->id : out.next_id++;
  NodePtr a = part(out, body, first, first_id, false, taken);
  const NodeId rest_id = out.next_id++;
  NodePtr b = part(out, body, rest, rest_id, true, taken);
  if (!own_filter) return replace(out, node, make_sequence({a, b}, out.next_id++));
  const Node* seq = parent_of(s, own_filter->id);
  std::vector<NodePtr> siblings;
  for (const NodePtr& c : seq->children) {
    if (c.get() != own_filter) {
      siblings.push_back(c);
      continue;
    }
    siblings.push_back(a);
    siblings.push_back(b);
  }
  return replace(out, seq->id, with_children(*seq, std::move(siblings)));
}

namespace {

// The condition as a set over statements that run below the node.
Expected<isl::union_set> condition_in(const Schedule& s, const Node& n, const std::string& text) {
  const std::string what = "partition node " + std::to_string(n.id), where = edit::describe(s, n);
  const Names below = statements_below(s, n.id);
  const std::string example =
      "\"full\", or for example \"{ " + (below.empty() ? "S" : below[0]) + "[i] : i < 64 }\"";
  const auto no_set = [&](const std::string& why) {
    const bool brief = text.size() <= 200;
    return edit::refused(what, where,
                         "the condition is not an isl set" + (brief ? ": " + text : "") +
                             (why.empty() ? "" : " (" + why + ")"),
                         example);
  };
  if (const auto bad = naut::unreadable(text))
    return no_set(bad->why + ", at character " + std::to_string(bad->at + 1));
  isl::union_set condition;
  try {
    condition = isl::union_set(s.program->context->get(), text);
  } catch (const isl::exception_quota&) {
    throw;
  } catch (const isl::exception_abort&) {
    throw;
  } catch (const isl::exception&) {
    return no_set("");
  }
  for (const isl::set& part : sets_of(condition)) {
    for (const std::string& name : param_names(part))
      if (!in(s.program->params, name))
        return edit::refused(what, where,
                             "the condition uses " + name + ", which is not a size of the program",
                             example);
    const std::string name = tuple_name(part);
    if (!in(below, name))
      return edit::refused(what, where,
                           name.empty()
                               ? "the condition names no statement"
                               : "the condition is about " + name + ", which does not run here",
                           example);
    const size_t dims = s.program->statement(name)->n_dims();
    if (n_dim(part) != dims)
      return edit::refused(what, where,
                           "the condition gives " + name + " " + std::to_string(n_dim(part)) +
                               " dimensions; it has " + std::to_string(dims),
                           example);
  }
  return condition;
}

}  // namespace

TransformInfo info_partition() {
  TransformInfo t;
  t.name = "partition";
  t.summary = "split the instances of a filter or band in two, one part after the other";
  t.doc =
      "The instances below the node that satisfy the condition run first, the others after them, "
      "each part with its own copy of the "
      "subtree. `full` takes the full tiles of the tile loops around (boxes wholly inside the "
      "domain), so that no mask is needed there; "
      "an isl set such as \"{ S_P[h, i, j] : j < 64 }\" takes these instances (statements it does "
      "not mention go to the second part). "
      "Legal when no dependence runs from the second part to the first.";
  t.before = "4: filter S_b\n  5: band [i = i]";
  t.after =
      "4: filter { S_b[i] : i < 64 }\n  5: band [i = i]\n9: filter { S_b[i] : i >= 64 }\n  10: "
      "band [i_2 = i]";
  t.params = {edit::node_info("a filter or a band", ParamRole::FilterOrBand),
              {"condition",
               ParamKind::Text,
               "\"full\", or an isl set over statement instances",
               0,
               0,
               {},
               false,
               ParamRole::Instances,
               "full"}};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        const std::string text = p.at("condition").get<std::string>();
        const int id = p.at("node").get<int>();
        const Node* n = find(s, id);
        if (!n || n->kind != NodeKind::Filter) {
          Expected<const Node*> band = edit::node_param(s, p, "node", NodeKind::Band, "partition");
          if (!band) return band.error();
          n = *band;
        }
        isl::union_set condition = isl::union_set::empty(s.program->context->get());
        if (text == "full") {
          const Node* band = n->kind == NodeKind::Band ? n : n->children[0].get();
          if (band->kind != NodeKind::Band)
            return edit::refused(
                "partition node " + std::to_string(id) + " into full and partial tiles",
                edit::describe(s, *n), "there is no band of tile loops here");
          for (const std::string& stmt : statements_below(s, id))
            condition = condition.unite(full_tiles(s, *band, *s.program->statement(stmt)));
        } else {
          Expected<isl::union_set> given = condition_in(s, *n, text);
          if (!given) return given.error();
          condition = *given;
        }
        return partition(s, id, condition);
      });
}

}  // namespace nautilus::poly
