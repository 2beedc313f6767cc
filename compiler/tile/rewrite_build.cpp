// From a kernel to the e-graph of its values.
#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/tile/rewrite_graph.h"
#include "compiler/tile/text.h"

namespace nautilus::tile::rw {

using lower::Range;
using lower::Ranges;

class GraphBuilder {
 public:
  GraphBuilder(const Module& m, const Kernel& k, Graph& g) : m_(m), k_(k), g_(g) {
    find_written(k.body);
    RegionInfo root;
    for (const GridDim& d : k.grid) {
      Range extent = lower::range_of(d.extent, {});
      if (extent.hi) --*extent.hi;
      // An open extent has no number for an end, but it has an expression.
      root.ranges[d.iv] =
          extent.hi ? Range{0, extent.hi} : Range{0, {}, IndexExpr(0), d.extent - 1};
      iv_region_[d.iv] = 0;
    }
    g_.regions.push_back(std::move(root));
    walk(k.body, 0);
    g_.rebuild();
  }

 private:
  const Module& m_;
  const Kernel& k_;
  Graph& g_;
  std::set<std::string> written_;
  std::map<ValueId, ClassId> value_;
  std::map<std::string, int> iv_region_;  // where a variable is bound

  void find_written(const Region& r) {
    for (const Instr& i : r.body) {
      if (i.code == Code::Store) written_.insert(i.tensor);
      for (const Region& n : i.regions) find_written(n);
    }
  }

  const TileType& type(ValueId v) const { return k_.types.at(v); }
  AxisMask mask_of(const TileType& t) {
    AxisMask m = 0;
    for (const Axis& a : t.axes) m |= g_.axis(a.name, a.extent);
    return m;
  }

  // Axes and place that the names in an instruction's text demand.
  void names(const std::vector<std::string>& vars, const TileType& t, NodeInfo& i) {
    for (const std::string& v : vars) {
      for (const Axis& a : t.axes)
        if (a.name == v) i.axes |= g_.axis(a.name, a.extent);
      if (auto it = iv_region_.find(v); it != iv_region_.end()) {
        Place p{it->second, g_.regions[size_t(it->second)].depth, 0};
        if (i.place.before(p)) i.place = p;
      }
    }
  }
  static std::vector<std::string> vars_of(const Instr& i) {
    std::vector<std::string> vars;
    for (size_t d = 0; d < i.index.size(); ++d)
      if (!(d < i.gather.size() && i.gather[d] >= 0)) i.index[d].collect_vars(vars);
    for (const auto& conj : i.cond.any)
      for (const auto& a : conj) a.expr.collect_vars(vars);
    return vars;
  }
  static std::string axes_text(AxisMask m) { return " axes " + std::to_string(m); }

  // Every access of a load of `region` would be in bounds if it ran at the start of `at`, around
  // it: by intervals, or because its mask or a branch around says so.
  bool always_in_bounds(const Instr& i, int region, int at) const {
    if (!i.gather.empty()) return false;
    const TensorDecl* t = find_tensor(m_, k_, i.tensor);
    Ranges ranges = g_.regions[size_t(at)].ranges;
    const Ranges& inner = g_.regions[size_t(region)].ranges;
    ranges.insert(inner.begin(), inner.end());  // of loops between them
    for (const Axis& a : type(i.results[0]).axes) ranges[a.name] = Range{0, a.extent - 1};
    for (size_t d = 0; d < i.index.size(); ++d)
      for (const IndexExpr& need : {i.index[d], t->extents[d] - i.index[d] - IndexExpr(1)}) {
        const auto implied_by = [&](const IndexExpr& known) {
          return lower::always_holds({need - known, false}, ranges);
        };
        const std::vector<IndexExpr>& known = g_.regions[size_t(at)].known;
        if (implied_by(0) || std::any_of(known.begin(), known.end(), implied_by)) continue;
        const bool masked =
            std::all_of(i.cond.any.begin(), i.cond.any.end(), [&](const Cond::Conj& c) {
              return std::any_of(c.begin(), c.end(), [&](const Cond::Atom& a) {
                return !a.equality && implied_by(a.expr);
              });
            });
        if (!masked) return false;
      }
    return true;
  }

  // The outermost region that a load may move to from `from`: out of loops that certainly run, and
  // to wherever it is in bounds.
  Place load_floor(const Instr& i, int from) const {
    int at = from;
    for (int parent = g_.regions[size_t(at)].parent; parent >= 0;
         parent = g_.regions[size_t(at)].parent) {
      const RegionInfo& r = g_.regions[size_t(at)];
      if (!(r.is_loop && r.runs) && !always_in_bounds(i, from, parent)) break;
      at = parent;
    }
    return {at, g_.regions[size_t(at)].depth, 0};
  }

  std::vector<ClassId> operands(const Instr& i) const {
    std::vector<ClassId> out;
    for (ValueId v : i.operands) out.push_back(value_.at(v));
    return out;
  }

