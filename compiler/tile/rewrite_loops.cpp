#include "compiler/tile/rewrite_loops.h"

#include <algorithm>
#include <cmath>

#include "compiler/tile/rewrite_push.h"
#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile::rw {
namespace {

constexpr int kMaxChanges = 12;

// z = x * factor: the factor's value before an iteration, after it, and on entry and after the
// loop.
struct Candidate {
  ClassId before, after, entry, exit;
  bool inverse = false;
  bool constant = false;
  bool operator==(const Candidate&) const = default;
};

class LoopChanger {
 public:
  LoopChanger(Graph& g, int loop) : g_(g), loop_(loop) {}

  int run() {
    int added = 0;
    const int n = int(carried().size());
    for (int x = 0; x < n; ++x) {
      if (!is_float(g_.at(carried()[size_t(x)].arg).elem)) continue;
      for (const Candidate& c : candidates(x, n)) {
        if (added >= kMaxChanges) return added;
        added += change(x, c);
      }
    }
    return added;
  }

 private:
  Graph& g_;
  int loop_;
  const std::vector<Carried>& carried() const { return g_.loops[size_t(loop_)].carried; }

  bool invariant(ClassId c) const {
    return !g_.is_inside(g_.at(c).place.region, g_.loops[size_t(loop_)].region);
  }

  // Classes that a factor of c may come from: through sums, extrema and choices, and, unless
  // `sums_only`, through products, reductions and dots.
  std::vector<ClassId> factored(ClassId c, bool sums_only) const {
    std::vector<ClassId> out{g_.find(c)};
    std::vector<char> seen(g_.eg.classes().back() + 1, 0);
    seen[out[0]] = 1;
    for (size_t k = 0; k < out.size(); ++k)
      for (const ENode& n : g_.nodes(out[k])) {
        const NodeInfo& i = g_.info(n);
        bool through = i.kind == Kind::Mask || i.kind == Kind::IfResult;
        if (i.kind == Kind::Map)
          through = i.op == Op::Add || i.op == Op::Sub || i.op == Op::Neg || i.op == Op::Max ||
                    i.op == Op::Min || i.op == Op::Select ||
                    (!sums_only && (i.op == Op::Mul || i.op == Op::Div || i.op == Op::Recip));
        if (!sums_only)
          through =
              through || i.kind == Kind::Reduce || i.kind == Kind::Dot || i.kind == Kind::Cast;
        if (!through) continue;
        for (ClassId child : n.children)
          if (ClassId f = g_.find(child); !seen[f]) {
            seen[f] = 1;
            out.push_back(f);
          }
      }
    return out;
  }

  // Factors that occur in the yield of x as divisors (z = x*f) or multiplied (z = x/f), and
  // constants by which x is multiplied where it is used.
  std::vector<Candidate> candidates(int x, int originals) {
    const Carried v = carried()[size_t(x)];
    std::vector<Candidate> out;
    auto offer = [&](const Candidate& c) {
      if (std::find(out.begin(), out.end(), c) == out.end()) out.push_back(c);
    };
    auto factor = [&](ClassId f, bool inverse) {
      f = g_.find(f);
      if (auto k = g_.constant(f)) {
        if (*k == 0 || !std::isfinite(*k) || std::abs(*k) == 1 || !inverse) return;
        const ClassId c = g_.derived_constant(1 / *k, g_.at(v.arg).elem);
        offer({c, c, c, c, false, true});
        return;
      }
      if (invariant(f)) {
        offer({f, f, f, f, inverse, false});
        return;
      }
      for (int a = 0; a < originals; ++a)
        if (const ClassId y = carried()[size_t(a)].yield;
            a != x && (g_.find(y) == f || (!inverse && is_guarded(g_, f, y))) &&
            g_.find(carried()[size_t(a)].arg) != g_.find(y)) {
          const Carried& w = carried()[size_t(a)];
          offer({w.arg, w.yield, w.init, w.result, inverse, false});
        }
      // A factor inside one side of a branch whose result is carried.
      for (int a = 0; a < originals; ++a)
        for (const ENode& n : g_.nodes(carried()[size_t(a)].yield))
          if (a != x && g_.info(n).kind == Kind::IfResult &&
              std::any_of(n.children.begin(), n.children.end(), [&](ClassId k) {
                return g_.find(k) == f || (!inverse && is_guarded(g_, f, k));
              })) {
            const Carried& w = carried()[size_t(a)];
            offer({w.arg, w.yield, w.init, w.result, inverse, false});
          }
    };
    for (ClassId c : factored(v.yield, false))
      for (const ENode& n : g_.nodes(c)) {
        const NodeInfo& i = g_.info(n);
        if (i.kind != Kind::Map) continue;
        if (i.op == Op::Div) factor(n.children[1], false);
        if (i.op == Op::Recip) factor(n.children[0], false);
        if (i.op == Op::Mul)
          for (ClassId k : n.children)
            if (!g_.constant(k)) factor(k, true);
      }
    for (ClassId c : factored(v.yield, true))
      for (const ENode& n : g_.nodes(c))
        if (g_.info(n).kind == Kind::Map && g_.info(n).op == Op::Mul)
          for (ClassId k : n.children)
            if (g_.constant(k)) factor(k, true);
    const ClassId yield = g_.find(v.yield), arg = g_.find(v.arg);
    for (ClassId c : g_.eg.classes())
      for (const ENode& n : g_.nodes(c)) {
        if (g_.info(n).kind != Kind::Map || g_.info(n).op != Op::Mul) continue;
        for (size_t k : {0, 1})
          if (auto f = g_.constant(n.children[k]);
              f && *f > 0 && std::isfinite(*f) && *f != 1 &&
              (g_.find(n.children[1 - k]) == yield || g_.find(n.children[1 - k]) == arg)) {
            const ClassId s = g_.constant_class(*f, g_.at(v.arg).elem);
            offer({s, s, s, s, false, true});
          }
      }
    return out;
  }

