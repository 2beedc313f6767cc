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
      return {{"special", 1}};
    case Op::Exp:
    case Op::Log:
      return {{"special", 1}, {"fma", 1}};
    case Op::Sqrt:
    case Op::Recip:
      return {{"special", 1}, {"fma", 2}};
    case Op::Sigmoid:
      return {{"special", 2}, {"fma", 3}};
    case Op::Tanh:
      return {{"special", 2}, {"fma", 11}};
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

using poly::Tiles;

class Counter {
 public:
  explicit Counter(const Kernel& k) : k_(k) {
    for (const GridDim& g : k.grid) loops_.push_back(g.iv);
    find_uses(k.body);
  }
  std::vector<OpCount> run() { return counted(k_.body, Tiles::All); }

 private:
  const Kernel& k_;
  std::vector<OpCount> out_;
  std::vector<std::string> loops_;
  std::map<ValueId, int> uses_;
  std::map<ValueId, const Instr*> definition_;
  std::set<ValueId> fused_;  // products that are part of a multiply-add
  Tiles tiles_ = Tiles::All;
  double share_ = 1;  // of the loops' iterations: branches on data

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
    entry({i.origin, unit, 0, std::move(axes), loops_, tiles_, tensor}).per_lane += n * share_;
  }
  // What is counted for the same as `like`; begins as nothing.
  OpCount& entry(const OpCount& like) {
    for (OpCount& c : out_)
      if (c.origin == like.origin && c.unit == like.unit && c.axes == like.axes &&
          c.loops == like.loops && c.tiles == like.tiles && c.tensor == like.tensor)
        return c;
    out_.push_back(like);
    out_.back().per_lane = 0;
    return out_.back();
  }
  void add(const std::vector<OpCount>& more) {
    for (const OpCount& c : more) entry(c).per_lane += c.per_lane;
  }
  // Instances take one of the two ways: what both do counts once.
  void add_other_way(const std::vector<OpCount>& more) {
    for (const OpCount& c : more) {
      OpCount& e = entry(c);
      e.per_lane = std::max(e.per_lane, c.per_lane);
    }
  }

  static bool is_masked(const Instr& i) {
    return (i.code == Code::Load || i.code == Code::Store || i.code == Code::Mask) &&
           !i.cond.is_always();
  }
  static int masked(const Region& r) {
    int n = 0;
    for (const Instr& i : r.body) {
      n += is_masked(i);
      for (const Region& inner : i.regions) n += masked(inner);
    }
    return n;
  }

  // Within what partial tiles do, nothing is for full ones.
  Tiles within(Tiles inner) const {
    return tiles_ == Tiles::Partial || inner == Tiles::All ? tiles_ : inner;
  }
  // The region's operations alone.
  std::vector<OpCount> counted(const Region& r, Tiles tiles) {
    const std::vector<OpCount> outer = std::exchange(out_, {});
    const Tiles around = std::exchange(tiles_, within(tiles));
    for (const Instr& i : r.body) mark_fused(i);
    // The last iterations of a loop, written out beside it: the loop's are full.
    const Tiles here = tiles_;
    const bool beside = std::any_of(r.body.begin(), r.body.end(),
                                    [&](const Instr& i) { return written_out(i, r); });
    for (const Instr& i : r.body) {
      tiles_ = here;
      if (beside) tiles_ = within(written_out(i, r) ? Tiles::Full : Tiles::Partial);
      count(i, r);
    }
    tiles_ = around;
    return std::exchange(out_, outer);
  }

  // A block goes one way of a branch on its place.
  void branch(const Instr& i) {
    const double around = share_;
    if (!i.operands.empty()) {
      share_ = around * kTakenShare;
      add(counted(i.regions[0], Tiles::All));
      share_ = around * (1 - kTakenShare);
      add(counted(i.regions[1], Tiles::All));
      share_ = around;
      return;
    }
    const int first = masked(i.regions[0]), second = masked(i.regions[1]);
    std::vector<OpCount> ways = counted(i.regions[0], share_of(first, second));
    const std::vector<OpCount> other = counted(i.regions[1], share_of(second, first));
    std::swap(out_, ways);
    add_other_way(other);
    std::swap(out_, ways);
    add(ways);
  }
  static Tiles share_of(int masks, int others) {
    return masks == others ? Tiles::All : masks > others ? Tiles::Partial : Tiles::Full;
  }

  // Loops of one variable where one ends and the other begins share its iterations.
  void loop(const Instr& i, const Region& around) {
    bool counted_before = false, before = true;
    Tiles tiles = Tiles::All;
    for (const Instr& o : around.body) {
      if (&o == &i) before = false;
      if (&o == &i || o.code != Code::For || o.iv != i.iv ||
          (o.upper != i.lower && o.lower != i.upper))
        continue;
      counted_before |= before;
      const Tiles share = share_of(masked(i.regions[0]), masked(o.regions[0]));
      if (tiles != Tiles::Partial && share != Tiles::All) tiles = share;
    }
    loops_.push_back(i.iv);
    const std::vector<OpCount> body = counted(i.regions[0], tiles);
    loops_.pop_back();
    counted_before ? add_other_way(body) : add(body);
  }

  // Some iterations of the loop are written out beside it, with masks: those name axes that the
  // loop's tiles are placed along. Masks of other axes hold in its iterations as well.
  static bool written_out(const Instr& loop, const Region& around) {
    if (loop.code != Code::For || masked(loop.regions[0]) > 0) return false;
    std::set<std::string> along;
    placed_along(loop.regions[0], loop.iv, along);
    return std::any_of(around.body.begin(), around.body.end(), [&](const Instr& o) {
      if (!is_masked(o)) return false;
      for (const Cond::Conj& conj : o.cond.any)
        for (const Cond::Atom& a : conj)
          for (const std::string& v : variables(a.expr))
            if (along.contains(v)) return true;
      return false;
    });
  }
  static std::vector<std::string> variables(const IndexExpr& e) {
    std::vector<std::string> out;
    e.collect_vars(out);
    return out;
  }
  static void placed_along(const Region& r, const std::string& iv, std::set<std::string>& out) {
    for (const Instr& i : r.body) {
      for (const IndexExpr& e : i.index) {
        const auto names = variables(e);
        if (std::find(names.begin(), names.end(), iv) != names.end())
          out.insert(names.begin(), names.end());
      }
      for (const Region& inner : i.regions) placed_along(inner, iv, out);
    }
    out.erase(iv);
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

  void count(const Instr& i, const Region& around) {
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
        return loop(i, around);
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
  for (const Kernel& k : m.kernels)
    for (OpCount& c : Counter(k).run()) out.push_back(std::move(c));
  return out;
}

}  // namespace nautilus::tile
