#include "compiler/tile/rewrite_extract.h"

#include <algorithm>
#include <limits>

namespace nautilus::tile::rw {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kTrifle =
    1e-3;  // of every node that computes: makes costs strictly grow toward the users

double unit_cost(const OpCosts& c, std::string_view unit) {
  if (unit == "fma") return c.fma;
  if (unit == "special") return c.special;
  if (unit == "divide") return c.divide;
  if (unit == "convert") return c.convert;
  return c.compare;
}

// Whether a wide factor of a product may be rounded to the other's narrow type (narrow.h), which
// proves it later: exponentials, through masks and choices. A scaled one is not of those.
bool may_be_rounded(const Graph& g, ClassId c, int depth) {
  if (depth == 0) return false;
  if (g.constant(c)) return true;
  for (const ENode& n : g.nodes(g.find(c))) {
    const NodeInfo& i = g.info(n);
    const auto child = [&](size_t k) { return may_be_rounded(g, n.children[k], depth - 1); };
    if (i.kind == Kind::Map && (i.op == Op::Exp || i.op == Op::Exp2)) return true;
    if (i.kind == Kind::Map && i.op == Op::Select && child(1) && child(2)) return true;
    if (i.kind == Kind::Mask && child(0) && child(1)) return true;
  }
  return false;
}

double scalar_cost(const Graph& g, const ENode& n, const OpCosts& c) {
  const NodeInfo& i = g.info(n);
  switch (i.kind) {
    case Kind::Map: {
      double s = 0;
      for (const UnitOps& u : op_units(i.op)) s += u.per_lane * unit_cost(c, u.unit);
      return s;
    }
    case Kind::Fma:
      return c.fma;
    case Kind::Cast:
      return c.convert;
    case Kind::Mask:
      return 2 * c.compare;
    case Kind::Load:
      return c.load;
    case Kind::Iota:
      return 0.5 * c.fma;
    case Kind::LoopResult:
      return 0.1 * c.fma;
    case Kind::Reduce: {
      const auto op = i.proto->reduce;
      return op == poly::ReduceOp::Max || op == poly::ReduceOp::Min ? c.compare : c.fma;
    }
    case Kind::Dot: {
      const Type a = g.at(n.children[0]).elem, b = g.at(n.children[1]).elem;
      if (!is_matrix_dot(a, b)) return 0.95 * c.fma;
      if (!is_split_dot(a, b)) return c.matrix;
      constexpr int kThrough = 4;  // masks and choices
      const ClassId wide = n.children[type_bytes(a) > type_bytes(b) ? 0 : 1];
      const bool rounded = g.numerics != Numerics::Strict && may_be_rounded(g, wide, kThrough);
      return rounded ? c.matrix : c.split_dot * c.matrix;
    }
    default:
      return 0;
  }
}

class Search {
 public:
  Search(const Graph& g, const OpCosts& costs, const Disabled& disabled)
      : g_(g), disabled_(disabled) {
    classes_ = g.eg.classes();
    size_t size = 0;
    for (ClassId c : classes_) size = std::max(size, size_t(c) + 1);
    options_.resize(size);
    cost_.assign(size, kInfinite);
    best_.assign(size, nullptr);
    stamp_.assign(size, 0);
    for (ClassId c : classes_)
      for (const ENode& n : g.nodes(c))
        if (allowed(c, n)) {
          Option o{
              &n,
              own_cost(g, n, g.at(c).axes, g.regions[size_t(g.at(c).place.region)].weight, costs),
              {}};
          for (ClassId x : n.children) o.children.push_back(g.find(x));
          options_[c].push_back(std::move(o));
        }
    find_roots();
  }

  void tree_costs() {
    for (bool changed = true; changed;) {
      changed = false;
      for (ClassId c : classes_)
        for (const Option& o : options_[c]) {
          double s = o.own;
          for (ClassId x : o.children) s += cost_[x];
          if (s < cost_[c] * (1 - 1e-12) - 1e-12 || (best_[c] == nullptr && s < kInfinite)) {
            cost_[c] = s;
            best_[c] = &o;
            changed = true;
          }
        }
    }
  }

