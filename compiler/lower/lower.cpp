#include "compiler/lower/lower.h"

#include "compiler/lower/branches.h"
#include "compiler/lower/contract.h"
#include "compiler/lower/kernel_lowering.h"
#include "polyhedral/isl_index.h"

namespace nautilus::lower {
namespace {

using namespace poly;
using tile::Code;
using tile::Instr;
using tile::Region;

tile::TensorDecl declaration(const Analysis& a, const poly::Tensor& t, Scope scope) {
  tile::TensorDecl d{t.name, t.type, t.kind, scope, {}};
  d.extents = a.extents.at(t.name);
  return d;
}

// Of a block-local buffer.
std::vector<IndexExpr> extents_in(const tile::Kernel& k, const std::string& tensor) {
  for (const tile::TensorDecl& t : k.shared)
    if (t.name == tensor) return t.extents;
  return {};
}

bool has_elements(const Analysis& a, const std::string& tensor) {
  for (const IndexExpr& e : a.extents.at(tensor))
    if (e.is_const() && e.constant() <= 0) return false;
  return true;
}

// 1 where the condition on sizes holds, else 0.
IndexExpr indicator(const Cond& c) {
  const auto holds = [](const IndexExpr& e) { return IndexExpr::min(1, IndexExpr::max(0, e + 1)); };
  IndexExpr any(0);
  for (const Cond::Conj& conj : c.any) {
    IndexExpr all(1);
    for (const Cond::Atom& a : conj) {
      all = IndexExpr::min(all, holds(a.expr));
      if (a.equality) all = IndexExpr::min(all, holds(IndexExpr(0) - a.expr));
    }
    any = IndexExpr::max(any, all);
  }
  return any;
}

// Every element := the reduction's identity. Rows along the last dim are tiles; outer dims are
// loops, of the grid if `grid`.
void fill(tile::Kernel& k, Region& at, const tile::Module& m, const poly::Tensor& t,
          const std::vector<IndexExpr>& extents, double value, const std::string& origin,
          bool grid) {
  constexpr int64_t kTile = 256;
  std::vector<IndexExpr> index;
  std::map<std::string, int64_t> axes;
  std::vector<std::pair<std::string, IndexExpr>> loops;
  Cond cond = Cond::always();
  for (size_t d = 0; d < extents.size(); ++d) {
    const std::string iv = t.name + "_init" + std::to_string(d), axis = t.name + "_fill";
    if (d + 1 < extents.size()) {
      loops.emplace_back(iv, extents[d]);
      index.push_back(IndexExpr::var(iv));
      continue;
    }
    const bool known = extents[d].is_const();
    const int64_t n = known ? std::min(kTile, extents[d].constant()) : kTile;
    const IndexExpr tiles = IndexExpr::floordiv(extents[d] + (n - 1), n);
    axes[axis] = n;
    IndexExpr e = IndexExpr::var(axis);
    if (!(tiles == IndexExpr(1))) {
      loops.emplace_back(iv, tiles);
      e = IndexExpr::var(iv) * n + e;
      if (!known || extents[d].constant() % n != 0)
        cond.any[0].push_back({extents[d] - 1 - e, false});
    }
    index.push_back(e);
  }
  std::function<void(Region&, size_t)> nest = [&](Region& r, size_t depth) {
    tile::Builder b(k, r);
    b.module = &m;
    b.origin = origin;
    b.axis_extents = axes;
    if (depth < loops.size()) {
      Instr loop;
      loop.code = Code::For;
      loop.iv = loops[depth].first;
      loop.lower = IndexExpr(0);
      loop.upper = loops[depth].second;
      loop.regions.emplace_back();
      nest(loop.regions[0], depth + 1);
      b.emit(std::move(loop));
      return;
    }
    Instr s;
    s.code = Code::Store;
    s.tensor = t.name;
    s.index = index;
    s.cond = cond;
    s.operands = {b.constant(value, t.type)};
    b.emit(std::move(s));
  };
  if (!grid) return nest(at, 0);
  for (const auto& [iv, n] : loops) k.grid.push_back({iv, n});
  nest(at, loops.size());
}

// The sizes for which a reduction in memory has elements that are not written by loops that start
// from the identity.
Cond needs_fill(const Analysis& a, const Statement& w, const std::vector<KernelPlan>& plans) {
  if (!w.reduction || !has_elements(a, w.write.tensor)) return Cond{};
  bool kept = false;
  for (const KernelPlan& p : plans)
    if (auto r = p.residents.find(w.write.tensor); r != p.residents.end() && r->second.store)
      kept = true;
  if (!kept) return Cond::always();
  const isl::set all =
      substitute_params(a.program->elements(*a.program->tensor(w.write.tensor)), a.sizes);
  const isl::set written =
      substitute_params(w.domain, a.sizes).apply(substitute_params(w.write.map, a.sizes));
  const isl::set where = all.subtract(written).params().intersect(a.facts);
  if (where.is_empty()) return Cond{};
  if (a.symbolic.empty()) return Cond::always();
  auto cond = to_cond(where.gist(a.facts).coalesce(), {});
  return cond ? *cond : Cond::always();
}

bool accesses(const Analysis& a, const KernelPlan& p, const std::string& tensor, bool write) {
  for (const auto& l : p.leaves) {
    const Statement& s = *a.statements.at(l->stmt).statement;
    if (s.write.tensor == tensor) return true;
    if (write) continue;
    for (const Access& r : s.reads)
      if (r.tensor == tensor) return true;
  }
  return false;
}

struct ModuleLowering {
  const Analysis& a;
  const std::vector<LoopPtr> kernels;
  const LowerOptions& options;
  tile::Module module;
  std::vector<KernelPlan> plans;

