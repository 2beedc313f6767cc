#include "polyhedral/legality.h"

#include <algorithm>

#include "polyhedral/context_hash.h"
#include "polyhedral/legality_walk.h"
#include "polyhedral/witness.h"

namespace nautilus::poly {

std::string_view verdict_name(VerdictKind k) {
  switch (k) {
    case VerdictKind::Legal:
      return "legal";
    case VerdictKind::Repairable:
      return "repairable";
    case VerdictKind::Illegal:
      return "illegal";
    case VerdictKind::Unknown:
      break;
  }
  return "unknown";
}

namespace {

// "band 12, member j0", "sequence 1".
std::string place(const Schedule& s, const Violation& v) {
  const Node* n = find(s, v.node);
  const std::string kind = !n                              ? "node"
                           : n->kind == NodeKind::Band     ? "band"
                           : n->kind == NodeKind::Sequence ? "sequence"
                                                           : "leaf";
  return kind + " " + std::to_string(v.node) + (v.member.empty() ? "" : ", member " + v.member);
}

std::string relaxation(const Program& p, const Dependence& d) {
  const Statement* st = p.statement(d.source);
  const std::string op =
      st && st->reduction ? std::string(reduce_op_name(st->reduction->op)) : "its operator";
  return "updates of " + d.tensor + " by " + d.source + " are reordered: " + op +
         " is associative and commutative";
}

// What a walk over some dependences found.
struct Findings {
  std::vector<Violation> violations;
  std::vector<std::string> relaxations;
};

template <class Wanted>
Findings find_all(const Schedule& s, const DependenceSet& deps, Wanted&& wanted) {
  Findings out;
  TreeWalk walk(s);
  for (const Dependence& d : deps.all) {
    const Doing doing(
        [&] { return "order of " + d.source + " and " + d.sink + " on " + d.tensor; });
    if (wanted(d) && walk.walk(d, out.violations))
      out.relaxations.push_back(relaxation(*s.program, d));
  }
  return out;
}

// Whether every unpaid violation is an update of a reduction that comes after a use of its final
// value.
bool all_leave_reductions(const Schedule& s, const std::vector<Violation>& violations) {
  return std::all_of(violations.begin(), violations.end(), [&](const Violation& v) {
    const Statement* source = s.program->statement(v.dependence->source);
    return v.paid_by >= 0 ||
           (v.dependence->kind == DepKind::Flow && !v.unordered && !v.member.empty() && source &&
            source->reduction && v.dependence->source != v.dependence->sink);
  });
}

Verdict judge(const Schedule& s, const Findings& f) {
  Verdict out;
  out.relaxations = f.relaxations;
  const Violation* first_unpaid = nullptr;
  const Violation* first_paid = nullptr;
  for (const Violation& v : f.violations) {
    if (v.paid_by < 0 && !first_unpaid) first_unpaid = &v;
    if (v.paid_by >= 0 && !first_paid) first_paid = &v;
  }
  if (first_unpaid) {
    out.kind = VerdictKind::Illegal;
    out.witness = make_witness(*s.program, *first_unpaid);
    out.why = (out.witness ? out.witness->text
                           : first_unpaid->dependence->source + " must precede " +
                                 first_unpaid->dependence->sink) +
              (first_unpaid->unordered ? "; nothing orders them at "
                                       : "; they are the other way round at ") +
              place(s, *first_unpaid);
    if (all_leave_reductions(s, f.violations))
      out.suggest = "all violated dependences leave a reduction's final value: try rolling_update";
    return out;
  }
  if (!first_paid) {
    out.kind = VerdictKind::Legal;
    return out;
  }
  out.kind = VerdictKind::Repairable;
  out.witness = make_witness(*s.program, *first_paid);
  std::vector<int> used;
  for (const Violation& v : f.violations)
    if (std::find(used.begin(), used.end(), v.paid_by) == used.end()) used.push_back(v.paid_by);
  std::sort(used.begin(), used.end());
  for (int k : used) {
    out.repairs.push_back(s.repairs[static_cast<size_t>(k)]);
    const Repair& r = out.repairs.back();
    out.why += (out.why.empty() ? "the running value of " : "; of ");
    for (size_t i = 0; i < r.sources.size(); ++i) out.why += (i ? ", " : "") + r.sources[i];
    out.why +=
        " in " + (r.targets.empty() ? std::string("?") : r.targets[0]) + " is paid by a correction";
  }
  return out;
}

Verdict unknown(const Refusal& r) {
  Verdict out;
  out.kind = VerdictKind::Unknown;
  out.why = r.why;
  out.suggest = "raise the quota, or bind the sizes";
  return out;
}

template <class Wanted>
Verdict check_some(const Schedule& s, const DependenceSet& deps, unsigned long quota,
                   Wanted&& wanted) {
  Expected<Verdict> v = with_quota(s.program->context->get(), quota,
                                   [&] { return judge(s, find_all(s, deps, wanted)); });
  return v ? *v : unknown(v.error());
}

// How a tree orders two statements, as the list of what decides: pairs of member functions with
// mappings, then how a sequence parts them.
struct Order {
  struct Step {
    const isl::aff* source;
    const isl::aff* sink;
    Mapping mapping;
  };
  std::vector<Step> steps;
  const Node* split = nullptr;  // a sequence over which one of them is spread
  int end = 0;                  // -1 source first, 1 sink first, 0 one leaf
};

Order order_of(const Schedule& s, const std::string& source, const std::string& sink) {
  Order out;
  for (const Node* n = s.root.get(); n && n->kind != NodeKind::Leaf;) {
    for (const BandMember& m : n->members) {
      auto a = m.schedule.find(source), b = m.schedule.find(sink);
      if (a != m.schedule.end() && b != m.schedule.end())
        out.steps.push_back({&a->second, &b->second, m.mapping});
    }
    const Node* next = n->children.empty() ? nullptr : n->children[0].get();
    if (n->kind == NodeKind::Sequence) {
      int at_source = -1, at_sink = -1;
      for (size_t k = 0; k < n->children.size(); ++k) {
        const bool has_source = n->children[k]->parts.count(source),
                   has_sink = n->children[k]->parts.count(sink);
        if ((has_source && at_source >= 0) || (has_sink && at_sink >= 0)) return out.split = n, out;
        if (has_source) at_source = static_cast<int>(k);
        if (has_sink) at_sink = static_cast<int>(k);
      }
      if (at_source != at_sink) return out.end = at_source < at_sink ? -1 : 1, out;
      next = at_source < 0 ? nullptr : n->children[static_cast<size_t>(at_source)].get();
    }
    n = next;
  }
  return out;
}

bool same_order(const Order& a, const Order& b) {
  if (a.steps.size() != b.steps.size() || a.split != b.split || a.end != b.end) return false;
  for (size_t k = 0; k < a.steps.size(); ++k)
    if (a.steps[k].mapping != b.steps[k].mapping ||
        !plain_equal(*a.steps[k].source, *b.steps[k].source) ||
        !plain_equal(*a.steps[k].sink, *b.steps[k].sink))
      return false;
  return true;
}

}  // namespace

Expected<std::vector<Violation>> violations(const Schedule& s, const DependenceSet& deps,
                                            unsigned long quota) {
  auto found = with_quota(s.program->context->get(), quota, [&] {
    return find_all(s, deps, [](const Dependence&) { return true; }).violations;
  });
  if (found) return found;
  Refusal r = found.error();
  r.asked = "find violated dependences";
  return r;
}

Verdict check(const Schedule& s, const DependenceSet& deps, unsigned long quota) {
  return check_some(s, deps, quota, [](const Dependence&) { return true; });
}

Verdict check_change(const Schedule& before, const Schedule& after, const DependenceSet& deps,
                     unsigned long quota) {
  if (before.repairs.size() != after.repairs.size() || before.program != after.program)
    return check(after, deps, quota);
  std::map<std::pair<std::string, std::string>, bool> changed;
  auto takes_part = [](const Repair& r, const std::string& stmt) {
    for (const auto* names : {&r.sources, &r.via, &r.targets})
      if (std::find(names->begin(), names->end(), stmt) != names->end()) return true;
    return false;
  };
  return check_some(after, deps, quota, [&](const Dependence& d) {
    // What a repair pays depends on where all of its statements run.
    for (const Repair& r : after.repairs)
      if (takes_part(r, d.source) && takes_part(r, d.sink)) return true;
    auto [it, fresh] = changed.try_emplace({d.source, d.sink}, true);
    if (fresh)
      it->second =
          !same_order(order_of(before, d.source, d.sink), order_of(after, d.source, d.sink));
    return it->second;
  });
}

}  // namespace nautilus::poly
