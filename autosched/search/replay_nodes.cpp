// Nodes back to states: what was decided on a path is repeated from the record, without verdicts.
#include <algorithm>

#include "autosched/search/engine.h"
#include "autosched/search/words.h"

namespace nautilus::sched {
namespace {

constexpr size_t kMostStates = 512;

bool costed(const SearchNode& n) {
  return n.state == NodeState::Complete || n.state == NodeState::OverCapacity;
}

bool ends_with(const std::string& s, std::string_view end) {
  return s.size() > end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

// The decision with these words in a list, or the other form of one.
std::optional<Candidate> named(const std::vector<Candidate>& list, const std::string& decision) {
  for (const Candidate& c : list)
    if (c.decision == decision) return c;
  const auto plain = plain_decision(decision);
  if (!plain) return std::nullopt;
  for (const Candidate& c : list)
    if (c.decision == *plain) return *other_form(c);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> plain_decision(const std::string& follow_up) {
  for (std::string_view end : {std::string_view(kRolling), std::string_view(kNoScratch)})
    if (ends_with(follow_up, end)) return follow_up.substr(0, follow_up.size() - end.size());
  return std::nullopt;
}

std::optional<Candidate> other_form(const Candidate& c) {
  Candidate out = c;
  if (c.kind == Candidate::Kind::Loop && !c.rolling) {
    out.rolling = true;
    out.decision += kRolling;
    return out;
  }
  if (c.kind == Candidate::Kind::Finish && !c.far) {
    out.far = true;
    out.decision += kNoScratch;
    return out;
  }
  return std::nullopt;
}

// The state that a node's decision led to. Throws isl::exception when time or operations run out.
Expected<StatePtr> Engine::state_of(int node) {
  if (auto it = known_states_.find(node); it != known_states_.end()) return it->second;
  const SearchNode& n = result_.nodes[node];
  auto refuse = [&](const std::string& why) {
    return Refusal{"replay node " + std::to_string(node), n.decision, why, ""};
  };
  SearchState state;
  const Expected<ProgramContextPtr> base = context();
  if (!base) return base.error();
  if (n.parent < 0 || node == written_) {
    state = start_state(*base);
    if (node == written_) state.last = -1;
  } else if (n.by_hand) {
    const Expected<Plan> plan = plan_of(program_, result_, node);
    if (!plan) return plan.error();
    const bool same = plan->schedule.program == program_;
    const Expected<ProgramContextPtr> program =
        same ? *base : program_context(plan->schedule.program, options_.isl_quota);
    if (!program) return program.error();
    state = state_by_hand(plan->schedule, *program);
  } else {
    const Expected<StatePtr> from = state_of(n.parent);
    if (!from) return from;
    const auto candidate = named(actions_.candidates(**from), n.decision);
    if (!candidate) return refuse("this version of the search has no such decision here");
    Taken t = actions_.take(**from, *candidate, &n.steps);
    if (!t.state) return refuse(t.reason);
    state = *std::move(t.state);
  }
  if (known_states_.size() >= kMostStates) known_states_.clear();
  return known_states_[node] = std::make_shared<const SearchState>(std::move(state));
}

// The state that a decision waits in, and the decision itself. False: the node says why not.
bool Engine::revive(Pending& p) {
  const SearchNode& n = result_.nodes[p.node];
  const Expected<StatePtr> from = state_of(n.parent);
  if (poly::out_of_time()) return false;
  if (!from) {
    set_state(p.node, NodeState::Unknown, from.error().text());
    return false;
  }
  auto candidate = named(actions_.candidates(**from), n.decision);
  if (!candidate) {
    set_state(p.node, NodeState::Unknown, "this version of the search has no such decision here");
    return false;
  }
  candidate->bound = p.candidate.bound;
  p.candidate = *std::move(candidate);
  p.from = *from;
  return true;
}

std::optional<Refusal> Engine::take_over(SearchResult so_far) {
  if (so_far.nodes.empty()) return begin();
  const Expected<std::shared_ptr<const ProgramFacts>> facts = program_facts(program_);
  if (!facts) return facts.error();
  facts_ = *facts;
  result_ = std::move(so_far);
  spent_ = result_.seconds;
  settled_.insert(result_.best.begin(), result_.best.end());
  for (SearchNode& n : result_.nodes) {
    n.id = static_cast<int>(&n - result_.nodes.data());
    if (n.parent == 0 && n.decision == kAsWritten && !n.by_hand) written_ = n.id;
    if (n.state == NodeState::Complete && n.parent >= 0)
      standing_.enter({n.id, n.by_hand ? n.id : n.parent, n.seconds, n.shared_bytes,
                       n.register_bytes});
    if (n.state == NodeState::Budget && n.steps.empty() && n.id > 0) n.state = NodeState::Open;
  }
  opening_ = Opening::Done;
  // Sessions of older versions do not say what a plan takes of registers and scratch.
  Replaying replaying;
  replaying.cost_again = !standing_.plans.empty() &&
                         std::all_of(standing_.plans.begin(), standing_.plans.end(),
                                     [](const auto& f) { return f.registers + f.shared == 0; });
  agenda_.push_back(std::move(replaying));
  return std::nullopt;
}

bool Engine::perform(Replaying& r) {
  if (written_ < 0) written_ = add_node(0, kAsWritten, 0);
  const size_t count = result_.nodes.size();
  if (r.children.empty()) {
    r.children.resize(count);
    r.depth.resize(count);
    r.departures.resize(count);
    if (r.cost_again) standing_ = {};
    for (size_t k = 1; k < count; ++k)
      r.children[result_.nodes[k].parent].push_back(static_cast<int>(k));
  }
  for (; r.next < r.children.size(); ++r.next) {
    const int id = static_cast<int>(r.next);
    bool done = false;
    try {
      done = replay_node(r, id);
    } catch (const isl::exception& e) {
      if (poly::out_of_time()) return false;
      set_state(id, NodeState::Unknown, e.what());
      done = true;
    }
    if (!done) return false;
  }
  return true;
}

// False: there was no time for it.
bool Engine::replay_node(Replaying& r, int id) {
  if (result_.nodes[id].by_hand && result_.nodes[id].steps.size() && costed(result_.nodes[id])) {
    const Expected<Plan> plan = plan_of(program_, result_, id);
    if (poly::out_of_time()) return false;
    if (plan && r.cost_again) cost_by_hand(id, plan->schedule);
    if (poly::out_of_time()) return false;
    if (plan) enter_by_hand(id, plan->schedule, r.cost_again);
  }
  const bool searched = std::any_of(r.children[id].begin(), r.children[id].end(),
                                    [&](int c) { return !result_.nodes[c].by_hand; });
  const bool expanded =
      result_.nodes[id].by_hand ? searched : result_.nodes[id].state == NodeState::Expanded;
  if (!expanded && id != 0 && id != written_) return true;
  if (id == 0 || id == written_) {
    const Expected<ProgramContextPtr> program = context();
    if (poly::out_of_time()) return false;
    if (!program) {
      set_state(0, NodeState::Unknown, program.error().text());
      stop_reason_ = StopReason::OperationBudget;
      return false;
    }
    result_.nodes[id].lower_bound = actions_.bound(start_state(*program));
    if (result_.nodes[id].state != NodeState::Expanded) set_state(id, NodeState::Expanded, "");
  }
  const Expected<StatePtr> state = state_of(id);
  if (poly::out_of_time()) return false;
  if (!state) {
    for (int c : r.children[id])
      if (result_.nodes[c].state == NodeState::Open)
        set_state(c, NodeState::Unknown, "its parent cannot be replayed: " + state.error().text());
    return true;
  }
  if (id != 0 && id != written_ && !result_.nodes[id].by_hand)
    seen_.emplace(state_key(**state), id);
  if (!(*state)->complete()) return replay_children(r, id, *state);
  structures_.emplace(poly::canonical_hash((*state)->schedule, true), id);
  if (r.cost_again && !cost_again(id, **state, r.children[id])) return false;
  // The structure in hand when the search ended may lack some of its plans.
  const bool last = !r.children[id].empty() && r.children[id].back() + 1 ==
                                                   static_cast<int>(r.children.size());
  if (searched && !(last && result_.stop_reason != StopReason::Exhausted)) return true;
  Evaluation e;
  e.node = id;
  e.state = *state;
  e.stage = Evaluation::Stage::Verify;
  for (int c : r.children[id])
    if (!result_.nodes[c].by_hand) e.known.insert(result_.nodes[c].knobs);
  after_.push_back(std::move(e));
  return true;
}

// Decisions below a node that are still open wait again; those that are missing are added.
bool Engine::replay_children(Replaying& r, int id, const StatePtr& state) {
  std::vector<Candidate> list = actions_.candidates(*state);
  if (poly::out_of_time()) return false;
  std::map<std::string, int> recorded;
  for (int c : r.children[id]) recorded.emplace(result_.nodes[c].decision, c);
  const double floor = result_.nodes[id].lower_bound;
  std::set<int> waiting;
  auto wait = [&](const Candidate& c, int node, int64_t order, int rank) {
    SearchNode& n = result_.nodes[node];
    if (r.new_machine) n.lower_bound = c.bound;
    const size_t k = static_cast<size_t>(node);
    if (k < r.depth.size()) {
      r.depth[k] = r.depth[id] + 1;
      r.departures[k] = r.departures[id] + rank;
    }
    const bool pruned = n.state == NodeState::Bounded || n.state == NodeState::Dominated;
    if (n.state != NodeState::Open && n.state != NodeState::Budget && !(r.new_machine && pruned))
      return;
    if (n.state != NodeState::Open) set_state(node, NodeState::Open, "");
    waiting.insert(node);
    push({node, c, state, r.depth[id] + 1, order, r.departures[id] + rank});
  };
  int rank = 0;
  for (Candidate& c : list) {
    c.bound = std::max(c.bound, floor);
    auto at = recorded.find(c.decision);
    const int node = at == recorded.end() ? add_node(id, c.decision, c.bound) : at->second;
    wait(c, node, 2 * static_cast<int64_t>(node), rank);
    if (const auto also = other_form(c)) {
      const SearchNode& n = result_.nodes[node];
      const bool due = (c.kind == Candidate::Kind::Loop && n.state == NodeState::Illegal &&
                        c.last > c.first && !c.whole) ||
                       (c.kind == Candidate::Kind::Finish && n.state == NodeState::Expanded &&
                        n.reason.find(" in scratch") != std::string::npos);
      at = recorded.find(also->decision);
      const bool listed = std::any_of(list.begin(), list.end(), [&](const Candidate& other) {
        return other.decision == also->decision;
      });
      if (at != recorded.end() && !listed)
        wait(*also, at->second, 2 * static_cast<int64_t>(node) + 1, rank);
      else if (due && at == recorded.end())
        wait(*also, add_node(id, also->decision, c.bound), 2 * static_cast<int64_t>(node) + 1, rank);
    }
    ++rank;
  }
  for (int c : r.children[id])
    if (result_.nodes[c].state == NodeState::Open && c != written_ && !waiting.contains(c))
      set_state(c, NodeState::Dominated, "no decision for this machine");
  return true;
}

}  // namespace nautilus::sched
