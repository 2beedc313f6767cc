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

// Brings an accumulator, and those that share its stale reference, to the sources' present values.
void KernelLowering::complete(const std::string& tensor) {
  for (size_t p = 0; p < plan_.repairs.size() && !failure_; ++p) {
    if (!is_target(p, tensor)) continue;
    for (const std::string& s : plan_.repairs[p].repair->source_tensors) {
      if (!is_lazy(p, s)) continue;
      settling_.insert(s);  // it moves in any case
      for (size_t q : plan_.lazy.at(s).repairs) correct(q);
      move(s);
      settling_.erase(s);
    }
    correct(p);
  }
}

// The reference becomes the source's present value. Accumulators that share it become what the
// repairs say; references to these follow.
void KernelLowering::move(const std::string& source) {
  const LazySource& lazy = plan_.lazy.at(source);
  const ValueId now = env_.at(source).value;
  if (failure_ || env_.at(reference(lazy.repairs[0], source)).value == now) return;
  const std::string origin = builder().origin;
  std::map<std::string, ValueId> values;
  for (size_t p : lazy.repairs) {
    const Repair& r = *plan_.repairs[p].repair;
    builder().origin = r.targets[0];
    for (size_t k = 0; begun(p) && k < r.target_tensors.size() && !failure_; ++k)
      if (!(r.moved.at(k) == Expr::var("t" + std::to_string(k), r.moved[k]->type)))
        values[r.target_tensors[k]] = evaluated(p, k, r.moved[k]);
  }
  builder().origin = origin;
  if (failure_) return;
  for (size_t p : lazy.repairs) {
    for (const std::string& s : plan_.repairs[p].repair->source_tensors)
      if (values.count(s) && !pending(p, s)) env_.at(reference(p, s)).value = values.at(s);
    env_.at(reference(p, source)).value = now;
  }
  for (const auto& [tensor, value] : values) {
    env_.at(tensor).value = value;
    env_.at(tensor).identity = false;
  }
}

void KernelLowering::settle(const std::string& source) {
  const LazySource& lazy = plan_.lazy.at(source);
  const std::string key = reference(lazy.repairs[0], source);
  if (failure_ || !env_.count(source) || !env_.count(key)) return;
  const auto settled = [&] {
    const Entry& reference = env_.at(key);
    const ValueId now = env_.at(source).value;
    return reference.value == now || reference.tested == now;
  };
  if (settled() || !settling_.insert(source).second) return;
  synchronize(source);                       // it may be a target itself
  for (size_t p : lazy.repairs) correct(p);  // so that only this source moves
  settling_.erase(source);
  if (failure_ || settled()) return;
  const ValueId now = env_.at(source).value;
  if (std::none_of(lazy.repairs.begin(), lazy.repairs.end(), [&](size_t p) { return begun(p); }))
    return move(source);  // no term refers to it yet
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
  branch.regions.push_back(in_region([&](tile::Region&) { move(source); }));
  after.push_back(env_);
  env_ = before;
  branch.regions.push_back(in_region([](tile::Region&) {}));
  after.push_back(env_);
  if (failure_) return;
  merge_branches(std::move(branch), lazy_keys(source), after);
  for (size_t p : lazy.repairs) env_.at(reference(p, source)).tested = now;
  builder().origin = origin;
}

}  // namespace nautilus::lower
