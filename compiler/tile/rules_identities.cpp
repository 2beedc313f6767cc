// Identities, constants and casts.
#include <cmath>

#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile::rw {
namespace {

using poly::NumericTag;

// Every value of a is a value of b.
bool widens(Type a, Type b) { return is_float(a) && is_float(b) && type_bytes(a) < type_bytes(b); }

// The narrow value under a widening cast, if c has one.
std::optional<ClassId> widened_from(const Graph& g, ClassId c) {
  for (const ENode& n : g.nodes(c))
    if (g.info(n).kind == Kind::Cast && widens(g.at(n.children[0]).elem, g.info(n).elem))
      return n.children[0];
  return std::nullopt;
}

void fold_constants(Match& m) {
  if (m.n.children.empty() || m.constant(m.c)) return;
  const bool strict = m.g.numerics == Numerics::Strict || !is_float(m.i.elem);
  double a[3] = {};
  for (size_t k = 0; k < m.n.children.size(); ++k) {
    const auto v = m.constant(m.arg(k));
    if (!v || k >= 3) return;
    a[k] = strict ? round_to_type(*v, m.elem(m.arg(k))) : *v;
  }
  if (m.i.kind == Kind::Map) {
    const double v = apply_op(m.i.op, a, m.i.elem);
    m.is(strict ? m.g.constant_class(round_to_type(v, m.i.elem), m.i.elem)
                : m.g.derived_constant(v, m.i.elem));
  } else if (m.i.kind == Kind::Cast) {
    // A narrowing cast of a float is folded only where it changes nothing.
    const double v = round_to_type(a[0], m.i.elem);
    if (!is_float(m.i.elem) || v == a[0] || strict)
      m.is(m.g.constant_class(v, m.i.elem));
    else if (type_bytes(m.i.elem) >= 4)
      m.is(m.g.constant_class(a[0], m.i.elem));
  }
}

void multiply_by_one(Match& m) {
  if (m.map(Op::Mul))
    for (int k : {0, 1})
      if (m.g.is(m.arg(size_t(k)), 1)) m.is(m.arg(size_t(1 - k)));
  if (m.map(Op::Div) && m.g.is(m.arg(1), 1)) m.is(m.arg(0));
}

void signs(Match& m) {
  if (!is_float(m.i.elem)) return;
  auto negated = [&](ClassId c) -> std::optional<ClassId> {
    if (const ENode* n = m.g.node_of(c, Op::Neg)) return n->children[0];
    return std::nullopt;
  };
  if (m.map(Op::Neg)) {
    if (auto x = negated(m.arg(0))) m.is(*x);
    if (const ENode* p = m.g.node_of(m.arg(0), Op::Mul))
      for (int k : {0, 1})
        if (auto v = m.constant(p->children[size_t(k)]))
          m.is(m.g.map(Op::Mul, {p->children[size_t(1 - k)],
                                 m.g.constant_class(-*v, m.elem(p->children[size_t(k)]))}));
  }
  if (m.map(Op::Mul))
    for (int k : {0, 1}) {
      const ClassId x = m.arg(size_t(k)), y = m.arg(size_t(1 - k));
      if (m.g.is(x, -1)) m.is(m.g.map(Op::Neg, {y}));
      if (auto v = m.constant(x))
        if (auto p = negated(y)) m.is(m.g.map(Op::Mul, {*p, m.g.constant_class(-*v, m.elem(x))}));
    }
  if (m.map(Op::Add))
    for (int k : {0, 1})
      if (auto x = negated(m.arg(size_t(k)))) m.is(m.g.map(Op::Sub, {m.arg(size_t(1 - k)), *x}));
  if (m.map(Op::Sub))
    if (auto x = negated(m.arg(1))) m.is(m.g.map(Op::Add, {m.arg(0), *x}));
}

void subtract_zero(Match& m) {
  if (!m.map(Op::Sub)) return;
  if (auto z = m.constant(m.arg(1)); z && *z == 0 && (!std::signbit(*z) || !is_float(m.i.elem)))
    m.is(m.arg(0));
}

void add_zero(Match& m) {
  if (m.map(Op::Add))
    for (int k : {0, 1})
      if (m.g.is(m.arg(size_t(k)), 0)) m.is(m.arg(size_t(1 - k)));
  if (m.map(Op::Sub) && m.g.is(m.arg(0), 0)) m.is(m.g.map(Op::Neg, {m.arg(1)}));
}

void choices(Match& m) {
  if (m.map(Op::Select)) {
    if (auto c = m.constant(m.arg(0))) m.is(m.arg(*c != 0 ? 1 : 2));
    if (m.g.find(m.arg(1)) == m.g.find(m.arg(2))) m.is(m.arg(1));
  }
  if ((m.map(Op::Max) || m.map(Op::Min)) && m.g.find(m.arg(0)) == m.g.find(m.arg(1)))
    m.is(m.arg(0));
  if (m.i.kind != Kind::Mask) return;
  if (m.i.proto->cond.is_always()) m.is(m.arg(0));
  if (m.i.proto->cond.any.empty()) m.is(m.arg(1));
  if (m.g.find(m.arg(0)) == m.g.find(m.arg(1))) m.is(m.arg(0));
  for (const ENode& x : m.g.nodes(m.arg(0)))
    if (x.symbol == m.n.symbol) m.is(m.g.same(m.n, {x.children[0], m.arg(1)}));
  for (const ENode& x : m.g.nodes(m.arg(1)))
    if (x.symbol == m.n.symbol) m.is(m.g.same(m.n, {m.arg(0), x.children[1]}));
}

void extremum_identity(Match& m) {
  const double identity = m.map(Op::Max) ? -INFINITY : INFINITY;
  if (m.map(Op::Max) || m.map(Op::Min))
    for (int k : {0, 1})
      if (m.g.is(m.arg(size_t(k)), identity)) m.is(m.arg(size_t(1 - k)));
}

// narrow(widen(x)) = x; arithmetic reads a narrow operand as its wide value.
void drop_widening(Match& m) {
  if (m.i.kind == Kind::Cast) {
    for (const ENode& x : m.g.nodes(m.arg(0)))
      if (m.g.info(x).kind == Kind::Cast && m.elem(x.children[0]) == m.i.elem &&
          widens(m.i.elem, m.g.info(x).elem))
        m.is(x.children[0]);
    return;
  }
  if (m.i.kind != Kind::Map && m.i.kind != Kind::Dot && m.i.kind != Kind::Reduce) return;
  for (size_t k = 0; k < m.n.children.size(); ++k) {
    const auto narrow = widened_from(m.g, m.arg(k));
    if (!narrow) continue;
    std::vector<ClassId> children = m.n.children;
    children[k] = *narrow;
    if (m.i.kind == Kind::Map) {
      std::vector<Type> types;
      for (ClassId c : children) types.push_back(m.elem(c));
      if (map_type(m.i.op, types) == m.i.elem) m.is(m.g.map(m.i.op, children));
    } else if (m.i.kind == Kind::Dot ||
               arithmetic_type(m.elem(*narrow), m.elem(*narrow)) == m.i.elem) {
      m.is(m.g.same(m.n, children));
    }
  }
}

void integer_powers(Match& m) {
  if (!m.map(Op::Pow)) return;
  const auto e = m.constant(m.arg(1));
  if (!e) return;
  const ClassId x = m.arg(0);
  if (*e == 1) m.is(m.g.map(Op::Mul, {x, m.g.constant_class(1, m.i.elem)}));
  if (*e == 2) m.is(m.g.map(Op::Mul, {x, x}));
  if (*e == 3) m.is(m.g.map(Op::Mul, {m.g.map(Op::Mul, {x, x}), x}));
  if (*e == 4) {
    const ClassId square = m.g.map(Op::Mul, {x, x});
    m.is(m.g.map(Op::Mul, {square, square}));
  }
  if (*e == 0.5) m.is(m.g.map(Op::Sqrt, {x}));
  if (*e == -0.5) m.is(m.g.map(Op::Rsqrt, {x}));
  if (*e == -1) m.is(m.g.map(Op::Recip, {x}));
}

}  // namespace

