// One statement over its tile: loads with masks, the value, and the store or the fold into its
// accumulator.
#include <algorithm>

#include "compiler/lower/kernel_lowering.h"
#include "polyhedral/isl_index.h"

namespace nautilus::lower {

using namespace poly;
using tile::Code;
using tile::Instr;

namespace {

std::set<std::string> axes_in(const Cond::Atom& a, const std::map<std::string, int64_t>& axes) {
  std::vector<std::string> vars;
  a.expr.collect_vars(vars);
  std::set<std::string> out;
  for (const std::string& v : vars)
    if (axes.count(v)) out.insert(v);
  return out;
}

// Atoms of a conjunction over subsets of the given axes (all of a disjunction, if it mentions no
// other).
Cond over(const Cond& c, const std::map<std::string, int64_t>& axes,
          const std::function<bool(const std::set<std::string>&)>& keep) {
  if (c.is_always() || c.any.empty()) return c;
  if (c.any.size() > 1) {
    for (const auto& conj : c.any)
      for (const auto& a : conj)
        if (!keep(axes_in(a, axes))) return Cond::always();
    return c;
  }
  Cond out{{{}}};
  for (const auto& a : c.any[0])
    if (keep(axes_in(a, axes))) out.any[0].push_back(a);
  return out;
}

bool subset(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

std::set<std::string> axis_names(const tile::TileType& t) {
  std::set<std::string> out;
  for (const tile::Axis& a : t.axes) out.insert(a.name);
  return out;
}

}  // namespace

std::vector<IndexExpr> KernelLowering::At::index(const std::vector<IndexExpr>& over_dims) const {
  std::vector<IndexExpr> out;
  for (const IndexExpr& e : over_dims) out.push_back(e.substitute(dims));
  return out;
}

// The base of each dim comes from the leaf's geometry over the loops' own variables, so that one
// element has one expression in all copies of a statement.
KernelLowering::At KernelLowering::locate(const Loop& l) const {
  At at;
  at.loop = &l;
  at.info = &a_.statements.at(l.stmt);
  const std::vector<std::string> names = l.leaf->loop_names();
  for (size_t k = 0; k < l.base.size(); ++k) {
    IndexExpr e = to_index(l.leaf->base[k], names).substitute(subst_);
    if (!l.axis[k].empty()) {
      e = e + IndexExpr::var(l.axis[k]);
      at.axes[l.axis[k]] = l.extent[k];
    }
    at.dims[at.info->dims[k]] = e;
  }
  if (l.partial) at.mask = simplify(l.mask.substitute(subst_), ranges_with(at.axes));
  return at;
}

Ranges KernelLowering::ranges_with(const std::map<std::string, int64_t>& axes) const {
  Ranges r = ranges_;
  for (const auto& [name, extent] : axes) r[name] = {0, extent - 1};
  return r;
}

void KernelLowering::statement(const Loop& l) {
  At at = locate(l);
  const Statement& s = *at.info->statement;
  builder().origin = s.name;
  builder().node = l.node;
  builder().axis_extents = at.axes;
  if (at.mask.any.empty()) return;  // no lane is inside
  if (s.guard) at.guard = lower(at, s.guard);
  if (failure_) return;
  if (s.reduction)
    reduction(at);
  else
    pointwise(at);
}

void KernelLowering::pointwise(At& at) {
  ValueId v = lower(at, at.info->statement->expr);
  if (failure_) return;
  write_pointwise(at, cast(v, a_.program->tensor(at.info->statement->write.tensor)->type));
}

void KernelLowering::write_pointwise(At& at, ValueId v) {
  const Statement& s = *at.info->statement;
  const std::string& t = s.write.tensor;
  const auto index = at.index(at.info->write);
  auto entry = env_.find(t);
  if (entry == env_.end()) {
    if (a_.scope(t) == Scope::Register)
      return fail("statement " + s.name, "register tensor " + t + " has no place here");
    // Skipped instances leave what is there. Of a temporary that no other statement writes nobody
    // looks at it: what reads an element carries the guard of what wrote it.
    const auto& all = a_.program->statements;
    const bool looked_at = a_.program->tensor(t)->kind != TensorKind::Temp ||
                           std::count_if(all.begin(), all.end(), [&](const Statement& o) {
                             return o.write.tensor == t;
                           }) > 1;
    if (at.guard >= 0 && looked_at)
      v = builder().map(Op::Select, {at.guard, v, load(at, t, index, nullptr, at.mask)});
    return store(t, index, v, at.mask, at.axes);
  }
  Entry& e = entry->second;
  auto own = shape_of(index, at.axes, e.shape.elem);
  if (!own)
    return fail("statement " + s.name,
                "its element of " + t + " is not one index or one axis a dimension", "",
                "put " + t + " in global scope");
  if (e.value >= 0 && (!at.mask.is_always() || at.guard >= 0)) {
    const ValueId old = as_shape(e, *own, t);
    if (failure_) return;
    if (at.guard >= 0) v = builder().map(Op::Select, {at.guard, v, old});
    if (!at.mask.is_always()) v = builder().mask(at.mask, v, old);
  }
  Entry fresh;
  fresh.value = v;
  fresh.shape = *own;
  fresh.tensor = t;
  e.value = as_shape(fresh, e.shape, t);
  e.identity = false;
}

void KernelLowering::reduction(At& at) {
  const Statement& s = *at.info->statement;
  const std::string& t = s.write.tensor;
  const Type type = a_.program->tensor(t)->type;
  std::set<std::string> reduced;
  for (int d : s.reduction->dims)
    if (!at.loop->axis[static_cast<size_t>(d)].empty())
      reduced.insert(at.loop->axis[static_cast<size_t>(d)]);
  for (size_t p = 0; p < plan_.repairs.size(); ++p) {
    const Repair& r = *plan_.repairs[p].repair;
    if (!is_target(p, t) || (env_.count(t) && !r.source_tensors.empty() &&
                             env_.count(reference(p, r.source_tensors[0]))))
      continue;
    return fail(
        "repair of " + s.name,
        "its accumulator " + t + " and the sources it is corrected for are not kept in registers",
        "",
        "put them in register scope, with loops that determine their elements outside the repaired "
        "band");
  }
  // Corrections first: they refer to the sources as they are when the term is evaluated.
  synchronize(t);
  ValueId term = reduced_term(at, reduced, type);
  if (failure_) return;
  const Cond after = over(at.mask, at.axes, [&](const auto& axes) {
    return std::none_of(axes.begin(), axes.end(),
                        [&](const auto& x) { return reduced.count(x) > 0; });
  });
  fold(at, term, after);
}

// The term with absent lanes at the identity, reduced over `axes`; conditions without reduced axes
// are left for later.
tile::ValueId KernelLowering::reduced_term(At& at, const std::set<std::string>& axes, Type acc) {
  const Statement& s = *at.info->statement;
  const Reduction& red = *s.reduction;
  auto touches = [&](const std::set<std::string>& a) {
    return std::any_of(a.begin(), a.end(), [&](const auto& x) { return axes.count(x) > 0; });
  };
  // A disjunction is left for later as a whole, or not at all.
  const bool any = std::any_of(at.mask.any.begin(), at.mask.any.end(), [&](const auto& conj) {
    return std::any_of(conj.begin(), conj.end(),
                       [&](const auto& atom) { return touches(axes_in(atom, at.axes)); });
  });
  const Cond before = at.mask.any.size() == 1 ? over(at.mask, at.axes, touches)
                      : any                   ? at.mask
                                              : Cond::always();
  const std::vector<std::string> removed(axes.begin(), axes.end());
  if (const ValueId dot = product(at, axes, before, acc); dot >= 0 || failure_) return dot;
  ValueId term = lower(at, s.expr);
  if (failure_) return -1;
  if (acc == Type::F64 || (is_float(acc) && !is_float(elem(term))))
    term = cast(term, acc == Type::F64 ? Type::F64 : Type::F32);
  const double id = identity_value(red);
  if (at.guard >= 0) term = builder().map(Op::Select, {at.guard, term, constant(id, elem(term))});
  if (!before.is_always()) term = builder().mask(before, term, constant(id, elem(term)));
  if (axes.empty()) return term;
  Instr i;
  i.code = Code::Reduce;
  i.reduce = red.op;
  i.combine = red.combine;
  i.identity = red.identity;
  i.operands = {term};
  i.axes = removed;
  return builder().emit(std::move(i));
}

// The sum of products over `axes` as one operation, or -1. Absent terms have a factor of zero: both
// factors are masked where they have a condition's axes (zero times what lies outside may be NaN;
// loads may be zero there already), and so for a condition on data. Where one lacks a condition's
// axes, its lanes belong to other terms too, and it is assumed finite; so is, unless numerics are
// strict, a load that a condition on data would mask: that costs more than the product.
tile::ValueId KernelLowering::product(At& at, const std::set<std::string>& axes, const Cond& before,
                                      Type acc) {
  const Statement& s = *at.info->statement;
  if (s.reduction->op != ReduceOp::Sum || s.expr->op != Op::Mul || axes.empty() ||
      before.any.empty())
    return -1;
  ValueId factors[2];
  std::set<std::string> in[2];
  for (size_t k : {0, 1}) {
    factors[k] = lower(at, s.expr->args[k]);
    if (failure_) return -1;
    in[k] = axis_names(kernel_.types.at(factors[k]));
  }
  if (!subset(axes, in[0]) || !subset(axes, in[1]) || subset(in[0], in[1]) ||
      subset(in[1], in[0]) || s.expr->args[0] == s.expr->args[1])
    return -1;
  // Atoms go to the factors one by one; a disjunction is one condition.
  std::vector<std::set<std::string>> conditions;
  for (const auto& conj : before.any)
    for (const auto& atom : conj) {
      const auto x = axes_in(atom, at.axes);
      if (before.any.size() > 1 && !conditions.empty())
        conditions[0].insert(x.begin(), x.end());
      else
        conditions.push_back(x);
    }
  bool assumed[2] = {false, false};
  for (const auto& x : conditions) {
    for (size_t k : {0, 1}) assumed[k] |= !subset(x, in[k]);
    if (!subset(x, in[0]) && !subset(x, in[1])) return -1;
  }
  std::set<std::string> guarded;
  if (at.guard >= 0) guarded = axis_names(kernel_.types.at(at.guard));
  for (size_t k : {0, 1}) assumed[k] |= !subset(guarded, in[k]);
  if (!subset(guarded, in[0]) && !subset(guarded, in[1])) return -1;
  if (options_.numerics == tile::Numerics::Strict && (assumed[0] || assumed[1])) return -1;
  int left_whole = -1;  // a factor that the condition on data need not mask
  if (options_.numerics != tile::Numerics::Strict && at.guard >= 0 && subset(guarded, in[0]) &&
      subset(guarded, in[1]))
    for (int k : {0, 1})
      if (const Expr& e = s.expr->args[size_t(k)]; e->op == Op::Read) {
        const Tensor* read = a_.program->tensor(s.reads.at(size_t(e->index)).tensor);
        if (read && read->kind == TensorKind::Input) left_whole = k;
      }
  if (left_whole >= 0) assumed[left_whole] = true;
  for (size_t k : {0, 1}) {
    if (!assumed[k]) continue;
    std::string names;
    visit(s.expr->args[k], [&](const Expr& e) {
      if (e->op == Op::Read)
        names += (names.empty() ? "" : ", ") + s.reads.at(static_cast<size_t>(e->index)).tensor;
    });
    notes_.insert(
        s.write.tensor + " assumes finite operands of masked terms: " + names +
        " is multiplied by 0 where a mask cuts through a tile (--numerics strict does not "
        "assume it)");
  }
  for (size_t k : {0, 1}) {
    Cond::Conj mine, known;
    if (auto z = zero_filled_.find(factors[k]);
        z != zero_filled_.end() && z->second.any.size() == 1)
      known = z->second.any[0];
    if (before.any.size() > 1 && !conditions.empty() && subset(conditions[0], in[k]))
      factors[k] = builder().mask(before, factors[k], constant(0, elem(factors[k])));
    for (const auto& atom : before.any.size() > 1 ? Cond::Conj{} : before.any[0])
      if (subset(axes_in(atom, at.axes), in[k]) &&
          std::find(known.begin(), known.end(), atom) == known.end())
        mine.push_back(atom);
    if (!mine.empty())
      factors[k] = builder().mask(Cond{{mine}}, factors[k], constant(0, elem(factors[k])));
    if (at.guard >= 0 && subset(guarded, in[k]) && int(k) != left_whole)
      factors[k] = builder().map(Op::Select, {at.guard, factors[k], constant(0, elem(factors[k]))});
  }
  const Type wide = arithmetic_type(elem(factors[0]), elem(factors[1]));
  return builder().dot(factors[0], factors[1], {axes.begin(), axes.end()},
                       acc == Type::F64 ? Type::F64 : wide);
}

void KernelLowering::fold(At& at, ValueId term, const Cond& after) {
  const Statement& s = *at.info->statement;
  const std::string& t = s.write.tensor;
  const Type type = a_.program->tensor(t)->type;
  const double id = identity_value(*s.reduction);
  const auto index = at.index(at.info->write);
  auto entry = env_.find(t);
  if (!after.is_always()) term = builder().mask(after, term, constant(id, elem(term)));
  if (entry != env_.end()) {
    Entry& e = entry->second;
    auto own = shape_of(index, at.axes, e.shape.elem);
    if (!own)
      return fail("statement " + s.name,
                  "its element of " + t + " is not one index or one axis a dimension",
                  can_demote(t) ? t : "");
    const ValueId acc = as_shape(e, *own, t);
    if (failure_) return;
    Entry fresh;
    fresh.shape = *own;
    fresh.value = e.identity ? cast(term, type) : combine(*s.reduction, acc, term, type);
    if (failure_) return;
    e.value = as_shape(fresh, e.shape, t);
    e.identity = false;
    return;
  }
  if (a_.scope(t) == Scope::Register)
    return fail("statement " + s.name, "register tensor " + t + " has no place here");
  if (!shape_of(index, at.axes, type) && !at.axes.empty()) {
    // Two lanes may meet in one element: only sums of independent axes would be right, and none is
    // provable here.
    std::vector<std::string> used;
    for (const IndexExpr& e : index) e.collect_vars(used);
    for (const std::string& u : used)
      if (at.axes.count(u))
        return fail("statement " + s.name,
                    "its element of " + t + " mixes tile axes in one dimension", "",
                    "map " + u + " serial");
  }
  Cond inside = conjunction(after, in_bounds(t, index, at.axes));
  const ValueId old = load(at, t, index, nullptr, Cond::always());
  store(t, index, combine(*s.reduction, old, term, type), inside, at.axes);
}

// The entry's value with axes named as in `to`, which must hold the same elements.
tile::ValueId KernelLowering::as_shape(const Entry& e, const Shape& to, const std::string& tensor) {
  if (failure_) return -1;
  if (e.value < 0) {
    fail("tensor " + tensor, "it is read where it is not written yet",
         can_demote(tensor) ? tensor : "", "put it in global scope");
    return -1;
  }
  const tile::TileType type = kernel_.types.at(e.value);
  if (type.axes.empty()) return e.value;
  auto m = match(e.shape, to);
  if (!m) {
    fail("tensor " + tensor, m.error().why, can_demote(tensor) ? tensor : "",
         "put it in global scope");
    return -1;
  }
  auto has = [&](const std::string& name) {
    return std::any_of(type.axes.begin(), type.axes.end(),
                       [&](const tile::Axis& a) { return a.name == name; });
  };
  ValueId v = e.value;
  std::vector<std::string> drop;
  for (const std::string& d : m->drop)
    if (has(d)) drop.push_back(d);
  if (!drop.empty())
    v = builder().reduce(elem(v) == Type::Bool ? ReduceOp::Any : ReduceOp::Max, v, drop);
  Renames renames;
  for (const auto& [from, to_name] : m->renames)
    if (has(from)) renames.emplace_back(from, to_name);
  return renames.empty() ? v : builder().rename(v, renames);
}

tile::ValueId KernelLowering::read(At& at, int k) {
  const Access& access = at.info->statement->reads.at(static_cast<size_t>(k));
  const auto index = at.index(at.info->reads[static_cast<size_t>(k)]);
  const std::string& t = access.tensor;
  if (env_.count(t)) {
    const bool inside = refers(*at.info->statement, t);
    if (inside)
      synchronize(t);
    else
      complete(t);
    const auto lazy = inside ? plan_.lazy.find(t) : plan_.lazy.end();
    if (lazy != plan_.lazy.end()) settle(t);
    const Entry& e = env_.at(lazy == plan_.lazy.end() ? t : reference(lazy->second.repairs[0], t));
    auto shape = access.gathers.empty() ? shape_of(index, at.axes, e.shape.elem) : std::nullopt;
    if (!shape) {
      fail("statement " + at.info->statement->name,
           "its read of " + t + " is not one index or one axis a dimension", can_demote(t) ? t : "",
           "put " + t + " in global scope");
      return -1;
    }
    return at_rest(*at.info->statement, t, as_shape(e, *shape, t));
  }
  if (a_.scope(t) == Scope::Register) {
    const auto w = a_.writer.find(t);
    if (w != a_.writer.end() && w->second->reduction)  // no instance writes it in this kernel
      return constant(identity_value(*w->second->reduction), a_.program->tensor(t)->type);
    fail("statement " + at.info->statement->name,
         "it reads register tensor " + t + ", which is not written in this kernel", "",
         "put " + t + " in global scope");
    return -1;
  }
  return load(at, t, index, &access, at.mask);
}

// Lanes inside are in bounds; elsewhere only addresses outside the tensor must not be touched, and
// of a temporary what nothing has written: it may hold anything.
Cond KernelLowering::in_bounds(const std::string& tensor, const std::vector<IndexExpr>& index,
                               const std::map<std::string, int64_t>& axes) const {
  const auto& extents = a_.extents.at(tensor);
  Cond c = Cond::always();
  for (size_t d = 0; d < index.size(); ++d) {
    c.any[0].push_back({index[d], false});
    c.any[0].push_back({extents[d] - 1 - index[d], false});
  }
  return simplify(c, ranges_with(axes));
}

tile::ValueId KernelLowering::load(At& at, const std::string& tensor,
                                   const std::vector<IndexExpr>& index, const Access* access,
                                   const Cond& mask) {
  const std::map<std::string, int64_t>& axes = at.axes;
  Instr i;
  i.code = Code::Load;
  i.tensor = tensor;
  i.index = index;
  std::vector<IndexExpr> direct = index;
  if (access && !access->gathers.empty()) {
    i.gather.assign(index.size(), -1);
    for (const auto& g : access->gathers) {
      ValueId v = lower(
          at, Expr::read(
                  g.read,
                  a_.program->tensor(at.info->statement->reads[static_cast<size_t>(g.read)].tensor)
                      ->type));
      if (failure_) return -1;
      if (is_float(elem(v))) v = cast(v, Type::I32);
      const auto own = axis_names(kernel_.types.at(v));
      const Cond inside =
          over(mask, axes, [&](const auto& x) { return !x.empty() && subset(x, own); });
      if (!inside.is_always()) v = builder().mask(inside, v, constant(0, elem(v)));
      if (at.guard >= 0) v = builder().map(Op::Select, {at.guard, v, constant(0, elem(v))});
      i.gather[static_cast<size_t>(g.dim)] = static_cast<int>(i.operands.size());
      i.operands.push_back(v);
      direct[static_cast<size_t>(g.dim)] = IndexExpr(0);
      i.index[static_cast<size_t>(g.dim)] = IndexExpr(0);
    }
  }
  const bool whole = access && mask.is_always();
  if (!whole) i.cond = in_bounds(tensor, direct, axes);
  if (!whole && a_.holes.count(tensor)) {
    std::vector<std::string> used;
    for (const IndexExpr& e : index) e.collect_vars(used);
    const std::set<std::string> own(used.begin(), used.end());
    i.cond = conjunction(i.cond, over(mask, axes, [&](const auto& x) { return subset(x, own); }));
  }
  const Cond cond = i.cond;
  const ValueId v = builder().emit(std::move(i));
  if (!cond.is_always()) zero_filled_[v] = cond;
  return v;
}

void KernelLowering::store(const std::string& tensor, const std::vector<IndexExpr>& index,
                           ValueId v, Cond cond, const std::map<std::string, int64_t>& axes) {
  if (failure_) return;
  if (cond.any.empty()) return;
  Instr i;
  i.code = Code::Store;
  i.tensor = tensor;
  i.index = index;
  i.operands = {v};
  i.cond = std::move(cond);
  builder().axis_extents = axes;
  builder().emit(std::move(i));
  if (a_.scope(tensor) == Scope::Shared) {
    Instr barrier;
    barrier.code = Code::Barrier;
    builder().emit(std::move(barrier));
  }
}

}  // namespace nautilus::lower