  // Cost of all that is needed, each class once; infinite if something cannot be computed.
  double total(std::vector<ClassId>* order = nullptr) {
    ++now_;
    sum_ = 0;
    order_ = order;
    queue_ = roots_;
    for (size_t q = 0; q < queue_.size(); ++q)
      if (!visit(queue_[q])) return kInfinite;
    return sum_;
  }

  void refine() {
    std::vector<ClassId> order;
    double best = total(&order);
    if (best == kInfinite) return;
    for (int pass = 0; pass < 2; ++pass) {
      bool improved = false;
      for (ClassId c : order)
        for (const Option& o : options_[c]) {
          const Option* old = best_[c];
          if (&o == old) continue;
          best_[c] = &o;
          const double t = total();
          if (t < best * (1 - 1e-9)) {
            best = t;
            improved = true;
          } else {
            best_[c] = old;
          }
        }
      if (!improved) return;
      order.clear();
      total(&order);
    }
  }

  Extraction result() {
    Extraction e;
    e.cost = total(&e.order);
    e.ok = e.cost < kInfinite;
    e.best.assign(best_.size(), nullptr);
    for (size_t c = 0; c < best_.size(); ++c) e.best[c] = best_[c] ? best_[c]->node : nullptr;
    return e;
  }

 private:
  struct Option {
    const ENode* node;
    double own;
    std::vector<ClassId> children;
  };
  const Graph& g_;
  const Disabled& disabled_;
  std::vector<ClassId> classes_, roots_, queue_;
  std::vector<std::vector<Option>> options_;
  std::vector<double> cost_;
  std::vector<const Option*> best_;
  std::vector<unsigned> stamp_;  // now_*2: on the stack, now_*2 + 1: done
  unsigned now_ = 0;
  double sum_ = 0;
  std::vector<ClassId>* order_ = nullptr;
  std::map<ClassId, const Effect*> pinned_;

  // A node that exists no later than its class may be needed.
  bool allowed(ClassId c, const ENode& n) const {
    const NodeInfo& i = g_.info(n);
    if ((i.kind == Kind::Arg || i.kind == Kind::LoopResult) && disabled_.count({i.control, i.slot}))
      return false;
    return !g_.at(c).place.before(g_.place_of(n));
  }

  void find_roots() {
    for (const RegionInfo& r : g_.regions)
      for (const Effect& e : r.effects) {
        if (e.pinned)
          pinned_[g_.find(*e.pinned)] = &e;
        else
          for (ClassId c : e.operands) roots_.push_back(g_.find(c));
        if (e.branch >= 0)
          if (const BranchInfo& b = g_.branches[size_t(e.branch)];
              b.condition && (acts(b.regions[0]) || acts(b.regions[1])))
            roots_.push_back(g_.find(*b.condition));
      }
  }
  // Something happens in the region whatever its values are used for.
  bool acts(int region) const {
    for (const Effect& e : g_.regions[size_t(region)].effects) {
      if (e.pinned) continue;
      if (e.loop >= 0     ? acts(g_.loops[size_t(e.loop)].region)
          : e.branch >= 0 ? acts(g_.branches[size_t(e.branch)].regions[0]) ||
                                acts(g_.branches[size_t(e.branch)].regions[1])
                          : true)
        return true;
    }
    return false;
  }

