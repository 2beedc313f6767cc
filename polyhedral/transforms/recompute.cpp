#include "polyhedral/transforms/recompute.h"

#include <algorithm>

#include "polyhedral/transforms/edit.h"
#include "polyhedral/transforms/recompute_program.h"

namespace nautilus::poly {

namespace {

Outcome refused(const std::string& asked, const std::string& where, const std::string& why,
                const std::string& suggest = "") {
  return edit::malformed({asked, where, why, suggest});
}

// A parameter's names; a single one counts as a list of one. Nothing if it holds something else.
std::optional<std::vector<std::string>> names_in(const nlohmann::json& v) {
  std::vector<std::string> out;
  for (const nlohmann::json& x : v.is_array() ? v : nlohmann::json::array({v})) {
    if (!x.is_string()) return std::nullopt;
    out.push_back(x.get<std::string>());
  }
  return out;
}

// { copy -> [members of b] } at consumer instance it serves, as one function a member; nothing if
// the consumer instances that one copy instance serves lie at different values of the band.
std::optional<std::vector<isl::aff>> follow(const Node& b, const Statement& copy,
                                            const std::string& into, const isl::map& serves,
                                            const isl::set& facts) {
  std::vector<isl::aff> out;
  for (const BandMember& m : b.members) {
    const auto f = m.schedule.find(into);
    if (f == m.schedule.end()) return std::nullopt;
    const isl::map value = serves.apply_range(f->second.as_map());
    if (!value.is_single_valued()) return std::nullopt;
    const isl::pw_multi_aff g = simplify(value.gist_domain(copy.domain.intersect_params(facts)))
                                    .as_pw_multi_aff()
                                    .coalesce();
    if (g.n_piece() != 1) return std::nullopt;
    out.push_back(g.as_multi_aff().at(0));
  }
  return out;
}

// The copy as a child of a sequence: its filter over one band of its dims.
NodePtr copy_filter(const Schedule& s, const Statement& copy, NodeId& next_id) {
  std::vector<BandMember> members;
  std::vector<std::string> taken;
  const std::vector<std::string> names = dim_names(copy.domain);
  for (unsigned k = 0; k < names.size(); ++k) {
    BandMember m;
    m.name = unique_member_name(s, names[k], taken);
    m.axis = names[k];
    m.schedule.emplace(copy.name, dim_aff(copy.domain, k));
    taken.push_back(m.name);
    members.push_back(std::move(m));
  }
  NodePtr body = make_leaf(next_id++);
  if (!members.empty()) body = make_band(std::move(members), body, next_id++);
  return make_filter(isl::union_set(copy.domain), body, next_id++);
}

// The tree with `added` put before child `path[at + 1]` of sequence `path[at]`; filters and bands
// above let the copy pass. Null if a band above cannot follow the consumer.
NodePtr grafted(const std::vector<const Node*>& path, size_t at, const NodePtr& added,
                const Statement& copy, const std::string& into, const isl::map& serves,
                const isl::set& facts) {
  const Node& sequence = *path[at];
  std::vector<NodePtr> children;
  for (const NodePtr& c : sequence.children) {
    if (c.get() == path[at + 1]) children.push_back(added);
    children.push_back(c);
  }
  NodePtr current = with_children(sequence, children);
  for (size_t k = at; k-- > 0;) {
    const Node& above = *path[k];
    std::vector<NodePtr> kept = above.children;
    for (NodePtr& c : kept)
      if (c.get() == path[k + 1]) c = current;
    if (above.kind == NodeKind::Filter) {
      current = make_filter(above.filter.unite(isl::union_set(copy.domain)), current, above.id);
    } else if (above.kind == NodeKind::Band) {
      const auto functions = follow(above, copy, into, serves, facts);
      if (!functions) return nullptr;
      std::vector<BandMember> members = above.members;
      for (size_t m = 0; m < members.size(); ++m)
        members[m].schedule.insert_or_assign(copy.name, (*functions)[m]);
      current = with_children(*with_members(above, members), {current});
    } else {
      current = with_children(above, kept);
    }
  }
  return current;
}

// Leaves below which the statement runs.
std::vector<std::vector<const Node*>> places(const Schedule& s, const std::string& stmt) {
  std::vector<std::vector<const Node*>> out;
  for (const Node* n : preorder(s)) {
    if (n->kind != NodeKind::Leaf) continue;
    const std::vector<const Node*> path = path_to(s, n->id);
    bool here = true, named = false;
    for (const Node* a : path)
      if (a->kind == NodeKind::Filter) {
        here = here && a->parts.count(stmt) > 0;
        named = true;
      }
    if (here && named) out.push_back(path);
  }
  return out;
}

Outcome judged(const Schedule& s) {
  Outcome o;
  const Expected<DependenceSet> deps = dependences(*s.program);
  if (!deps) {
    o.verdict.kind = VerdictKind::Unknown;
    o.verdict.why = deps.error().why;
    return o;
  }
  o.verdict = check(s, *deps);
  if (o.verdict.kind == VerdictKind::Legal || o.verdict.kind == VerdictKind::Repairable)
    o.schedule = s;
  return o;
}

// Tries the sequences above the consumer, outermost first (or only `only`).
Outcome placed(const Schedule& base, const Recomputed& r, const std::string& into,
               std::optional<NodeId> only, const std::string& asked) {
  const auto where = places(base, into);
  if (where.size() != 1)
    return refused(asked, into,
                   into + " is split over " + std::to_string(where.size()) + " places of the tree",
                   "recompute before partitioning it");
  const std::vector<const Node*>& path = where[0];
  const Statement& copy = *base.program->statement(r.copy);
  std::optional<Outcome> first;
  bool found = false;
  for (size_t at = 0; at + 1 < path.size(); ++at) {
    if (path[at]->kind != NodeKind::Sequence || (only && path[at]->id != *only)) continue;
    found = true;
    Schedule s = base;
    const NodePtr added = copy_filter(s, copy, s.next_id);
    s.root = grafted(path, at, added, copy, into, r.serves, base.program->param_context);
    if (!s.root) break;  // a band that cannot follow stays above everything further in
    Outcome o = judged(s);
    if (o.accepted()) return o;
    if (!first) first = o;
  }
  if (first) return *first;
  if (!found && only)
    return refused(asked, into, "node " + std::to_string(*only) + " is no sequence above " + into);
  return refused(asked, into, "the bands above " + into + " cannot be followed by " + r.copy,
                 "give it more of the consumer's dimensions with dims");
}

}  // namespace

Outcome recompute(const Schedule& s, const DependenceSet&, const nlohmann::json& params) {
  for (const char* key : {"stmt", "into"})
    if (!params.at(key).is_string())
      return refused(
          "recompute", "",
          std::string(key) + " must be a statement's name, not " + params.at(key).dump());
  const std::string producer = params.at("stmt").get<std::string>(),
                    into = params.at("into").get<std::string>();
  const std::string asked = "recompute " + producer + " in " + into;
  for (const Repair& r : s.repairs)
    for (const auto& names : {r.targets, r.sources, r.via})
      for (const std::string& n : names)
        if (n == producer || n == into)
          return refused(asked, n, n + " takes part in a rolling update",
                         "recompute before fusing");
  std::optional<std::vector<std::string>> dims;
  if (params.contains("dims")) {
    dims = names_in(params.at("dims"));
    if (!dims) return refused(asked, into, "dims must be names of dimensions of " + into);
  }
  std::optional<NodeId> only;
  if (params.contains("at")) only = params.at("at").get<NodeId>();
  const Expected<Recomputed> r = recompute_in(*s.program, producer, into, dims);
  if (!r) return refused(asked, r.error().where, r.error().why, r.error().suggest);

  auto result = with_quota(s.program->context->get(), 4 * kDefaultQuota, [&]() -> Outcome {
    Schedule base = s;
    base.program = std::make_shared<const Program>(in_param_order(r->program));
    if (r->removed) {
      isl::union_set rest = isl::union_set::empty(base.program->context->get());
      for (const Statement& x : s.program->statements)
        if (x.name != producer) rest = rest.unite(isl::union_set(x.domain));
      base.root = restrict_subtree(s.root, rest, base.next_id, true);
      base.scopes.erase(s.program->statement(producer)->write.tensor);
      if (!base.root) return refused(asked, producer, "nothing would be left of the tree");
    }
    return r->copy.empty() ? judged(base) : placed(base, *r, into, only, asked);
  });
  if (result) return *result;
  Outcome o;
  o.verdict.kind = VerdictKind::Unknown;
  o.verdict.why = result.error().why;
  return o;
}

TransformInfo info_recompute() {
  TransformInfo t;
  t.name = "recompute";
  t.summary = "Execute a producer again inside one consumer.";
  t.doc =
      "A pointwise producer is inlined into the consumer's expression; its reads are composed with "
      "the consumer's "
      "access. A reduction is copied: the copy writes a private temporary that has the consumer's "
      "other dimensions "
      "(or those in dims) appended, and runs in the outermost sequence above the consumer where "
      "that is legal (or "
      "in sequence at). The producer is dropped when nothing else reads it. Refused where an "
      "operand is overwritten "
      "in between, where the consumer indexes the producer by data, and inside rolling updates. "
      "Work grows by the "
      "extent of the appended dimensions; traffic of the intermediate tensor goes away or becomes "
      "private.";
  t.before =
      "sequence\n  filter S_P[i, j]: P[i,j] = exp(S[i,j] - m[i])\n    band [i, j]\n  filter S_l[i, "
      "j]: l[i] += P[i,j]\n    band [i, j]";
  t.after = "sequence\n  filter S_l[i, j]: l[i] += exp(S[i,j] - m[i])\n    band [i, j]";
  t.params = {{"stmt", ParamKind::Name, "the producer", 0, 0, {}, false},
              {"into", ParamKind::Name, "the consumer", 0, 0, {}, false},
              {"dims",
               ParamKind::NameList,
               "dimensions of the consumer that the copy gets; default: all that do not choose the "
               "element read",
               0,
               0,
               {},
               true},
              {"at",
               ParamKind::Node,
               "sequence in which the copy runs; default: the outermost legal one",
               0,
               0,
               {},
               true}};
  t.apply = recompute;
  return t;
}

}  // namespace nautilus::poly
