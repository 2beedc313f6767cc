// A search from its first node to its answer: what is explored within the budget, and what is said
// when the budget ends.
#include <algorithm>

#include "autosched/search/engine.h"

namespace nautilus::sched {
namespace {

// What a search may take beyond its time to prove what it found.
constexpr std::chrono::milliseconds kGrace{500};

}  // namespace

std::optional<Refusal> Engine::begin() {
  const Clock::time_point begun = Clock::now();
  const Expected<std::shared_ptr<const ProgramFacts>> facts = program_facts(program_);
  if (!facts) return facts.error();
  facts_ = *facts;
  const int root = add_node(-1, "the program as it was written", 0);
  // The program's own order is a plan too: the yardstick, and an answer whatever happens.
  written_ = add_node(root, kAsWritten, 0);
  spent_ = std::chrono::duration<double>(Clock::now() - begun).count();
  return std::nullopt;
}

Expected<ProgramContextPtr> Engine::context() {
  if (context_) return context_;
  Expected<ProgramContextPtr> made = program_context(facts_, options_.isl_quota);
  if (made) context_ = *made;
  return made;
}

// Puts the next decision on the agenda. False: there is none, or it could not be begun.
bool Engine::next_decision() {
  if (opening_ == Opening::Context) {
    const Expected<ProgramContextPtr> program = context();
    if (cut(0, "the analysis of dependences")) return false;
    if (!program) {
      stop_reason_ = StopReason::OperationBudget;
      set_state(0, NodeState::Unknown, program.error().text());
      return false;
    }
    const double bound = actions_.bound(start_state(*program));
    for (int id : {0, written_}) {
      result_.nodes[id].lower_bound = bound;
      set_state(id, NodeState::Expanded, "");
    }
    opening_ = Opening::Written;
  }
  if (opening_ == Opening::Written) {
    SearchState as_written = start_state(context_);
    as_written.last = -1;
    Evaluation e;
    e.node = written_;
    e.state = std::make_shared<const SearchState>(std::move(as_written));
    e.slot = written_slot_;
    agenda_.push_back(std::move(e));
    opening_ = Opening::Root;
    return true;
  }
  if (opening_ == Opening::Root) {
    Expansion e;
    e.node = 0;
    e.state = std::make_shared<const SearchState>(start_state(context_));
    agenda_.push_back(std::move(e));
    opening_ = Opening::Done;
    return true;
  }
  std::vector<Pending> left;
  std::optional<Pending> p = frontier_.pop(left);
  for (const Pending& c : left)
    set_state(c.node, NodeState::Dominated,
              "outside the beam of " + std::to_string(options_.beam) + ": bound " +
                  time_text(c.candidate.bound));
  if (p) agenda_.push_back(Decision{*std::move(p)});
  return p.has_value();
}

// Decisions until nothing is left or a budget is spent.
void Engine::explore() {
  for (int64_t taken = 0; !stop(); ++taken) {
    if (budget_.decisions > 0 && taken >= budget_.decisions) {
      stop_reason_ = StopReason::Interrupted;
      break;
    }
    try {
      if (agenda_.empty() && !next_decision()) break;
    } catch (const isl::exception& e) {
      if (cut(0, "the analysis of the program")) break;
      stop_reason_ = StopReason::OperationBudget;
      set_state(0, NodeState::Unknown, e.what());
      break;
    }
    if (!work()) {
      if (!stop()) stop_reason_ = StopReason::TimeBudget;
      break;
    }
    if (elapsed() - last_progress_ > 0.1) {
      last_progress_ = elapsed();
      changed(-1, SearchEvent::Kind::Progress);
    }
  }
}

bool Engine::exhausted() const {
  return opening_ == Opening::Done && agenda_.empty() && frontier_.empty();
}

StopReason Engine::run(const Budget& budget) {
  take_back();
  reopen();
  budget_ = budget;
  stop_reason_.reset();
  start_ = Clock::now();
  running_ = true;
  const poly::QuotaGuard quota(program_->context->get(), options_.isl_quota);
  {
    const poly::DeadlineGuard guard(program_->context->get(), deadline(), options_.stop);
    explore();
    before_answer_ = standing_;
    if (!agenda_.empty() && !poly::out_of_time())
      if (const auto* e = std::get_if<Evaluation>(&agenda_.front());
          e && e->stage > Evaluation::Stage::Best)
        settle(e->node);
  }
  result_.stop_reason = stop_reason_.value_or(StopReason::Exhausted);
  answer();
  spent_ = elapsed();
  running_ = false;
  result_.seconds = spent_;
  changed(-1, SearchEvent::Kind::Progress);
  return result_.stop_reason;
}

// What ended for lack of time, or was given up, is open again.
void Engine::reopen() {
  if (cut_) set_state(cut_->node, cut_->state, cut_->reason);
  cut_.reset();
  for (int id : closed_)
    if (result_.nodes[id].state == NodeState::Budget) set_state(id, NodeState::Open, "");
  closed_.clear();
}

void Engine::mark(int node) {
  answer_marks_.push_back({node, result_.nodes[node].state, result_.nodes[node].reason});
}

void Engine::take_back() {
  if (!before_answer_) return;
  standing_ = *std::move(before_answer_);
  before_answer_.reset();
  for (; !answer_marks_.empty(); answer_marks_.pop_back()) {
    const Mark& m = answer_marks_.back();
    set_state(m.node, m.state, m.reason);
  }
}

void Engine::answer() {
  if (!before_answer_) before_answer_ = standing_;
  {
    // What the end of the budget left unproved gets a moment; the best of it first.
    const poly::DeadlineGuard grace(program_->context->get(), Clock::now() + kGrace);
    const size_t top = static_cast<size_t>(std::max(1, options_.top));
    for (size_t k = 0; k < std::min(standing_.best.size(), top);) {
      const int structure =
          std::next(standing_.best.begin(), static_cast<std::ptrdiff_t>(k))->second;
      const int node = standing_.of_structure[structure].node;
      if (settled_.contains(node) || structure == written_) {
        ++k;
      } else if (!settle(structure)) {
        mark(node);
        set_state(node, NodeState::Budget,
                  "its verification at its tile sizes was not finished: " +
                      std::string(stop_reason_name(result_.stop_reason)));
        standing_.forget(structure, false);
      }
    }
  }
  list_best();
}

void Engine::list_best() {
  result_.best.clear();
  for (auto& [seconds, structure] : standing_.best) {
    if (static_cast<int>(result_.best.size()) >= std::max(1, options_.top)) break;
    result_.best.push_back(standing_.of_structure[structure].node);
  }
  result_.pareto = standing_.pareto();
  result_.note.clear();
  if (result_.best.size() == 1 && result_.nodes[result_.best[0]].parent == written_ &&
      stop_reason_)
    result_.note = "the search ended (" + std::string(stop_reason_name(*stop_reason_)) +
                   ") before another plan was complete: this is the program's own order, untiled";
}

void Engine::close() {
  const std::string why = "not tried: " + std::string(stop_reason_name(result_.stop_reason));
  for (SearchNode& n : result_.nodes)
    if (n.state == NodeState::Open) {
      closed_.push_back(n.id);
      set_state(n.id, NodeState::Budget, why);
    }
  if (standing_.best.empty() && written_ >= 0 && facts_) answer_with_written();
}

// The order as written is legal by definition, so it is an answer whatever the budget was. Its cost
// is counted from the statements as they stand, which takes no rewriting.
void Engine::answer_with_written() {
  if (!before_answer_) before_answer_ = standing_;
  const poly::QuotaGuard quota(program_->context->get(), options_.isl_quota);
  try {
    const poly::Schedule schedule = poly::initial_schedule(program_);
    const Expected<StructureModel> model = structure_model(schedule, facts_);
    if (!model) return;
    Evaluator evaluator(facts_, options_.machine);
    const StructureOps ops = direct_ops(*model);
    ResourceProfile whole = evaluator.profile(*model, ops);
    std::vector<KernelChoice> choices;
    for (ResourceProfile& part : whole.parts) {
      choices.emplace_back();
      choices.back().profile = std::move(part);
    }
    std::vector<const KernelChoice*> all;
    for (const KernelChoice& c : choices) all.push_back(&c);
    mark(written_);
    set_state(written_, NodeState::Expanded, "");
    Evaluation e;
    e.node = written_;
    e.slot = written_slot_;
    written_slot_ = record_plan(e, all, ops, evaluator);
    if (!agenda_.empty())
      if (auto* under_way = std::get_if<Evaluation>(&agenda_.front());
          under_way && under_way->node == written_)
        under_way->slot = written_slot_;
    list_best();
  } catch (const isl::exception&) {
    return;
  } catch (const std::range_error&) {
    return;
  }
}

}  // namespace nautilus::sched
