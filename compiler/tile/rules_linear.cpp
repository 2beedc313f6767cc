// Products and sums: where a factor or term is best applied.
#include <cmath>

#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile::rw {
namespace {

using poly::NumericTag;

// x = y * c with a finite non-zero constant c.
struct Scaled {
  ClassId y;
  double c;
  Type type;  // of the constant
};
std::vector<Scaled> scaled_forms(const Graph& g, ClassId x) {
  std::vector<Scaled> out;
  for (const ENode& n : g.nodes(x)) {
    const NodeInfo& i = g.info(n);
    if (i.kind != Kind::Map || i.op != Op::Mul || !is_float(i.elem)) continue;
    for (size_t k : {0, 1})
      if (auto c = g.constant(n.children[k]);
          c && *c != 0 && std::isfinite(*c) && !g.constant(n.children[1 - k]))
        out.push_back({n.children[1 - k], *c, g.at(n.children[k]).elem});
  }
  return out;
}

ClassId scale(Graph& g, ClassId y, double c, Type t) {
  return g.map(Op::Mul, {y, g.derived_constant(c, t)});
}

void combine_scales(Match& m) {
  if (!m.map(Op::Mul) || !is_float(m.i.elem)) return;
  for (size_t k : {0, 1})
    if (auto c = m.constant(m.arg(k)))
      for (const Scaled& s : scaled_forms(m.g, m.arg(1 - k))) {
        const double product = s.c * *c;
        if (std::abs(product - 1) < 1e-14)
          m.is(s.y);
        else if (product != 0 && std::isfinite(product))
          m.is(scale(m.g, s.y, product, m.elem(m.arg(k))));
      }
}

// (a + b)*s = a*s + b*s where b*s is less work than the whole (it has fewer lanes, or leaves a
// loop): a*s then folds into a multiply-add.
void distribute(Match& m) {
  if (!m.map(Op::Mul) || !is_float(m.i.elem)) return;
  for (size_t k : {0, 1}) {
    const ClassId s = m.arg(k), sum = m.arg(1 - k);
    if (!m.constant(s) && !(m.g.weight(s) < m.weight())) continue;
    for (const ENode& n : m.g.nodes(sum)) {
      const NodeInfo& i = m.g.info(n);
      if (i.kind != Kind::Map || (i.op != Op::Add && i.op != Op::Sub)) continue;
      if (!(m.weight(n.children[0], s) < m.weight()) && !(m.weight(n.children[1], s) < m.weight()))
        continue;
      m.is(m.g.map(i.op,
                   {m.g.map(Op::Mul, {n.children[0], s}), m.g.map(Op::Mul, {n.children[1], s})}));
    }
  }
}

void factor(Match& m) {
  if ((!m.map(Op::Add) && !m.map(Op::Sub)) || !is_float(m.i.elem)) return;
  for (const ENode& a : m.g.nodes(m.arg(0))) {
    if (m.g.info(a).kind != Kind::Map || m.g.info(a).op != Op::Mul) continue;
    for (const ENode& b : m.g.nodes(m.arg(1))) {
      if (m.g.info(b).kind != Kind::Map || m.g.info(b).op != Op::Mul) continue;
      for (size_t k : {0, 1})
        for (size_t l : {0, 1})
          if (m.g.find(a.children[k]) == m.g.find(b.children[l]))
            m.is(m.g.map(Op::Mul,
                         {m.g.map(m.i.op, {a.children[1 - k], b.children[1 - l]}), a.children[k]}));
    }
  }
}

// (a op b) op d = a op (b op d) where the inner operation is less work: fewer lanes, or outside a
// loop.
void reassociate(Match& m, nautilus::Op op) {
  if (!m.map(op) || !is_float(m.i.elem)) return;
  for (size_t k : {0, 1}) {
    const ClassId d = m.arg(k);
    if (m.g.find(m.arg(1 - k)) == m.g.find(d) || m.constant(m.arg(1 - k))) continue;
    for (const ENode& n : m.g.nodes(m.arg(1 - k))) {
      if (m.g.info(n).kind != Kind::Map || m.g.info(n).op != op) continue;
      // a = a*u would unroll without end
      const ClassId whole = m.g.find(m.c), part = m.g.find(m.arg(1 - k)),
                    a = m.g.find(n.children[0]), b = m.g.find(n.children[1]);
      if (whole == part || a == part || b == part || a == whole || b == whole ||
          m.g.find(d) == whole)
        continue;
      for (size_t l : {0, 1})
        if (m.weight(n.children[l], d) < m.weight() &&
            !(m.constant(d) && m.constant(n.children[l])))
          m.is(m.g.map(op, {n.children[1 - l], m.g.map(op, {n.children[l], d})}));
    }
  }
}
void reassociate_product(Match& m) { reassociate(m, Op::Mul); }
void reassociate_sum(Match& m) {
  reassociate(m, Op::Add);
  if (!m.map(Op::Sub) || !is_float(m.i.elem)) return;
  const ClassId d = m.arg(1);
  for (const ENode& n : m.g.nodes(m.arg(0))) {
    const NodeInfo& i = m.g.info(n);
    if (i.kind != Kind::Map || (i.op != Op::Add && i.op != Op::Sub)) continue;
    if (m.weight(n.children[1], d) <
        m.weight())  // (a + b) - d = a + (b - d), (a - b) - d = a - (b + d)
      m.is(m.g.map(
          i.op, {n.children[0], m.g.map(i.op == Op::Add ? Op::Sub : Op::Add, {n.children[1], d})}));
    if (i.op == Op::Add && m.weight(n.children[0], d) < m.weight())
      m.is(m.g.map(Op::Add, {n.children[1], m.g.map(Op::Sub, {n.children[0], d})}));
  }
}

// Not a change of the program: a product used by one sum is written back as the two operations.
void multiply_add(Match& m) {
  if ((!m.map(Op::Add) && !m.map(Op::Sub)) || !is_float(m.i.elem)) return;
  for (size_t k : {0, 1})
    for (const ENode& p : m.g.nodes(m.arg(k)))
      if (m.g.info(p).kind == Kind::Map && m.g.info(p).op == Op::Mul)
        m.is(m.g.fma(m.map(Op::Add) ? 0
                     : k == 0       ? 1
                                    : 2,
                     p.children[0], p.children[1], m.arg(1 - k)));
}

// A constant factor moves through max and min (which swap if it is negative), and is dropped on
// both sides of a comparison.
void through_extremum(Match& m) {
  const bool extremum = m.map(Op::Max) || m.map(Op::Min);
  if (extremum && is_float(m.i.elem)) {
    const Op other = m.map(Op::Max) ? Op::Min : Op::Max;
    for (size_t k : {0, 1})
      for (const Scaled& a : scaled_forms(m.g, m.arg(k))) {
        const Op op = a.c > 0 ? m.i.op : other;
        if (auto c = m.constant(m.arg(1 - k)); c && (*c == 0 || std::isinf(*c)))
          m.is(scale(m.g, m.g.map(op, {a.y, m.g.constant_class(*c / a.c, m.elem(m.arg(1 - k)))}),
                     a.c, a.type));
        if (k == 0)
          for (const Scaled& b : scaled_forms(m.g, m.arg(1)))
            if (a.c == b.c) m.is(scale(m.g, m.g.map(op, {a.y, b.y}), a.c, a.type));
      }
  }
  if (m.map(Op::Eq) || m.map(Op::Ne) || m.map(Op::Lt) || m.map(Op::Le))
    for (const Scaled& a : scaled_forms(m.g, m.arg(0)))
      for (const Scaled& b : scaled_forms(m.g, m.arg(1)))
        if (a.c == b.c && (a.c > 0 || m.map(Op::Eq) || m.map(Op::Ne)))
          m.is(m.g.map(m.i.op, {a.y, b.y}));
  if (m.map(Op::Eq) || m.map(Op::Ne))  // x*c = 0 and x*c = -inf ask the same of x
    for (size_t k : {0, 1})
      if (auto v = m.constant(m.arg(1 - k)); v && (*v == 0 || std::isinf(*v)))
        for (const Scaled& a : scaled_forms(m.g, m.arg(k)))
          m.is(m.g.map(m.i.op, {a.y, m.g.constant_class(*v / a.c, m.elem(m.arg(1 - k)))}));
}

// mask(x*c, v) = mask(x, v/c)*c for v zero or infinite; select(p, a*c, b*c) = select(p, a, b)*c.
void through_choice(Match& m) {
  if (!is_float(m.i.elem)) return;
  if (m.i.kind == Kind::Mask) {
    const auto v = m.constant(m.arg(1));
    for (const Scaled& a : scaled_forms(m.g, m.arg(0))) {
      if (v && (*v == 0 || std::isinf(*v)) && m.elem(a.y) == m.i.elem)
        m.is(scale(m.g, m.g.mask_like(m.n, a.y, m.g.constant_class(*v / a.c, m.i.elem)), a.c,
                   a.type));
      for (const Scaled& b : scaled_forms(m.g, m.arg(1)))
        if (a.c == b.c && m.elem(a.y) == m.elem(b.y))
          m.is(scale(m.g, m.g.mask_like(m.n, a.y, b.y), a.c, a.type));
    }
  }
  if (m.map(Op::Select))
    for (const Scaled& a : scaled_forms(m.g, m.arg(1)))
      for (const Scaled& b : scaled_forms(m.g, m.arg(2)))
        if (a.c == b.c) m.is(scale(m.g, m.g.map(Op::Select, {m.arg(0), a.y, b.y}), a.c, a.type));
  if (m.map(Op::Mul))  // select(p, constant, x)*c = select(p, constant*c, x*c)
    for (size_t k : {0, 1})
      if (auto c = m.constant(m.arg(k)); c && *c != 0 && std::isfinite(*c))
        for (const ENode& n : m.g.nodes(m.arg(1 - k)))
          if (m.g.info(n).kind == Kind::Map && m.g.info(n).op == Op::Select &&
              is_float(m.g.info(n).elem))
            for (size_t b : {1, 2})
              if (auto v = m.constant(n.children[b]);
                  v && (*v == 0 || std::isinf(*v)) && !m.constant(n.children[3 - b])) {
                const ClassId kept = m.g.constant_class(*v * *c, m.elem(n.children[b])),
                              scaled = scale(m.g, n.children[3 - b], *c, m.elem(m.arg(k)));
                m.is(m.g.map(Op::Select, b == 1
                                             ? std::vector<ClassId>{n.children[0], kept, scaled}
                                             : std::vector<ClassId>{n.children[0], scaled, kept}));
              }
}

// select(p, x, x*y) = x*select(p, 1, y) where the choice then has fewer lanes, or leaves a loop;
// the same of quotients x/y.
void factor_of_choice(Match& m) {
  if (!m.map(Op::Select) || !is_float(m.i.elem)) return;
  for (size_t side : {1, 2}) {
    const ClassId x = m.g.find(m.arg(side));
    for (const ENode& n : m.g.nodes(m.arg(3 - side))) {
      const NodeInfo& i = m.g.info(n);
      if (i.kind != Kind::Map || (i.op != Op::Mul && i.op != Op::Div)) continue;
      const Op op = i.op;
      for (size_t k : {0, 1}) {
        const ClassId y = n.children[1 - k];
        if (m.g.find(n.children[k]) != x || (op == Op::Div && k == 1) || m.constant(y) ||
            m.elem(x) != m.i.elem || !(m.weight(m.arg(0), y) < m.weight()))
          continue;
        const ClassId one = m.g.constant_class(1, m.elem(y));
        const ClassId choice =
            m.g.map(Op::Select, side == 1 ? std::vector<ClassId>{m.arg(0), one, y}
                                          : std::vector<ClassId>{m.arg(0), y, one});
        m.is(m.g.map(op, {x, choice}));
      }
    }
  }
}

}  // namespace

