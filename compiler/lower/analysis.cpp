#include "compiler/lower/analysis.h"

#include <algorithm>

#include "polyhedral/context_ast.h"
#include "polyhedral/isl_index.h"

namespace nautilus::lower {
namespace {

using namespace poly;

Refusal refuse(const std::string& where, const std::string& why, const std::string& suggest = "") {
  return Refusal{"lower the schedule", where, why, suggest};
}

// One index expression a tensor dim; gathered dims are 0.
Expected<std::vector<IndexExpr>> access_index(const Access& a, const Statement& s, const std::vector<std::string>& dims,
                                              const Sizes& sizes) {
  const isl::map m = substitute_params(a.map, sizes);
  const unsigned rank = n_out(m);
  std::vector<IndexExpr> out(rank);
  if (a.gathers.empty()) {
    if (auto affine = as_single_affine(m)) {
      for (unsigned d = 0; d < rank; ++d) out[d] = to_index(affine->at(static_cast<int>(d)), dims);
      return out;
    }
  }
  for (unsigned d = 0; d < rank; ++d) {
    if (std::any_of(a.gathers.begin(), a.gathers.end(), [&](const auto& g) { return g.dim == static_cast<int>(d); }))
      continue;
    isl::map one = project_out_out(project_out_out(m, d + 1, rank - d - 1), 0, d);
    auto affine = as_single_affine(one);
    if (!affine) affine = as_single_affine(one.intersect_domain(substitute_params(s.domain, sizes)));
    if (!affine)
      return refuse("statement " + s.name, "its access to " + a.tensor + " is not one affine expression in dimension " +
                                               std::to_string(d));
    out[d] = to_index(affine->at(0), dims);
  }
  return out;
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
  for (const isl::aff& a : s.indices) info.indices.push_back(to_index(substitute_params(a, sizes), info.dims));
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
    while (k < n && k < u.leaf->loops.size() && same_loop(u.leaf->loops[k], uses[0].leaf->loops[k])) ++k;
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
    isl::map m = substitute_params(u.access->map, sizes).intersect_domain(u.leaf->domain).reverse().apply_range(u.leaf->coords);
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

// Boxes of different values of each of the first `depth` loops are disjoint, so that one loop iteration may write
// every element of its box.
bool boxes_disjoint(const Use& u, size_t depth, const std::map<std::string, std::pair<int64_t, int64_t>>& range) {
  const std::vector<std::string> dims = dim_names(u.leaf->domain);
  for (size_t k = 0; k < depth; ++k) {
    auto r = range.find(u.leaf->loops[k].name);
    if (r != range.end() && r->second.first == r->second.second) continue;
    const auto& form = u.leaf->forms[k];
    if (!form || u.leaf->extent[form->dim] != form->tile) return false;
    const IndexExpr var = IndexExpr::var(dims[form->dim]);
    if (std::none_of(u.index->begin(), u.index->end(), [&](const IndexExpr& e) { return e == var; })) return false;
  }
  return true;
}

// Smallest and largest value of each loop over the leaves that have it.
std::map<std::string, std::pair<int64_t, int64_t>> loop_ranges(const KernelPlan& plan) {
  std::map<std::string, std::pair<int64_t, int64_t>> out;
  for (const auto& l : plan.leaves)
    for (size_t k = 0; k < l->loops.size(); ++k) {
      auto lo = dim_min(l->times, static_cast<unsigned>(k)), hi = dim_max(l->times, static_cast<unsigned>(k));
      if (!lo || !hi) continue;
      auto [it, fresh] = out.try_emplace(l->loops[k].name, *lo, *hi);
      if (!fresh) it->second = {std::min(it->second.first, *lo), std::max(it->second.second, *hi)};
    }
  return out;
}

std::vector<Use> uses_of(const Analysis& a, const KernelPlan& plan, const std::string& tensor, bool writes_only) {
  std::vector<Use> out;
  for (const auto& l : plan.leaves) {
    const StatementInfo& info = a.statements.at(l->stmt);
    if (info.statement->write.tensor == tensor) out.push_back({l.get(), &info.statement->write, &info.write});
    if (writes_only) continue;
    for (size_t r = 0; r < info.reads.size(); ++r)
      if (info.statement->reads[r].tensor == tensor) out.push_back({l.get(), &info.statement->reads[r], &info.reads[r]});
  }
  return out;
}

bool written_elsewhere(const Analysis& a, const std::string& tensor, const LoopPtr& kernel, const std::vector<LoopPtr>& all) {
  for (const LoopPtr& k : all) {
    if (k == kernel) continue;
    for (const auto& l : leaves_of(k))
      if (a.statements.at(l->stmt).statement->write.tensor == tensor) return true;
  }
  return false;
}

// { target element -> source element } along the target's reads, through the via statements.
std::optional<isl::map> source_relation(const Analysis& a, const Repair& r, const Statement& s, const std::string& source,
                                        int depth) {
  for (const Access& read : s.reads) {
    if (!read.gathers.empty()) continue;
    const isl::map m = substitute_params(read.map, a.sizes).intersect_domain(substitute_params(s.domain, a.sizes));
    if (read.tensor == source) return m;
    for (const std::string& v : r.via) {
      const Statement* via = a.program->statement(v);
      if (!via || via->write.tensor != read.tensor || depth > 16) continue;
      if (auto inner = source_relation(a, r, *via, source, depth + 1))
        return m.apply_range(substitute_params(via->write.map, a.sizes)
                                 .intersect_domain(substitute_params(via->domain, a.sizes))
                                 .reverse())
            .apply_range(*inner);
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
  const Statement* target = r.targets.empty() ? nullptr : a.program->statement(r.targets[0]);
  if (!target) return refuse(where, "its target statement is not in the program");
  std::vector<std::string> names;
  for (unsigned d = 0; d < n_out(target->write.map); ++d) names.push_back("e" + std::to_string(d));
  for (const std::string& source : r.source_tensors) {
    auto rel = source_relation(a, r, *target, source, 0);
    std::optional<isl::multi_aff> index;
    if (rel) index = as_single_affine(substitute_params(target->write.map, a.sizes).reverse().apply_range(*rel).coalesce());
    if (!index) return refuse(where, "the element of source " + source + " is not a function of the target's element");
    std::vector<IndexExpr> exprs;
    for (unsigned d = 0; d < index->size(); ++d) exprs.push_back(to_index(index->at(static_cast<int>(d)), names));
    plan.source_index.push_back(std::move(exprs));
  }
  return plan;
}

void collect(const LoopPtr& l, std::vector<std::shared_ptr<const LeafGeometry>>& out) {
  if (l->kind == Loop::Kind::Statement && std::find(out.begin(), out.end(), l->leaf) == out.end()) out.push_back(l->leaf);
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
  return t && t->kind == poly::TensorKind::Temp && it != schedule->scopes.end() ? it->second : poly::Scope::Global;
}

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
  for (const poly::Tensor& t : s.program->tensors) {
    std::vector<int64_t> e;
    for (const isl::pw_aff& x : t.extents) e.push_back(to_int(substitute_params(x, sizes).max_val()));
    a.extents.emplace(t.name, std::move(e));
  }
  return a;
}

Expected<KernelPlan> plan_kernel(const Analysis& a, const LoopPtr& kernel, const std::vector<LoopPtr>& all_kernels,
                                 const std::set<std::string>& demoted) {
  KernelPlan plan;
  plan.leaves = leaves_of(kernel);
  for (const Loop* l = kernel.get(); l && l->kind == Loop::Kind::For && l->mapping == Mapping::Grid && l->depth == static_cast<int>(plan.grid);
       l = l->children[0].get())
    ++plan.grid;
  std::set<std::string> tensors;
  for (const auto& l : plan.leaves) {
    const Statement& s = *a.statements.at(l->stmt).statement;
    tensors.insert(s.write.tensor);
    for (const Access& r : s.reads) tensors.insert(r.tensor);
  }
  const auto ranges = loop_ranges(plan);
  for (const std::string& t : tensors) {
    const bool registers = a.scope(t) == Scope::Register;
    const auto writer = a.writer.find(t);
    const bool reduction = writer != a.writer.end() && writer->second->reduction;
    if (!registers && (!reduction || demoted.count(t))) continue;
    std::vector<Use> uses = uses_of(a, plan, t, !registers);
    if (uses.empty()) continue;
    if (!registers && written_elsewhere(a, t, kernel, all_kernels)) continue;
    Resident r;
    r.tensor = t;
    r.depth = resident_depth(uses, a.sizes);
    r.store = !registers;
    if (registers && r.depth < plan.grid)
      return refuse("tensor " + t, "in register scope, its elements are not confined to one block of the grid: " +
                                       uses[0].leaf->loops[r.depth].name + " varies for one element",
                    "put it in global scope, or map that loop serial");
    if (!registers && (r.depth < plan.grid || !std::all_of(uses.begin(), uses.end(), [&](const Use& u) { return boxes_disjoint(u, r.depth, ranges); })))
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
  return plan;
}

}  // namespace nautilus::lower
