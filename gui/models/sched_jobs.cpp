#include "gui/models/sched_jobs.h"

#include "autosched/exploration.h"
#include "compiler/driver/searching.h"
#include "compiler/profile/profile.h"

namespace nautilus::gui {
namespace {

// The schedule of the last node on the path that is one.
Expected<poly::Schedule> schedule_of(const Workpiece& w, const Path& path) {
  const Path accepted(path.begin(), was_refused(path.back()) ? path.end() - 1 : path.end());
  if (accepted.empty()) return poly::initial_schedule(w.program);
  Expected<sched::Plan> plan = w.plan(accepted);
  if (!plan) return plan.error();
  return plan->schedule;
}

Refusal no_schedule(const std::string& why) { return Refusal{"make a schedule", "", why, ""}; }

}  // namespace

TreeAnswer tree_job(const Workpiece& w, const Path& path) {
  TreeAnswer out;
  if (path.empty()) return out.remark = "no candidate is selected", out;
  Expected<poly::Schedule> s = schedule_of(w, path);
  if (!s) return out.remark = s.error().text(), out;
  out.made = true;
  if (was_refused(path.back())) {
    out.remark = "refused: this is the order that was asked for";
    for (const poly::TransformStep& step : path.back().steps) {
      Expected<poly::Schedule> next = edit_only(*s, step);
      if (!next) {
        out.remark = "refused: this is how far it got; " + step_text(step) + " does not apply";
        break;
      }
      s = std::move(next);
    }
  }
  out.tree = tree_picture(*s);
  return out;
}

Attempt attempt_job(const Workpiece& w, const Path& path, const poly::TransformStep& step) {
  Attempt none;
  none.step = step;
  const Expected<poly::Schedule> s =
      path.empty() ? no_schedule("no candidate") : schedule_of(w, path);
  if (!s) return none.verdict.why = s.error().text(), none;
  if (s->program == w.program) return try_step(*s, w.dependences(), step);
  const Expected<poly::DependenceSet> deps = poly::dependences(*s->program);
  if (!deps) return none.verdict.why = deps.error().text(), none;
  return try_step(*s, *deps, step);
}

IterationAnswer iteration_job(const Workpiece& w, const CancelToken& c, const Path& path,
                              IterationRequest wanted) {
  IterationAnswer out;
  const Expected<std::vector<poly::TransformStep>> steps = script_of(w.program, path);
  if (!steps) return out.why = steps.error().text(), out;
  wanted.steps = *steps;
  Expected<IterationPicture> p =
      iteration_picture(w.program, w.general(), w.options.sizes, wanted, c.flag());
  if (p)
    out.picture = *std::move(p);
  else
    out.why = p.error().text();
  return out;
}

Why why_job(const Workpiece& w, const CancelToken& c, const Path& path, const WhyContext& context) {
  WhyInput in;
  in.program = w.program;
  in.general = w.general();
  in.dependences = &w.dependences();
  in.options = w.options;
  in.path = path;
  in.context = context;
  return explain(in, c.flag());
}

Expected<std::vector<sched::SearchNode>> hand_job(const Workpiece& w, const Path& path,
                                                  const std::vector<poly::TransformStep>& steps,
                                                  int count) {
  if (path.empty()) return no_schedule("no candidate is selected");
  sched::SearchResult along;
  along.nodes = path;
  for (size_t k = 0; k < path.size(); ++k) {
    along.nodes[k].id = static_cast<int>(k);
    along.nodes[k].parent = static_cast<int>(k) - 1;
    along.nodes[k].duplicate_of = -1;
  }
  const auto numerics = tile::numerics_from_name(w.options.numerics);
  const auto ops = profile::tile_ops_provider(numerics ? *numerics : tile::Numerics::Reassociate,
                                              driver::op_costs(w.options.machine));
  auto exploration = sched::Exploration::resume(w.program, w.options, along, *ops);
  if (!exploration) return exploration.error();
  const Expected<int> added = (*exploration)->add_by_hand(static_cast<int>(path.size()) - 1, steps);
  if (!added) return added.error();
  // Nodes that the exploration adds of its own accord stay with it.
  sched::SearchNode made = (*exploration)->result().nodes[static_cast<size_t>(*added)];
  made.id = count;
  made.parent = path.back().id;
  const int same = made.duplicate_of;
  made.duplicate_of =
      same >= 0 && same < static_cast<int>(path.size()) ? path[static_cast<size_t>(same)].id : -1;
  return std::vector<sched::SearchNode>{made};
}

}  // namespace nautilus::gui