  void define(const Instr& i, ClassId c, int region) {
    value_[i.results[0]] = c;
    ClassInfo& info = g_.classes_[g_.find(c)];
    if (info.home < 0) info.home = region;
    ++info.definitions;
    g_.originals.push_back({g_.nodes(c).front(), mask_of(type(i.results[0])), region});
    if (info.origin.empty() && info.node < 0) {
      info.origin = i.origin;
      info.node = i.node;
    }
  }

  void walk(const Region& r, int region) {
    for (const Instr& i : r.body) {
      switch (i.code) {
        case Code::For:
          loop(i, region);
          break;
        case Code::If:
          branch(i, region);
          break;
        case Code::Store:
        case Code::Barrier:
          g_.regions[size_t(region)].effects.push_back({&i, operands(i), -1, -1, {}});
          break;
        case Code::Load:
          if (written_.count(i.tensor))
            pinned(i, region);
          else
            define(i, load(i, region), region);
          break;
        default:
          define(i, pure(i), region);
          break;
      }
    }
  }

  void pinned(const Instr& i, int region) {
    auto& effects = g_.regions[size_t(region)].effects;
    NodeInfo n;
    n.kind = Kind::Pinned;
    n.elem = type(i.results[0]).elem;
    n.axes = mask_of(type(i.results[0]));
    n.proto = &i;
    n.place = {region, g_.regions[size_t(region)].depth, int(effects.size()) + 1};
    const ClassId c = g_.add(g_.symbol("pinned " + std::to_string(i.results[0]), n), {});
    effects.push_back({&i, operands(i), -1, -1, c});
    define(i, c, region);
  }

  ClassId load(const Instr& i, int region) {
    NodeInfo n;
    n.kind = Kind::Load;
    n.elem = type(i.results[0]).elem;
    n.proto = &i;
    names(vars_of(i), type(i.results[0]), n);
    const Place floor = load_floor(i, region);
    if (n.place.before(floor)) n.place = floor;
    std::string key = "load " + quote_name(i.tensor) + "[";
    for (size_t d = 0; d < i.index.size(); ++d)
      key +=
          (i.gather.empty() || i.gather[d] < 0 ? to_string(i.index[d]) : std::string("%")) + ", ";
    key += "] where " + to_string(i.cond) + " fill " + number_text(i.value) + Graph::scope_key(n);
    return g_.add(g_.symbol(key, n), operands(i));
  }

  ClassId pure(const Instr& i) {
    const TileType& t = type(i.results[0]);
    NodeInfo n;
    n.elem = t.elem;
    n.proto = &i;
    switch (i.code) {
      case Code::Const:
        return g_.constant_class(i.value, t.elem);
      case Code::Map:
        return g_.map(i.op, operands(i));
      case Code::Cast:
        return g_.cast(value_.at(i.operands[0]), t.elem);
      case Code::Iota:
        n.kind = Kind::Iota;
        names(vars_of(i), t, n);
        return g_.add(g_.symbol("iota " + to_string(i.index[0]) + Graph::scope_key(n), n), {});
      case Code::Mask:
        n.kind = Kind::Mask;
        names(vars_of(i), t, n);
        return g_.mask(n, value_.at(i.operands[0]), value_.at(i.operands[1]));
      case Code::Reduce:
        return reduce(i, t.elem);
      case Code::Dot: {
        AxisMask m = 0;
        for (const Axis& a : type(i.operands[0]).axes)
          if (std::find(i.axes.begin(), i.axes.end(), a.name) != i.axes.end())
            m |= g_.axis(a.name, a.extent);
        return g_.dot(m, t.elem, value_.at(i.operands[0]), value_.at(i.operands[1]));
      }
      default:
        return rename(i, n);
    }
  }

  ClassId reduce(const Instr& i, Type elem) {
    AxisMask m = 0;
    for (const Axis& a : type(i.operands[0]).axes)
      if (std::find(i.axes.begin(), i.axes.end(), a.name) != i.axes.end())
        m |= g_.axis(a.name, a.extent);
    for (const Axis& a : i.span) m |= g_.axis(a.name, a.extent);
    if (i.reduce != poly::ReduceOp::User)
      return g_.reduce(i.reduce, m, elem, value_.at(i.operands[0]));
    NodeInfo n;
    n.kind = Kind::Reduce;
    n.elem = elem;
    n.axes = m;
    n.proto = &i;
    return g_.add(g_.symbol("reduce user " + to_string(i.combine) + " identity " +
                                to_string(i.identity) + axes_text(m),
                            n),
                  operands(i));
  }

  ClassId rename(const Instr& i, NodeInfo n) {
    n.kind = Kind::Rename;
    std::string key = "rename " + std::string(type_name(n.elem));
    for (const auto& [from, to] : i.renames)
      for (const Axis& a : type(i.operands[0]).axes)
        if (a.name == from && from != to) {
          n.renames.emplace_back(g_.axis(from, a.extent), g_.axis(to, a.extent));
          key += " " + std::to_string(n.renames.back().first) + ">" +
                 std::to_string(n.renames.back().second);
        }
    if (n.renames.empty()) return value_.at(i.operands[0]);
    return g_.add(g_.symbol(key, n), operands(i));
  }

