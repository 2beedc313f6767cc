// Division: by constants, by what is shared or cheaper, and what cancels.
#include <cmath>

#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile::rw {
namespace {

using poly::NumericTag;

bool power_of_two(double c) {
  int e = 0;
  return std::isfinite(c) && c != 0 && std::abs(std::frexp(c, &e)) == 0.5 && std::abs(e) < 120;
}

// Division by a constant whose inverse is exact rounds as the product does.
void by_power_of_two(Match& m) {
  if (!m.map(Op::Div)) return;
  if (auto c = m.constant(m.arg(1)); c && power_of_two(*c))
    m.is(m.g.map(Op::Mul, {m.arg(0), m.g.constant_class(1 / *c, m.elem(m.arg(1)))}));
}

void by_constant(Match& m) {
  if (!m.map(Op::Div)) return;
  if (auto c = m.constant(m.arg(1));
      c && std::isfinite(*c) && std::isfinite(1 / *c) && !power_of_two(*c))
    m.is(m.g.map(Op::Mul, {m.arg(0), m.g.derived_constant(1 / *c, m.i.elem)}));
}

void reciprocal(Match& m) {
  if (!m.map(Op::Div) || m.constant(m.arg(1))) return;
  const ClassId r = m.g.map(Op::Recip, {m.arg(1)});
  if (m.g.is(m.arg(0), 1))
    m.is(r);
  else
    m.is(m.g.map(Op::Mul, {m.arg(0), r}));
}

// (a*b)/y = b*(a/y) and (a/y)/z = a/(y*z) where the inner operation runs on fewer lanes or less
// often.
void hoist(Match& m) {
  if (!m.map(Op::Div)) return;
  const ClassId y = m.arg(1);
  for (const ENode& x : m.g.nodes(m.arg(0))) {
    const NodeInfo& i = m.g.info(x);
    if (i.kind != Kind::Map) continue;
    if (i.op == Op::Mul)
      for (int k : {0, 1})
        if (m.weight(x.children[size_t(k)], y) < m.weight())
          m.is(m.g.map(Op::Mul,
                       {x.children[size_t(1 - k)], m.g.map(Op::Div, {x.children[size_t(k)], y})}));
    if (i.op == Op::Div && m.weight(x.children[1], y) < m.weight())
      m.is(m.g.map(Op::Div, {x.children[0], m.g.map(Op::Mul, {x.children[1], y})}));
  }
}

void cancel(Match& m) {
  if (m.map(Op::Div))
    for (const ENode& x : m.g.nodes(m.arg(0)))
      if (m.g.info(x).kind == Kind::Map && m.g.info(x).op == Op::Mul)
        for (int k : {0, 1})
          if (m.g.find(x.children[size_t(k)]) == m.g.find(m.arg(1)))
            m.is(x.children[size_t(1 - k)]);
  if (m.map(Op::Mul))
    for (int k : {0, 1})
      for (const ENode& x : m.g.nodes(m.arg(size_t(k))))
        if (m.g.info(x).kind == Kind::Map && m.g.info(x).op == Op::Div &&
            m.g.find(x.children[1]) == m.g.find(m.arg(size_t(1 - k))))
          m.is(x.children[0]);
  if (m.map(Op::Mul))
    for (int k : {0, 1})
      if (const ENode* r = m.g.node_of(m.arg(size_t(k)), Op::Recip);
          r && m.g.find(r->children[0]) == m.g.find(m.arg(size_t(1 - k))))
        m.is(m.g.constant_class(1, m.i.elem));
}

void reciprocal_root(Match& m) {
  if (m.map(Op::Recip))
    if (const ENode* s = m.g.node_of(m.arg(0), Op::Sqrt))
      m.is(m.g.map(Op::Rsqrt, {s->children[0]}));
  if (m.map(Op::Div))
    if (const ENode* s = m.g.node_of(m.arg(1), Op::Sqrt)) {
      const ClassId r = m.g.map(Op::Rsqrt, {s->children[0]});
      m.is(m.g.is(m.arg(0), 1) ? r : m.g.map(Op::Mul, {m.arg(0), r}));
    }
}

}  // namespace

void add_division_rules(RuleList& out) {
  out.push_back(
      {{"divide-by-power-of-two", "x/2^k = x*2^-k", NumericTag::Exact, ""}, by_power_of_two});
  out.push_back(
      {{"divide-by-constant", "x/c = x*(1/c)", NumericTag::Reassociates, ""}, by_constant});
  out.push_back({{"reciprocal", "x/y = x*(1/y): one reciprocal serves many lanes",
                  NumericTag::Reassociates, ""},
                 reciprocal});
  out.push_back({{"hoist-division", "(a*b)/y = b*(a/y), (a/y)/z = a/(y*z) where that is less work",
                  NumericTag::Reassociates, ""},
                 hoist});
  out.push_back({{"cancel-division",
                  "(x*y)/y = x, (x/y)*y = x, y*(1/y) = 1 (where y is 0 or infinite the quotient "
                  "was NaN or infinite)",
                  NumericTag::Reassociates, ""},
                 cancel});
  out.push_back(
      {{"reciprocal-root", "1/sqrt(x) = rsqrt(x)", NumericTag::Reassociates, ""}, reciprocal_root});
}

}  // namespace nautilus::tile::rw
