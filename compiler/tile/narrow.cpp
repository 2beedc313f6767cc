#include "compiler/tile/narrow.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace nautilus::tile {
namespace {

using nautilus::Op;

constexpr double kLargestF16 = 65504;
constexpr int kDeepest = 64;  // operations that a proof looks through

// Bounds of values of one product's factor, read off the instructions that make them.
class Bounds {
 public:
  Bounds(const Kernel& k, const std::map<ValueId, const Instr*>& made) : k_(k), made_(made) {}

  // The largest magnitude of a factor, if there is a bound. Rows of a product do not mix: what is
  // outside a condition on `rows` alone may be anything, since what comes of it is not kept.
  std::optional<double> of_factor(ValueId v, const std::set<std::string>& rows) {
    rows_ = &rows;
    return magnitude(v, {}, 0);
  }

 private:
  // What holds in the lanes in question: conditions of masks, conditions on data.
  struct Known {
    Cond::Conj atoms;
    std::vector<Cond> others;  // that are no conjunctions
    std::set<ValueId> flags;
  };
  const Kernel& k_;
  const std::map<ValueId, const Instr*>& made_;
  const std::set<std::string>* rows_ = nullptr;

  const Instr* def(ValueId v) const {
    auto it = made_.find(v);
    return it == made_.end() ? nullptr : it->second;
  }
  const Instr* map_of(ValueId v, Op op) const {
    const Instr* i = def(v);
    return i && i->code == Code::Map && i->op == op ? i : nullptr;
  }
  std::optional<double> constant(ValueId v) const {
    const Instr* i = def(v);
    return i && i->code == Code::Const ? std::optional(i->value) : std::nullopt;
  }

  // Whether a condition holds where `known` does, but for rows that are not kept.
  bool follows(const Cond& c, const Known& known) const {
    if (c.any.size() != 1)
      return std::find(known.others.begin(), known.others.end(), c) != known.others.end();
    return std::all_of(c.any[0].begin(), c.any[0].end(), [&](const Cond::Atom& a) {
      if (std::find(known.atoms.begin(), known.atoms.end(), a) != known.atoms.end()) return true;
      std::vector<std::string> names;
      a.expr.collect_vars(names);
      bool any = false;
      for (const std::string& n : names) {
        any |= rows_->count(n) > 0;
        if (axes_.count(n) && !rows_->count(n)) return false;
      }
      return any;
    });
  }
  static Known with(Known known, const Cond& c) {
    if (c.any.size() != 1)
      known.others.push_back(c);
    else
      known.atoms.insert(known.atoms.end(), c.any[0].begin(), c.any[0].end());
    return known;
  }
  static Known with(Known known, ValueId flag) {
    known.flags.insert(flag);
    return known;
  }

  std::optional<double> magnitude(ValueId v, const Known& known, int depth) {
    const Instr* i = def(v);
    if (!i || depth > kDeepest) return std::nullopt;
    const auto of = [&](size_t n) { return magnitude(i->operands[n], known, depth + 1); };
    const auto both = [&](size_t a, size_t b, auto&& combine) -> std::optional<double> {
      const auto x = of(a), y = of(b);
      return x && y ? std::optional<double>(combine(*x, *y)) : std::nullopt;
    };
    const auto larger = [](double x, double y) { return std::max(x, y); };
    switch (i->code) {
      case Code::Const:
        return std::abs(i->value);
      case Code::Load:
        return type(v) == Type::F16 ? std::optional(kLargestF16) : std::nullopt;
      case Code::Cast:
      case Code::Rename:
        return of(0);
      case Code::Mask: {
        const auto inside = magnitude(i->operands[0], with(known, i->cond), depth + 1);
        const auto outside = of(1);
        return inside && outside ? std::optional(larger(*inside, *outside)) : std::nullopt;
      }
      case Code::Map:
        break;
      default:
        return std::nullopt;
    }
    switch (i->op) {
      case Op::Exp:
      case Op::Exp2: {
        const auto top = above(i->operands[0], known, depth + 1);
        if (!top) return std::nullopt;
        return i->op == Op::Exp ? std::exp(*top) : std::exp2(*top);
      }
      case Op::Neg:
      case Op::Abs:
        return of(0);
      case Op::Tanh:
      case Op::Erf:
      case Op::Sigmoid:
        return 1;
      case Op::Select: {
        const auto chosen = magnitude(i->operands[1], with(known, i->operands[0]), depth + 1);
        const auto other = of(2);
        return chosen && other ? std::optional(larger(*chosen, *other)) : std::nullopt;
      }
      case Op::Min:
      case Op::Max:
        return both(0, 1, larger);
      case Op::Add:
      case Op::Sub:
        return both(0, 1, [](double x, double y) { return x + y; });
      case Op::Mul:
        return both(0, 1, [](double x, double y) { return x * y; });
      default:
        return std::nullopt;
    }
  }

