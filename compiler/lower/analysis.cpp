#include "compiler/lower/analysis.h"

#include <algorithm>

#include "polyhedral/context_ast.h"
#include "polyhedral/isl_index.h"

namespace nautilus::lower {
namespace {

using namespace poly;

constexpr int64_t kMostMultiple = 1024;  // that is looked for

Refusal refuse(const std::string& where, const std::string& why, const std::string& suggest = "") {
  return Refusal{"lower the schedule", where, why, suggest};
}

// The map as one affine tuple over the statement's dims. Sizes are substituted last: a dim that
// happens to have one value at these sizes must not be replaced by it.
std::optional<std::vector<IndexExpr>> affine_index(const isl::map& m, const isl::set& domain,
                                                   const std::vector<std::string>& dims,
                                                   const Sizes& sizes) {
  auto affine = as_single_affine(m);
  if (!affine) affine = as_single_affine(substitute_params(m, sizes));
  if (!affine) affine = as_single_affine(substitute_params(m.intersect_domain(domain), sizes));
  if (!affine) return {};
  std::vector<IndexExpr> out;
  for (unsigned d = 0; d < affine->size(); ++d)
    out.push_back(to_index(substitute_params(affine->at(static_cast<int>(d)), sizes), dims));
  return out;
}

// One index expression a tensor dim; gathered dims are 0.
Expected<std::vector<IndexExpr>> access_index(const Access& a, const Statement& s,
                                              const std::vector<std::string>& dims,
                                              const Sizes& sizes) {
  const unsigned rank = n_out(a.map);
  if (a.gathers.empty())
    if (auto whole = affine_index(a.map, s.domain, dims, sizes)) return *whole;
  std::vector<IndexExpr> out(rank);
  for (unsigned d = 0; d < rank; ++d) {
    if (std::any_of(a.gathers.begin(), a.gathers.end(),
                    [&](const auto& g) { return g.dim == static_cast<int>(d); }))
      continue;
    auto one = affine_index(project_out_out(project_out_out(a.map, d + 1, rank - d - 1), 0, d),
                            s.domain, dims, sizes);
    if (!one)
      return refuse("statement " + s.name, "its access to " + a.tensor +
                                               " is not one affine expression in dimension " +
                                               std::to_string(d));
    out[d] = (*one)[0];
  }
  return out;
}

// What the facts say of one size that stays symbolic.
void know(Analysis& a, const std::string& size) {
  a.symbolic.push_back(size);
  const auto always = [&](const std::string& fact) {
    return a.facts.is_subset(isl::set(a.facts.ctx(), "[" + size + "] -> { : " + fact + " }"));
  };
  Range& r = a.size_ranges[size];
  for (int64_t least : {0, 1})
    if (always(size + " >= " + std::to_string(least))) r.lo = least;
  for (int64_t n = 2; n <= kMostMultiple && always(size + " mod " + std::to_string(n) + " = 0");
       n *= 2)
    a.multiples[size] = n;
}

Expected<IndexExpr> extent_of(const Analysis& a, const isl::pw_aff& extent) {
  const isl::pw_aff e = substitute_params(extent, a.sizes);
  if (a.symbolic.empty()) return IndexExpr(to_int(e.max_val()));
  return to_index(isl::ast_build::from_context(a.facts).expr_from(e.gist_params(a.facts)));
}

Expected<StatementInfo> statement_info(const Statement& s, const Sizes& sizes) {
  StatementInfo info;
  info.statement = &s;
  info.dims = dim_names(s.domain);
  auto w = access_index(s.write, s, info.dims, sizes);
  if (!w) return w.error();
  info.write = *w;
  for (const Access& r : s.reads) {
    auto x = access_index(r, s, info.dims, sizes);
    if (!x) return x.error();
    info.reads.push_back(*x);
  }
  for (const isl::aff& a : s.indices)
    info.indices.push_back(to_index(substitute_params(a, sizes), info.dims));
  return info;
}

// An access of a tensor by one leaf.
struct Use {
  const LeafGeometry* leaf;
  const Access* access;
  const std::vector<IndexExpr>* index;
};

bool same_loop(const LoopDim& a, const LoopDim& b) {
  return !a.implicit && !b.implicit && a.node == b.node && a.name == b.name;
}

size_t common_loops(const std::vector<Use>& uses) {
  size_t n = uses[0].leaf->loops.size();
  for (const Use& u : uses) {
    size_t k = 0;
    while (k < n && k < u.leaf->loops.size() && same_loop(u.leaf->loops[k], uses[0].leaf->loops[k]))
      ++k;
    n = k;
  }
  return n;
}

// The tensor dim that all uses index by exactly the dim that loop k is a (common) function of.
bool plainly_determined(const std::vector<Use>& uses, size_t k) {
  const size_t rank = uses[0].index->size();
  for (size_t q = 0; q < rank; ++q) {
    std::optional<OneDim> common;
    bool all = true;
    for (const Use& u : uses) {
      const auto& form = u.leaf->forms[k];
      all = all && form && (*u.index)[q] == IndexExpr::var(dim_names(u.leaf->domain)[form->dim]);
      if (!all) break;
      OneDim f = *form;
      f.dim = 0;
      all = !common || *common == f;
      common = f;
    }
    if (all && common) return true;
  }
  return false;
}

// True if every element is used at one value of loop k only: { element -> t_k } is single-valued.
bool determined(const std::vector<Use>& uses, size_t k, const Sizes& sizes) {
  if (plainly_determined(uses, k)) return true;
  std::optional<isl::map> all;
  std::set<std::pair<const LeafGeometry*, const Access*>> seen;
  for (const Use& u : uses) {
    if (!seen.insert({u.leaf, u.access}).second) continue;
    isl::map m = substitute_params(u.access->map, sizes)
                     .intersect_domain(u.leaf->domain)
                     .reverse()
                     .apply_range(u.leaf->coords);
    const unsigned n = n_out(m), d = static_cast<unsigned>(k);
    m = project_out_out(project_out_out(m, d + 1, n - d - 1), 0, d);
    m = m.set_range_tuple("t");
    if (!m.is_single_valued()) return false;
    all = all ? all->unite(m) : m;
  }
  return !all || all->is_single_valued();
}

// How many loops, from the outermost, the tensor's elements determine.
size_t resident_depth(const std::vector<Use>& uses, const Sizes& sizes) {
  const size_t n = common_loops(uses);
  size_t k = 0;
  while (k < n && determined(uses, k, sizes)) ++k;
  return k;
}

// Boxes of different values of each of the first `depth` loops are disjoint, so that one loop
// iteration may write every element of its box.
bool boxes_disjoint(const Use& u, size_t depth,
                    const std::map<std::string, std::pair<int64_t, int64_t>>& range) {
  const std::vector<std::string> dims = dim_names(u.leaf->domain);
  for (size_t k = 0; k < depth; ++k) {
    auto r = range.find(u.leaf->loops[k].name);
    if (r != range.end() && r->second.first == r->second.second) continue;
    const auto& form = u.leaf->forms[k];
    if (!form || u.leaf->extent[form->dim] != form->tile) return false;
    const IndexExpr var = IndexExpr::var(dims[form->dim]);
    if (std::none_of(u.index->begin(), u.index->end(),
                     [&](const IndexExpr& e) { return e == var; }))
      return false;
  }
  return true;
}

// Smallest and largest value of each loop over the leaves that have it.
std::map<std::string, std::pair<int64_t, int64_t>> loop_ranges(const KernelPlan& plan) {
  std::map<std::string, std::pair<int64_t, int64_t>> out;
  for (const auto& l : plan.leaves)
    for (size_t k = 0; k < l->loops.size(); ++k) {
      auto lo = dim_min(l->times, static_cast<unsigned>(k)),
           hi = dim_max(l->times, static_cast<unsigned>(k));
      if (!lo || !hi) continue;
      auto [it, fresh] = out.try_emplace(l->loops[k].name, *lo, *hi);
      if (!fresh) it->second = {std::min(it->second.first, *lo), std::max(it->second.second, *hi)};
    }
  return out;
}

std::vector<Use> uses_of(const Analysis& a, const KernelPlan& plan, const std::string& tensor,
                         bool writes_only) {
  std::vector<Use> out;
  for (const auto& l : plan.leaves) {
    const StatementInfo& info = a.statements.at(l->stmt);
    if (info.statement->write.tensor == tensor)
      out.push_back({l.get(), &info.statement->write, &info.write});
    if (writes_only) continue;
    for (size_t r = 0; r < info.reads.size(); ++r)
      if (info.statement->reads[r].tensor == tensor)
        out.push_back({l.get(), &info.statement->reads[r], &info.reads[r]});
  }
  return out;
}

bool written_elsewhere(const Analysis& a, const std::string& tensor, const LoopPtr& kernel,
                       const std::vector<LoopPtr>& all) {
  for (const LoopPtr& k : all) {
    if (k == kernel) continue;
    for (const auto& l : leaves_of(k))
      if (a.statements.at(l->stmt).statement->write.tensor == tensor) return true;
  }
  return false;
}

// Dims of a statement as functions of its element "e0", "e1", ..., where the write names them
// plainly.
std::map<std::string, IndexExpr> dims_of_element(const StatementInfo& info,
                                                 const std::vector<IndexExpr>& element) {
  std::map<std::string, IndexExpr> by;
  for (const std::string& d : info.dims)
    for (size_t q = 0; q < info.write.size(); ++q)
      if (info.write[q] == IndexExpr::var(d)) by.emplace(d, element[q]);
  return by;
}

bool only_known(const std::vector<IndexExpr>& index,
                const std::map<std::string, IndexExpr>& known) {
  std::vector<std::string> vars;
  for (const IndexExpr& e : index) e.collect_vars(vars);
  return std::all_of(vars.begin(), vars.end(),
                     [&](const std::string& v) { return known.count(v) > 0; });
}

// The source's element over the dims of statement s, along its reads and through the via
// statements.
std::optional<std::vector<IndexExpr>> source_element(const Analysis& a, const Repair& r,
                                                     const StatementInfo& s,
                                                     const std::string& source, int depth) {
  for (size_t k = 0; k < s.reads.size(); ++k) {
    const Access& read = s.statement->reads[k];
    if (!read.gathers.empty()) continue;
    if (read.tensor == source) return s.reads[k];
    for (const std::string& v : r.via) {
      auto via = a.statements.find(v);
      if (via == a.statements.end() || via->second.statement->write.tensor != read.tensor ||
          depth > 16)
        continue;
      auto inner = source_element(a, r, via->second, source, depth + 1);
      if (!inner) continue;
      const auto by = dims_of_element(via->second, s.reads[k]);
      if (!only_known(*inner, by)) continue;
      for (IndexExpr& e : *inner) e = e.substitute(by);
      return inner;
    }
  }
  return {};
}

Expected<RepairPlan> plan_repair(const Analysis& a, const Repair& r) {
  RepairPlan plan;
  plan.repair = &r;
  plan.target_statements.insert(r.targets.begin(), r.targets.end());
  const std::string where = "repair of " + (r.targets.empty() ? std::string("?") : r.targets[0]);
  if (r.corrections.size() < r.target_tensors.size())
    return refuse(where, "it has fewer corrections than targets");
  auto target = r.targets.empty() ? a.statements.end() : a.statements.find(r.targets[0]);
  if (target == a.statements.end())
    return refuse(where, "its target statement is not in the program");
  std::vector<IndexExpr> element;
  for (size_t d = 0; d < target->second.write.size(); ++d)
    element.push_back(IndexExpr::var("e" + std::to_string(d)));
  const auto by = dims_of_element(target->second, element);
  for (const std::string& source : r.source_tensors) {
    auto index = source_element(a, r, target->second, source, 0);
    if (!index || !only_known(*index, by))
      return refuse(
          where, "the element of source " + source + " is not a function of the target's element");
    for (IndexExpr& e : *index) e = e.substitute(by);
    plan.source_index.push_back(std::move(*index));
  }
  return plan;
}

// Sources with stale references; terms of all repairs against one refer to the same value.
Expected<std::map<std::string, LazySource>> lazy_sources(const std::vector<RepairPlan>& repairs) {
  std::map<std::string, LazySource> out;
  for (const RepairPlan& p : repairs)
    if (p.repair->lazy && p.repair->may_stay)
      out[p.repair->lazy_source].may_stay = p.repair->may_stay;
  for (auto& [source, lazy] : out)
    for (size_t k = 0; k < repairs.size(); ++k) {
      const Repair& r = *repairs[k].repair;
      if (std::find(r.source_tensors.begin(), r.source_tensors.end(), source) ==
          r.source_tensors.end())
        continue;
      if (!r.lazy || r.lazy_source != source)
        return refuse("repair of " + r.targets[0],
                      "it refers to " + source + ", whose value may be stale for others",
                      "make all repairs against " + source + " lazy, or none");
      lazy.repairs.push_back(k);
    }
  return out;
}

// Sources and targets of a repair live in the same loops, also where one of these loops has a
// single iteration.
void share_depths(KernelPlan& plan) {
  for (size_t pass = 0; pass < plan.repairs.size(); ++pass)
    for (const RepairPlan& p : plan.repairs) {
      std::vector<Resident*> group;
      for (const auto* names : {&p.repair->target_tensors, &p.repair->source_tensors})
        for (const std::string& t : *names)
          if (auto r = plan.residents.find(t); r != plan.residents.end())
            group.push_back(&r->second);
      size_t depth = SIZE_MAX;
      for (const Resident* r : group) depth = std::min(depth, r->depth);
      for (Resident* r : group) r->depth = depth;
    }
}

// Whether some loop at this depth holds a few of these leaves, but not all: its copy for other
// iterations or statements stands beside it, so a value inside would not reach the rest.
bool parted(const LoopPtr& l, size_t depth, const std::set<const LeafGeometry*>& users) {
  if (l->kind == Loop::Kind::For && static_cast<size_t>(l->depth) + 1 == depth) {
    size_t here = 0;
    for (const auto& leaf : leaves_of(l)) here += users.count(leaf.get());
    return here > 0 && here < users.size();
  }
  return std::any_of(l->children.begin(), l->children.end(),
                     [&](const LoopPtr& c) { return parted(c, depth, users); });
}

// A resident lives in a loop that holds every leaf that uses it.
void lift_parted(KernelPlan& plan, const LoopPtr& kernel) {
  for (auto& [tensor, r] : plan.residents)
    while (r.depth > plan.grid && parted(kernel, r.depth, r.users)) --r.depth;
}

void collect(const LoopPtr& l, std::vector<std::shared_ptr<const LeafGeometry>>& out) {
  if (l->kind == Loop::Kind::Statement && std::find(out.begin(), out.end(), l->leaf) == out.end())
    out.push_back(l->leaf);
  for (const LoopPtr& c : l->children) collect(c, out);
}

}  // namespace

std::vector<std::shared_ptr<const LeafGeometry>> leaves_of(const LoopPtr& l) {
  std::vector<std::shared_ptr<const LeafGeometry>> out;
  collect(l, out);
  return out;
}

poly::Scope Analysis::scope(const std::string& tensor) const {
  const poly::Tensor* t = program->tensor(tensor);
  auto it = schedule->scopes.find(tensor);
  return t && t->kind == poly::TensorKind::Temp && it != schedule->scopes.end()
             ? it->second
             : poly::Scope::Global;
}

namespace {

// Reductions have none: what no instance writes keeps the identity.
bool has_holes(const Analysis& a, const poly::Tensor& t) {
  if (t.kind != poly::TensorKind::Temp) return false;
  isl::set rest = substitute_params(a.program->elements(t), a.sizes).intersect_params(a.facts);
  for (const Statement& s : a.program->statements)
    if (s.write.tensor == t.name) {
      if (s.reduction) return false;
      rest = rest.subtract(
          substitute_params(s.domain, a.sizes).apply(substitute_params(s.write.map, a.sizes)));
    }
  return !rest.is_empty();
}

}  // namespace

Expected<Analysis> analyse(const poly::Schedule& s, const poly::Sizes& sizes) {
  Analysis a;
  a.schedule = &s;
  a.program = s.program.get();
  a.sizes = sizes;
  for (const poly::Statement& st : s.program->statements) {
    auto info = statement_info(st, sizes);
    if (!info) return info.error();
    a.statements.emplace(st.name, std::move(*info));
    auto& w = a.writer[st.write.tensor];
    if (!w || st.reduction) w = &st;
  }
  a.facts = substitute_params(s.program->param_context, sizes);
  for (const std::string& p : s.program->params)
    if (!sizes.count(p)) know(a, p);
  for (const poly::Tensor& t : s.program->tensors) {
    std::vector<IndexExpr> e;
    for (const isl::pw_aff& x : t.extents) {
      auto extent = extent_of(a, x);
      if (!extent) return refuse("tensor " + t.name, extent.error().why, "bind the sizes");
      e.push_back(*extent);
    }
    a.extents.emplace(t.name, std::move(e));
    if (has_holes(a, t)) a.holes.insert(t.name);
  }
  return a;
}

Expected<KernelPlan> plan_kernel(const Analysis& a, const LoopPtr& kernel,
                                 const std::vector<LoopPtr>& all_kernels,
                                 const std::set<std::string>& demoted) {
  KernelPlan plan;
  plan.leaves = leaves_of(kernel);
  for (const Loop* l = kernel.get();
       l && l->kind == Loop::Kind::For && l->mapping == Mapping::Grid &&
       l->depth == static_cast<int>(plan.grid);
       l = l->children[0].get())
    ++plan.grid;
  std::set<std::string> tensors;
  for (const auto& l : plan.leaves) {
    const Statement& s = *a.statements.at(l->stmt).statement;
    tensors.insert(s.write.tensor);
    for (const Access& r : s.reads) tensors.insert(r.tensor);
  }
  const auto ranges = loop_ranges(plan);
  for (const auto& l : plan.leaves)
    for (size_t k = plan.grid; k < l->loops.size(); ++k)
      if (auto r = ranges.find(l->loops[k].name);
          r != ranges.end() && r->second.first == r->second.second)
        plan.fixed[r->first] = r->second.first;
  for (const std::string& t : tensors) {
    const bool registers = a.scope(t) == Scope::Register;
    const auto writer = a.writer.find(t);
    const bool reduction = writer != a.writer.end() && writer->second->reduction;
    if (!registers && (!reduction || demoted.count(t))) continue;
    std::vector<Use> uses = uses_of(a, plan, t, !registers);
    if (uses.empty()) continue;
    if (written_elsewhere(a, t, kernel, all_kernels)) {
      if (!registers) continue;
      return refuse("tensor " + t,
                    "it is in register scope, but used in one kernel and written in another",
                    "put it in global scope");
    }
    Resident r;
    r.tensor = t;
    r.depth = resident_depth(uses, a.sizes);
    r.store = !registers;
    if (registers && r.depth < plan.grid)
      return refuse("tensor " + t,
                    "in register scope, its elements are not confined to one block of the grid: " +
                        uses[0].leaf->loops[r.depth].name + " varies for one element",
                    "put it in global scope, or map that loop serial");
    if (!registers &&
        (r.depth < plan.grid || !std::all_of(uses.begin(), uses.end(), [&](const Use& u) {
           return boxes_disjoint(u, r.depth, ranges);
         })))
      continue;
    for (const Use& u : uses_of(a, plan, t, true)) r.writers.insert(u.leaf);
    for (const Use& u : uses_of(a, plan, t, !registers)) r.users.insert(u.leaf);
    plan.residents.emplace(t, std::move(r));
  }
  for (const Repair& r : a.schedule->repairs) {
    const bool here = std::any_of(plan.leaves.begin(), plan.leaves.end(), [&](const auto& l) {
      return std::find(r.targets.begin(), r.targets.end(), l->stmt) != r.targets.end();
    });
    if (!here) continue;
    auto p = plan_repair(a, r);
    if (!p) return p.error();
    plan.repairs.push_back(std::move(*p));
  }
  auto lazy = lazy_sources(plan.repairs);
  if (!lazy) return lazy.error();
  plan.lazy = std::move(*lazy);
  lift_parted(plan, kernel);
  share_depths(plan);
  return plan;
}

}  // namespace nautilus::lower
