#include "autosched/search/engine.h"

#include "autosched/search/lazy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace nautilus::sched {
namespace {

std::string time_text(double s) {
  char buf[48];
  if (s < 1e-3)
    std::snprintf(buf, sizeof buf, "%.3g us", s * 1e6);
  else if (s < 1)
    std::snprintf(buf, sizeof buf, "%.3g ms", s * 1e3);
  else
    std::snprintf(buf, sizeof buf, "%.3g s", s);
  return buf;
}

std::string knob_text(const Knobs& knobs) {
  std::string out;
  for (auto& [k, v] : knobs) out += (out.empty() ? "" : ", ") + k + " = " + std::to_string(v);
  return out.empty() ? "as it is" : out;
}

uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 29); }

// Combinations costed a kernel of one structure, at most.
constexpr size_t kChoices = 600;

}  // namespace

Engine::Engine(poly::ProgramPtr program, const SearchOptions& options, OpsProvider& ops,
               const EventSink& sink)
    : options_(options),
      ops_(ops),
      sink_(sink),
      program_(std::move(program)),
      actions_(options_),
      frontier_(options.strategy, options.beam, options.seed),
      rng_(options.seed) {}

bool Engine::stop() {
  if (stop_reason_) return true;
  if (options_.stop && options_.stop->load(std::memory_order_relaxed))
    stop_reason_ = StopReason::Interrupted;
  else if (options_.seconds > 0 && elapsed() >= options_.seconds)
    stop_reason_ = StopReason::TimeBudget;
  else if (options_.max_nodes > 0 && static_cast<int>(result_.nodes.size()) >= options_.max_nodes)
    stop_reason_ = StopReason::NodeBudget;
  else if (options_.max_plans > 0 && result_.plans_costed >= options_.max_plans)
    stop_reason_ = StopReason::PlanBudget;
  return stop_reason_.has_value();
}

Engine::Clock::time_point Engine::deadline() const {
  if (options_.seconds <= 0) return Clock::time_point::max();
  return start_ + std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(std::min(options_.seconds, 1e9)));
}

// What isl or a loop gave up because the moment had come says nothing about the node.
bool Engine::cut(int node, const char* what) {
  if (!poly::out_of_time()) return false;
  stop();
  result_.nodes[node].state = NodeState::Budget;
  result_.nodes[node].reason =
      std::string(what) + " was not finished: " +
      std::string(stop_reason_name(stop_reason_.value_or(StopReason::TimeBudget)));
  changed(node);
  return true;
}

int Engine::add_node(int parent, const std::string& decision, double bound) {
  SearchNode n;
  n.id = static_cast<int>(result_.nodes.size());
  n.parent = parent;
  n.decision = decision;
  n.lower_bound = bound;
  result_.nodes.push_back(std::move(n));
  changed(result_.nodes.back().id, SearchEvent::Kind::Added);
  return result_.nodes.back().id;
}

void Engine::changed(int id, SearchEvent::Kind kind) {
  if (!sink_) return;
  sink_({kind, id < 0 ? nullptr : &result_.nodes[id], result_.plans_costed,
         result_.structures_verified, elapsed()});
}

// With K structures in hand, what cannot become one of the K best is cut.
double Engine::threshold() const {
  if (options_.strategy == Strategy::Exhaustive) return INFINITY;
  size_t keep = static_cast<size_t>(std::max(1, options_.top));
  if (best_.size() < keep) return INFINITY;
  return std::next(best_.begin(), static_cast<std::ptrdiff_t>(keep - 1))->first;
}

Evaluator& Engine::evaluator_for(const SearchState& state) {
  auto& slot = evaluators_[state.program->program.get()];
  if (!slot) slot = std::make_unique<Evaluator>(state.program->facts, options_.machine);
  return *slot;
}

void Engine::expand(int node, const SearchState& state, const Pending& from) {
  int rank = 0;
  auto shared = std::make_shared<const SearchState>(state);
  for (Candidate& c : actions_.candidates(state)) {
    // A bound never falls on the way down.
    c.bound = std::max(c.bound, result_.nodes[node].lower_bound);
    int id = add_node(node, c.decision, c.bound);
    frontier_.push({id, std::move(c), shared, from.depth + 1, 2 * static_cast<int64_t>(id),
                    from.departures + rank++});
    if (options_.max_nodes > 0 && static_cast<int>(result_.nodes.size()) >= options_.max_nodes)
      return;
  }
}

// Another form of a decision that was tried: a sibling, taken right after it.
void Engine::follow_up(const Pending& p, Taken& t) {
  if (!t.also || stop()) return;
  t.also->bound = std::max(t.also->bound, p.candidate.bound);
  int id = add_node(result_.nodes[p.node].parent, t.also->decision, t.also->bound);
  frontier_.push({id, std::move(*t.also), p.from, p.depth, p.order + 1, p.departures});
}

