// A search from its first node to its answer: what is explored within the budget, and what is said
// when the budget ends.
#include <algorithm>

#include "autosched/search/engine.h"

namespace nautilus::sched {
namespace {

// What a search may take beyond its time to prove what it found.
constexpr std::chrono::milliseconds kGrace{500};

// Plans that no other beats in time, shared memory and registers at once.
std::vector<int> pareto_front(std::vector<std::tuple<double, double, double, int>> all) {
  std::sort(all.begin(), all.end());
  std::vector<int> out;
  std::vector<std::pair<double, double>> kept;
  for (auto& [seconds, shared, registers, id] : all) {
    bool beaten = false;
    for (auto& [s, r] : kept) beaten |= s <= shared && r <= registers;
    if (beaten) continue;
    kept.push_back({shared, registers});
    out.push_back(id);
  }
  return out;
}

}  // namespace

bool Engine::among_best(int structure) const {
  int left = std::max(1, options_.top);
  for (auto it = best_.begin(); it != best_.end() && left > 0; ++it, --left)
    if (it->second == structure) return true;
  return false;
}

// A structure is verified once for all its tile sizes; what may be handed out is verified again at
// the sizes it has, as soon as it is among the best. A plan that fails makes way for the next best
// of its structure, a few times. The program's own order needs no proof. False: there was no time
// for it.
bool Engine::settle(int structure) {
  constexpr int kAttempts = 4;
  for (int attempt = 0; among_best(structure) && structure != written_; ++attempt) {
    const int node = best_of_structure_.at(structure).node;
    if (settled_.contains(node)) return true;
    const Expected<Plan> plan = plan_of(program_, result_, node);
    const poly::Verification v =
        plan ? poly::verify(plan->schedule, options_.isl_quota) : poly::Verification{};
    if (v.ok) return settled_.insert(node).second;
    if (poly::out_of_time()) return false;
    result_.nodes[node].state = NodeState::Failed;
    result_.nodes[node].reason =
        "at its tile sizes: " + (plan ? v.verdict.why : plan.error().text());
    changed(node);
    forget(structure, attempt + 1 < kAttempts);
  }
  return true;
}

// Takes a structure's plan out of what may be handed out; its next best one takes the place, if it
// may.
void Engine::forget(int structure, bool another) {
  const auto found = best_of_structure_.find(structure);
  const int node = found->second.node;
  best_.erase({found->second.seconds, structure});
  best_of_structure_.erase(found);
  std::erase_if(footing_, [&](const Footing& f) {
    return f.node == node || (!another && result_.nodes[f.node].parent == structure);
  });
  const Footing* next = nullptr;
  for (const Footing& f : footing_)
    if (result_.nodes[f.node].parent == structure && (!next || f.seconds < next->seconds))
      next = &f;
  if (!next) return;
  best_of_structure_[structure] = {next->seconds, next->node, structure};
  best_.insert({next->seconds, structure});
}

// Everything below the root, until nothing is left or a budget is spent.
void Engine::explore(std::shared_ptr<const ProgramFacts> facts, int root) {
  const Expected<ProgramContextPtr> program = program_context(std::move(facts), options_.isl_quota);
  if (cut(root, "the analysis of dependences")) return;
  if (!program) {
    stop_reason_ = StopReason::OperationBudget;
    result_.nodes[root].state = NodeState::Unknown;
    result_.nodes[root].reason = program.error().text();
    return;
  }
  const SearchState start = start_state(*program);
  const double bound = actions_.bound(start);
  for (int id : {root, written_}) {
    result_.nodes[id].state = NodeState::Expanded;
    result_.nodes[id].lower_bound = bound;
  }
  SearchState as_written = start;
  as_written.last = -1;
  evaluate(written_, as_written);
  if (!stop()) expand(root, start, {});
  while (!frontier_.empty() && !stop()) {
    std::vector<Pending> left;
    const std::optional<Pending> p = frontier_.pop(left);
    for (const Pending& c : left) outside_beam(c);
    if (!p) break;
    try {
      process(*p);
    } catch (const isl::exception& e) {
      if (cut(p->node, "this decision")) break;
      result_.nodes[p->node].state = NodeState::Unknown;
      result_.nodes[p->node].reason = e.what();
      changed(p->node);
    }
    if (elapsed() - last_progress_ > 0.1) {
      last_progress_ = elapsed();
      changed(-1, SearchEvent::Kind::Progress);
    }
  }
}

// The order as written is legal by definition, so it is an answer whatever the budget was. Its cost
// is counted from the statements as they stand, which takes no rewriting.
void Engine::answer_with_written(std::shared_ptr<const ProgramFacts> facts) {
  try {
    const poly::Schedule schedule = poly::initial_schedule(program_);
    const Expected<StructureModel> model = structure_model(schedule, facts);
    if (!model) return;
    Evaluator evaluator(facts, options_.machine);
    const StructureOps ops = direct_ops(*model);
    ResourceProfile whole = evaluator.profile(*model, ops);
    std::vector<KernelChoice> choices;
    for (ResourceProfile& part : whole.parts) {
      choices.emplace_back();
      choices.back().profile = std::move(part);
    }
    std::vector<const KernelChoice*> all;
    for (const KernelChoice& c : choices) all.push_back(&c);
    result_.nodes[written_].state = NodeState::Expanded;
    result_.nodes[written_].reason.clear();
    record_plan(written_, all, ops, evaluator);
  } catch (const isl::exception&) {
    return;
  } catch (const std::range_error&) {
    return;
  }
}

void Engine::finish(std::shared_ptr<const ProgramFacts> facts) {
  const std::string why(stop_reason_name(stop_reason_.value_or(StopReason::Exhausted)));
  for (const Pending& p : frontier_.drain()) {
    result_.nodes[p.node].state = NodeState::Budget;
    result_.nodes[p.node].reason = "not tried: " + why;
  }
  for (SearchNode& n : result_.nodes)
    if (n.state == NodeState::Open) n.state = NodeState::Budget, n.reason = "not tried: " + why;
  {
    // What the end of the budget left unproved gets a moment; the best of it first.
    const poly::DeadlineGuard grace(program_->context->get(), Clock::now() + kGrace);
    for (size_t k = 0; k < std::min<size_t>(best_.size(), std::max(1, options_.top));) {
      const int structure = std::next(best_.begin(), static_cast<std::ptrdiff_t>(k))->second;
      const int node = best_of_structure_[structure].node;
      if (settled_.contains(node) || structure == written_) {
        ++k;
      } else if (!settle(structure)) {
        cut(node, "its verification at its tile sizes");
        forget(structure, false);
      }
    }
  }
  if (best_.empty()) answer_with_written(facts);
  for (auto& [seconds, structure] : best_) {
    if (static_cast<int>(result_.best.size()) >= std::max(1, options_.top)) break;
    result_.best.push_back(best_of_structure_[structure].node);
  }
  if (result_.best.size() == 1 && result_.nodes[result_.best[0]].parent == written_ && stop_reason_)
    result_.note = "the search ended (" + why +
                   ") before another plan was complete: this is the program's own order, untiled";
  std::vector<std::tuple<double, double, double, int>> all;
  for (const Footing& f : footing_) all.emplace_back(f.seconds, f.shared, f.registers, f.node);
  result_.pareto = pareto_front(std::move(all));
  result_.seconds = elapsed();
  result_.stop_reason = stop_reason_.value_or(StopReason::Exhausted);
  changed(-1, SearchEvent::Kind::Progress);
}

Expected<SearchResult> Engine::run() {
  const Expected<std::shared_ptr<const ProgramFacts>> facts = program_facts(program_);
  if (!facts) return facts.error();
  const int root = add_node(-1, "the program as it was written", 0);
  // The program's own order is a plan too: the yardstick, and an answer whatever happens.
  written_ = add_node(root, "leave the order as written", 0);
  {
    const poly::DeadlineGuard guard(program_->context->get(), deadline(), options_.stop);
    try {
      explore(*facts, root);
    } catch (const isl::exception& e) {
      if (!cut(root, "the analysis of the program")) {
        stop_reason_ = StopReason::OperationBudget;
        result_.nodes[root].state = NodeState::Unknown;
        result_.nodes[root].reason = e.what();
      }
    }
  }
  finish(*facts);
  return std::move(result_);
}

}  // namespace nautilus::sched
