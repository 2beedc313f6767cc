#include "compiler/profile/profile.h"

#include <map>
#include <set>

#include "compiler/lower/lower.h"
#include "compiler/tile/narrow.h"
#include "polyhedral/deadline.h"
#include "polyhedral/footprint.h"

namespace nautilus::profile {

namespace {

class TileOps final : public sched::OpsProvider {
 public:
  TileOps(tile::Numerics numerics, const tile::OpCosts& costs) {
    options_.numerics = numerics;
    options_.costs = costs;
  }
  Expected<sched::StructureOps> structure_ops(const poly::Schedule& s) override {
    const uint64_t key = poly::canonical_hash(s);
    if (const auto it = cache_.find(key); it != cache_.end()) return it->second;
    auto module = lower::lower(s, {true, options_.numerics});
    if (!module) return module.error();
    tile::RewriteReport report;
    tile::Module rewritten = tile::rewrite(*module, options_, &report);
    if (options_.costs.split_dot > 1)
      rewritten = tile::narrow_factors(rewritten, options_.numerics);
    sched::StructureOps out;
    for (const tile::OpCount& c : tile::count_ops(rewritten))
      out.entries.push_back({c.origin, c.unit, c.per_lane, c.axes, c.loops, c.tiles, c.tensor});
    out.rewrites = report.applied;
    if (!poly::out_of_time()) cache_.emplace(key, out);
    return out;
  }

 private:
  tile::RewriteOptions options_;
  std::map<uint64_t, sched::StructureOps> cache_;
};

bool in_memory(const poly::Schedule& s, const poly::Tensor& t) {
  if (t.kind != poly::TensorKind::Temp) return true;
  const auto it = s.scopes.find(t.name);
  return it == s.scopes.end() || it->second == poly::Scope::Global;
}

}  // namespace

std::unique_ptr<sched::OpsProvider> tile_ops_provider(tile::Numerics numerics,
                                                      const tile::OpCosts& costs) {
  return std::make_unique<TileOps>(numerics, costs);
}

// For each kernel (child of the root sequence), the union of elements its instances read and write
// of each tensor that lives in memory, counted exactly.
Expected<Traffic> global_traffic(const poly::Schedule& s, const poly::Sizes& sizes) {
  Traffic out;
  const poly::Program& p = *s.program;
  std::vector<poly::NodeId> kernels;
  if (s.root->kind == poly::NodeKind::Sequence)
    for (const poly::NodePtr& c : s.root->children) kernels.push_back(c->id);
  else
    kernels.push_back(s.root->id);
  out.kernels = static_cast<int>(kernels.size());
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::map<std::pair<std::string, bool>, isl::set> touched;
    const isl::union_set below = poly::instances_below(s, kernels[k]);
    auto touch = [&](const poly::Access& a, const isl::set& domain, bool write) {
      const poly::Tensor* t = p.tensor(a.tensor);
      if (!t || !in_memory(s, *t)) return;
      isl::set elements = a.map.intersect_domain(domain).range();
      auto [it, fresh] = touched.try_emplace({a.tensor, write}, elements);
      if (!fresh) it->second = it->second.unite(elements);
    };
    for (const poly::Statement& st : p.statements) {
      const isl::set domain =
          below.intersect(st.domain.to_union_set()).extract_set(st.domain.space());
      if (domain.is_empty()) continue;
      for (const poly::Access& a : st.reads) touch(a, domain, false);
      touch(st.write, domain, true);
    }
    for (const auto& [key, set] : touched) {
      auto n = poly::count_points(set.intersect_params(p.param_context).coalesce(), sizes);
      if (!n) return n.error();
      const double bytes = static_cast<double>(*n) * type_bytes(p.tensor(key.first)->type);
      out.items.push_back({key.first, static_cast<int>(k), key.second, bytes});
      out.total += bytes;
    }
  }
  return out;
}

}  // namespace nautilus::profile
