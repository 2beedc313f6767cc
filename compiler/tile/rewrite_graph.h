// A kernel as an e-graph. Pure values of all regions are in one graph; what is pinned to a place
// (loads of tensors that the kernel writes, loop arguments) is a leaf, and a loop's or branch's
// result is a node over its initial value and yields. A class is a function over all named axes: a
// value that lacks an axis is constant along it, so members of a class may differ in rank, and the
// class has the axes that every member has.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/lower/range.h"
#include "compiler/tile/rewrite.h"
#include "polyhedral/egraph.h"

namespace nautilus::tile::rw {

using egraph::ClassId;
using egraph::ENode;
using egraph::Symbol;
using AxisMask = uint64_t;  // bits of Graph::axis

enum class Kind : uint8_t {
  Const,
  Iota,
  Load,
  Pinned,
  Map,
  Fma,
  Cast,
  Mask,
  Reduce,
  Dot,
  Rename,
  Arg,
  LoopResult,
  IfResult
};

// Where a value can be computed at the earliest: a region and the effect of it after which it
// exists.
struct Place {
  int region = 0, depth = 0, time = 0;
  bool before(const Place& o) const { return depth != o.depth ? depth < o.depth : time < o.time; }
};

// What a symbol means.
struct NodeInfo {
  Kind kind = Kind::Const;
  Type elem = Type::F32;
  nautilus::Op op = nautilus::Op::Add;  // Map
  double value = 0;                     // Const
  int form = 0;                         // Fma: 0 a*b + c, 1 a*b - c, 2 c - a*b
  AxisMask axes = 0;                    // Reduce, Dot: removed; else: axes it has by itself
  const Instr* proto = nullptr;  // Iota, Load, Pinned, Mask, Reduce, Rename: the text it stands for
  Place place;                   // its own constraint
  int control = -1, slot = -1;   // Arg, LoopResult: loop and variable; IfResult: branch
  std::vector<std::pair<AxisMask, AxisMask>> renames;
};

struct ClassInfo {
  Type elem = Type::F32;
  AxisMask axes = 0;
  Place place;
  std::optional<double> constant;
  std::string origin;  // of the instruction that it stands for, or from whose class a rule made it
  int node = -1;
  int home = -1;        // region of that instruction; -1: made by a rule
  int definitions = 0;  // instructions of the kernel that compute it
};

// A variable that a loop carries; those after the loop's own are changes of variable of variable
// `of`.
struct Carried {
  ClassId arg = 0, init = 0, yield = 0, result = 0;
  TileType type;
  int of = -1;
};
struct LoopInfo {
  const Instr* instr = nullptr;
  int region = 0, parent = 0, position = 0;
  std::vector<Carried> carried;
};
struct BranchInfo {
  const Instr* instr = nullptr;
  int regions[2] = {0, 0}, parent = 0, position = 0;
  std::optional<ClassId> condition;  // of a branch on data
};
// Something with a fixed place in its region.
struct Effect {
  const Instr* instr = nullptr;
  std::vector<ClassId> operands;
  int loop = -1, branch = -1;
  std::optional<ClassId> pinned;  // the leaf of a pinned load
};
struct RegionInfo {
  int parent = -1, depth = 0;
  bool is_loop = false, is_branch = false;
  bool runs = true;   // a loop that provably has an iteration
  double weight = 1;  // executions a block: product of the trip counts around it
  std::vector<Effect> effects;
  lower::Ranges ranges;          // of the variables in scope
  std::vector<IndexExpr> known;  // at least 0, by the branches around
};

// What an instruction of the kernel computes, for the cost before rewriting.
struct Original {
  ENode node;
  AxisMask axes;
  int region;
};

class Graph {
 public:
  // nullopt when the kernel is beyond what the graph represents (more than 64 axes).
  static std::optional<Graph> build(const Module& m, const Kernel& k, Numerics numerics);

  Numerics numerics = Numerics::Reassociate;
  egraph::EGraph eg;
  std::vector<RegionInfo> regions;
  std::vector<LoopInfo> loops;
  std::vector<BranchInfo> branches;
  std::vector<Original> originals;
  const Kernel* kernel = nullptr;

