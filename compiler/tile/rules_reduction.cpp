// Factors out of reductions and dots, and reductions over axes that their operand does not have.
#include <cmath>

#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile::rw {
namespace {

using poly::NumericTag;
using poly::ReduceOp;

bool reduces(const Match& m, ReduceOp op) {
  return m.i.kind == Kind::Reduce && m.i.proto->reduce == op;
}

// sum(x*s) = sum(x)*s, sum(x/s) = sum(x)/s for s without the reduced axes.
void out_of_sum(Match& m) {
  if (!reduces(m, ReduceOp::Sum) || !is_float(m.i.elem)) return;
  for (const ENode& n : m.g.nodes(m.arg(0))) {
    const NodeInfo& i = m.g.info(n);
    if (i.kind != Kind::Map) continue;
    if (i.op == Op::Neg) m.is(m.g.map(Op::Neg, {m.g.same(m.n, {n.children[0]})}));
    if (i.op == Op::Div && !(m.g.at(n.children[1]).axes & m.i.axes) &&
        is_float(m.elem(n.children[0])))
      m.is(m.g.map(Op::Div,
                   {m.g.reduce(ReduceOp::Sum, m.i.axes, m.i.elem, n.children[0]), n.children[1]}));
    if (i.op == Op::Mul)
      for (size_t k : {0, 1})
        if (!(m.g.at(n.children[k]).axes & m.i.axes) && is_float(m.elem(n.children[1 - k])))
          m.is(m.g.map(Op::Mul, {m.g.reduce(ReduceOp::Sum, m.i.axes, m.i.elem, n.children[1 - k]),
                                 n.children[k]}));
  }
}

void out_of_extremum(Match& m) {
  const bool max = reduces(m, ReduceOp::Max);
  if ((!max && !reduces(m, ReduceOp::Min)) || !is_float(m.i.elem)) return;
  for (const ENode& n : m.g.nodes(m.arg(0))) {
    if (m.g.info(n).kind != Kind::Map || m.g.info(n).op != Op::Mul) continue;
    for (size_t k : {0, 1}) {
      const auto c = m.constant(n.children[k]);
      if (!c || *c == 0 || !std::isfinite(*c) || !is_float(m.elem(n.children[1 - k]))) continue;
      const ReduceOp op = (*c > 0) == max ? ReduceOp::Max : ReduceOp::Min;
      m.is(
          m.g.map(Op::Mul, {m.g.reduce(op, m.i.axes, m.i.elem, n.children[1 - k]), n.children[k]}));
    }
  }
}

void out_of_dot(Match& m) {
  if (m.i.kind != Kind::Dot || !is_float(m.i.elem)) return;
  for (size_t side : {0, 1})
    for (const ENode& n : m.g.nodes(m.arg(side))) {
      const NodeInfo& i = m.g.info(n);
      if (i.kind != Kind::Map || (i.op != Op::Mul && i.op != Op::Div)) continue;
      for (size_t k : {0, 1}) {
        if (i.op == Op::Div && k == 0) continue;
        const ClassId s = n.children[k], x = n.children[1 - k];
        if ((m.g.at(s).axes & m.i.axes) || (m.g.at(x).axes & m.i.axes) != m.i.axes ||
            !is_float(m.elem(x)))
          continue;
        std::vector<ClassId> children = m.n.children;
        children[side] = x;
        m.is(m.g.map(i.op, {m.g.same(m.n, children), s}));
      }
    }
}

// dot(a, b)*s = dot(a*s, b) where a*s is less work than the product outside.
void into_dot(Match& m) {
  if (!m.map(Op::Mul) || !is_float(m.i.elem)) return;
  for (size_t k : {0, 1})
    for (const ENode& n : m.g.nodes(m.arg(1 - k))) {
      const NodeInfo& i = m.g.info(n);
      const ClassId s = m.arg(k);
      if (i.kind != Kind::Dot || (m.g.at(s).axes & i.axes)) continue;
      for (size_t side : {0, 1}) {
        if (!(m.weight(n.children[side], s) < m.weight())) continue;
        std::vector<ClassId> children = n.children;
        children[side] = m.g.map(Op::Mul, {n.children[side], s});
        m.is(m.g.same(n, children));
      }
    }
}

// The reduction of a value over an axis that it does not have.
std::optional<ClassId> without_missing_axes(Match& m) {
  const AxisMask rest = m.i.axes & m.g.at(m.arg(0)).axes;
  if (m.i.kind != Kind::Reduce || m.i.proto->reduce == ReduceOp::User || rest == m.i.axes)
    return std::nullopt;
  if (rest) return m.g.reduce(m.i.proto->reduce, rest, m.i.elem, m.arg(0));
  if (m.elem(m.arg(0)) == m.i.elem) return m.arg(0);
  return m.g.cast(m.arg(0), m.i.elem);
}
void uniform_extremum(Match& m) {
  if (m.i.kind != Kind::Reduce || m.i.proto->reduce == ReduceOp::Sum ||
      m.i.proto->reduce == ReduceOp::Prod)
    return;
  if (auto x = without_missing_axes(m)) m.is(*x);
}
void uniform_sum(Match& m) {
  if (!reduces(m, ReduceOp::Sum) || !is_float(m.i.elem)) return;
  const double n = m.g.lanes(m.i.axes & ~m.g.at(m.arg(0)).axes);
  if (auto x = without_missing_axes(m))
    m.is(m.g.map(Op::Mul, {*x, m.g.constant_class(n, m.i.elem)}));
}

}  // namespace

void add_reduction_rules(RuleList& out) {
  const auto r = NumericTag::Reassociates;
  out.push_back({{"scale-out-of-sum",
                  "sum(x*s) = sum(x)*s, sum(x/s) = sum(x)/s for s without the reduced axes", r, ""},
                 out_of_sum});
  out.push_back({{"scale-out-of-extremum",
                  "max(x*c) = max(x)*c for constant c > 0, min(x)*c for c < 0", r, ""},
                 out_of_extremum});
  out.push_back(
      {{"scale-out-of-dot",
        "dot(x*s, y) = dot(x, y)*s, dot(x/s, y) = dot(x, y)/s for s without the contracted axes", r,
        ""},
       out_of_dot});
  out.push_back(
      {{"scale-into-dot", "dot(a, b)*s = dot(a*s, b) where that is less work", r, ""}, into_dot});
  out.push_back(
      {{"uniform-extremum", "max, min, any, all over an axis along which the value is constant",
        NumericTag::Exact, ""},
       uniform_extremum});
  out.push_back(
      {{"uniform-sum", "the sum of a constant along an axis is a product with its extent", r, ""},
       uniform_sum});
}

}  // namespace nautilus::tile::rw