void Engine::outside_beam(const Pending& p) {
  result_.nodes[p.node].state = NodeState::Dominated;
  result_.nodes[p.node].reason = "outside the beam of " + std::to_string(options_.beam) +
                                 ": bound " + time_text(p.candidate.bound);
  changed(p.node);
}

void Engine::process(const Pending& p) {
  double limit = threshold();
  if (p.candidate.bound >= limit) {
    SearchNode& n = result_.nodes[p.node];
    n.state = NodeState::Bounded;
    n.reason = "every plan below takes at least " + time_text(p.candidate.bound) + "; " +
               std::to_string(options_.top) + (options_.top == 1 ? " plan is" : " plans are") +
               " known with at most " + time_text(limit);
    changed(p.node);
    return;
  }
  Taken t = actions_.take(*p.from, p.candidate);
  if (cut(p.node, "this decision")) return;
  SearchNode& n = result_.nodes[p.node];
  n.steps = std::move(t.steps);
  n.verdict = t.verdict;
  n.reason = t.reason;
  if (!t.state) {
    n.state = t.node == NodeState::Open ? NodeState::Failed : t.node;
    changed(p.node);
    follow_up(p, t);
    return;
  }
  n.state = NodeState::Expanded;
  const SearchState& s = *t.state;
  uint64_t key = mix(mix(poly::canonical_hash(s.schedule, true), static_cast<uint64_t>(s.last + 1)),
                     s.next + 1000 * s.kernel.size());
  auto [it, fresh] = seen_.emplace(key, p.node);
  if (!fresh) {
    n.state = NodeState::Duplicate;
    n.duplicate_of = it->second;
    n.reason = "the same state as node " + std::to_string(it->second);
    ++result_.duplicates;
    changed(p.node);
    return;
  }
  changed(p.node);
  follow_up(p, t);
  if (s.complete())
    evaluate(p.node, s);
  else
    expand(p.node, s, p);
}

// Verifies a structure, asks what it computes after lowering, and costs its numeric choices.
void Engine::evaluate(int node, const SearchState& state) {
  auto fail = [&](NodeState s, const std::string& why) {
    result_.nodes[node].state = s;
    result_.nodes[node].reason = why;
    changed(node);
  };
  auto [it, fresh] = structures_.emplace(poly::canonical_hash(state.schedule, true), node);
  if (!fresh) {
    result_.nodes[node].duplicate_of = it->second;
    ++result_.duplicates;
    return fail(NodeState::Duplicate, "the same structure as node " + std::to_string(it->second));
  }
  poly::Verification v = poly::verify(state.schedule, options_.isl_quota);
  if (cut(node, "its verification")) return;
  ++result_.structures_verified;
  if (!v.ok) {
    bool illegal = v.verdict.kind == poly::VerdictKind::Illegal;
    return fail(illegal ? NodeState::Illegal : NodeState::Unknown,
                "the independent verifier refuses it: " + v.verdict.why);
  }
  Expected<StructureOps> ops = ops_.structure_ops(state.schedule);
  if (cut(node, "its lowering")) return;
  if (!ops) return fail(NodeState::Failed, ops.error().text());
  Expected<StructureModel> model = structure_model(state.schedule, state.program->facts);
  if (cut(node, "its cost")) return;
  if (!model) return fail(NodeState::Failed, model.error().text());
  if (ops->entries.empty()) *ops = direct_ops(*model);
  Evaluator& evaluator = evaluator_for(state);
  try {
    std::vector<std::vector<KernelChoice>> choices;
    std::vector<const KernelChoice*> best;
    const size_t limit = options_.strategy == Strategy::Exhaustive ? SIZE_MAX : kChoices;
    for (size_t k = 0; k < model->kernels.size(); ++k)
      choices.push_back(kernel_choices(*model, static_cast<int>(k), state.program->axes, *ops,
                                       evaluator, rng_, limit, options_.knobs));
    for (const std::vector<KernelChoice>& list : choices)
      best.push_back(&*std::min_element(
          list.begin(), list.end(), [](const KernelChoice& a, const KernelChoice& b) {
            return std::tuple(!a.fits, a.seconds) < std::tuple(!b.fits, b.seconds);
          }));
    // The best of each kernel together; then every other choice of one kernel beside the best of
    // the others.
    record_plan(node, best, *ops, evaluator);
    // Only for what may be handed out: it takes another lowering.
    if (options_.strategy == Strategy::Exhaustive || among_best(node)) {
      std::vector<KernelChoice> copies;
      for (const KernelChoice* c : best) copies.push_back(*c);
      try_lazy(node, state, std::move(copies), evaluator);
    }
    for (size_t k = 0; k < choices.size(); ++k)
      for (const KernelChoice& c : choices[k]) {
        if (&c == best[k]) continue;
        if (stop()) break;
        std::vector<const KernelChoice*> with = best;
        with[k] = &c;
        record_plan(node, with, *ops, evaluator);
      }
    settle(node);
  } catch (const isl::exception& e) {
    if (!cut(node, "its cost")) fail(NodeState::Unknown, e.what());
  } catch (const std::range_error& e) {
    fail(NodeState::Failed, e.what());
  }
}

