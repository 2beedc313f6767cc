// Rolling updates. A target's accumulators are consistent with reference values of their sources;
// before they are read or added to, they are corrected from the references to the sources' present
// values. In the usual case the reference is the source's value at the start of the iteration, and
// the loop carries both as one.
#include <algorithm>

#include "compiler/lower/kernel_lowering.h"

namespace nautilus::lower {

using namespace poly;

namespace {

// The correction when these sources are what they were: new and old value are the same.
Expr without_moves(const Expr& correction, const std::set<std::string>& unmoved) {
  const auto is = [](const Expr& x, const std::string& name) {
    return x->op == Op::Var && x->name == name;
  };
  return simplify(substitute(correction, [&](const Expr& x) -> std::optional<Expr> {
    for (const std::string& s : unmoved) {
      const std::string next = s + "'";
      if (is(x, next)) return Expr::var(s, x->type);
      if (x->op == Op::Eq && ((is(x->args[0], s) && is(x->args[1], next)) ||
                              (is(x->args[0], next) && is(x->args[1], s))))
        return Expr::constant(1, Type::Bool);
    }
    return std::nullopt;
  }));
}

}  // namespace

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
  for (size_t p = 0; p < plan_.repairs.size() && !failure_; ++p) {
    if (!is_target(p, tensor)) continue;
    for (const std::string& s : plan_.repairs[p].repair->source_tensors)
      if (is_lazy(p, s)) settle(s);
    correct(p);
  }
}

// The source's value is another than the one that the repair's accumulators are consistent with.
bool KernelLowering::pending(size_t p, const std::string& source) const {
  return env_.count(source) && env_.at(source).value != env_.at(reference(p, source)).value;
}

// t_k <- corrections[k](t, references, present sources); nothing while the references are the
// present values. References that may be stale are left as they are.
void KernelLowering::correct(size_t p) {
  const Repair& r = *plan_.repairs[p].repair;
  if (failure_ || r.target_tensors.empty() || !env_.count(r.target_tensors[0])) return;
  std::set<std::string> unmoved;
  const auto find_moves = [&] {
    unmoved.clear();
    for (const std::string& s : r.source_tensors)
      if (is_lazy(p, s) || !pending(p, s)) unmoved.insert(s);
    return unmoved.size() < r.source_tensors.size();
  };
  if (!find_moves()) return;
  // A source that is itself a target is brought up to date first: its value is what this target
  // will refer to.
  for (const std::string& s : r.source_tensors)
    if (!is_target(p, s)) synchronize(s);
  if (failure_ || !find_moves()) return;
  const std::string origin = builder().origin;
  builder().origin = r.targets[0];
  std::vector<ValueId> values;
  for (size_t k = 0; begun(p) && k < r.target_tensors.size() && !failure_; ++k)
    values.push_back(evaluated(p, k, without_moves(r.corrections[k], unmoved)));
  builder().origin = origin;
  if (failure_) return;
  for (size_t k = 0; k < values.size(); ++k) {
    env_.at(r.target_tensors[k]).value = values[k];
    env_.at(r.target_tensors[k]).identity = false;
  }
  for (const std::string& s : r.source_tensors)
    if (!unmoved.count(s)) env_.at(reference(p, s)).value = env_.at(s).value;
}

// Some accumulator has a term; before that there is nothing to correct.
bool KernelLowering::begun(size_t p) const {
  const auto& targets = plan_.repairs[p].repair->target_tensors;
  return std::any_of(targets.begin(), targets.end(),
                     [&](const std::string& t) { return !env_.at(t).identity; });
}

// An expression over accumulators, sources as they are referred to and (primed) present sources, at
// the elements of target k.
tile::ValueId KernelLowering::evaluated(size_t p, size_t k, const Expr& e) {
  const RepairPlan& plan = plan_.repairs[p];
  const Repair& r = *plan.repair;
  const Entry& target = env_.at(r.target_tensors[k]);
  std::map<std::string, ValueId> vars;
  for (size_t j = 0; j < r.target_tensors.size(); ++j)
    if (const std::string t = "t" + std::to_string(j); contains_var(e, t))
      vars[t] = as_shape(env_.at(r.target_tensors[j]), target.shape, r.target_tensors[j]);
  const auto index = target.shape.index();
  std::map<std::string, IndexExpr> elements;
  std::map<std::string, int64_t> axes;
  for (size_t d = 0; d < index.size(); ++d) {
    elements["e" + std::to_string(d)] = index[d];
    if (!target.shape.axis[d].empty()) axes[target.shape.axis[d]] = target.shape.extent[d];
  }
  for (size_t s = 0; s < r.source_tensors.size(); ++s) {
    const std::string &name = r.source_tensors[s], next = name + "'";
    std::vector<IndexExpr> at;
    for (const IndexExpr& x : plan.source_index[s]) at.push_back(x.substitute(elements));
    auto shape = shape_of(at, axes, env_.at(name).shape.elem);
    if (!shape) {
      fail("repair of " + r.targets[0],
           "the element of source " + name + " is not one index or one axis a dimension");
      return -1;
    }
    if (contains_var(e, name)) vars[name] = as_shape(env_.at(reference(p, name)), *shape, name);
    if (contains_var(e, next)) vars[next] = as_shape(env_.at(name), *shape, name);
  }
  return cast(lower_with(e, vars), target.shape.elem);
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