  std::optional<Refusal> declare() {
    module.name = a.program->name;
    module.sizes = a.symbolic;
    module.multiples = a.multiples;
    for (const poly::Tensor& t : a.program->tensors) {
      const Scope scope = a.scope(t.name);
      if (scope == Scope::Global) module.tensors.push_back(declaration(a, t, scope));
      if (scope != Scope::Shared) continue;
      int users = 0;
      for (const KernelPlan& p : plans) users += accesses(a, p, t.name, false);
      if (users > 1)
        return Refusal{"lower the schedule", "tensor " + t.name,
                       "in shared scope, it is used by several kernels", "put it in global scope"};
    }
    return {};
  }

  // Plans and lowers one kernel; a memory-scoped reduction that cannot be kept in a value is tried
  // in memory.
  std::optional<Refusal> lower(const LoopPtr& root, KernelPlan& plan, tile::Kernel& out) {
    std::set<std::string> demoted;
    for (;;) {
      auto p = plan_kernel(a, root, kernels, demoted);
      if (!p) return p.error();
      plan = *p;
      out = tile::Kernel{};
      for (const poly::Tensor& t : a.program->tensors)
        if (a.scope(t.name) == Scope::Shared && accesses(a, plan, t.name, false))
          out.shared.push_back(declaration(a, t, Scope::Shared));
      KernelLowering kernel(a, plan, module, options, out);
      auto failure = kernel.run(root);
      if (!failure) {
        contract_buffers(out);
        tile::Module parted = module;
        parted.kernels = {out};
        part_blocks(parted.kernels[0]);
        if (!tile::verify(parted)) out = std::move(parted.kernels[0]);
        for (const std::string& n : kernel.notes())
          if (std::find(module.notes.begin(), module.notes.end(), n) == module.notes.end())
            module.notes.push_back(n);
        return {};
      }
      if (failure->demote.empty() || !demoted.insert(failure->demote).second)
        return failure->refusal;
    }
  }
};

Expected<tile::Module> lower_module(const Schedule& s, const LowerOptions& options) {
  const Sizes sizes = bound_sizes(*s.program);
  auto a = analyse(s, sizes);
  if (!a) return a.error();
  auto loops = generate_loops(s, {options.separate_full_tiles});
  if (!loops) return loops.error();
  ModuleLowering m{*a, (*loops)->children, options, {}, {}};
  for (const LoopPtr& k : m.kernels) {
    auto p = plan_kernel(*a, k, m.kernels, {});
    if (!p) return p.error();
    m.plans.push_back(std::move(*p));
  }
  if (auto r = m.declare()) return *r;
  std::vector<tile::Kernel> bodies(m.kernels.size());
  for (size_t k = 0; k < m.kernels.size(); ++k)
    if (auto r = m.lower(m.kernels[k], m.plans[k], bodies[k])) return *r;
  std::set<std::string> filled;
  auto add = [&](tile::Kernel k, const std::string& what) {
    k.name = s.program->name + "_" + std::to_string(m.module.kernels.size());
    k.comment = what;
    m.module.kernels.push_back(std::move(k));
  };
  for (size_t k = 0; k <= m.kernels.size(); ++k) {
    for (const auto& [tensor, w] :
         a->writer) {  // before the first kernel that writes it, and before any reader
      const bool here = k == m.kernels.size() || accesses(*a, m.plans[k], tensor, false);
      if (!here || filled.count(tensor)) continue;
      const Cond where = needs_fill(*a, *w, m.plans);
      if (where.any.empty()) continue;
      const Scope scope = a->scope(tensor);
      if (scope == Scope::Register || (scope == Scope::Shared && k == m.kernels.size())) continue;
      filled.insert(tensor);
      const double id = identity_value(*w->reduction);
      if (scope == Scope::Shared) {
        Region body;
        fill(bodies[k], body, m.module, *a->program->tensor(tensor), extents_in(bodies[k], tensor),
             id, w->name, false);
        body.body.insert(body.body.end(), std::make_move_iterator(bodies[k].body.body.begin()),
                         std::make_move_iterator(bodies[k].body.body.end()));
        bodies[k].body.body = std::move(body.body);
        continue;
      }
      tile::Kernel init;
      fill(init, init.body, m.module, *a->program->tensor(tensor), a->extents.at(tensor), id,
           w->name, true);
      if (!where.is_always())  // no block at other sizes
        init.grid.insert(init.grid.begin(), {tensor + "_init", indicator(where)});
      add(std::move(init), "identity of " + tensor);
    }
    if (k < m.kernels.size() && !m.plans[k].leaves.empty()) {
      std::string what;
      std::set<std::string> seen;
      for (const auto& l : m.plans[k].leaves)
        if (seen.insert(l->stmt).second) what += (what.empty() ? "" : " ") + l->stmt;
      add(std::move(bodies[k]), what);
    }
  }
  return std::move(m.module);
}

}  // namespace

Expected<tile::Module> lower(const Schedule& s, const LowerOptions& options) {
  auto made = with_quota(s.program->context->get(), kDefaultQuota,
                         [&]() { return lower_module(s, options); });
  if (!made) return made.error();
  return std::move(*made);
}

}  // namespace nautilus::lower