void Engine::try_lazy(int node, const SearchState& state, std::vector<KernelChoice> best,
                      Evaluator& evaluator) {
  const auto lazy = with_lazy_references(state.schedule);
  if (!lazy || stop()) return;
  Knobs knobs;
  for (const KernelChoice& c : best) knobs.insert(c.knobs.begin(), c.knobs.end());
  Expected<StructureOps> ops = ops_.structure_ops(lazy->schedule);
  Expected<StructureModel> model = structure_model(lazy->schedule, state.program->facts);
  if (!ops || !model) return;  // the plan stands as it is
  if (ops->entries.empty()) *ops = direct_ops(*model);
  const StructureModel at = with_knobs(*model, state.program->axes, knobs);
  double before = 0, after = 0;
  std::vector<const KernelChoice*> with;
  for (size_t k = 0; k < best.size(); ++k) {
    KernelChoice& c = best[k];
    before += c.seconds;
    c.profile = evaluator.kernel(at, static_cast<int>(k), *ops, c.profile.stages);
    ResourceProfile alone = c.profile;
    const Cost now = cost(alone, options_.machine);
    c.seconds = now.seconds;
    c.fits = now.fits;
    after += c.seconds;
    with.push_back(&c);
  }
  if (!(after < before)) return;
  best[0].knobs[kLazyKnob] = 1;
  record_plan(node, with, *ops, evaluator);
}

void Engine::record_plan(int parent, const std::vector<const KernelChoice*>& choice,
                         const StructureOps& ops, Evaluator& evaluator) {
  Knobs knobs;
  std::vector<ResourceProfile> parts;
  for (const KernelChoice* c : choice) {
    knobs.insert(c->knobs.begin(), c->knobs.end());
    parts.push_back(c->profile);
  }
  Cost c = cost(evaluator.total(std::move(parts), ops), options_.machine);
  ++result_.plans_costed;
  int id = add_node(parent, knob_text(knobs), result_.nodes[parent].lower_bound);
  SearchNode& n = result_.nodes[id];
  n.knobs = std::move(knobs);
  n.seconds = c.seconds;
  n.lower_bound = std::max(n.lower_bound, c.lower_bound);
  n.limiter = c.limiter;
  n.points = c.points;
  n.verdict = result_.nodes[parent].verdict;
  if (!c.fits) {
    n.state = NodeState::OverCapacity;
    n.reason = c.over_capacity;
    changed(id);
    return;
  }
  n.state = NodeState::Complete;
  if (result_.first_plan_seconds == 0) result_.first_plan_seconds = elapsed();
  footing_.push_back({id, n.seconds, c.profile.shared_bytes, c.profile.register_bytes});
  auto found = best_of_structure_.find(parent);
  bool overall = best_.empty() || n.seconds < best_.begin()->first;
  if (found == best_of_structure_.end() || n.seconds < found->second.seconds) {
    if (found != best_of_structure_.end()) best_.erase({found->second.seconds, parent});
    best_of_structure_[parent] = {n.seconds, id, parent};
    best_.insert({n.seconds, parent});
    result_.nodes[parent].seconds = n.seconds;
  }
  changed(id);
  if (overall) changed(id, SearchEvent::Kind::Best);
}

Expected<SearchResult> search(poly::ProgramPtr program, const SearchOptions& options,
                              OpsProvider& ops, const EventSink& sink) {
  try {
    if (options.machine.levels.empty())
      return Refusal{"search", "", "the options name no machine", "load one with find_machine"};
    if (!options.sizes.empty()) {
      poly::Sizes known;
      for (auto& [name, value] : options.sizes)
        if (std::find(program->params.begin(), program->params.end(), name) !=
            program->params.end())
          known[name] = value;
      Expected<poly::Program> bound = poly::bind_sizes(*program, known);
      if (!bound) return bound.error();
      program = std::make_shared<const poly::Program>(*std::move(bound));
    }
    poly::QuotaGuard quota(program->context->get(), options.isl_quota);
    Engine engine(std::move(program), options, ops, sink);
    return engine.run();
  } catch (const isl::exception& e) {
    return Refusal{"search", "", e.what(), "raise the quota of isl operations"};
  }
}

}  // namespace nautilus::sched
