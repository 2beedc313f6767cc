#include "compiler/tile/steps.h"

#include <algorithm>

namespace nautilus::tile {
namespace {

class Resolver {
 public:
  Resolver(const Kernel& k, const std::map<ValueId, size_t>& slots,
           const std::map<std::string, size_t>& tensors, Scalars& scalars)
      : k_(k), slots_(slots), tensors_(tensors), scalars_(scalars) {}

  StepBlock compile(const Region& r) {
    StepBlock b;
    for (ValueId a : r.args) b.args.push_back(slots_.at(a));
    for (const Instr& i : r.body) b.steps.push_back(compile(i));
    for (ValueId y : r.yields) b.yields.push_back(slots_.at(y));
    return b;
  }

 private:
  const Kernel& k_;
  const std::map<ValueId, size_t>& slots_;
  const std::map<std::string, size_t>& tensors_;
  Scalars& scalars_;

  const TileType& type(ValueId v) const { return k_.types.at(v); }

  std::vector<Axis> lane_axes(const Instr& i) const {
    if (i.code != Code::Store && i.code != Code::Reduce && i.code != Code::Dot)
      return i.results.empty() ? std::vector<Axis>{} : type(i.results[0]).axes;
    std::map<std::string, int64_t> all;
    for (const Axis& a : i.span) all[a.name] = a.extent;
    for (ValueId v : i.operands)
      for (const Axis& a : type(v).axes) all[a.name] = a.extent;
    if (i.code == Code::Dot)  // the lanes of the result; the contracted ones are looped over inside
      for (const std::string& a : i.axes) all.erase(a);
    std::vector<Axis> out;
    for (const auto& [n, e] : all) out.push_back({n, e});
    return out;
  }

  Step compile(const Instr& i) {
    Step s;
    s.instr = &i;
    for (ValueId v : i.operands) s.in.push_back(slots_.at(v));
    for (ValueId v : i.results) s.out.push_back(slots_.at(v));
    if (!i.results.empty()) s.elem = type(i.results[0]).elem;
    if (i.code == Code::For || i.code == Code::If) return compile_control(i, std::move(s));
    s.space = LaneSpace(lane_axes(i));
    if (i.code == Code::Dot)
      compile_dot(i, s);
    else if (i.code == Code::Rename)
      compile_rename(i, s);
    else
      for (ValueId v : i.operands) s.table.push_back(broadcast_table(type(v).axes, s.space));
    if (i.code == Code::Reduce) {
      s.fold = broadcast_table(type(i.results[0]).axes, s.space);
      if (s.fold.size() == 1) s.fold.assign(size_t(s.space.lanes), 0);
    }
    for (const IndexExpr& e : i.index) s.index.emplace_back(e, s.space, scalars_);
    s.cond = LaneCond(i.cond, s.space, scalars_);
    if (i.code == Code::Load || i.code == Code::Store) s.tensor = tensors_.at(i.tensor);
    return s;
  }

  Step compile_control(const Instr& i, Step s) {
    s.cond = LaneCond(i.cond, s.space, scalars_);
    if (i.code == Code::For) {
      s.index = {LaneIndex(i.lower, s.space, scalars_), LaneIndex(i.upper, s.space, scalars_)};
      s.iv = scalars_.slot(i.iv);
      for (size_t n = 0; n < i.operands.size(); ++n) {
        const LaneSpace into(type(i.results[n]).axes);
        s.init_table.push_back(broadcast_table(type(i.operands[n]).axes, into));
      }
    }
    for (const Region& r : i.regions) {
      s.blocks.push_back(compile(r));
      for (size_t n = 0; n < r.yields.size(); ++n)
        s.yield_table.push_back(
            broadcast_table(type(r.yields[n]).axes, LaneSpace(type(i.results[n]).axes)));
    }
    return s;
  }

  // Lane offsets of an operand split into those of the result's lanes and those of the contracted
  // lanes.
  void compile_dot(const Instr& i, Step& s) {
    std::vector<Axis> summed;
    for (const Axis& a : type(i.operands[0]).axes)
      if (std::find(i.axes.begin(), i.axes.end(), a.name) != i.axes.end()) summed.push_back(a);
    for (int side = 0; side < 2; ++side) {
      const std::vector<Axis>& axes = type(i.operands[size_t(side)]).axes;
      std::vector<int32_t> outer(size_t(s.space.lanes), 0), inner;
      inner.assign(size_t(LaneSpace(summed).lanes), 0);
      int64_t stride = 1;
      for (size_t n = axes.size(); n-- > 0; stride *= axes[n].extent) {
        auto add = [&](std::vector<int32_t>& out, const std::vector<Axis>& space) {
          int64_t step = 1;
          for (size_t a = space.size(); a-- > 0; step *= space[a].extent)
            if (space[a].name == axes[n].name)
              for (size_t l = 0; l < out.size(); ++l)
                out[l] += int32_t(int64_t(l) / step % space[a].extent * stride);
        };
        add(outer, s.space.axes);
        add(inner, summed);
      }
      s.table.push_back(std::move(outer));
      (side == 0 ? s.sum_a : s.sum_b) = std::move(inner);
    }
  }

  // A renamed operand may have its axes in another order.
  void compile_rename(const Instr& i, Step& s) {
    std::vector<Axis> renamed = type(i.operands[0]).axes;
    for (Axis& a : renamed)
      for (const auto& [from, to] : i.renames)
        if (a.name == from) {
          a.name = to;
          break;
        }
    s.table.push_back(broadcast_table(renamed, s.space));
  }
};

}  // namespace

StepBlock resolve(const Kernel& k, const std::map<ValueId, size_t>& slots,
                  const std::map<std::string, size_t>& tensors, Scalars& scalars) {
  return Resolver(k, slots, tensors, scalars).compile(k.body);
}

}  // namespace nautilus::tile