  int new_region(int parent) {
    RegionInfo r;
    r.parent = parent;
    r.depth = g_.regions[size_t(parent)].depth + 1;
    r.weight = g_.regions[size_t(parent)].weight;
    r.ranges = g_.regions[size_t(parent)].ranges;
    r.known = g_.regions[size_t(parent)].known;
    g_.regions.push_back(std::move(r));
    return int(g_.regions.size()) - 1;
  }

  void loop(const Instr& i, int parent) {
    const int index = int(g_.loops.size()), region = new_region(parent);
    LoopInfo l;
    l.instr = &i;
    l.region = region;
    l.parent = parent;
    l.position = int(g_.regions[size_t(parent)].effects.size());
    g_.loops.push_back(std::move(l));
    RegionInfo& r = g_.regions[size_t(region)];
    const Range lower = lower::range_of(i.lower, r.ranges),
                upper = lower::range_of(i.upper, r.ranges);
    r.is_loop = true;
    r.runs = lower::always_holds({i.upper - i.lower - IndexExpr(1), false}, r.ranges);
    r.weight *= trips(lower, upper, i);
    Range iv{lower.lo, upper.hi};
    if (iv.hi) --*iv.hi;
    r.ranges[i.iv] = iv;
    iv_region_[i.iv] = region;
    g_.regions[size_t(parent)].effects.push_back({&i, {}, index, -1, {}});
    const Region& body = i.regions[0];
    for (ValueId a : body.args) {
      const int slot = g_.open_carried(index, -1, type(a).elem, mask_of(type(a)));
      value_[a] = g_.loops[size_t(index)].carried[size_t(slot)].arg;
    }
    walk(body, region);
    iv_region_.erase(i.iv);
    for (size_t n = 0; n < i.results.size(); ++n)
      value_[i.results[n]] =
          g_.close_carried(index, int(n), value_.at(i.operands[n]), value_.at(body.yields[n]));
  }

  // Expected number of iterations, at least one.
  static double trips(const Range& lower, const Range& upper, const Instr& i) {
    if (!lower.lo || !lower.hi || !upper.lo || !upper.hi) return 16;
    const double first = (double(*lower.lo) + double(*lower.hi)) / 2,
                 last = (double(*upper.lo) + double(*upper.hi)) / 2;
    return std::max(1.0, std::ceil((last - first) / double(i.step)));
  }

  // What one side of a branch says beyond intervals.
  static void note_known(RegionInfo& r, const Cond& c, bool holds) {
    if (c.any.size() != 1 || (!holds && c.any[0].size() != 1)) return;
    for (const Cond::Atom& a : c.any[0])
      if (!a.equality) r.known.push_back(holds ? a.expr : IndexExpr(-1) - a.expr);
  }

  void branch(const Instr& i, int parent) {
    const int index = int(g_.branches.size());
    BranchInfo b;
    b.instr = &i;
    b.parent = parent;
    b.position = int(g_.regions[size_t(parent)].effects.size());
    if (!i.operands.empty()) b.condition = value_.at(i.operands[0]);
    g_.regions[size_t(parent)].effects.push_back({&i, {}, -1, index, {}});
    for (int side = 0; side < 2; ++side) {
      b.regions[side] = new_region(parent);
      RegionInfo& r = g_.regions[size_t(b.regions[side])];
      r.is_branch = true;
      if (!b.condition) {
        r.ranges = lower::ranges_where(r.ranges, i.cond, side == 0);
        note_known(r, i.cond, side == 0);
      }
      if (b.condition) r.weight *= side == 0 ? kTakenShare : 1 - kTakenShare;
    }
    g_.branches.push_back(b);
    for (int side = 0; side < 2; ++side) walk(i.regions[size_t(side)], b.regions[side]);
    for (size_t n = 0; n < i.results.size(); ++n)
      value_[i.results[n]] = g_.branch_result(index, value_.at(i.regions[0].yields[n]),
                                              value_.at(i.regions[1].yields[n]));
  }
};

std::optional<Graph> Graph::build(const Module& m, const Kernel& k, Numerics numerics) {
  Graph g;
  g.kernel = &k;
  g.numerics = numerics;
  GraphBuilder(m, k, g);
  if (g.too_many_axes_) return std::nullopt;
  return g;
}

ClassId Graph::branch_result(int branch, ClassId then_value, ClassId else_value) {
  const BranchInfo& b = branches[size_t(branch)];
  NodeInfo i;
  i.kind = Kind::IfResult;
  i.elem = at(then_value).elem;
  i.control = branch;
  i.place = {b.parent, regions[size_t(b.parent)].depth, b.position + 1};
  return add(symbol("if " + std::to_string(branch) + " " + std::string(type_name(i.elem)), i),
             {then_value, else_value});
}

}  // namespace nautilus::tile::rw
