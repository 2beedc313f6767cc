// Sums of products are dots.
#include <cmath>
#include <functional>

#include "compiler/tile/rewrite_push.h"
#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile::rw {
namespace {

using poly::NumericTag;

bool narrow(Type t) { return is_float(t) && type_bytes(t) <= 2; }

// sum over K of a*b where both have all of K.
void contraction(Match& m) {
  if (m.i.kind != Kind::Reduce || m.i.proto->reduce != poly::ReduceOp::Sum || !m.i.axes) return;
  for (const ENode& n : m.g.nodes(m.arg(0))) {
    if (m.g.info(n).kind != Kind::Map || m.g.info(n).op != Op::Mul) continue;
    if ((m.g.at(n.children[0]).axes & m.g.at(n.children[1]).axes & m.i.axes) != m.i.axes) continue;
    m.is(m.g.dot(m.i.axes, m.i.elem, n.children[0], n.children[1]));
  }
}

// Calls with each (mask, its product) that the class of a zero-filled mask of floats holds.
void masked_products(Match& m, const ENode& mask, const std::function<void(const ENode&)>& found) {
  const NodeInfo i = m.g.info(mask);
  if (i.kind != Kind::Mask || !m.g.is(mask.children[1], 0) || !is_float(i.elem)) return;
  for (const ENode& n : m.g.nodes(mask.children[0]))
    if (m.g.info(n).kind == Kind::Map && m.g.info(n).op == Op::Mul &&
        is_float(m.elem(n.children[0])) && is_float(m.elem(n.children[1])))
      found(n);
}

// mask(a*b, 0) = mask(a, 0)*mask(b, 0) where both have the condition's axes: right also where lanes
// outside are NaN.
void mask_into_product(Match& m) {
  masked_products(m, m.n, [&](const ENode& n) {
    const ClassId a = n.children[0], b = n.children[1];
    if ((m.g.at(a).axes & m.g.at(b).axes & m.i.axes) != m.i.axes || m.constant(a) || m.constant(b))
      return;
    auto masked = [&](ClassId x) {
      return m.g.mask_like(m.n, x, m.g.constant_class(0, m.elem(x)));
    };
    m.is(m.g.map(Op::Mul, {masked(a), masked(b)}));
  });
}

// mask(a*b, 0) = mask(a, 0)*b where a has the condition's axes: what b holds in masked lanes must
// be finite.
void mask_into_factor(Match& m) {
  masked_products(m, m.n, [&](const ENode& n) {
    for (size_t k : {0, 1}) {
      const ClassId a = n.children[k];
      if ((m.g.at(a).axes & m.i.axes) != m.i.axes || m.constant(a)) continue;
      m.is(m.g.map(Op::Mul,
                   {m.g.mask_like(m.n, a, m.g.constant_class(0, m.elem(a))), n.children[1 - k]}));
    }
  });
}

// c is never zero: a constant, or what a guard leaves of a divisor: select(x == 0, constant, x).
bool never_zero(const Graph& g, ClassId c) {
  if (const auto k = g.constant(c)) return *k != 0;
  for (const ENode& n : g.nodes(c))
    if (g.info(n).kind == Kind::Map && g.info(n).op == Op::Select) {
      const auto k = g.constant(n.children[1]);
      if (k && *k != 0 && is_guarded(g, c, n.children[2])) return true;
    }
  return false;
}

// s cannot become infinite by a division by zero, so that 0*s = 0 for what s multiplies here.
bool finite_scale(const Graph& g, ClassId s) {
  if (const auto k = g.constant(s)) return std::isfinite(*k);
  for (const ENode& n : g.nodes(s)) {
    if (g.info(n).kind != Kind::Map) continue;
    if (g.info(n).op == Op::Recip && never_zero(g, n.children[0])) return true;
    if (g.info(n).op == Op::Div && g.constant(n.children[0]) && never_zero(g, n.children[1]))
      return true;
  }
  return false;
}

// sum over K of mask(x*s, 0) = s * sum over K of mask(x, 0), and the same of a dot's operand, for s
// without K. A row without a lane inside is 0 whatever s is there: where s may be infinite (the
// row's own empty sum as a divisor), a sum of 0 stays as it is.
void scale_out_of_masked(Match& m) {
  const bool sum = m.i.kind == Kind::Reduce && m.i.proto->reduce == poly::ReduceOp::Sum;
  if ((!sum && m.i.kind != Kind::Dot) || !m.i.axes || !is_float(m.i.elem)) return;
  for (size_t side = 0; side < (sum ? 1u : 2u); ++side)
    for (const ENode& mask : m.g.nodes(m.arg(side)))
      masked_products(m, mask, [&](const ENode& n) {
        for (size_t k : {0, 1}) {
          const ClassId x = n.children[k], s = n.children[1 - k];
          if ((m.g.at(s).axes & m.i.axes) || (m.g.at(x).axes & m.i.axes) != m.i.axes ||
              m.constant(x))
            continue;
          if ((m.g.at(x).axes & m.g.info(mask).axes) != m.g.info(mask).axes) continue;
          std::vector<ClassId> children = m.n.children;
          children[side] = m.g.mask_like(mask, x, m.g.constant_class(0, m.elem(x)));
          const ClassId r = sum ? m.g.reduce(poly::ReduceOp::Sum, m.i.axes, m.i.elem, children[0])
                                : m.g.same(m.n, children),
                        scaled = m.g.map(Op::Mul, {r, s});
          const ClassId none = m.g.map(Op::Eq, {r, m.g.constant_class(0, m.elem(r))});
          m.is(finite_scale(m.g, s) ? scaled : m.g.map(Op::Select, {none, r, scaled}));
        }
      });
}

// dot(narrow(x*s), b) = dot(narrow(x), b)*s for s without the contracted axes.
void out_of_narrowed_dot(Match& m) {
  if (m.i.kind != Kind::Dot || !is_float(m.i.elem)) return;
  for (size_t side : {0, 1})
    for (const ENode& cast : m.g.nodes(m.arg(side))) {
      if (m.g.info(cast).kind != Kind::Cast || !narrow(m.g.info(cast).elem)) continue;
      for (const ENode& n : m.g.nodes(cast.children[0])) {
        const NodeInfo& i = m.g.info(n);
        if (i.kind != Kind::Map || (i.op != Op::Mul && i.op != Op::Div)) continue;
        for (size_t k : {0, 1}) {
          if (i.op == Op::Div && k == 0) continue;
          const ClassId s = n.children[k], x = n.children[1 - k];
          if ((m.g.at(s).axes & m.i.axes) || (m.g.at(x).axes & m.i.axes) != m.i.axes) continue;
          std::vector<ClassId> children = m.n.children;
          children[side] = m.g.cast(x, m.g.info(cast).elem);
          m.is(m.g.map(i.op, {m.g.same(m.n, children), s}));
        }
      }
    }
}

// dot(a, b) = dot(narrow(a), b) for a wide a and a narrow b.
void narrow_operand(Match& m) {
  if (m.i.kind != Kind::Dot || !is_float(m.i.elem)) return;
  for (size_t side : {0, 1}) {
    const Type wide = m.elem(m.arg(side)), other = m.elem(m.arg(1 - side));
    if (wide != Type::F32 || !narrow(other) || m.constant(m.arg(side))) continue;
    std::vector<ClassId> children = m.n.children;
    children[side] = m.g.cast(m.arg(side), other);
    m.is(m.g.same(m.n, children));
  }
}

}  // namespace

