// Structures: verified, lowered, and costed at many tile sizes.
#include <algorithm>
#include <cmath>

#include "autosched/search/engine.h"
#include "autosched/search/lazy.h"

namespace nautilus::sched {
namespace {

std::string knob_text(const Knobs& knobs) {
  std::string out;
  for (auto& [k, v] : knobs) out += (out.empty() ? "" : ", ") + k + " = " + std::to_string(v);
  return out.empty() ? "as it is" : out;
}

// Combinations costed a kernel of one structure, at most.
constexpr size_t kChoices = 600;

// All kernels of a structure at the sizes that it has, with the stages of the knobs.
ResourceProfile profile_at(const StructureModel& m, const StructureOps& ops, const Knobs& knobs,
                           Evaluator& evaluator) {
  std::vector<ResourceProfile> parts;
  for (size_t k = 0; k < m.kernels.size(); ++k) {
    const int kernel = static_cast<int>(k);
    const auto stages = knobs.find(knob_prefix(m, kernel) + "stages");
    const bool gpu = evaluator.machine().kind == "gpu";
    parts.push_back(evaluator.kernel(m, kernel, ops,
                                     gpu && stages != knobs.end()
                                         ? static_cast<int>(std::max<int64_t>(1, stages->second))
                                         : (gpu ? 2 : 1)));
  }
  return evaluator.total(std::move(parts), ops);
}

}  // namespace

Evaluator& Engine::evaluator_for(const std::shared_ptr<const ProgramFacts>& facts) {
  auto& slot = evaluators_[facts->program.get()];
  if (!slot) slot = std::make_unique<Evaluator>(facts, options_.machine);
  return *slot;
}

bool Engine::evaluate(Evaluation& e) {
  using Stage = Evaluation::Stage;
  const int node = e.node;
  const poly::Schedule& schedule = e.state->schedule;
  auto fail = [&](NodeState s, const std::string& why) {
    set_state(node, s, why);
    return true;
  };
  if (e.stage == Stage::Fresh) {
    const uint64_t hash = poly::canonical_hash(schedule, true);
    auto [it, fresh] = structures_.emplace(hash, node);
    if (!fresh && result_.nodes[node].by_hand) return true;  // its sizes are costed there
    if (!fresh) {
      result_.nodes[node].duplicate_of = it->second;
      ++result_.duplicates;
      return fail(NodeState::Duplicate, "the same structure as node " + std::to_string(it->second));
    }
    for (auto [hand, end] = by_hand_.equal_range(hash); hand != end; ++hand)
      standing_.adopt(node, hand->second);
    e.stage = Stage::Verify;
  }
  if (e.stage == Stage::Verify) {
    poly::Verification v = poly::verify(schedule, options_.isl_quota);
    if (cut(node, "its verification")) return false;
    ++result_.structures_verified;
    if (!v.ok) {
      bool illegal = v.verdict.kind == poly::VerdictKind::Illegal;
      return fail(illegal ? NodeState::Illegal : NodeState::Unknown,
                  "the independent verifier refuses it: " + v.verdict.why);
    }
    e.stage = Stage::Lower;
  }
  if (e.stage == Stage::Lower) {
    Expected<StructureOps> ops = ops_->structure_ops(schedule);
    if (cut(node, "its lowering")) return false;
    if (!ops) return fail(NodeState::Failed, ops.error().text());
    Expected<StructureModel> model = structure_model(schedule, e.state->program->facts);
    if (cut(node, "its cost")) return false;
    if (!model) return fail(NodeState::Failed, model.error().text());
    if (ops->entries.empty()) *ops = direct_ops(*model);
    e.ops = *std::move(ops);
    e.model = *std::move(model);
    e.stage = Stage::Choose;
  }
  try {
    return evaluate_choices(e, evaluator_for(e.state->program->facts));
  } catch (const isl::exception& x) {
    return !cut(node, "its cost") && fail(NodeState::Unknown, x.what());
  } catch (const std::range_error& x) {
    return fail(NodeState::Failed, x.what());
  }
}

bool Engine::evaluate_choices(Evaluation& e, Evaluator& evaluator) {
  using Stage = Evaluation::Stage;
  const bool all = options_.strategy == Strategy::Exhaustive;
  bool partial = false;
  if (e.stage == Stage::Choose) {
    const std::mt19937_64 before = rng_;
    e.choices.clear();
    e.best.clear();
    for (size_t k = 0; k < e.model->kernels.size(); ++k)
      e.choices.push_back(kernel_choices(*e.model, static_cast<int>(k), e.state->program->axes,
                                         e.ops, evaluator, rng_, all ? SIZE_MAX : kChoices,
                                         options_.knobs));
    for (const std::vector<KernelChoice>& list : e.choices) {
      auto best = std::min_element(
          list.begin(), list.end(), [](const KernelChoice& a, const KernelChoice& b) {
            return std::tuple(!a.fits, a.seconds) < std::tuple(!b.fits, b.seconds);
          });
      e.best.push_back(static_cast<size_t>(best - list.begin()));
    }
    partial = poly::out_of_time();
    if (partial) rng_ = before;  // what there is gives a plan for now
    if (!partial) e.stage = Stage::Best;
  }
  std::vector<const KernelChoice*> best;
  for (size_t k = 0; k < e.choices.size(); ++k) best.push_back(&e.choices[k][e.best[k]]);
  // The best of each kernel together; then every other choice of one kernel beside the best of the
  // others.
  if (partial || e.stage == Stage::Best) {
    const int id = record_plan(e, best, e.ops, evaluator);
    if (partial) {
      e.slot = id;
      return false;
    }
    e.stage = Stage::Lazy;
  }
  if (e.stage == Stage::Lazy) {
    // Only for what may be handed out: it takes another lowering.
    if (all || among_best(e.node)) {
      if (stop()) return false;
      try_lazy(e, evaluator);
      if (poly::out_of_time()) return false;
    }
    e.stage = Stage::Others;
  }
  for (; e.kernel < e.choices.size(); ++e.kernel, e.choice = 0)
    for (; e.choice < e.choices[e.kernel].size(); ++e.choice) {
      if (e.choice == e.best[e.kernel]) continue;
      if (stop()) return false;
      std::vector<const KernelChoice*> with = best;
      with[e.kernel] = &e.choices[e.kernel][e.choice];
      record_plan(e, with, e.ops, evaluator);
    }
  e.stage = Stage::Settle;
  return settle(e.node);
}

// The structure's best plan with stale references, where that is cheaper: both at the plan's own
// tile sizes, which decide what can be rewritten.
void Engine::try_lazy(Evaluation& e, Evaluator& evaluator) {
  if (!with_lazy_references(e.state->schedule)) return;
  std::vector<KernelChoice> best;
  for (size_t k = 0; k < e.choices.size(); ++k) best.push_back(e.choices[k][e.best[k]]);
  Knobs knobs;
  for (const KernelChoice& c : best) knobs.insert(c.knobs.begin(), c.knobs.end());
  int id = -1;
  for (const SearchNode& n : result_.nodes)
    if (n.parent == e.node && n.knobs == knobs) id = static_cast<int>(&n - result_.nodes.data());
  if (id < 0) return;
  const Expected<Plan> plan = plan_of(program_, result_, id);
  if (!plan) return;
  const auto lazy = with_lazy_references(plan->schedule);
  if (!lazy) return;
  Expected<StructureOps> eager_ops = ops_->structure_ops(plan->schedule);
  Expected<StructureOps> ops = ops_->structure_ops(lazy->schedule);
  Expected<StructureModel> model = structure_model(lazy->schedule, e.state->program->facts);
  if (!eager_ops || !ops || !model || poly::out_of_time()) return;  // the plan stands as it is
  if (ops->entries.empty()) *ops = direct_ops(*model);
  const StructureModel own = with_knobs(*e.model, e.state->program->axes, knobs);
  const StructureModel at = with_knobs(*model, e.state->program->axes, knobs);
  double before = 0, after = 0;
  std::vector<const KernelChoice*> with;
  for (size_t k = 0; k < best.size(); ++k) {
    KernelChoice& c = best[k];
    const int kernel = static_cast<int>(k), stages = c.profile.stages;
    before +=
        eager_ops->entries.empty()
            ? c.seconds
            : cost(evaluator.kernel(own, kernel, *eager_ops, stages), options_.machine).seconds;
    c.profile = evaluator.kernel(at, static_cast<int>(k), *ops, c.profile.stages);
    ResourceProfile alone = c.profile;
    const Cost now = cost(alone, options_.machine);
    c.seconds = now.seconds;
    c.fits = now.fits;
    after += c.seconds;
    // A branch on data would wait for the product that is under way beside the correction.
    if (c.profile.chained && c.profile.fed) return;
    with.push_back(&c);
  }
  if (!(after < before)) return;
  best[0].knobs[kLazyKnob] = 1;
  record_plan(e, with, *ops, evaluator);
}

void Engine::fill(SearchNode& n, const Cost& c) {
  n.seconds = c.seconds;
  n.lower_bound = c.lower_bound;
  if (n.parent >= 0) n.lower_bound = std::max(n.lower_bound, result_.nodes[n.parent].lower_bound);
  n.limiter = c.limiter;
  n.points = c.points;
  n.shared_bytes = c.profile.shared_bytes;
  n.register_bytes = c.profile.register_bytes;
  n.state = c.fits ? NodeState::Complete : NodeState::OverCapacity;
  n.reason = c.over_capacity;
}

int Engine::record_plan(Evaluation& e, const std::vector<const KernelChoice*>& choice,
                        const StructureOps& ops, Evaluator& evaluator) {
  Knobs knobs;
  std::vector<ResourceProfile> parts;
  for (const KernelChoice* c : choice) {
    knobs.insert(c->knobs.begin(), c->knobs.end());
    parts.push_back(c->profile);
  }
  if (e.known.contains(knobs)) return -1;
  const int structure = result_.nodes[e.node].by_hand
                            ? structures_.at(poly::canonical_hash(e.state->schedule, true))
                            : e.node;
  const Cost c = cost(evaluator.total(std::move(parts), ops), options_.machine);
  ++result_.plans_costed;
  int id = e.slot;
  if (id < 0) {
    id = add_node(e.node, knob_text(knobs), result_.nodes[e.node].lower_bound);
  } else {
    --result_.plans_costed;
    standing_.withdraw(id);
    settled_.erase(id);
    result_.nodes[id].decision = knob_text(knobs);
    e.slot = -1;
  }
  SearchNode& n = result_.nodes[id];
  n.knobs = std::move(knobs);
  n.verdict = result_.nodes[e.node].verdict;
  fill(n, c);
  if (!c.fits) {
    changed(id);
    return id;
  }
  if (result_.first_plan_seconds == 0) result_.first_plan_seconds = elapsed();
  const bool overall = standing_.best.empty() || n.seconds < standing_.best.begin()->first;
  if (standing_.enter({id, structure, n.seconds, n.shared_bytes, n.register_bytes}))
    result_.nodes[e.node].seconds = n.seconds;
  changed(id);
  if (overall) changed(id, SearchEvent::Kind::Best);
  return id;
}

// The cost of a schedule at the tile sizes that it has.
Expected<Cost> Engine::cost_of(const poly::Schedule& s, const Knobs& knobs) {
  Expected<std::shared_ptr<const ProgramFacts>> facts = program_facts(s.program);
  if (!facts) return facts.error();
  Expected<StructureOps> ops = ops_->structure_ops(s);
  if (!ops) return ops.error();
  Expected<StructureModel> model = structure_model(s, *facts);
  if (!model) return model.error();
  if (ops->entries.empty()) *ops = direct_ops(*model);
  Evaluator evaluator(*facts, options_.machine);
  try {
    return cost(profile_at(*model, *ops, knobs, evaluator), options_.machine);
  } catch (const std::exception& e) {
    return Refusal{"cost a schedule", "", e.what(), ""};
  }
}

// All plans of a structure, for the machine as it is now. False: there was no time for it.
bool Engine::cost_again(int structure, const SearchState& state, const std::vector<int>& children) {
  // By plan for those with lazy references, at their own tile sizes; -1: the structure.
  std::map<int, std::pair<StructureOps, StructureModel>> forms;
  Evaluator& evaluator = evaluator_for(state.program->facts);
  std::vector<Standing::Footing> fitting;
  for (int id : children) {
    const SearchNode& plan = result_.nodes[id];
    if (plan.by_hand ||
        (plan.state != NodeState::Complete && plan.state != NodeState::OverCapacity))
      continue;
    const auto knob = plan.knobs.find(kLazyKnob);
    const bool lazy = knob != plan.knobs.end() && knob->second != 0;
    const int form = lazy ? id : -1;
    if (!forms.contains(form)) {
      const Expected<Plan> stale = lazy ? plan_of(program_, result_, id) : Plan{};
      if (!stale) {
        set_state(id, NodeState::Failed, stale.error().text());
        continue;
      }
      const poly::Schedule& s = lazy ? stale->schedule : state.schedule;
      Expected<StructureOps> ops = ops_->structure_ops(s);
      Expected<StructureModel> model = structure_model(s, state.program->facts);
      if (poly::out_of_time()) return false;
      if (!ops || !model) {
        set_state(id, NodeState::Failed, !ops ? ops.error().text() : model.error().text());
        continue;
      }
      if (ops->entries.empty()) *ops = direct_ops(*model);
      forms.emplace(form, std::pair(*std::move(ops), *std::move(model)));
    }
    const auto& [ops, model] = forms.at(form);
    const StructureModel at = with_knobs(model, state.program->axes, plan.knobs);
    const Cost c = cost(profile_at(at, ops, plan.knobs, evaluator), options_.machine);
    if (poly::out_of_time()) return false;
    fill(result_.nodes[id], c);
    const SearchNode& n = result_.nodes[id];
    if (c.fits) fitting.push_back({id, structure, n.seconds, n.shared_bytes, n.register_bytes});
    changed(id);
  }
  for (const Standing::Footing& f : fitting) standing_.enter(f);
  const auto best = standing_.of_structure.find(structure);
  result_.nodes[structure].seconds =
      best == standing_.of_structure.end() ? 0 : best->second.seconds;
  return true;
}

bool Engine::among_best(int structure) const {
  int left = std::max(1, options_.top);
  for (auto it = standing_.best.begin(); it != standing_.best.end() && left > 0; ++it) {
    if (it->second == structure) return true;
    left -= below(it->second, root_);
  }
  return false;
}

// A structure is verified once for all its tile sizes; what may be handed out is verified again at
// the sizes it has, as soon as it is among the best. A plan that fails makes way for the next best
// of its structure, a few times. The program's own order needs no proof. False: there was no time
// for it.
bool Engine::settle(int structure) {
  constexpr int kAttempts = 4;
  for (int attempt = 0; among_best(structure) && structure != written_; ++attempt) {
    const int node = standing_.of_structure.at(structure).node;
    if (settled_.contains(node)) return true;
    std::string why;
    try {
      const Expected<Plan> plan = plan_of(program_, result_, node);
      const poly::Verification v =
          plan ? poly::verify(plan->schedule, options_.isl_quota) : poly::Verification{};
      if (v.ok) return settled_.insert(node).second;
      why = plan ? v.verdict.why : plan.error().text();
    } catch (const isl::exception& e) {
      why = e.what();
    }
    if (poly::out_of_time()) return false;
    if (before_answer_) mark(node);
    set_state(node, NodeState::Failed, "at its tile sizes: " + why);
    standing_.forget(structure, attempt + 1 < kAttempts);
  }
  return true;
}

}  // namespace nautilus::sched