  // --- looking ---
  const NodeInfo& info(const ENode& n) const { return infos_[n.symbol]; }
  const NodeInfo& info(Symbol s) const { return infos_[s]; }
  ClassId find(ClassId c) const { return eg.find(c); }
  // Stays valid while nodes are added; not across merge and rebuild.
  std::span<const ENode> nodes(ClassId c) const { return eg.nodes(eg.find(c)); }
  const ClassInfo& at(ClassId c) const { return classes_[eg.find(c)]; }
  std::optional<double> constant(ClassId c) const { return at(c).constant; }
  bool is(ClassId c, double v) const { return at(c).constant && *at(c).constant == v; }
  double lanes(AxisMask m) const;
  double weight(ClassId c) const {
    return lanes(at(c).axes) * regions[size_t(at(c).place.region)].weight;
  }
  double weight(AxisMask axes, const Place& p) const {
    return lanes(axes) * regions[size_t(p.region)].weight;
  }
  Place place_of(const ENode& n) const;
  AxisMask axes_of(const ENode& n) const;
  std::vector<std::pair<std::string, int64_t>> axis_list(AxisMask m) const;
  // First node of this kind in a class (Map: with this op), or nullptr.
  const ENode* node_of(ClassId c, Kind k) const;
  const ENode* node_of(ClassId c, nautilus::Op op) const;
  const std::vector<std::pair<ENode, int>>& made_by() const { return made_by_; }
  bool is_inside(int region, int ancestor) const;

  // --- growing --- (origin of new classes: `hint`)
  ClassId hint = 0;
  bool has_hint = false;
  int rule = -1;  // recorded with every node that is new
  ClassId add(Symbol s, std::vector<ClassId> children);
  ClassId constant_class(double v, Type t);
  // A constant that rules computed: 1 and constants that are there already stand for what differs
  // from them by rounding only, so that equal products of different order are one constant.
  ClassId derived_constant(double v, Type t);
  ClassId map(nautilus::Op op, std::vector<ClassId> children);
  ClassId fma(int form, ClassId a, ClassId b, ClassId c);
  ClassId cast(ClassId a, Type t);
  ClassId same(const ENode& like, std::vector<ClassId> children) {
    return add(like.symbol, std::move(children));
  }
  static std::string scope_key(const NodeInfo& i);
  ClassId mask(const NodeInfo& i, ClassId a, ClassId b);
  ClassId mask_like(const ENode& mask, ClassId a, ClassId b);  // the same condition
  ClassId dot(AxisMask axes, Type elem, ClassId a, ClassId b);
  ClassId reduce(poly::ReduceOp op, AxisMask axes, Type elem, ClassId a);
  // A new carried variable of a loop: its argument; close_carried gives it its values and result.
  int open_carried(int loop, int of, Type elem, AxisMask axes);
  ClassId close_carried(int loop, int slot, ClassId init, ClassId yield);
  void drop_carried(int loop) {
    loops[size_t(loop)].carried.pop_back();
  }  // the last opened, never closed
  ClassId branch_result(int branch, ClassId then_value, ClassId else_value);
  bool merge(ClassId a, ClassId b);  // false if nothing is new, or element types differ
  void rebuild();
  Symbol symbol(const std::string& key, const NodeInfo& info);
  AxisMask axis(const std::string& name, int64_t extent);

 private:
  friend class GraphBuilder;
  std::vector<NodeInfo> infos_;
  std::map<std::string, Symbol> keys_;
  std::map<int, Symbol> map_keys_;
  std::vector<ClassInfo> classes_;
  std::vector<Axis> axes_;
  std::vector<std::tuple<double, Type, ClassId>> constants_;
  std::vector<std::pair<ENode, int>> made_by_;
  bool too_many_axes_ = false;
  bool join(ClassInfo& into, const ClassInfo& from) const;
  void learn(ClassId c, const ENode& n);
};

bool associative_commutative(nautilus::Op op);

}  // namespace nautilus::tile::rw
