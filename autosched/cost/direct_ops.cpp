#include <algorithm>

#include "autosched/cost/evaluate.h"
#include "autosched/cost/units.h"

namespace nautilus::sched {
namespace {

// Share of the iterations in which a stale reference moves.
constexpr double kMovedShare = 0.125;

std::vector<std::string> loop_names(const StmtModel& s, size_t depth) {
  std::vector<std::string> out;
  for (size_t i = 0; i < depth && i < s.loops.size(); ++i) out.push_back(s.loops[i].member);
  return out;
}

std::vector<std::string> axes_of(const StmtModel& s, const std::vector<bool>& depends) {
  std::vector<std::string> out;
  for (const TileDim& t : s.tile)
    for (size_t k = 0; k < depends.size(); ++k)
      if (depends[k] && t.e.coef[k] != 0) {
        out.push_back(t.member);
        break;
      }
  return out;
}

// Those of the target's axes that some source's tile has too.
std::vector<std::string> source_axes(const StructureModel& m, const StmtModel& target,
                                     const poly::Repair& r, const std::vector<std::string>& axes) {
  std::vector<std::string> out;
  for (const TileDim& t : target.tile) {
    bool shared = false;
    for (const StmtModel& s : m.stmts)
      if (std::find(r.sources.begin(), r.sources.end(), s.stmt->name) != r.sources.end())
        for (const TileDim& u : s.tile)
          for (size_t k = 0; k < s.reduced.size(); ++k)
            shared |= u.axis == t.axis && u.e.coef[k] != 0 && !s.reduced[k];
    if (shared && std::find(axes.begin(), axes.end(), t.member) != axes.end())
      out.push_back(t.member);
  }
  return out;
}

// Corrections of rolling updates: on the target's tile, once an iteration of its loops.
void add_corrections(const StructureModel& m, const StmtModel& s, StructureOps& out) {
  for (const poly::Repair& r : m.repairs)
    for (size_t k = 0; k < r.targets.size() && k < r.corrections.size(); ++k) {
      if (r.targets[k] != s.stmt->name) continue;
      for (auto& [unit, n] : units_of(r.corrections[k])) {
        // Everything but the final product varies only with the sources, which lack the target's
        // own axes.
        std::vector<std::string> axes = axes_of(s, s.accesses.back().depends);
        if (unit != "fma") axes = source_axes(m, s, r, axes);
        out.entries.push_back({s.stmt->name, unit,
                               (unit == "fma" ? 1.0 : n) * (r.lazy ? kMovedShare : 1), axes,
                               loop_names(s, s.loops.size()), poly::Tiles::All, ""});
      }
      // Whether a stale reference may stay is asked once for each of the source's elements.
      if (r.lazy && k == 0)
        for (auto& [unit, n] : units_of(r.may_stay))
          out.entries.push_back({s.stmt->name, unit, n,
                                 source_axes(m, s, r, axes_of(s, s.accesses.back().depends)),
                                 loop_names(s, s.loops.size()), poly::Tiles::All, ""});
    }
}

}  // namespace

StructureOps direct_ops(const StructureModel& m) {
  StructureOps out;
  for (const StmtModel& s : m.stmts) {
    std::vector<std::string> loops = loop_names(s, s.loops.size()), all;
    for (const TileDim& t : s.tile) all.push_back(t.member);
    bool split = false;
    if (is_product_sum(s, nullptr, &split) && s.tile.size() >= 2) {
      out.entries.push_back(
          {s.stmt->name, split ? "split" : "matrix", 2, all, loops, poly::Tiles::All, ""});
    } else {
      for (auto& [unit, n] : units_of(s.stmt->expr))
        out.entries.push_back({s.stmt->name, unit, n, all, loops, poly::Tiles::All, ""});
      if (s.stmt->reduction)
        out.entries.push_back({s.stmt->name, combine_unit(s.stmt->reduction->op), 1, all, loops,
                               poly::Tiles::All, ""});
    }
    for (auto& [unit, n] : units_of(s.stmt->guard))
      out.entries.push_back({s.stmt->name, unit, n, all, loops, poly::Tiles::All, ""});
    for (const AccessModel& a : s.accesses) {
      if (!a.tensor || m.scope(a.tensor->name) == poly::Scope::Register) continue;
      out.entries.push_back({s.stmt->name, a.write ? "store" : "load", 1, axes_of(s, a.depends),
                             loop_names(s, hoisted_depth(s, a)), poly::Tiles::All, a.tensor->name});
    }
    add_corrections(m, s, out);
  }
  return out;
}

namespace {

class DirectOps final : public OpsProvider {
 public:
  Expected<StructureOps> structure_ops(const poly::Schedule& s) override {
    if (!facts_ || facts_->program != s.program) {
      Expected<std::shared_ptr<const ProgramFacts>> f = program_facts(s.program);
      if (!f) return f.error();
      facts_ = *f;
    }
    Expected<StructureModel> m = structure_model(s, facts_);
    if (!m) return m.error();
    return direct_ops(*m);
  }

 private:
  std::shared_ptr<const ProgramFacts> facts_;
};

}  // namespace

std::unique_ptr<OpsProvider> direct_ops_provider() { return std::make_unique<DirectOps>(); }

}  // namespace nautilus::sched
