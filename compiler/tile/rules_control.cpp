// Loops and branches as expressions.
#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile::rw {
namespace {

using poly::NumericTag;

// A carried variable that no iteration changes is its initial value.
void invariant_carry(Match& m) {
  if (m.i.kind != Kind::LoopResult) return;
  const Carried& v = m.g.loops[size_t(m.i.control)].carried[size_t(m.i.slot)];
  if (m.g.find(v.arg) != m.g.find(m.arg(1)) && m.g.find(m.arg(0)) != m.g.find(m.arg(1))) return;
  m.is(m.arg(0));
  if (m.g.find(v.arg) == m.g.find(m.arg(1)))
    m.also.emplace_back(v.arg, m.arg(0));  // inside the loop too
}

void same_branches(Match& m) {
  if (m.i.kind != Kind::IfResult) return;
  const BranchInfo& b = m.g.branches[size_t(m.i.control)];
  const Cond& cond = b.instr->cond;
  const auto known = b.condition        ? m.constant(*b.condition)
                     : cond.is_always() ? std::optional<double>(1)
                     : cond.any.empty() ? std::optional<double>(0)
                                        : std::nullopt;
  // A value that only exists inside the branch stays there.
  auto outside = [&](ClassId x) { return !m.i.place.before(m.g.at(x).place); };
  if (known && *known != 0 && outside(m.arg(0)))
    m.is(m.arg(0));
  else if (known && *known == 0 && outside(m.arg(1)))
    m.is(m.arg(1));
  else if (m.g.find(m.arg(0)) == m.g.find(m.arg(1)) && outside(m.arg(0)))
    m.is(m.arg(0));
}

}  // namespace

void add_control_rules(RuleList& out) {
  out.push_back(
      {{"invariant-carry", "a carried value that no iteration changes is its initial value",
        NumericTag::Exact, ""},
       invariant_carry});
  out.push_back(
      {{"same-branches", "a branch with equal results is that result", NumericTag::Exact, ""},
       same_branches});
  out.push_back({{"change-carried-variable",
                  "a carried x becomes z = x*a or z = x/a (a constant, an invariant, or another "
                  "carried value) where the factor cancels in "
                  "every iteration: division deferred out of loops, running maxima in a scaled "
                  "domain. Where a ends at 0 (no term was added) "
                  "the result is z",
                  NumericTag::Reassociates, ""},
                 nullptr});
  out.push_back(
      {{"loop-invariant-motion", "a value that does not depend on a loop is computed before it",
        NumericTag::Exact, ""},
       nullptr});
  out.push_back(
      {{"common-subexpressions", "what is computed twice is computed once", NumericTag::Exact, ""},
       nullptr});
}

}  // namespace nautilus::tile::rw
