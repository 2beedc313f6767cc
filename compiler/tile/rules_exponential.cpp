// Exponentials and logarithms in base two, where the hardware computes them.
#include <numbers>

#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile::rw {
namespace {

using poly::NumericTag;

void base_two(Match& m) {
  if (m.map(Op::Exp))
    m.is(m.g.map(
        Op::Exp2,
        {m.g.map(Op::Mul, {m.arg(0), m.g.derived_constant(std::numbers::log2e, m.i.elem)})}));
  if (m.map(Op::Log))
    m.is(m.g.map(Op::Mul, {m.g.map(Op::Log2, {m.arg(0)}),
                           m.g.derived_constant(std::numbers::ln2, m.i.elem)}));
}

void products(Match& m) {
  if (!m.map(Op::Mul) && !m.map(Op::Div)) return;
  const ENode *a = m.g.node_of(m.arg(0), Op::Exp2), *b = m.g.node_of(m.arg(1), Op::Exp2);
  if (a && b)
    m.is(m.g.map(Op::Exp2,
                 {m.g.map(m.map(Op::Mul) ? Op::Add : Op::Sub, {a->children[0], b->children[0]})}));
}

void inverses(Match& m) {
  if (m.map(Op::Log2))
    if (const ENode* e = m.g.node_of(m.arg(0), Op::Exp2)) m.is(e->children[0]);
}

}  // namespace

void add_exponential_rules(RuleList& out) {
  out.push_back(
      {{"exp-to-exp2",
        "exp(x) = exp2(x*log2(e)), log(x) = log2(x)*ln(2); the scale folds into what made x",
        NumericTag::Reassociates, ""},
       base_two});
  out.push_back({{"exp-product",
                  "exp2(a)*exp2(b) = exp2(a + b), exp2(a)/exp2(b) = exp2(a - b) (one exponential; "
                  "what overflowed may not)",
                  NumericTag::Reassociates, ""},
                 products});
  out.push_back({{"log-of-exp", "log2(exp2(x)) = x", NumericTag::Reassociates, ""}, inverses});
}

}  // namespace nautilus::tile::rw
