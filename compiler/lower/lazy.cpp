// Stale references of rolling updates (Repair::lazy). Terms refer to a kept value of the source;
// the kept value moves to the present one, and all accumulators that share it are corrected, in a
// branch that runs only when some element moved too far. Whoever reads an accumulator from outside
// gets it relative to the source's present value.
#include <algorithm>

#include "compiler/lower/kernel_lowering.h"

namespace nautilus::lower {

using namespace poly;
using tile::Code;
using tile::Instr;

namespace {

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

// The reader computes terms with running values of the tensor: a via statement or target of a
// repair against it.
bool KernelLowering::refers(const Statement& reader, const std::string& tensor) const {
  return std::any_of(plan_.repairs.begin(), plan_.repairs.end(), [&](const RepairPlan& p) {
    const Repair& r = *p.repair;
    return lists(r.source_tensors, tensor) &&
           (lists(r.via, reader.name) || lists(r.targets, reader.name));
  });
}

bool KernelLowering::is_lazy(size_t repair, const std::string& source) const {
  const auto lazy = plan_.lazy.find(source);
  return lazy != plan_.lazy.end() &&
         std::find(lazy->second.repairs.begin(), lazy->second.repairs.end(), repair) !=
             lazy->second.repairs.end();
}

// What moving the reference changes: the accumulators that share it, and their references.
std::set<std::string> KernelLowering::lazy_keys(const std::string& source) const {
  std::set<std::string> keys;
  for (size_t p : plan_.lazy.at(source).repairs) {
    const Repair& r = *plan_.repairs[p].repair;
    keys.insert(r.target_tensors.begin(), r.target_tensors.end());
    for (const std::string& s : r.source_tensors) keys.insert(reference(p, s));
  }
  return keys;
}

void KernelLowering::complete(const std::string& tensor) {
  for (size_t p = 0; p < plan_.repairs.size() && !failure_; ++p) {
    if (!is_target(p, tensor)) continue;
    const Repair& r = *plan_.repairs[p].repair;
    if (r.lazy && plan_.lazy.count(r.lazy_source))
      for (size_t q : plan_.lazy.at(r.lazy_source).repairs) correct(q, true);
    else
      correct(p, true);
  }
}

void KernelLowering::settle(const std::string& source) {
  if (failure_) return;
  const LazySource& lazy = plan_.lazy.at(source);
  const std::string key = reference(lazy.repairs[0], source);
  if (!env_.count(source) || !env_.count(key)) return;
  synchronize(source, false);  // it may be a target itself
  if (failure_) return;
  const ValueId now = env_.at(source).value;
  if (env_.at(key).value == now || env_.at(key).tested == now) return;
  const std::set<std::string> keys = lazy_keys(source);
  const bool begun = std::any_of(keys.begin(), keys.end(), [&](const std::string& k) {
    return k[0] != '#' && env_.count(k) && !env_.at(k).identity;
  });
  if (!begun) {  // no term refers to it yet
    for (size_t p : lazy.repairs) env_.at(reference(p, source)).value = now;
    return;
  }
  const std::string origin = builder().origin;
  builder().origin = a_.writer.at(source)->name;
  const Shape shape = env_.at(source).shape;
  const ValueId stays = lower_with(
      lazy.may_stay, {{source, as_shape(env_.at(key), shape, source)}, {source + "'", now}});
  if (failure_) return;
  ValueId moved = builder().map(Op::Not, {stays});
  std::vector<std::string> axes;
  for (const tile::Axis& a : kernel_.types.at(moved).axes) axes.push_back(a.name);
  if (!axes.empty()) moved = builder().reduce(ReduceOp::Any, moved, axes);
  Instr branch;
  branch.code = Code::If;
  branch.operands = {moved};
  const Env before = env_;
  std::vector<Env> after;
  branch.regions.push_back(in_region([&](tile::Region&) {
    for (size_t p : lazy.repairs) correct(p, true);
  }));
  after.push_back(env_);
  env_ = before;
  branch.regions.push_back(in_region([](tile::Region&) {}));
  after.push_back(env_);
  if (failure_) return;
  merge_branches(std::move(branch), keys, after);
  for (size_t p : lazy.repairs) env_.at(reference(p, source)).tested = now;
  builder().origin = origin;
}

}  // namespace nautilus::lower
