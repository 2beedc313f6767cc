#include "polyhedral/transforms/recompute.h"

#include <algorithm>

#include "polyhedral/transforms/edit.h"
#include "polyhedral/transforms/recompute_program.h"
#include "polyhedral/transforms/statements.h"

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

Outcome unjudged(const Schedule& s) {
  Outcome o;
  o.schedule = s;
  return o;
}

// What is asked for, and how far it goes.
struct Request {
  std::string producer, into, asked;
  std::optional<std::vector<std::string>> dims;
  std::optional<NodeId> at;
  bool judge = true;  // else the first place that the bands allow is taken as it is
};

// Tries the sequences above the consumer, outermost first (or only the one asked for). The one that
// was taken is in the outcome's `chosen`.
Outcome placed(const Schedule& base, const Recomputed& r, const Request& q) {
  const std::string& into = q.into;
  const auto where = places(base, into);
  if (where.size() != 1)
    return refused(q.asked, into,
                   into + " is split over " + std::to_string(where.size()) + " places of the tree",
                   "recompute before partitioning it");
  const std::vector<const Node*>& path = where[0];
  const Statement& copy = *base.program->statement(r.copy);
  std::optional<Outcome> first;
  bool found = false;
  for (size_t at = 0; at + 1 < path.size(); ++at) {
    if (path[at]->kind != NodeKind::Sequence || (q.at && path[at]->id != *q.at)) continue;
    found = true;
    Schedule s = base;
    std::vector<std::string> taken;
    const NodePtr added = edit::own_loops(s, copy, taken);
    s.root = grafted(path, at, added, copy, into, r.serves, base.program->param_context);
    if (!s.root) break;  // a band that cannot follow stays above everything further in
    Outcome o = q.judge ? edit::judged_anew(s) : unjudged(s);
    if (o.accepted()) {
      o.chosen = nlohmann::json::object({{"at", path[at]->id}});
      return o;
    }
    if (!first) first = o;
  }
  if (first) return *first;
  if (!found && q.at)
    return refused(q.asked, into,
                   "node " + std::to_string(*q.at) + " is no sequence above " + into);
  return refused(q.asked, into, "the bands above " + into + " cannot be followed by " + r.copy,
                 "give it more of the consumer's dimensions with dims");
}

Outcome recomputed(const Schedule& s, const Request& q) {
  const Expected<Recomputed> r = recompute_in(*s.program, q.producer, q.into, q.dims);
  if (!r) return refused(q.asked, r.error().where, r.error().why, r.error().suggest);
  auto result = with_quota(s.program->context->get(), 4 * kDefaultQuota, [&]() -> Outcome {
    Schedule base = s;
    base.program = std::make_shared<const Program>(in_param_order(r->program));
    if (r->removed) {
      isl::union_set rest = isl::union_set::empty(base.program->context->get());
      for (const Statement& x : s.program->statements)
        if (x.name != q.producer) rest = rest.unite(isl::union_set(x.domain));
      base.root = restrict_subtree(s.root, rest, base.next_id, true);
      base.scopes.erase(s.program->statement(q.producer)->write.tensor);
      if (!base.root) return refused(q.asked, q.producer, "nothing would be left of the tree");
    }
    if (!r->copy.empty()) return placed(base, *r, q);
    return q.judge ? edit::judged_anew(base) : unjudged(base);
  });
  if (result) return *result;
  Outcome o;
  o.verdict.kind = VerdictKind::Unknown;
  o.verdict.why = result.error().why;
  return o;
}

// Reads the request; the place that was chosen is added to its parameters.
Outcome requested(const Schedule& s, const nlohmann::json& params, bool judge) {
  for (const char* key : {"stmt", "into"})
    if (!params.at(key).is_string())
      return refused(
          "recompute", "",
          std::string(key) + " must be a statement's name, not " + params.at(key).dump());
  Request q;
  q.producer = params.at("stmt").get<std::string>();
  q.into = params.at("into").get<std::string>();
  q.asked = "recompute " + q.producer + " in " + q.into;
  q.judge = judge;
  if (const auto n =
          edit::rolling(s, [&](const std::string& x) { return x == q.producer || x == q.into; }))
    return refused(q.asked, *n, *n + " takes part in a rolling update", "recompute before fusing");
  if (params.contains("dims")) {
    q.dims = names_in(params.at("dims"));
    if (!q.dims) return refused(q.asked, q.into, "dims must be names of dimensions of " + q.into);
  }
  if (params.contains("at")) q.at = params.at("at").get<NodeId>();
  Outcome o = recomputed(s, q);
  if (o.chosen) {
    nlohmann::json full = params;
    full.update(*o.chosen);
    o.chosen = full;
  }
  return o;
}

}  // namespace

Outcome recompute(const Schedule& s, const DependenceSet&, const nlohmann::json& params) {
  return requested(s, params, true);
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
  t.params = {{"stmt", ParamKind::Name, "the producer", 0, 0, {}, false, ParamRole::Producer},
              {"into", ParamKind::Name, "the consumer", 0, 0, {}, false, ParamRole::Reader},
              {"dims",
               ParamKind::NameList,
               "dimensions of the consumer that the copy gets; default: all that do not choose the "
               "element read",
               0,
               0,
               {},
               true,
               ParamRole::Axis},
              {"at",
               ParamKind::Node,
               "sequence in which the copy runs; default: the outermost legal one",
               0,
               0,
               {},
               true,
               ParamRole::Sequence}};
  t.apply = recompute;
  t.edit = [](const Schedule& s, const nlohmann::json& params) {
    return edit::edited("recompute", requested(s, params, false));
  };
  return t;
}

}  // namespace nautilus::poly