  // An upper bound.
  std::optional<double> above(ValueId v, const Known& known, int depth) {
    const Instr* i = def(v);
    if (!i || depth > kDeepest) return std::nullopt;
    if (i->code == Code::Const) return i->value;
    if (i->code == Code::Cast || i->code == Code::Rename)
      return above(i->operands[0], known, depth + 1);
    if (i->code == Code::Mask) {
      const auto inside = above(i->operands[0], with(known, i->cond), depth + 1),
                 outside = above(i->operands[1], known, depth + 1);
      return inside && outside ? std::optional(std::max(*inside, *outside)) : std::nullopt;
    }
    if (i->code != Code::Map) return std::nullopt;
    if (i->op == Op::Sub)
      return below({i->operands[1], 1}, plain({i->operands[0], 1}, known), known, depth);
    if (i->op == Op::Select) {
      const auto x = above(i->operands[1], known, depth + 1),
                 y = above(i->operands[2], known, depth + 1);
      return x && y ? std::optional(std::max(*x, *y)) : std::nullopt;
    }
    if (i->op == Op::Min) {
      const auto x = above(i->operands[0], known, depth + 1),
                 y = above(i->operands[1], known, depth + 1);
      return x && y ? std::min(*x, *y) : x ? x : y;
    }
    return std::nullopt;
  }

  // A value without positive factors, and without masks that are known to let it through.
  struct Scaled {
    ValueId v;
    double scale;
  };
  Scaled plain(Scaled s, const Known& known) const {
    for (const Instr* i = def(s.v); i; i = def(s.v)) {
      if (i->code == Code::Mask && follows(i->cond, known)) {
        s.v = i->operands[0];
        continue;
      }
      if (i->code == Code::Map && i->op == Op::Select && known.flags.count(i->operands[0])) {
        s.v = i->operands[1];
        continue;
      }
      if (i->code != Code::Map || i->op != Op::Mul) break;
      const auto x = constant(i->operands[0]), y = constant(i->operands[1]);
      const auto& factor = x ? x : y;
      if (!factor || !(*factor > 0) || !std::isfinite(*factor)) break;
      s = {i->operands[x ? 1 : 0], s.scale * *factor};
    }
    return s;
  }
  static bool same(double x, double y) {
    return std::abs(x - y) <= 1e-6 * std::max(std::abs(x), std::abs(y));
  }

  // How far b is below a at most, lane by lane, where `known` holds; nothing if it may be further.
  // Or b is finite in place of a reference of -inf, where a is -inf as well. Rules that fold scales
  // round them: what is shown holds up to that.
  std::optional<double> below(Scaled b, const Scaled& a, const Known& known, int depth) const {
    if (depth > kDeepest) return std::nullopt;
    b = plain(b, known);
    if (b.v == a.v && same(b.scale, a.scale)) return 0;
    const Instr* i = def(b.v);
    if (!i) return std::nullopt;
    if (i->code == Code::Reduce) {
      if (i->reduce != poly::ReduceOp::Max) return std::nullopt;
      const Scaled over = plain({i->operands[0], b.scale}, known);
      return over.v == a.v && same(over.scale, a.scale) ? std::optional(0.0) : std::nullopt;
    }
    if (i->code == Code::If) return below_choice(*i, b, a, known, depth);
    if (i->code != Code::Map) return std::nullopt;
    if (i->op == Op::Max) {
      const auto x = below({i->operands[0], b.scale}, a, known, depth + 1);
      return x ? x : below({i->operands[1], b.scale}, a, known, depth + 1);
    }
    if (i->op == Op::Select && stands_for_minus_infinity(*i))
      return below({i->operands[2], b.scale}, a, known, depth + 1);
    return std::nullopt;
  }
  // A reference that moves where data says so: in the second side no lane asked for it, so that
  // it is near the value that it would move to.
  std::optional<double> below_choice(const Instr& branch, const Scaled& b, const Scaled& a,
                                     const Known& known, int depth) const {
    const size_t n = size_t(std::find(branch.results.begin(), branch.results.end(), b.v) -
                            branch.results.begin());
    const ValueId moved = branch.regions[0].yields[n], stays = branch.regions[1].yields[n];
    const auto first = below({moved, b.scale}, a, known, depth + 1);
    if (!first) return std::nullopt;
    if (const auto second = below({stays, b.scale}, a, known, depth + 1))
      return std::max(*first, *second);
    const Instr* any = branch.operands.empty() ? nullptr : def(branch.operands[0]);
    if (!any || any->code != Code::Reduce || any->reduce != poly::ReduceOp::Any)
      return std::nullopt;
    const Instr* asked = map_of(any->operands[0], Op::Not);
    const auto near = asked ? distance(asked->operands[0], moved, stays) : std::nullopt;
    return near ? std::optional(*first + *near * b.scale) : std::nullopt;
  }
  // How far x and y are apart where `holds` does: x == y, |x - y| <= a constant, or one of these.
  std::optional<double> distance(ValueId holds, ValueId x, ValueId y) const {
    const auto both = [&](const Instr& i) {
      return (i.operands[0] == x && i.operands[1] == y) ||
             (i.operands[0] == y && i.operands[1] == x);
    };
    if (const Instr* i = map_of(holds, Op::Or)) {
      const auto p = distance(i->operands[0], x, y), q = distance(i->operands[1], x, y);
      return p && q ? std::optional(std::max(*p, *q)) : std::nullopt;
    }
    if (const Instr* i = map_of(holds, Op::Eq)) return both(*i) ? std::optional(0.0) : std::nullopt;
    const Instr* i = map_of(holds, Op::Le);
    const auto most = i ? constant(i->operands[1]) : std::nullopt;
    const Instr* size = most ? map_of(i->operands[0], Op::Abs) : nullptr;
    const Instr* apart = size ? map_of(size->operands[0], Op::Sub) : nullptr;
    return apart && both(*apart) ? most : std::nullopt;
  }
  // select(x == -inf, a constant, x) with x, or x times a positive constant, last.
  bool stands_for_minus_infinity(const Instr& select) const {
    const Instr* guard = map_of(select.operands[0], Op::Eq);
    if (!guard || !constant(select.operands[1])) return false;
    for (size_t n = 0; n < 2; ++n)
      if (constant(guard->operands[n]) == -std::numeric_limits<double>::infinity() &&
          plain({select.operands[2], 1}, {}).v == plain({guard->operands[1 - n], 1}, {}).v)
        return true;
    return false;
  }

