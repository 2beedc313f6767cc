// Operations of a module by unit, and what each scalar operation takes.
#include <algorithm>
#include <set>
#include <utility>

#include "compiler/tile/rewrite.h"

namespace nautilus::tile {

std::vector<UnitOps> op_units(nautilus::Op op) {
  switch (op) {
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Neg:
    case Op::Abs:
    case Op::Floor:
      return {{"fma", 1}};
    case Op::Exp2:
    case Op::Log2:
    case Op::Rsqrt:
    case Op::Tanh:
      return {{"special", 1}};
    case Op::Exp:
    case Op::Log:
      return {{"special", 1}, {"fma", 1}};
    case Op::Sqrt:
    case Op::Recip:
      return {{"special", 1}, {"fma", 2}};
    case Op::Sigmoid:
      return {{"special", 2}, {"fma", 3}};
    case Op::Erf:
      return {{"special", 1}, {"fma", 12}};
    case Op::Pow:
      return {{"special", 2}, {"fma", 2}};
    case Op::Div:
      return {{"divide", 1}};
    default:
      return {{"compare", 1}};  // comparisons, min, max, logic, select
  }
}

// One narrow operand is enough: the f32 one is split into two halves of the narrow type (the cost
// model counts the product twice), which keeps f32's accuracy.
bool is_matrix_dot(Type a, Type b) { return type_bytes(a) <= 2 || type_bytes(b) <= 2; }
bool is_split_dot(Type a, Type b) { return is_matrix_dot(a, b) && type_bytes(a) != type_bytes(b); }

namespace {

class Counter {
 public:
  explicit Counter(const Kernel& k, std::vector<OpCount>& out) : k_(k), out_(out) {
    for (const GridDim& g : k.grid) loops_.push_back(g.iv);
    find_uses(k.body);
    count(k.body);
  }

 private:
  const Kernel& k_;
  std::vector<OpCount>& out_;
  std::vector<std::string> loops_;
  std::map<ValueId, int> uses_;
  std::map<ValueId, const Instr*> definition_;
  std::set<ValueId> fused_;             // products that are part of a multiply-add
  std::set<std::string> partial_here_;  // statements with a masked instruction in this region
  double share_ = 1;                    // of the loops' iterations: branches on data

  void find_uses(const Region& r) {
    for (const Instr& i : r.body) {
      for (ValueId v : i.operands) ++uses_[v];
      for (ValueId v : i.results) definition_[v] = &i;
      for (const Region& n : i.regions) find_uses(n);
    }
    for (ValueId v : r.yields) ++uses_[v];
  }

  std::vector<std::string> names(const Instr& i, bool operands) const {
    std::set<std::string> s;
    for (const Axis& a : i.span) s.insert(a.name);
    for (ValueId v : operands ? i.operands : i.results)
      for (const Axis& a : k_.types.at(v).axes) s.insert(a.name);
    return {s.begin(), s.end()};
  }

  bool is_float_value(ValueId v) const { return is_float(k_.types.at(v).elem); }

  // A product with one use, over the same lanes as the sum that uses it.
  bool fusable(ValueId v, const std::vector<std::string>& axes) const {
    auto d = definition_.find(v);
    return d != definition_.end() && d->second->code == Code::Map && d->second->op == Op::Mul &&
           uses_.at(v) == 1 && is_float_value(v) && names(*d->second, false) == axes;
  }

  void add(const Instr& i, const std::string& unit, double n, std::vector<std::string> axes,
           const std::string& tensor = "") {
    const bool partial = partial_here_.count(i.origin) > 0;
    n *= share_;
    for (OpCount& c : out_)
      if (c.origin == i.origin && c.unit == unit && c.axes == axes && c.loops == loops_ &&
          c.partial == partial && c.tensor == tensor) {
        c.per_lane += n;
        return;
      }
    out_.push_back({i.origin, unit, n, std::move(axes), loops_, partial, tensor});
  }

  void count(const Region& r) {
    const std::set<std::string> outer = partial_here_;
    for (const Instr& i : r.body)
      if ((i.code == Code::Load || i.code == Code::Store || i.code == Code::Mask) &&
          !i.cond.is_always())
        partial_here_.insert(i.origin);
    for (const Instr& i : r.body) mark_fused(i);
    for (const Instr& i : r.body) count(i);
    partial_here_ = outer;
  }

  // A block goes one way of a branch on its place: what both sides do counts once.
  void branch(const Instr& i) {
    const double around = share_;
    const std::vector<OpCount> before = out_;
    if (!i.operands.empty()) share_ = around * kTakenShare;
    count(i.regions[0]);
    if (!i.operands.empty()) share_ = around * (1 - kTakenShare);
    std::vector<OpCount> first;
    if (i.operands.empty()) first = std::exchange(out_, before);
    count(i.regions[1]);
    share_ = around;
    for (const OpCount& c : first) {
      const auto same = std::find_if(out_.begin(), out_.end(), [&](const OpCount& o) {
        return o.origin == c.origin && o.unit == c.unit && o.axes == c.axes && o.loops == c.loops &&
               o.partial == c.partial && o.tensor == c.tensor;
      });
      if (same == out_.end())
        out_.push_back(c);
      else
        same->per_lane = std::max(same->per_lane, c.per_lane);
    }
  }

  void mark_fused(const Instr& i) {
    if (i.code == Code::Map && (i.op == Op::Add || i.op == Op::Sub)) {
      const auto axes = names(i, false);
      for (ValueId v : i.operands)
        if (fusable(v, axes)) {
          fused_.insert(v);
          return;
        }
    }
    if (i.code == Code::Reduce && i.reduce == poly::ReduceOp::Sum &&
        fusable(i.operands[0], names(i, true)))
      fused_.insert(i.operands[0]);
  }

  void count(const Instr& i) {
    switch (i.code) {
      case Code::Map:
        if (!fused_.count(i.results[0]))
          for (const UnitOps& u : op_units(i.op)) add(i, u.unit, u.per_lane, names(i, false));
        return;
      case Code::Cast:
        return add(i, "convert", 1, names(i, false));
      case Code::Mask:
        return add(i, "compare", 2, names(i, false));
      case Code::Load:
        return add(i, "load", 1, names(i, false), i.tensor);
      case Code::Store:
        return add(i, "store", 1, names(i, true), i.tensor);
      case Code::Reduce: {
        const bool arithmetic = i.reduce == poly::ReduceOp::Sum ||
                                i.reduce == poly::ReduceOp::Prod ||
                                i.reduce == poly::ReduceOp::User;
        return add(i, arithmetic ? "fma" : "compare", 1, names(i, true));
      }
      case Code::Dot: {
        const Type a = k_.types.at(i.operands[0]).elem, b = k_.types.at(i.operands[1]).elem;
        const bool matrix = is_matrix_dot(a, b);
        return add(i,
                   is_split_dot(a, b) ? "split"
                   : matrix           ? "matrix"
                                      : "fma",
                   matrix ? 2 : 1, names(i, true));
      }
      case Code::For:
        loops_.push_back(i.iv);
        count(i.regions[0]);
        loops_.pop_back();
        return;
      case Code::If:
        return branch(i);
      case Code::Const:
      case Code::Iota:
      case Code::Rename:
      case Code::Barrier:
        return;
    }
  }
};

}  // namespace

std::vector<OpCount> count_ops(const Module& m) {
  std::vector<OpCount> out;
  if (verify(m)) return out;
  for (const Kernel& k : m.kernels) Counter(k, out);
  return out;
}

}  // namespace nautilus::tile
