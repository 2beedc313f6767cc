#include "gui/models/why_data.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "gui/models/quantity.h"
#include "gui/models/tree_data.h"
#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

// The path as a result of its own, whose nodes are numbered from 0.
sched::SearchResult result_of(const std::vector<sched::SearchNode>& path, size_t length) {
  sched::SearchResult out;
  out.nodes.assign(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length));
  for (size_t k = 0; k < length; ++k) {
    out.nodes[k].id = static_cast<int>(k);
    out.nodes[k].parent = static_cast<int>(k) - 1;
  }
  return out;
}

// Tells the steps of the node one after the other, until one is refused. Throws isl::exception.
class Retelling {
 public:
  Retelling(const WhyInput& in, Why& out, const std::atomic<bool>* stop)
      : in_(in), out_(out), stop_(stop) {}

  void run(const std::vector<poly::TransformStep>& before) {
    Expected<poly::Schedule> s = start(before);
    if (!s) return out_.remarks.push_back("its parent cannot be made again: " + s.error().text());
    s_ = *s;
    for (const poly::Repair& r : s_->repairs) out_.inherited.push_back(tell(r));
    for (const poly::TransformStep& step : in_.path.back().steps) {
      if (stop_ && stop_->load()) return;
      if (!add(step)) return;
    }
  }

 private:
  Expected<poly::Schedule> start(const std::vector<poly::TransformStep>& steps) const {
    poly::Replay r = poly::replay(in_.program, steps, false);
    if (r.schedule) return *r.schedule;
    if (steps.empty()) return poly::initial_schedule(in_.program);
    const poly::Outcome& last = r.outcomes.back();
    return last.refusal ? *last.refusal : Refusal{"replay", "", last.verdict.why, ""};
  }

  // Of the program that the schedule has now: a step may have changed it.
  const poly::DependenceSet* dependences() {
    if (s_->program == in_.program && in_.dependences) return in_.dependences;
    if (analysed_ == s_->program) return own_.get();
    Expected<poly::DependenceSet> deps = poly::dependences(*s_->program);
    if (!deps) return out_.remarks.push_back(deps.error().text()), nullptr;
    own_ = std::make_unique<poly::DependenceSet>(*std::move(deps));
    analysed_ = s_->program;
    return own_.get();
  }

  bool add(const poly::TransformStep& step) {
    const poly::DependenceSet* deps = dependences();
    if (!deps) return false;
    const poly::Outcome o = poly::apply(*s_, *deps, step);
    WhyStep told{step, tell(*s_->program, added_by(o, *s_)), {}, ""};
    if (step.name == "rolling_update" && (!o.schedule || !told.verdict.repairs.empty()))
      told.plain.push_back(tell(*s_->program, poly::apply(*s_, *deps, plain_fusion(step))));
    if (o.schedule) {
      told.diff = poly::diff(*s_, *o.schedule);
      s_ = *o.schedule;
    } else {
      out_.refused = static_cast<int>(out_.steps.size());
    }
    out_.steps.push_back(std::move(told));
    return o.schedule.has_value();
  }

  const WhyInput& in_;
  Why& out_;
  const std::atomic<bool>* stop_;
  std::optional<poly::Schedule> s_;
  poly::ProgramPtr analysed_;
  std::unique_ptr<poly::DependenceSet> own_;
};

// The witness to draw, and the step that it belongs to.
const WitnessStory* witness_of(const Why& w, size_t& step) {
  for (size_t k = w.steps.size(); k-- > 0;) {
    const WhyStep& s = w.steps[k];
    step = k;
    if (!s.verdict.witness.empty()) return &s.verdict.witness.front();
    if (!s.plain.empty() && !s.plain.front().witness.empty())
      return &s.plain.front().witness.front();
  }
  return nullptr;
}

// Whether the arrow is between the witness's statements by its tensor; better: adjacent in place.
int best_arrow(const IterationPicture& p, const WitnessStory& w) {
  int best = -1;
  int64_t distance = 0;
  for (size_t k = 0; k < p.arrows.size(); ++k) {
    const IterArrow& a = p.arrows[k];
    if (a.fate == Fate::Kept) continue;
    const IterDependence& d = p.dependences[static_cast<size_t>(a.dependence)];
    if (d.source != w.source || d.sink != w.sink) continue;
    const IterPoint &x = p.points[static_cast<size_t>(a.from)],
                    &y = p.points[static_cast<size_t>(a.to)];
    if (!p.scaled && (x.at != w.source_at || y.at != w.sink_at)) continue;
    int64_t far = 0;
    for (int64_t v : x.at) far += std::abs(v);
    for (int64_t v : y.at) far += std::abs(v);
    if (best < 0 || far < distance) best = static_cast<int>(k), distance = far;
  }
  return best;
}

void draw_witness(const WhyInput& in, const std::vector<poly::TransformStep>& before, Why& out,
                  const std::atomic<bool>* stop) {
  size_t step = 0;
  const WitnessStory* w = witness_of(out, step);
  if (!w) return;
  IterationRequest r;
  r.steps = before;
  for (size_t k = 0; k <= step; ++k) r.steps.push_back(out.steps[k].step);
  // The witness of the step itself, or of the fusion without its correction.
  if (out.steps[step].verdict.witness.empty()) r.steps.back() = plain_fusion(r.steps.back());
  r.statements = {w->source, w->sink};
  r.focus = {{w->source, w->source_at}, {w->sink, w->sink_at}};
  Expected<IterationPicture> p =
      iteration_picture(in.program, in.general, in.options.sizes, r, stop);
  if (!p) return out.remarks.push_back("no picture: " + p.error().why);
  out.arrow = best_arrow(*p, *w);
  out.picture = *std::move(p);
}