  bool visit(ClassId c) {
    if (stamp_[c] == now_ * 2 + 1) return true;
    if (stamp_[c] == now_ * 2) return false;  // a cycle
    const Option* o = best_[c];
    if (!o) return false;
    stamp_[c] = now_ * 2;
    for (ClassId x : o->children)
      if (!visit(x)) return false;
    stamp_[c] = now_ * 2 + 1;
    sum_ += o->own;
    if (order_) order_->push_back(c);
    const NodeInfo& i = g_.info(*o->node);
    if (i.kind == Kind::Arg) {
      const Carried& v = g_.loops[size_t(i.control)].carried[size_t(i.slot)];
      queue_.push_back(g_.find(v.init));
      queue_.push_back(g_.find(v.yield));
    }
    if (i.kind == Kind::IfResult)
      if (const auto& condition = g_.branches[size_t(i.control)].condition)
        queue_.push_back(g_.find(*condition));
    if (i.kind == Kind::Pinned)
      if (auto p = pinned_.find(c); p != pinned_.end())
        for (ClassId x : p->second->operands) queue_.push_back(g_.find(x));
    return true;
  }
};

}  // namespace

double own_cost(const Graph& g, const ENode& n, AxisMask axes, double executions,
                const OpCosts& costs) {
  const NodeInfo& i = g.info(n);
  if (i.kind == Kind::Const || i.kind == Kind::Arg || i.kind == Kind::Pinned) return 0;
  if (i.kind == Kind::Reduce || i.kind == Kind::Dot) axes |= i.axes;
  if (i.kind == Kind::LoopResult)
    executions = g.regions[size_t(g.loops[size_t(i.control)].region)].weight;
  return scalar_cost(g, n, costs) * g.lanes(axes) * executions + kTrifle;
}

Extraction extract(const Graph& g, const OpCosts& costs, const Disabled& disabled, bool refine) {
  Search s(g, costs, disabled);
  s.tree_costs();
  if (refine) s.refine();
  return s.result();
}

Extraction extract_best(const Graph& g, const OpCosts& costs) {
  // Per original variable that has changes of variable: itself and those.
  std::vector<std::vector<std::pair<int, int>>> groups;
  for (size_t l = 0; l < g.loops.size(); ++l) {
    std::map<int, std::vector<std::pair<int, int>>> of;
    const auto& carried = g.loops[l].carried;
    for (size_t s = 0; s < carried.size(); ++s)
      if (carried[s].of >= 0) of[carried[s].of].emplace_back(int(l), int(s));
    for (auto& [original, changes] : of) {
      groups.push_back({{int(l), original}});
      groups.back().insert(groups.back().end(), changes.begin(), changes.end());
    }
  }
  if (groups.empty()) return extract(g, costs, {}, true);
  auto disabled = [&](const std::vector<size_t>& pick) {
    Disabled d;
    for (size_t n = 0; n < groups.size(); ++n)
      for (size_t k = 0; k < groups[n].size(); ++k)
        if (k != pick[n]) d.insert(groups[n][k]);
    return d;
  };
  // From none changed and from all changed (the last change of each), one group at a time.
  std::vector<size_t> best_pick;
  double best = kInfinite;
  for (int start = 0; start < 2; ++start) {
    std::vector<size_t> pick;
    for (const auto& group : groups) pick.push_back(start == 0 ? 0 : group.size() - 1);
    double cost = extract(g, costs, disabled(pick), false).cost;
    for (bool improved = true; improved;) {
      improved = false;
      for (size_t n = 0; n < groups.size(); ++n)
        for (size_t k = 0; k < groups[n].size(); ++k) {
          const size_t old = pick[n];
          if (k == old) continue;
          pick[n] = k;
          const double c = extract(g, costs, disabled(pick), false).cost;
          if (c < cost * (1 - 1e-9)) {
            cost = c;
            improved = true;
          } else {
            pick[n] = old;
          }
        }
    }
    if (cost < best || best_pick.empty()) {
      best = cost;
      best_pick = pick;
    }
  }
  Extraction chosen = extract(g, costs, disabled(best_pick), true);
  Extraction plain = extract(g, costs, disabled(std::vector<size_t>(groups.size(), 0)), true);
  return chosen.ok && (!plain.ok || chosen.cost <= plain.cost) ? chosen : plain;
}

}  // namespace nautilus::tile::rw
