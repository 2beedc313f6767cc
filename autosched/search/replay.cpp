// From a node back to its plan: the steps on its path, with the node's tile sizes put in.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "autosched/search/lazy.h"
#include "autosched/search/state.h"
#include "polyhedral/json_text.h"

namespace nautilus::sched {
namespace {

// The knob for an axis of the kernel that a statement belongs to: kernels are named by their last
// tensor.
std::optional<int64_t> tile_knob(const poly::Program& p, const std::string& stmt,
                                 const std::string& axis, const Knobs& knobs) {
  auto plain = knobs.find("tile." + axis);
  if (plain != knobs.end()) return plain->second;
  bool reached = false;
  for (const poly::Statement& s : p.statements) {
    reached |= s.name == stmt;
    if (!reached) continue;
    const std::string prefix = s.write.tensor + ".";
    auto it = knobs.lower_bound(prefix);
    if (it == knobs.end() || it->first.compare(0, prefix.size(), prefix) != 0) continue;
    auto knob = knobs.find(prefix + "tile." + axis);
    if (knob == knobs.end()) return std::nullopt;
    return knob->second;
  }
  return std::nullopt;
}

// The axes of a program, found once in its context.
Expected<std::shared_ptr<const ProgramAxes>> axes_of(const poly::ProgramPtr& p) {
  const std::string key = "program_axes " + std::to_string(poly::content_hash(*p));
  if (auto known = p->context->known<ProgramAxes>(key)) return known;
  Expected<std::shared_ptr<const ProgramFacts>> facts = program_facts(p);
  if (!facts) return facts.error();
  p->context->keep(key, program_axes(**facts));
  return p->context->known<ProgramAxes>(key);
}

// Sizes of a tile step as the knobs have them.
nlohmann::json sized(const poly::Schedule& s, const ProgramAxes& axes, const nlohmann::json& params,
                     const Knobs& knobs) {
  nlohmann::json out = params;
  if (!params.contains("sizes") || !params["sizes"].is_array()) return out;
  const poly::Node* band = poly::find(s, params.value("node", -1));
  if (!band || band->kind != poly::NodeKind::Band || band->statements.empty()) return out;
  const std::string& stmt = band->statements.front();
  for (size_t k = 0; k < out["sizes"].size() && k < band->members.size(); ++k) {
    if (out["sizes"][k].get<int64_t>() <= 1) continue;
    int axis = member_axis(axes, band->members[k], stmt);
    if (axis < 0) continue;
    if (auto v = tile_knob(*s.program, stmt, axes.names[axis], knobs)) out["sizes"][k] = *v;
  }
  return out;
}

// Gives a tile step the knobs' sizes. `axes` are those of program `analysed`, found where needed.
std::optional<Refusal> size_step(const poly::Schedule& s, const poly::TransformStep& step,
                                 nlohmann::json& params, const Knobs& knobs,
                                 std::shared_ptr<const ProgramAxes>& axes,
                                 poly::ProgramPtr& analysed) {
  if (step.name != "tile") return std::nullopt;
  if (analysed != s.program) {
    Expected<std::shared_ptr<const ProgramAxes>> found = axes_of(s.program);
    if (!found) return found.error();
    axes = *found;
    analysed = s.program;
  }
  params = sized(s, *axes, params, knobs);
  return std::nullopt;
}

}  // namespace

Expected<Plan> with_knobs(const Plan& p, const poly::ProgramPtr& program, const Knobs& knobs) {
  Plan out;
  out.knobs = knobs;
  out.numerics = p.numerics;
  out.schedule = poly::initial_schedule(program);
  std::shared_ptr<const ProgramAxes> axes;
  poly::ProgramPtr analysed;  // the program of the axes
  for (const poly::TransformStep& step : p.script) {
    nlohmann::json params = poly::read_json(step.params);
    if (params.is_discarded())
      return Refusal{"replay a plan", "", "step " + step.name + " has damaged parameters", ""};
    if (auto bad = size_step(out.schedule, step, params, knobs, axes, analysed)) return *bad;
    Expected<poly::Schedule> next = poly::apply_unchecked(out.schedule, step.name, params);
    if (!next) return next.error();
    out.schedule = *std::move(next);
    out.script.push_back({step.name, params.dump()});
  }
  return out;
}

Expected<Plan> plan_of(poly::ProgramPtr program, const SearchResult& r, int node) {
  auto refuse = [&](const std::string& why) {
    return Refusal{"replay node " + std::to_string(node), "", why, ""};
  };
  if (node < 0 || node >= static_cast<int>(r.nodes.size())) return refuse("there is no such node");
  std::vector<const SearchNode*> path;
  for (int id = node; id >= 0; id = r.nodes[id].parent) path.push_back(&r.nodes[id]);
  std::reverse(path.begin(), path.end());
  Plan plan;
  plan.knobs = r.nodes[node].knobs;
  plan.schedule = poly::initial_schedule(program);
  std::shared_ptr<const ProgramAxes> axes;
  poly::ProgramPtr analysed;  // the program of the axes
  for (const SearchNode* n : path) {
    bool dead = n->state == NodeState::Illegal || n->state == NodeState::Unknown ||
                n->state == NodeState::Failed;
    if (dead && !n->steps.empty() && n->seconds == 0 && n->id == node &&
        n->state != NodeState::Failed)
      return refuse("its last step was refused: " + n->reason);
    for (const poly::TransformStep& step : n->steps) {
      nlohmann::json params = poly::read_json(step.params);
      if (params.is_discarded()) return refuse("step " + step.name + " has damaged parameters");
      if (auto bad = size_step(plan.schedule, step, params, plan.knobs, axes, analysed))
        return *bad;
      Expected<poly::Schedule> next = poly::apply_unchecked(plan.schedule, step.name, params);
      if (!next) return next.error();
      plan.schedule = *std::move(next);
      plan.script.push_back({step.name, params.dump()});
    }
  }
  if (auto lazy = plan.knobs.find(kLazyKnob); lazy != plan.knobs.end() && lazy->second != 0) {
    auto stale = with_lazy_references(plan.schedule);
    if (!stale) return refuse("none of its repairs may keep stale references");
    plan.schedule = std::move(stale->schedule);
    plan.script.insert(plan.script.end(), stale->steps.begin(), stale->steps.end());
  }
  return plan;
}

}  // namespace nautilus::sched