void add_numbers(const WhyInput& in, Why& out) {
  const sched::SearchNode& n = in.path.back();
  const sched::Machine& m = in.options.machine;
  auto add = [&](const std::string& name, double value, const std::string& unit,
                 std::optional<double> limit = {}, const std::string& limit_name = "") {
    if (value > 0) out.numbers.push_back({name, unit, value, limit, limit_name});
  };
  std::optional<double> best;
  if (in.context.best_seconds > 0) best = in.context.best_seconds;
  const std::string of_best = best ? "the best plan" : "";
  add("predicted", n.seconds, "s", best, of_best);
  if (in.context.measured) add("measured", in.context.measured->seconds, "s");
  add("at least, whatever follows", n.lower_bound, "s", best, of_best);
  if (n.state != sched::NodeState::OverCapacity && n.register_bytes <= 0 && n.shared_bytes <= 0)
    return;
  if (m.kind == "cpu") return;
  std::optional<double> room;
  if (const auto share = m.model.find("register_room"); share != m.model.end())
    room = share->second.value * m.registers_per_unit.value;
  add("registers of a block", n.register_bytes, "B", room, room ? "room for tiles" : "");
  add("shared memory of a block", n.shared_bytes, "B", m.shared_per_unit.value,
      "most a block gets");
}

}  // namespace

bool was_refused(const sched::SearchNode& n) {
  return n.state == sched::NodeState::Illegal || n.state == sched::NodeState::Unknown;
}

Expected<std::vector<poly::TransformStep>> script_of(const poly::ProgramPtr& program,
                                                     const std::vector<sched::SearchNode>& path) {
  if (path.empty()) return std::vector<poly::TransformStep>();
  const bool refused = was_refused(path.back());
  const size_t length = refused ? path.size() - 1 : path.size();
  std::vector<poly::TransformStep> out;
  if (length > 0) {
    Expected<sched::Plan> plan =
        sched::plan_of(program, result_of(path, length), static_cast<int>(length) - 1);
    if (!plan) return plan.error();
    out = plan->script;
  }
  if (refused) out.insert(out.end(), path.back().steps.begin(), path.back().steps.end());
  return out;
}

Why explain(const WhyInput& in, const std::atomic<bool>* stop) {
  Why out;
  if (in.path.empty()) return out;
  const sched::SearchNode& n = in.path.back();
  out.node = n.id;
  out.state = n.state;
  out.decision = n.decision;
  out.reason = n.reason;
  add_numbers(in, out);
  const std::vector<sched::SearchNode> parents(in.path.begin(), in.path.end() - 1);
  const Expected<std::vector<poly::TransformStep>> before = script_of(in.program, parents);
  if (!before) {
    out.remarks.push_back("its parent cannot be made again: " + before.error().text());
    return out;
  }
  try {
    Retelling(in, out, stop).run(*before);
    draw_witness(in, *before, out, stop);
  } catch (const isl::exception& e) {
    out.remarks.push_back(e.what());
  }
  return out;
}

std::string state_sentence(const sched::SearchNode& n, const WhyContext& c) {
  using sched::NodeState;
  const bool repaired = n.verdict == poly::VerdictKind::Repairable;
  switch (n.state) {
    case NodeState::Open:
      return "Not looked at yet: it waits in the queue of the search.";
    case NodeState::Expanded:
      return repaired ? "Legal with corrections; there is more below it."
                      : "Legal: it computes the same. There is more below it.";
    case NodeState::Complete:
      return repaired ? "A complete plan, legal with corrections." : "A complete plan.";
    case NodeState::Illegal:
      return "Illegal: this order would compute something else, because instances that depend on "
             "each other would run the wrong way round.";
    case NodeState::Unknown:
      return "Unknown: whether this order is legal could not be decided, so it is not used. That "
             "does not mean that it is wrong.";
    case NodeState::OverCapacity:
      return "It is legal, but does not fit on the machine: a block needs more room than there is.";
    case NodeState::Dominated:
      return "Left out: the search follows a limited number of candidates, and others promised "
             "more.";
    case NodeState::Bounded:
      return "Left out: no plan below it can be faster than those that are known" +
             (c.best_seconds > 0
                  ? " (the best takes " + seconds_text(c.best_seconds).toStdString() + ")."
                  : ".");
    case NodeState::Duplicate:
      return c.same_as >= 0 ? "The same schedule as node " + std::to_string(c.same_as) +
                                  (c.same_decision.empty() ? "" : " (" + c.same_decision + ")") +
                                  ", reached by other steps: it is explored there."
                            : "The same schedule was reached before, by other steps.";
    case NodeState::Budget:
      return "Not tried, or not to the end: a budget ran out. Exploring again goes on here.";
    case NodeState::Failed:
      break;
  }
  return "It failed: no plan could be made of it.";
}

std::string measured_sentence(const WhyContext& c) {
  if (!c.measured) return "";
  const std::string from = c.measured->source.empty() ? "" : " (" + c.measured->source + ")";
  if (c.wrong())
    return "Measured" + from +
           ", and its result was wrong: the outputs differ from the reference's. Its time does not "
           "count.";
  if (!c.measured->right.made()) return "Measured" + from + "; its outputs were not compared.";
  return "Measured" + from + ", with the right result.";
}

}  // namespace nautilus::gui
