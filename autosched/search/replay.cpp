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

// Sizes of a tile step as the knobs have them. What is no tile step by its form is left to the
// transform, which says so.
nlohmann::json sized(const poly::Schedule& s, const ProgramAxes& axes, const nlohmann::json& params,
                     const Knobs& knobs) {
  nlohmann::json out = params;
  if (!params.is_object() || !params.contains("sizes") || !params["sizes"].is_array() ||
      !params.contains("node") || !params["node"].is_number_integer())
    return out;
  const poly::Node* band = poly::find(s, params["node"].get<poly::NodeId>());
  if (!band || band->kind != poly::NodeKind::Band || band->statements.empty()) return out;
  const std::string& stmt = band->statements.front();
  for (size_t k = 0; k < out["sizes"].size() && k < band->members.size(); ++k) {
    nlohmann::json& size = out["sizes"][k];
    if (!size.is_number_integer() || size.get<int64_t>() <= 1) continue;
    int axis = member_axis(axes, band->members[k], stmt);
    if (axis < 0) continue;
    if (auto v = tile_knob(*s.program, stmt, axes.names[axis], knobs)) size = *v;
  }
  return out;
}

// A plan made again step by step, with the tile sizes of its knobs.
class Rebuilding {
 public:
  explicit Rebuilding(Plan& plan) : plan_(plan) {}

  std::optional<Refusal> add(const poly::TransformStep& step) {
    nlohmann::json params = poly::read_json(step.params);
    if (params.is_discarded())
      return Refusal{"replay a plan", "step " + step.name,
                     "its parameters are damaged: " + step.params, "run the search again"};
    if (step.name == "tile") {
      if (auto bad = find_axes()) return bad;
      params = sized(plan_.schedule, *axes_, params, plan_.knobs);
    }
    Expected<poly::Schedule> next = poly::apply_unchecked(plan_.schedule, step.name, params);
    if (!next) return next.error();
    plan_.schedule = *std::move(next);
    plan_.script.push_back({step.name, params.dump()});
    return std::nullopt;
  }

 private:
  Plan& plan_;
  std::shared_ptr<const ProgramAxes> axes_;
  poly::ProgramPtr analysed_;  // the program of the axes

  std::optional<Refusal> find_axes() {
    if (analysed_ == plan_.schedule.program) return std::nullopt;
    Expected<std::shared_ptr<const ProgramAxes>> found = axes_of(plan_.schedule.program);
    if (!found) return found.error();
    axes_ = *found;
    analysed_ = plan_.schedule.program;
    return std::nullopt;
  }
};

}  // namespace

Expected<Plan> with_knobs(const Plan& p, const poly::ProgramPtr& program, const Knobs& knobs) {
  Plan out;
  out.knobs = knobs;
  out.numerics = p.numerics;
  out.schedule = poly::initial_schedule(program);
  Rebuilding rebuilding(out);
  for (const poly::TransformStep& step : p.script)
    if (auto bad = rebuilding.add(step)) return *bad;
  return out;
}

Expected<Plan> plan_of(poly::ProgramPtr program, const SearchResult& r, int node) {
  auto refuse = [&](const std::string& why) {
    return Refusal{"replay node " + std::to_string(node), "", why, ""};
  };
  if (node < 0 || node >= static_cast<int>(r.nodes.size())) return refuse("there is no such node");
  const SearchNode& wanted = r.nodes[node];
  const bool refused = wanted.state == NodeState::Illegal || wanted.state == NodeState::Unknown;
  if (refused && !wanted.steps.empty() && wanted.seconds == 0)
    return refuse("its last step was refused: " + wanted.reason);
  std::vector<const SearchNode*> path;
  for (int id = node; id >= 0; id = r.nodes[id].parent) path.push_back(&r.nodes[id]);
  std::reverse(path.begin(), path.end());
  // Tile sizes are those of the last plan that a search chose; what was done to it by hand stays.
  const auto chosen = std::find_if(path.rbegin(), path.rend(), [](const SearchNode* n) {
    return !n->by_hand && !n->knobs.empty();
  });
  Plan plan;
  plan.schedule = poly::initial_schedule(program);
  Rebuilding rebuilding(plan);
  auto sized = path.begin();
  if (chosen != path.rend()) {
    plan.knobs = (*chosen)->knobs;
    sized = chosen.base();
  }
  for (auto at = path.begin(); at != path.end(); ++at) {
    const SearchNode& n = **at;
    if (at >= sized) plan.knobs.clear();
    for (const poly::TransformStep& step : n.steps)
      if (auto bad = rebuilding.add(step)) return *bad;
    const auto lazy = n.knobs.find(kLazyKnob);
    if (n.by_hand || lazy == n.knobs.end() || lazy->second == 0) continue;
    auto stale = with_lazy_references(plan.schedule);
    if (!stale) return refuse("none of its repairs may keep stale references");
    plan.schedule = std::move(stale->schedule);
    plan.script.insert(plan.script.end(), stale->steps.begin(), stale->steps.end());
  }
  plan.knobs = wanted.knobs;
  return plan;
}

}  // namespace nautilus::sched