  // x from z, given the factor's value then. Where a divisor may be 0, nothing was added yet and x
  // is z.
  ClassId back(ClassId z, ClassId f, const Candidate& c) {
    if (c.constant)
      return g_.map(Op::Mul, {z, g_.derived_constant(1 / *g_.constant(f), g_.at(z).elem)});
    if (c.inverse) return g_.map(Op::Mul, {z, f});
    const ClassId zero = g_.constant_class(0, g_.at(f).elem);
    return g_.map(Op::Select, {g_.map(Op::Eq, {f, zero}), z, g_.map(Op::Div, {z, f})});
  }

  // z on entry, so that x on entry is back(z, entry).
  std::optional<ClassId> entry_value(const Carried& v, const Candidate& c) {
    if (g_.is(v.init, 0)) return v.init;
    const auto f = g_.constant(c.entry);
    if (f && *f != 0 && std::isfinite(*f)) {
      const ClassId s = g_.derived_constant(c.inverse ? 1 / *f : *f, g_.at(v.arg).elem);
      return g_.map(Op::Mul, {v.init, s});
    }
    // The initial value is the result of an earlier loop that was changed in the same way.
    for (const ENode& n : g_.nodes(v.init)) {
      const NodeInfo& i = g_.info(n);
      if (i.kind != Kind::Map) continue;
      if (c.inverse && i.op == Op::Mul)
        for (size_t k : {0, 1})
          if (g_.find(n.children[k]) == g_.find(c.entry)) return n.children[1 - k];
      if (c.inverse || i.op != Op::Select) continue;
      const ClassId z = n.children[1];
      if (g_.find(back(z, c.entry, c)) == g_.find(v.init)) return z;
    }
    return std::nullopt;
  }

  int change(int x, const Candidate& c) {
    const Carried v = carried()[size_t(x)];
    if (!is_float(g_.at(c.after).elem) || g_.at(c.after).elem != g_.at(v.arg).elem) return 0;
    const AxisMask axes = type_axes(v.type);
    if ((g_.at(c.before).axes | g_.at(c.after).axes) & ~axes) return 0;
    const auto entry = entry_value(v, c);
    if (!entry || g_.at(*entry).elem != g_.at(v.arg).elem) return 0;
    g_.rule = rule_index("change-carried-variable");
    g_.hint = v.yield;
    g_.has_hint = true;
    const int slot = g_.open_carried(loop_, x, g_.at(v.arg).elem, axes);
    const ClassId z = carried()[size_t(slot)].arg;
    Pusher pusher(g_, v.arg, z, {c.before, c.inverse});
    const auto yield = pusher.push(v.yield, {c.after, c.inverse});
    int added = 0;
    if (yield && g_.at(*yield).elem == g_.at(v.arg).elem && g_.find(*yield) != g_.find(z)) {
      g_.hint = v.yield;
      g_.close_carried(loop_, slot, *entry, *yield);
      const Carried w = carried()[size_t(slot)];
      g_.merge(v.result, back(w.result, c.exit, c));
      g_.merge(v.arg, back(w.arg, c.before, c));
      if (c.constant) {
        g_.merge(v.yield, back(w.yield, c.after, c));
        g_.merge(g_.map(Op::Mul, {v.yield, c.after}), w.yield);
      }
      added = 1;
    } else {
      g_.drop_carried(loop_);
    }
    g_.rule = -1;
    g_.has_hint = false;
    g_.rebuild();
    return added;
  }

  AxisMask type_axes(const TileType& t) {
    AxisMask m = 0;
    for (const Axis& a : t.axes) m |= g_.axis(a.name, a.extent);
    return m;
  }
};

}  // namespace

int change_carried_variables(Graph& g) {
  int added = 0;
  for (size_t l = 0; l < g.loops.size(); ++l) added += LoopChanger(g, int(l)).run();
  return added;
}

}  // namespace nautilus::tile::rw
