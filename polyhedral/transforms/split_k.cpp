#include "polyhedral/transforms/split_k.h"

#include <algorithm>

#include "polyhedral/names.h"
#include "polyhedral/transforms/edit.h"
#include "polyhedral/transforms/split_k_program.h"
#include "polyhedral/transforms/statements.h"

namespace nautilus::poly {

namespace {

bool same_statement(const Program& a, const Program& b, const std::string& name) {
  const Statement *x = a.statement(name), *y = b.statement(name);
  return x && y && n_dim(x->domain) == n_dim(y->domain) && x->domain.is_equal(y->domain) &&
         x->reduction.has_value() == y->reduction.has_value() && x->expr == y->expr;
}

// Every changed statement must be alone in its child, so that its loops can be made anew.
std::optional<Refusal> mixed_child(const Schedule& s, const Node& seq, const Program& now,
                                   const std::string& asked) {
  for (const NodePtr& c : seq.children) {
    const bool changed =
        std::any_of(c->statements.begin(), c->statements.end(),
                    [&](const std::string& n) { return !same_statement(*s.program, now, n); });
    if (changed && c->statements.size() > 1)
      return edit::refused(asked, edit::describe(s, *c),
                           "its loops are already shared by several statements",
                           "split before fusing");
  }
  if (const auto n = edit::rolling(
          s, [&](const std::string& x) { return !same_statement(*s.program, now, x); }))
    return edit::refused(asked, *n, *n + " takes part in a rolling update", "split before fusing");
  return std::nullopt;
}

// The sequence in the order of the new program: unchanged children as they are, each behind those
// that it was behind, new statements in bands of their own.
NodePtr rebuilt(Schedule& t, const Schedule& before, const Node& seq) {
  const auto holds = [](const NodePtr& c, const std::string& name) {
    return in(c->statements, name);
  };
  const auto kept = [&](const std::string& name) {
    return same_statement(*before.program, *t.program, name);
  };
  std::vector<NodePtr> children;
  Names taken;
  size_t done = 0;  // old children up to here are placed or gone
  for (const Statement& st : t.program->statements) {
    if (st.domain.is_empty()) continue;
    if (!kept(st.name)) {
      children.push_back(edit::own_loops(t, st, taken));
      continue;
    }
    size_t last = done;  // behind the last child that holds instances of it
    for (size_t k = done; k < seq.children.size(); ++k)
      if (holds(seq.children[k], st.name)) last = k + 1;
    for (; done < last; ++done) {
      const NodePtr& c = seq.children[done];
      if (std::all_of(c->statements.begin(), c->statements.end(), kept)) children.push_back(c);
    }
  }
  return with_children(seq, std::move(children));
}

Outcome judged(const Schedule& t, const SplitResult& r) {
  Outcome o = edit::judged_anew(t);
  if (!o.accepted()) return o;
  if (r.repairs.empty()) {
    o.verdict.relaxations.push_back("the terms are folded in " + std::to_string(r.parts) +
                                    " parts of " + std::to_string(r.chunk) +
                                    ": the operators are associative and commutative");
    return o;
  }
  o.verdict.kind = VerdictKind::Repairable;
  o.verdict.repairs = r.repairs;
  for (const Repair& x : r.repairs)
    o.verdict.why += (o.verdict.why.empty() ? "" : "; ") + x.targets[0] +
                     " is combined from parts after correcting each by " +
                     to_string(x.corrections[0]);
  return o;
}

}  // namespace

namespace {

// The split schedule, judged or as it comes.
Outcome split(const Schedule& s, const nlohmann::json& params, bool judge) {
  const Expected<const Node*> n =
      edit::node_param(s, params, "node", NodeKind::Sequence, "split_k");
  if (!n) return edit::malformed(n.error());
  const Node& seq = **n;
  const std::string axis = params.at("axis").is_string() ? params.at("axis").get<std::string>()
                                                         : params.at("axis").dump();
  const std::string asked = "split_k over " + axis;
  if (&seq != s.root.get())
    return edit::malformed(
        edit::refused(asked, edit::describe(s, seq),
                      "parts run in kernels of their own, so the region is the root sequence",
                      "node " + std::to_string(s.root->id)));
  const std::string numerics = params.value("numerics", "reassociate");
  SplitRequest q;
  q.program = s.program;
  q.statements = seq.statements;
  q.axis = axis;
  q.parts = params.at("parts").get<int64_t>();
  q.multiple = params.value("multiple", int64_t{1});
  q.policy = numerics == "strict" ? RepairPolicy::Strict
             : numerics == "fast" ? RepairPolicy::Fast
                                  : RepairPolicy::Reassociate;
  if (q.policy == RepairPolicy::Strict)
    return edit::malformed(edit::refused(
        asked, "", "folding in parts changes the order of rounding, which strict numerics forbids",
        "numerics reassociate"));
  auto out = with_quota(s.program->context->get(), 4 * kDefaultQuota, [&]() -> Outcome {
    Expected<SplitResult> r = split_reductions(q);
    if (!r) {
      Outcome o;
      o.verdict.kind = VerdictKind::Illegal;
      o.verdict.why = r.error().why;
      o.verdict.suggest = r.error().suggest;
      return o;
    }
    if (auto no = mixed_child(s, seq, r->program, asked)) return edit::malformed(*no);
    Schedule t = s;
    t.program = std::make_shared<const Program>(in_param_order(r->program));
    t.root = rebuilt(t, s, seq);
    if (judge) return judged(t, *r);
    Outcome o;
    o.schedule = t;
    return o;
  });
  if (out) return *out;
  Outcome o;
  o.verdict.why = out.error().why;
  return o;
}

}  // namespace

Outcome split_k(const Schedule& s, const DependenceSet&, const nlohmann::json& params) {
  return split(s, params, true);
}

TransformInfo info_split_k() {
  TransformInfo t;
  t.name = "split_k";
  t.summary = "fold a reduced dimension in parts that can run in parallel, then combine the parts";
  t.doc =
      "Every reduction T over the axis becomes S_<T>_part, which folds part p of the axis into "
      "T_part[p, ..] (a new leading "
      "dimension), S_<T>_part_out, a copy that other kernels read, and S_<T>, which folds the "
      "parts. Where one such reduction needs "
      "another's value r, its partial terms use the value of the same part, and each part is "
      "corrected by h(T_p, r_p, r) before it "
      "is folded in; h is derived as for rolling_update, and an empty part contributes the "
      "identity. Pointwise statements in between "
      "get a copy that reads partial values. The partial statements stay next to each other, so "
      "that fuse and rolling_update apply "
      "to them with p as the first member; a producer without p is tiled by a part's extent to "
      "join. Sizes must be bound. The "
      "operator need not be known: take the root sequence, any dimension that some reduction "
      "reduces, and any number of parts.";
  t.before = "1: sequence\n  2: filter S_C\n    3: band [i = i, k = k]";
  t.after =
      "1: sequence\n  4: filter S_C_part\n    5: band [p = p, i = i, k = k]\n  6: filter "
      "S_C_part_out\n    7: band [p_2 = p, i_2 = i]\n  8: filter S_C\n    9: band [i_3 = i, p_3 = "
      "p]";
  t.params = {edit::node_info("the root sequence", ParamRole::RootSequence),
              {"axis",
               ParamKind::Name,
               "name of the reduced dimension; all reductions over it are split alike",
               0,
               0,
               {},
               false,
               ParamRole::Axis},
              {"parts",
               ParamKind::Integer,
               "how many parts (fewer if a part's extent is rounded up)",
               2,
               65535,
               {},
               false},
              {"multiple",
               ParamKind::Integer,
               "a part's extent is a multiple of this (the tile size); default 1",
               1,
               1 << 20,
               {},
               true},
              {"numerics",
               ParamKind::Choice,
               "what rounding may change; default reassociate",
               0,
               0,
               {"strict", "reassociate", "fast"},
               true}};
  t.apply = split_k;
  t.edit = [](const Schedule& s, const nlohmann::json& params) {
    return edit::edited("split_k", split(s, params, false));
  };
  return t;
}

}  // namespace nautilus::poly