void add_identity_rules(RuleList& out) {
  out.push_back({{"fold-constants",
                  "an operation on constants is a constant; float results stay in double precision "
                  "unless strict (then each is rounded to its type, as at run time)",
                  NumericTag::Exact, ""},
                 fold_constants});
  out.push_back({{"multiply-by-one", "x*1 = x, x/1 = x", NumericTag::Exact, ""}, multiply_by_one});
  out.push_back({{"signs", "--x = x, x + -y = x - y, x - -y = x + y, -(x*c) = x*(-c), x*-1 = -x",
                  NumericTag::Exact, ""},
                 signs});
  out.push_back({{"subtract-zero", "x - 0 = x", NumericTag::Exact, ""}, subtract_zero});
  out.push_back({{"add-zero", "x + 0 = x, 0 - x = -x (the sign of a zero may change)",
                  NumericTag::Reassociates, ""},
                 add_zero});
  out.push_back(
      {{"known-choice", "select and mask with a known condition or equal branches; max(x, x) = x",
        NumericTag::Exact, ""},
       choices});
  out.push_back({{"extremum-identity", "max(x, -inf) = x, min(x, inf) = x (a NaN x stays NaN)",
                  NumericTag::Reassociates, ""},
                 extremum_identity});
  out.push_back({{"drop-widening",
                  "arithmetic reads a narrow operand as its wide value; narrow(widen(x)) = x",
                  NumericTag::Exact, ""},
                 drop_widening});
  out.push_back({{"integer-powers", "pow(x, 2) = x*x, pow(x, 0.5) = sqrt(x) and the like",
                  NumericTag::Reassociates, ""},
                 integer_powers});
}

}  // namespace nautilus::tile::rw
