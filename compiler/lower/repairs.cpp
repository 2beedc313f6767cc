// Rolling updates. A target's accumulators are consistent with reference values of their sources;
// before they are read or added to, they are corrected from the references to the sources' present
// values. In the usual case the reference is the source's value at the start of the iteration, and
// the loop carries both as one.
#include <algorithm>

#include "compiler/lower/kernel_lowering.h"

namespace nautilus::lower {

using namespace poly;

std::string KernelLowering::reference(size_t repair, const std::string& source) {
  return "#" + std::to_string(repair) + ":" + source;
}

bool KernelLowering::is_target(size_t repair, const std::string& tensor) const {
  const auto& t = plan_.repairs[repair].repair->target_tensors;
  return std::find(t.begin(), t.end(), tensor) != t.end();
}

void KernelLowering::enter_references(const std::vector<std::string>& entered) {
  if (failure_) return;
  for (size_t p = 0; p < plan_.repairs.size(); ++p) {
    const Repair& r = *plan_.repairs[p].repair;
    if (r.target_tensors.empty() ||
        std::find(entered.begin(), entered.end(), r.target_tensors[0]) == entered.end())
      continue;
    for (const std::string& t : r.target_tensors)
      if (!env_.count(t))
        return fail("repair of " + r.targets[0],
                    "its accumulator " + t + " is not kept in registers here", "",
                    "put " + t + " in register scope");
    for (const std::string& s : r.source_tensors) {
      auto it = env_.find(s);
      if (it == env_.end())
        return fail("repair of " + r.targets[0],
                    "its source " + s + " is not kept in registers here", "",
                    "put " + s + " in register scope");
      env_.emplace(reference(p, s), it->second);
    }
  }
}

void KernelLowering::synchronize(const std::string& tensor) {
  for (size_t p = 0; p < plan_.repairs.size() && !failure_; ++p)
    if (is_target(p, tensor)) correct(p);
}

// t_k <- corrections[k](t, references, present sources); nothing while the references are the
// present values.
void KernelLowering::correct(size_t p) {
  const RepairPlan& plan = plan_.repairs[p];
  const Repair& r = *plan.repair;
  if (r.target_tensors.empty() || !env_.count(r.target_tensors[0])) return;
  const bool pending =
      std::any_of(r.source_tensors.begin(), r.source_tensors.end(), [&](const std::string& s) {
        return env_.count(s) && env_.at(s).value != env_.at(reference(p, s)).value;
      });
  if (!pending) return;
  // A source that is itself a target is brought up to date first: its value is what this target
  // will refer to.
  for (const std::string& s : r.source_tensors)
    if (!is_target(p, s)) synchronize(s);
  if (failure_) return;
  const std::string origin = builder().origin;
  builder().origin = r.targets[0];
  std::vector<ValueId> corrected;
  for (size_t k = 0; k < r.target_tensors.size() && !failure_; ++k) {
    const Entry& target = env_.at(r.target_tensors[k]);
    std::map<std::string, ValueId> vars;
    for (size_t j = 0; j < r.target_tensors.size(); ++j)
      vars["t" + std::to_string(j)] =
          as_shape(env_.at(r.target_tensors[j]), target.shape, r.target_tensors[j]);
    for (size_t s = 0; s < r.source_tensors.size(); ++s) {
      std::map<std::string, IndexExpr> elements;
      const auto index = target.shape.index();
      for (size_t d = 0; d < index.size(); ++d) elements["e" + std::to_string(d)] = index[d];
      std::vector<IndexExpr> at;
      for (const IndexExpr& e : plan.source_index[s]) at.push_back(e.substitute(elements));
      std::map<std::string, int64_t> axes;
      for (size_t d = 0; d < index.size(); ++d)
        if (!target.shape.axis[d].empty()) axes[target.shape.axis[d]] = target.shape.extent[d];
      const std::string& name = r.source_tensors[s];
      auto shape = shape_of(at, axes, env_.at(name).shape.elem);
      if (!shape)
        return fail("repair of " + r.targets[0],
                    "the element of source " + name + " is not one index or one axis a dimension");
      vars[name] = as_shape(env_.at(reference(p, name)), *shape, name);
      vars[name + "'"] = as_shape(env_.at(name), *shape, name);
    }
    if (failure_) return;
    corrected.push_back(cast(lower_with(r.corrections[k], vars), target.shape.elem));
  }
  for (size_t k = 0; k < corrected.size(); ++k) {
    env_.at(r.target_tensors[k]).value = corrected[k];
    env_.at(r.target_tensors[k]).identity = false;
  }
  for (const std::string& s : r.source_tensors) env_.at(reference(p, s)).value = env_.at(s).value;
  builder().origin = origin;
}

// What a target or via statement reads of a source: a finite number in place of the identity.
tile::ValueId KernelLowering::at_rest(const Statement& reader, const std::string& source,
                                      ValueId value) {
  if (failure_) return value;
  for (const RepairPlan& p : plan_.repairs) {
    const Repair& r = *p.repair;
    const auto lists = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), reader.name) != names.end();
    };
    const auto rest = r.rest.find(source);
    if (rest == r.rest.end() || (!lists(r.via) && !lists(r.targets))) continue;
    const Type type = elem(value);
    const ValueId none = builder().map(Op::Eq, {value, constant(rest->second.first, type)});
    return builder().map(Op::Select, {none, constant(rest->second.second, type), value});
  }
  return value;
}

}  // namespace nautilus::lower