void add_linear_rules(RuleList& out) {
  const auto r = NumericTag::Reassociates;
  out.push_back({{"combine-scales", "(x*a)*b = x*(a*b) for constants", r, ""}, combine_scales});
  out.push_back({{"distribute-scale",
                  "(a + b)*s = a*s + b*s where s is a constant or has fewer lanes", r, ""},
                 distribute});
  out.push_back({{"factor-scale", "a*s + b*s = (a + b)*s", r, ""}, factor});
  out.push_back({{"reassociate-product", "(a*b)*d = a*(b*d) where that is less work", r, ""},
                 reassociate_product});
  out.push_back({{"reassociate-sum", "(a + b) + d = a + (b + d) where that is less work", r, ""},
                 reassociate_sum});
  out.push_back(
      {{"multiply-add",
        "a product and the sum that uses it count as one operation (the program is unchanged)",
        NumericTag::Exact, ""},
       multiply_add});
  out.push_back({{"scale-through-extremum",
                  "max(a*c, b*c) = max(a, b)*c and a*c < b*c = a < b for constant c > 0; min and "
                  "max swap for c < 0",
                  r, ""},
                 through_extremum});
  out.push_back({{"scale-through-choice",
                  "mask(x*c, 0) = mask(x, 0)*c, select(p, a*c, b*c) = select(p, a, b)*c", r, ""},
                 through_choice});
  out.push_back({{"factor-of-choice",
                  "select(p, x, x*y) = x*select(p, 1, y) and select(p, x, x/y) = x/select(p, 1, y) "
                  "where the choice has fewer lanes",
                  NumericTag::Exact, ""},
                 factor_of_choice});
}

}  // namespace nautilus::tile::rw