void add_contraction_rules(RuleList& out) {
  out.push_back({{"contraction", "the sum of a*b over axes that both have is a dot",
                  NumericTag::Reassociates, ""},
                 contraction});
  out.push_back({{"mask-into-product",
                  "mask(a*b, 0) = mask(a, 0)*mask(b, 0) where both have the condition's axes",
                  NumericTag::Reassociates, ""},
                 mask_into_product});
  out.push_back(
      {{"mask-into-factor", "mask(a*b, 0) = mask(a, 0)*b where a has the condition's axes",
        NumericTag::Approximates,
        "none where b is finite in masked lanes; else NaN takes the place of a zero"},
       mask_into_factor});
  out.push_back({{"scale-out-of-masked-sum",
                  "sum of mask(x*s, 0) = s * sum of mask(x, 0) for s without the summed axes, and "
                  "of a dot's operand; where s may be infinite, a sum of 0 stays 0",
                  NumericTag::Reassociates, ""},
                 scale_out_of_masked});
  out.push_back({{"scale-out-of-narrowed-dot",
                  "dot(narrow(x*s), y) = dot(narrow(x), y)*s: the rounding falls before the scale",
                  NumericTag::Approximates,
                  "relative error of a term: twice the unit roundoff of the narrow type (f16 "
                  "2^-10, bf16 2^-7)"},
                 out_of_narrowed_dot});
  out.push_back({{"narrow-operand",
                  "dot(a, b) = dot(narrow(a), b) for a wide a and a narrow b, which a matrix unit "
                  "takes in one pass",
                  NumericTag::Approximates,
                  "relative error of a term: the unit roundoff of the narrow type (f16 2^-11, bf16 "
                  "2^-8), where a fits its range"},
                 narrow_operand, true});
}

}  // namespace nautilus::tile::rw
