// Loops and branches: residents enter where the loops that determine their elements end, loops
// carry those that their bodies change, branches yield them.
#include <algorithm>

#include "compiler/lower/kernel_lowering.h"
#include "polyhedral/isl_index.h"

namespace nautilus::lower {

using namespace poly;
using tile::Code;
using tile::Instr;
using tile::Region;

std::optional<Failure> KernelLowering::run(const LoopPtr& root) {
  kernel_.body = in_region([&](Region&) {
    LoopPtr l = root;
    ranges_ = a_.size_ranges;
    for (const auto& [loop, value] : plan_.fixed) subst_[loop] = IndexExpr(value);
    for (size_t g = 0; g < plan_.grid; ++g) {
      IndexExpr n = l->upper - l->lower;
      if (n.is_const()) n = IndexExpr(std::max<int64_t>(0, n.constant()));
      kernel_.grid.push_back({l->iv, n});
      ranges_[l->iv] = {0, range_of(n - 1, ranges_).hi};
      if (!a_.symbolic.empty()) ranges_[l->iv].from = IndexExpr(0), ranges_[l->iv].to = n - 1;
      if (!(l->lower == IndexExpr(0))) subst_[l->iv] = IndexExpr::var(l->iv) + l->lower;
      l = l->children[0];
    }
    std::vector<std::string> entered;
    for (size_t d = 0; d <= plan_.grid; ++d)
      for (const std::string& key : enter(d, {l})) entered.push_back(key);
    enter_references(entered);
    walk(l);
    leave(entered);
  });
  return failure_;
}

void KernelLowering::walk(const LoopPtr& l) {
  if (failure_) return;
  switch (l->kind) {
    case Loop::Kind::Block:
      for (const LoopPtr& c : l->children) walk(c);
      return;
    case Loop::Kind::For:
      return walk_for(*l);
    case Loop::Kind::If:
      return walk_if(*l);
    case Loop::Kind::Statement:
      return statement(*l);
  }
}

// Where sizes are symbolic, conditions on them stand inside copies of a loop. An iteration that one
// leaves empty must not write an accumulator back: another copy has its elements.
void KernelLowering::walk_body(const Loop& f) {
  const auto depth = static_cast<size_t>(f.depth) + 1;
  if (!a_.symbolic.empty()) {
    std::function<bool(const LoopPtr&, const Resident&)> writes = [&](const LoopPtr& l,
                                                                      const Resident& r) {
      if (l->kind == Loop::Kind::Statement) return r.writers.count(l->leaf.get()) > 0;
      return l->kind != Loop::Kind::If &&
             std::any_of(l->children.begin(), l->children.end(),
                         [&](const LoopPtr& c) { return writes(c, r); });
    };
    for (const auto& [tensor, r] : plan_.residents)
      if (r.depth == depth && r.store && !env_.count(tensor) &&
          std::none_of(f.children.begin(), f.children.end(),
                       [&](const LoopPtr& c) { return writes(c, r); }))
        for (const LoopPtr& c : f.children)
          for (const auto& leaf : leaves_of(c))
            if (r.users.count(leaf.get()))
              return fail("tensor " + tensor,
                          "loop " + f.iv + " has iterations that sizes leave without a term of it",
                          tensor, "bind the sizes");
  }
  std::vector<std::string> entered = enter(depth, f.children);
  enter_references(entered);
  for (const LoopPtr& c : f.children) walk(c);
  leave(entered);
}

void KernelLowering::walk_for(const Loop& f) {
  const IndexExpr lower = f.lower.substitute(subst_), upper = f.upper.substitute(subst_);
  const IndexExpr trips = upper - lower;
  if (trips.is_const() && trips.constant() <= 0) return;
  if (trips.is_const() && trips.constant() <= f.step) {
    const auto saved = subst_;
    subst_[f.iv] = lower;
    walk_body(f);
    subst_ = saved;
    return;
  }
  const auto saved = subst_;
  const Ranges saved_ranges = ranges_;
  subst_.erase(f.iv);
  Range& range = ranges_[f.iv];
  range = {range_of(lower, ranges_).lo, range_of(upper - IndexExpr(1), ranges_).hi};
  if (!a_.symbolic.empty()) range.from = lower, range.to = upper - IndexExpr(1);
  std::map<std::pair<ValueId, std::string>, std::vector<std::string>> by_value;
  for (const std::string& key : modified(std::make_shared<Loop>(f))) {
    if (!env_.count(key)) continue;
    const ValueId v = defined(key);
    by_value[{v, tile::to_string(env_[key].shape.type())}].push_back(key);
  }
  std::vector<std::vector<std::string>> groups, finer;
  for (auto& [value, keys] : by_value) groups.push_back(keys);
  while (!failure_ && !carry(f, groups, finer)) groups = finer;
  subst_ = saved;
  ranges_ = saved_ranges;
}

// Emits the loop with one carried value a group of keys, which are assumed equal in every
// iteration. False: the body made them differ; nothing was emitted and `finer` says which stay
// together.
bool KernelLowering::carry(const Loop& f, const std::vector<std::vector<std::string>>& groups,
                           std::vector<std::vector<std::string>>& finer) {
  const Env before = env_;
  const ValueId first = kernel_.next_value;
  Instr loop;
  loop.code = Code::For;
  loop.iv = f.iv;
  loop.lower = f.lower.substitute(subst_);
  loop.upper = f.upper.substitute(subst_);
  loop.step = f.step;
  loop.node = f.node;
  finer.clear();
  loop.regions.push_back(in_region([&](Region& r) {
    for (const auto& keys : groups) {
      loop.operands.push_back(env_.at(keys[0]).value);
      r.args.push_back(builder().fresh(env_.at(keys[0]).shape.type()));
      for (const std::string& k : keys) {
        env_.at(k).value = r.args.back();
        env_.at(k).identity = false;
      }
    }
    walk_body(f);
    for (const auto& keys : groups) {
      std::map<ValueId, std::vector<std::string>> parts;
      for (const std::string& k : keys) parts[env_.at(k).value].push_back(k);
      r.yields.push_back(env_.at(keys[0]).value);
      for (auto& [value, part] : parts) finer.push_back(part);
    }
  }));
  env_ = before;
  if (failure_) return true;
  if (finer.size() != groups.size()) {
    while (kernel_.next_value > first) {
      kernel_.types.erase(--kernel_.next_value);
      zero_filled_.erase(kernel_.next_value);
    }
    return false;
  }
  for (const auto& keys : groups) {
    loop.results.push_back(builder().fresh(env_.at(keys[0]).shape.type()));
    for (const std::string& k : keys) {
      env_.at(k).value = loop.results.back();
      env_.at(k).identity = false;
    }
  }
  builder().emit(std::move(loop));
  return true;
}

void KernelLowering::walk_if(const Loop& i) {
  const Cond cond = simplify(i.condition.substitute(subst_), ranges_);
  if (cond.is_always()) return walk(i.children[0]);
  if (cond.any.empty()) {
    if (i.children.size() > 1) walk(i.children[1]);
    return;
  }
  std::set<std::string> keys;
  for (const LoopPtr& c : i.children)
    for (const std::string& k : modified(c))
      if (env_.count(k)) keys.insert(k);
  for (const std::string& k : keys) defined(k);
  Instr branch;
  branch.code = Code::If;
  branch.cond = cond;
  const Env before = env_;
  std::vector<Env> after;
  for (size_t c = 0; c < 2; ++c) {
    env_ = before;
    branch.regions.push_back(in_region([&](Region&) {
      if (c < i.children.size()) walk(i.children[c]);
    }));
    after.push_back(env_);
  }
  env_ = before;
  if (failure_) return;
  merge_branches(std::move(branch), keys, after);
}

// Emits a branch whose sides changed these keys of the environment: what differs becomes a result.
void KernelLowering::merge_branches(Instr branch, const std::set<std::string>& keys,
                                    const std::vector<Env>& after) {
  std::map<std::pair<ValueId, ValueId>, ValueId> results;
  for (const std::string& k : keys) {
    const std::pair<ValueId, ValueId> both{after[0].at(k).value, after[1].at(k).value};
    if (both.first == both.second) continue;
    if (auto [it, fresh] = results.try_emplace(both, -1); fresh) {
      for (int r : {0, 1})
        branch.regions[static_cast<size_t>(r)].yields.push_back(r == 0 ? both.first : both.second);
      tile::TileType t = kernel_.types.at(both.first);
      for (const tile::Axis& a : kernel_.types.at(both.second).axes)
        if (std::find(t.axes.begin(), t.axes.end(), a) == t.axes.end()) t.axes.push_back(a);
      std::sort(t.axes.begin(), t.axes.end(),
                [](const tile::Axis& a, const tile::Axis& b) { return a.name < b.name; });
      it->second = builder().fresh(t);
      branch.results.push_back(it->second);
    }
    env_.at(k).value = results.at(both);
    env_.at(k).identity = false;
  }
  builder().emit(std::move(branch));
}

std::vector<std::string> KernelLowering::enter(size_t depth, const std::vector<LoopPtr>& children) {
  std::vector<std::string> entered;
  if (failure_) return entered;
  std::set<const LeafGeometry*> below;
  for (const LoopPtr& c : children)
    for (const auto& l : leaves_of(c)) below.insert(l.get());
  for (const auto& [tensor, r] : plan_.residents) {
    if (r.depth != depth || env_.count(tensor)) continue;
    if (std::none_of(r.users.begin(), r.users.end(),
                     [&](const LeafGeometry* l) { return below.count(l) > 0; }))
      continue;
    auto shape = entry_shape(r, children);
    if (failure_) return entered;
    Entry e;
    e.tensor = tensor;
    if (shape) e.shape = *shape;
    const Statement* w = a_.writer.at(tensor);
    if (w->reduction) {
      builder().origin = w->name;
      e.value = constant(identity_value(*w->reduction), e.shape.elem);
      e.identity = true;
    }
    env_.emplace(tensor, std::move(e));
    entered.push_back(tensor);
  }
  return entered;
}

// Memory-scoped reductions are written back; every element of the box belongs to this iteration
// alone.
void KernelLowering::leave(const std::vector<std::string>& keys) {
  const auto stored = [&](const std::string& key) {
    const auto r = plan_.residents.find(key);
    return r != plan_.residents.end() && r->second.store;
  };
  for (const std::string& key : keys)  // while the sources of corrections are all still here
    if (stored(key) && !failure_) complete(key);
  for (const std::string& key : keys) {
    if (stored(key) && !failure_) {
      const Entry& e = env_.at(key);
      std::map<std::string, int64_t> axes;
      for (size_t d = 0; d < e.shape.axis.size(); ++d)
        if (!e.shape.axis[d].empty()) axes[e.shape.axis[d]] = e.shape.extent[d];
      builder().origin = a_.writer.at(key)->name;
      store(key, e.shape.index(), e.value, in_bounds(key, e.shape.index(), axes), axes);
    }
    env_.erase(key);
    for (size_t p = 0; p < plan_.repairs.size(); ++p)
      if (is_target(p, key) && plan_.repairs[p].repair->target_tensors[0] == key)
        for (const std::string& s : plan_.repairs[p].repair->source_tensors)
          env_.erase(reference(p, s));
  }
}

// The shape in which the first statement that writes it below holds the tensor (any that reads it
// if none does).
std::optional<Shape> KernelLowering::entry_shape(const Resident& r,
                                                 const std::vector<LoopPtr>& children) {
  const Loop* found = nullptr;
  std::function<void(const LoopPtr&)> look = [&](const LoopPtr& l) {
    if (l->kind == Loop::Kind::Statement && !found && r.writers.count(l->leaf.get()))
      found = l.get();
    for (const LoopPtr& c : l->children) look(c);
  };
  for (const LoopPtr& c : children) look(c);
  Shape s;
  s.elem = a_.program->tensor(r.tensor)->type;
  if (!found) return s;
  const At at = locate(*found);
  auto shape = shape_of(at.index(at.info->write), at.axes, s.elem);
  const std::string demote = r.store ? r.tensor : "";
  if (!shape) {
    fail("statement " + at.info->statement->name,
         "its element of " + r.tensor + " is not one index or one axis a dimension", demote,
         "put " + r.tensor + " in global scope");
    return {};
  }
  for (const IndexExpr& b : shape->base) {
    std::vector<std::string> vars;
    b.collect_vars(vars);
    for (const std::string& v : vars)
      if (!ranges_.count(v)) {
        fail("tensor " + r.tensor,
             "its tile moves with loop " + v + ", inside the loops that its elements determine",
             demote, "put it in global scope, or move that loop outwards");
        return {};
      }
  }
  return shape;
}

std::set<std::string> KernelLowering::modified(const LoopPtr& l) const {
  std::set<std::string> keys;
  for (const auto& leaf : leaves_of(l)) {
    const Statement& s = *a_.statements.at(leaf->stmt).statement;
    if (plan_.residents.count(s.write.tensor)) keys.insert(s.write.tensor);
    for (size_t p = 0; p < plan_.repairs.size(); ++p) {
      const Repair& r = *plan_.repairs[p].repair;
      bool touches = is_target(p, s.write.tensor);
      for (const Access& read : s.reads) touches = touches || is_target(p, read.tensor);
      if (!touches) continue;
      keys.insert(r.target_tensors.begin(), r.target_tensors.end());
      for (const std::string& source : r.source_tensors) keys.insert(reference(p, source));
    }
    for (const Access& read : s.reads)
      if (plan_.lazy.count(read.tensor) && refers(s, read.tensor))
        for (const std::string& key : lazy_keys(read.tensor)) keys.insert(key);
  }
  return keys;
}

tile::ValueId KernelLowering::defined(const std::string& key) {
  Entry& e = env_.at(key);
  if (e.value < 0) e.value = constant(0, e.shape.elem);
  return e.value;
}

}  // namespace nautilus::lower
