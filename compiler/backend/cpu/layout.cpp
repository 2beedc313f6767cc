// Which axis of each tile is contiguous. Values joined by point-wise operations, renames and loops
// must agree, so they form components; each component's contiguous axis is chosen by coordinate
// descent on a cost in cycles: vector work, elements that must be transposed, lanes left empty.
#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/backend/cpu/kernel.h"

namespace nautilus::cpu {
namespace {

constexpr double kLanes = 16;          // f32 lanes of a vector
constexpr double kTransposed = 1.5;    // cycles an element, gathered or scattered
constexpr int64_t kDenseBytes = 1024;  // rows farther apart than this thrash the first-level cache

class UnionFind {
 public:
  int make() {
    parent_.push_back(static_cast<int>(parent_.size()));
    return parent_.back();
  }
  int find(int x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void merge(int a, int b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

class Layouts {
 public:
  explicit Layouts(KernelInfo& k) : k_(k) {
    for (const auto& [v, t] : k.kernel.types) {
      if (!k.defs.count(v)) continue;
      component_[v] = values_.make();
      for (const Axis& a : t.axes) axis_[{v, a.name}] = axes_.make();
    }
    join(k.kernel.body);
  }

  void choose() {
    std::map<int, std::vector<int>> candidates;  // component -> axis classes
    for (const auto& [key, id] : axis_) {
      auto& c = candidates[values_.find(component_.at(key.first))];
      if (std::find(c.begin(), c.end(), axes_.find(id)) == c.end()) c.push_back(axes_.find(id));
    }
    for (auto& [component, classes] : candidates) {
      std::sort(classes.begin(), classes.end());
      inner_[component] = classes.back();
    }
    // Components of loads alone follow the others: they are settled anew for each choice of
    // another.
    std::vector<int> leaves, others;
    for (const auto& [component, classes] : candidates)
      if (classes.size() > 1) (loads_only(component) ? leaves : others).push_back(component);
    const bool joint = leaves.size() * others.size() < 400;
    auto settle = [&](const std::vector<int>& which, bool follow) {
      bool changed = false;
      for (const int component : which) {
        const auto before = inner_;
        auto best = inner_;
        double least = total();
        for (const int c : candidates.at(component)) {
          inner_ = before;
          inner_[component] = c;
          if (follow) descend(leaves, candidates);
          if (const double cost = total(); cost < least * (1 - 1e-9)) {
            least = cost;
            best = inner_;
          }
        }
        inner_ = best;
        changed |= best != before;
      }
      return changed;
    };
    descend(leaves, candidates);
    for (int round = 0; round < 4; ++round)
      if (!settle(others, joint)) break;
    descend(leaves, candidates);
    for (const auto& [v, t] : k_.kernel.types)
      if (k_.defs.count(v)) k_.order[v] = order(v);
  }

 private:
  bool loads_only(int component) {
    for (const auto& [v, c] : component_) {
      if (values_.find(c) != component) continue;
      const Def& d = k_.defs.at(v);
      if (d.position < 0 || (d.instr->code != Code::Load && d.instr->code != Code::Rename))
        return false;
    }
    return true;
  }
  // Each of these components takes its cheapest axis, the others fixed.
  void descend(const std::vector<int>& which, const std::map<int, std::vector<int>>& candidates) {
    for (const int component : which) {
      int best = inner_.at(component);
      double least = total();
      for (const int c : candidates.at(component)) {
        inner_[component] = c;
        if (const double cost = total(); cost < least * (1 - 1e-9)) {
          least = cost;
          best = c;
        }
      }
      inner_[component] = best;
    }
  }
  // Axes of v, the component's contiguous one last.
  std::vector<std::string> order(ValueId v) {
    std::vector<std::string> out;
    std::string last;
    for (const Axis& a : k_.type(v).axes) {
      if (last.empty() &&
          axes_.find(axis_.at({v, a.name})) == inner_[values_.find(component_.at(v))])
        last = a.name;
      else
        out.push_back(a.name);
    }
    if (!last.empty()) out.push_back(last);
    return out;
  }
  std::string innermost(ValueId v) {
    const auto o = order(v);
    return o.empty() ? "" : o.back();
  }

  void join(ValueId a, ValueId b, const std::map<std::string, std::string>& names = {}) {
    values_.merge(component_.at(a), component_.at(b));
    for (const Axis& x : k_.type(a).axes) {
      const auto it = names.find(x.name);
      const auto other = axis_.find({b, it == names.end() ? x.name : it->second});
      if (other != axis_.end()) axes_.merge(axis_.at({a, x.name}), other->second);
    }
  }
  void join(const Region& r) {
    for (const Instr& i : r.body) {
      switch (i.code) {
        case Code::Map:
        case Code::Cast:
        case Code::Mask:
          for (const ValueId o : i.operands)
            if (!k_.type(o).axes.empty()) join(o, i.results[0]);
          break;
        case Code::Rename:
          join(i.operands[0], i.results[0], {i.renames.begin(), i.renames.end()});
          break;
        case Code::For:
          for (size_t n = 0; n < i.results.size(); ++n) {
            join(i.regions[0].args[n], i.results[n]);
            join(i.operands[n], i.results[n]);
            join(i.regions[0].yields[n], i.results[n]);
          }
          break;
        case Code::If:
          for (size_t n = 0; n < i.results.size(); ++n)
            for (const Region& inner : i.regions) join(inner.yields[n], i.results[n]);
          break;
        default:
          break;
      }
      for (const Region& inner : i.regions) join(inner);
    }
  }

  double total() { return cost(k_.kernel.body); }
  double cost(const Region& r) {
    double sum = 0;
    for (const Instr& i : r.body) {
      sum += k_.trips.at(&r) * cost(i);
      for (const Region& inner : i.regions) sum += cost(inner);
    }
    return sum;
  }
  // A nest over all lanes of v along its contiguous axis.
  double sweep(ValueId v) {
    const auto inner = innermost(v);
    if (inner.empty()) return 1;
    const double n = static_cast<double>(k_.lanes(v)), e = static_cast<double>(k_.extent(v, inner));
    return n / kLanes * (std::ceil(e / kLanes) * kLanes / e);
  }
  double cost(const Instr& i) {
    switch (i.code) {
      case Code::Load: {
        const auto inner = innermost(i.results[0]);
        if (inner.empty()) return 1;
        const auto s = k_.memory_stride(i, inner);
        return s && (*s == 1 || *s == 0)
                   ? sweep(i.results[0])
                   : static_cast<double>(k_.lanes(i.results[0])) * kTransposed;
      }
      case Code::Store: {
        const auto inner = innermost(i.operands[0]);
        if (inner.empty()) return 1;
        const auto s = k_.memory_stride(i, inner);
        return s && *s == 1 ? sweep(i.operands[0])
                            : static_cast<double>(k_.lanes(i.operands[0])) * kTransposed;
      }
      case Code::Map:
      case Code::Cast:
      case Code::Mask:
        return sweep(i.results[0]);
      case Code::Reduce: {
        const auto inner = innermost(i.operands[0]);
        const bool across = std::find(i.axes.begin(), i.axes.end(), inner) != i.axes.end();
        return sweep(i.operands[0]) * (across ? 1.5 : 1) +
               (across ? 8.0 * static_cast<double>(k_.lanes(i.results[0])) : 0);
      }
      case Code::Dot:
        return dot(i);
      default:
        return 0;
    }
  }
  double dot(const Instr& i) {
    const DotAxes axes = dot_axes(k_, i);
    double work = static_cast<double>(k_.lanes(i.results[0]));
    for (const auto& a : axes.summed) work *= static_cast<double>(k_.extent(i.operands[0], a));
    const auto inner = innermost(i.results[0]);
    auto in = [&](const std::vector<std::string>& v) {
      return std::find(v.begin(), v.end(), inner) != v.end();
    };
    if (inner.empty() || in(axes.batch)) return work / 4;
    const double e = static_cast<double>(k_.extent(i.results[0], inner));
    const double filled = std::ceil(e / kLanes) * kLanes / e;
    const ValueId vector = in(axes.only_b) ? i.operands[1] : i.operands[0];
    std::map<std::string, std::string> names;
    const ValueId base = base_of(k_, vector, names);
    const std::string own = innermost(base);
    double packing = 0;
    if (own.empty() || names[own] != inner)
      packing = static_cast<double>(k_.lanes(vector)) * kTransposed;
    return work / (2 * kLanes) * filled + packing;
  }

  KernelInfo& k_;
  UnionFind values_, axes_;
  std::map<ValueId, int> component_;
  std::map<std::pair<ValueId, std::string>, int> axis_;
  std::map<int, int> inner_;
};

// Whether a product can read this load's memory as it lies: linear, contiguous along the axis that
// the load's layout wants, and dense enough to stay in the first-level cache while it is reused.
bool direct(const KernelInfo& k, ValueId v, const Instr& load) {
  const auto& order = k.order.at(v);
  int64_t reach = 0;
  for (const std::string& a : order) {
    const auto s = k.memory_stride(load, a);
    if (!s) return false;
    if (a == order.back() && *s != 1 && k.extent(v, a) > 1) return false;
    if (k.extent(v, a) > 1 && a != order.back())
      reach = std::max(reach, *s * type_bytes(k.type(v).elem));
  }
  return reach <= kDenseBytes;
}

}  // namespace

void choose_layouts(KernelInfo& k) {
  Layouts(k).choose();
  // Loads that feed products but do not lie as these need them become arrays.
  for (auto& [v, form] : k.forms) {
    if (form != Form::Inline || k.defs.at(v).instr->code != Code::Load) continue;
    bool product = false;
    std::vector<ValueId> pending{v};
    while (!pending.empty()) {
      const ValueId w = pending.back();
      pending.pop_back();
      if (const auto it = k.uses.find(w); it != k.uses.end())
        for (const Use& u : it->second) {
          if (u.position == static_cast<int>(u.region->body.size())) continue;
          product |= u.instr->code == Code::Dot;
          if (u.instr->code == Code::Rename) pending.push_back(u.instr->results[0]);
        }
    }
    if (product && !direct(k, v, *k.defs.at(v).instr)) form = Form::Buffer;
  }
}

}  // namespace nautilus::cpu