  Type type(ValueId v) const { return k_.types.at(v).elem; }

 public:
  std::set<std::string> axes_;  // of all tiles of the kernel
};

class Narrowing {
 public:
  explicit Narrowing(Kernel& k) : k_(k) {}
  bool run() {
    index(k_.body);
    std::set<std::string> axes;
    for (const auto& [v, t] : k_.types)
      for (const Axis& a : t.axes) axes.insert(a.name);
    axes_ = std::move(axes);
    find(k_.body);
    if (wide_.empty()) return false;
    cast(k_.body);
    return true;
  }

 private:
  Kernel& k_;
  std::map<ValueId, const Instr*> made_;
  std::set<std::string> axes_;
  std::map<ValueId, Type> wide_;  // factor -> type to round it to

  void index(const Region& r) {
    for (const Instr& i : r.body) {
      for (ValueId v : i.results) made_[v] = &i;
      for (const Region& inner : i.regions) index(inner);
    }
  }
  static bool narrow(Type t) { return t == Type::F16 || t == Type::BF16; }

  void find(const Region& r) {
    for (const Instr& i : r.body) {
      for (const Region& inner : i.regions) find(inner);
      if (i.code != Code::Dot || k_.types.at(i.results[0]).elem != Type::F32) continue;
      for (size_t n = 0; n < 2; ++n) {
        const Type own = k_.types.at(i.operands[n]).elem,
                   other = k_.types.at(i.operands[1 - n]).elem;
        if (own != Type::F32 || !narrow(other)) continue;
        std::set<std::string> rows;
        for (const Axis& a : k_.types.at(i.operands[n]).axes)
          if (std::find(i.axes.begin(), i.axes.end(), a.name) == i.axes.end()) rows.insert(a.name);
        Bounds bounds(k_, made_);
        bounds.axes_ = axes_;
        if (other == Type::F16) {
          const auto most = bounds.of_factor(i.operands[n], rows);
          if (!most || *most > kLargestF16) continue;
        }
        auto [it, fresh] = wide_.emplace(i.operands[n], other);
        if (!fresh && it->second != other) it->second = Type::F32;  // two types: stays
      }
    }
  }
  // Before every product that takes such a factor: the cast.
  void cast(Region& r) {
    std::vector<Instr> out;
    for (Instr& i : r.body) {
      for (Region& inner : i.regions) cast(inner);
      if (i.code == Code::Dot)
        for (size_t n = 0; n < 2; ++n) {
          const auto it = wide_.find(i.operands[n]);
          if (it == wide_.end() || k_.types.at(i.operands[1 - n]).elem != it->second) continue;
          Instr c;
          c.code = Code::Cast;
          c.operands = {i.operands[n]};
          c.results = {k_.next_value};
          c.origin = i.origin;
          c.node = i.node;
          k_.types[k_.next_value] = {it->second, k_.types.at(i.operands[n]).axes};
          i.operands[n] = k_.next_value++;
          out.push_back(std::move(c));
        }
      out.push_back(std::move(i));
    }
    r.body = std::move(out);
  }
};

}  // namespace

Module narrow_factors(const Module& m, Numerics numerics) {
  Module out = m;
  if (numerics == Numerics::Strict) return out;
  bool any = false;
  for (Kernel& k : out.kernels) any |= Narrowing(k).run();
  if (any) out.rewrites.push_back("round-wide-factors (approximates)");
  return out;
}

}  // namespace nautilus::tile
