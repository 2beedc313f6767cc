// Sums of products are dots.
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

// mask(a*b, 0) = mask(a, 0)*b where a has the condition's axes: what b holds in masked lanes must be finite.
void mask_into_product(Match& m) {
  if (m.i.kind != Kind::Mask || !m.g.is(m.arg(1), 0) || !is_float(m.i.elem)) return;
  for (const ENode& n : m.g.nodes(m.arg(0))) {
    if (m.g.info(n).kind != Kind::Map || m.g.info(n).op != Op::Mul) continue;
    for (size_t k : {0, 1}) {
      const ClassId a = n.children[k];
      if ((m.g.at(a).axes & m.i.axes) != m.i.axes || !is_float(m.elem(a)) || m.constant(a)) continue;
      m.is(m.g.map(Op::Mul, {m.g.mask_like(m.n, a, m.g.constant_class(0, m.elem(a))), n.children[1 - k]}));
    }
  }
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

}  // namespace

void add_contraction_rules(RuleList& out) {
  out.push_back({{"contraction", "the sum of a*b over axes that both have is a dot", NumericTag::Reassociates, ""}, contraction});
  out.push_back({{"mask-into-product", "mask(a*b, 0) = mask(a, 0)*b where a has the condition's axes (b must be finite in masked lanes)",
                  NumericTag::Reassociates, ""}, mask_into_product});
  out.push_back({{"scale-out-of-narrowed-dot", "dot(narrow(x*s), y) = dot(narrow(x), y)*s: the rounding falls before the scale",
                  NumericTag::Approximates, "relative error of a term: twice the unit roundoff of the narrow type (f16 2^-10, bf16 2^-7)"},
                 out_of_narrowed_dot});
}

}  // namespace nautilus::tile::rw
