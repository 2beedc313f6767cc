// Steering: nodes made by hand, searches below any node, another machine.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "autosched/search/engine.h"
#include "polyhedral/json_text.h"

namespace nautilus::sched {
namespace {

std::string band_words(const poly::Node& n) {
  std::string out;
  for (const poly::BandMember& m : n.members) out += (out.empty() ? "" : ", ") + m.name;
  return out;
}

// "tile i, j of S: sizes [64,64]".
std::string step_words(const poly::Schedule& s, const poly::TransformStep& step) {
  std::string out = step.name, rest;
  const nlohmann::json params = poly::read_json(step.params.empty() ? "{}" : step.params);
  if (!params.is_object()) return out;
  for (auto& [key, value] : params.items()) {
    const poly::Node* node = key == "node" && value.is_number_integer()
                                 ? poly::find(s, value.get<poly::NodeId>())
                                 : nullptr;
    if (!node) {
      rest += (rest.empty() ? ": " : ", ") + key + " " +
              (value.is_string() ? value.get<std::string>() : value.dump());
      continue;
    }
    if (node->kind == poly::NodeKind::Band) out += " " + band_words(*node);
    if (!node->statements.empty())
      out += (node->kind == poly::NodeKind::Band ? " of " : " ") + node->statements.front();
    if (node->statements.size() > 1) out += " .. " + node->statements.back();
  }
  return out + rest;
}

// A statement as the program has it: its own band, not tiled and not mapped.
bool untouched(const poly::Node& filter) {
  if (filter.statements.size() != 1 || filter.children.empty()) return false;
  const poly::Node& n = *filter.children[0];
  if (n.kind == poly::NodeKind::Leaf) return true;
  if (n.kind != poly::NodeKind::Band || n.children.empty() ||
      n.children[0]->kind != poly::NodeKind::Leaf)
    return false;
  return std::all_of(n.members.begin(), n.members.end(), [](const poly::BandMember& m) {
    return m.step == 1 && m.mapping == poly::Mapping::Serial;
  });
}

}  // namespace

void skip_pinned(SearchState& s) {
  const std::vector<poly::Statement>& st = s.program->program->statements;
  while (s.last >= 0 && s.pinned.contains(st[s.last].name)) --s.last;
}

void take_unfinished(SearchState& s) {
  if (s.pinned.empty()) return;
  for (const poly::NodePtr& child : s.schedule.root->children) {
    bool unfinished = false;
    for (const std::string& stmt : child->statements) {
      if (!s.pinned.contains(stmt)) break;
      const poly::Node* band = innermost_band(s.schedule, stmt);
      unfinished |= band && std::all_of(band->members.begin(), band->members.end(),
                                        [](const poly::BandMember& m) {
                                          return m.step == 1 && m.mapping == poly::Mapping::Serial;
                                        });
    }
    if (!unfinished) continue;
    s.kernel = child->statements;
    s.next = s.kernel.size();
    const poly::Node* band = child->children.empty() ? nullptr : child->children[0].get();
    if (band && band->kind == poly::NodeKind::Band)
      for (const poly::BandMember& m : band->members) {
        const int axis = member_axis(*s.program, m, s.kernel.back());
        if (axis < 0 || m.mapping != poly::Mapping::Grid) continue;
        s.grid.push_back(axis);
        if (m.step > 1) s.tiled.push_back(axis);
      }
    return;
  }
}

SearchState state_by_hand(const poly::Schedule& schedule, ProgramContextPtr p) {
  SearchState s = start_state(p);
  s.schedule = schedule;
  for (const poly::NodePtr& child : schedule.root->children)
    if (!untouched(*child)) s.pinned.insert(child->statements.begin(), child->statements.end());
  if (!s.pinned.empty()) {
    s.recomputed = s.last;
    s.split = true;
  }
  skip_pinned(s);
  take_unfinished(s);
  return s;
}

void Engine::cost_by_hand(int node, const poly::Schedule& s) {
  const Expected<Cost> c = cost_of(s, result_.nodes[node].knobs);
  SearchNode& n = result_.nodes[node];
  if (c) {
    fill(n, *c);
  } else {
    n.state = NodeState::Expanded;
    n.reason = "no cost yet: " + c.error().why;
  }
}

// Plans made by hand compete with the search's, as plans of the same structure if it has one.
void Engine::enter_by_hand(int node, const poly::Schedule& s, bool standing) {
  const SearchNode& n = result_.nodes[node];
  const uint64_t hash = poly::canonical_hash(s, true);
  by_hand_.emplace(hash, node);
  if (n.state == NodeState::Complete && standing)
    standing_.enter({node, node, n.seconds, n.shared_bytes, n.register_bytes});
  if (const auto known = structures_.find(hash); known != structures_.end())
    standing_.adopt(known->second, node);
}

Expected<int> Engine::add_by_hand(int parent, const std::vector<poly::TransformStep>& steps) {
  auto refuse = [&](const std::string& why, const std::string& suggest) {
    return Refusal{"apply a transform by hand", "node " + std::to_string(parent), why, suggest};
  };
  if (parent < 0 || parent >= static_cast<int>(result_.nodes.size()))
    return refuse("there is no such node", "");
  if (steps.empty()) return refuse("no transform is named", "");
  const SearchNode& from = result_.nodes[parent];
  const bool waits = from.state == NodeState::Open || from.state == NodeState::Bounded ||
                     from.state == NodeState::Dominated || from.state == NodeState::Budget;
  if (waits && from.steps.empty() && parent != 0)
    return refuse("its own decision has not been taken yet: " + from.decision,
                  "explore below it, or go on from node " + std::to_string(from.parent));
  const poly::QuotaGuard quota(program_->context->get(), options_.isl_quota);
  const Expected<Plan> plan = plan_of(program_, result_, parent);
  if (!plan) return plan.error();
  const Expected<poly::DependenceSet> deps =
      poly::dependences(*plan->schedule.program, options_.isl_quota);
  if (!deps) return deps.error();
  Stepper step(plan->schedule, *deps);
  std::string words;
  for (const poly::TransformStep& s : steps) {
    words += (words.empty() ? "by hand: " : "; ") + step_words(step.schedule, s);
    const nlohmann::json params = poly::read_json(s.params.empty() ? "{}" : s.params);
    if (params.is_discarded())
      return refuse("the parameters of " + s.name + " are damaged: " + s.params, "");
    if (step.apply(s.name.c_str(), params)) continue;
    if (step.node == NodeState::Failed) return refuse(step.reason, "");
    break;
  }
  take_back();
  const int id = add_node(parent, words, result_.nodes[parent].lower_bound);
  SearchNode& n = result_.nodes[id];
  n.by_hand = true;
  n.knobs = result_.nodes[parent].knobs;
  n.steps = step.steps;
  n.verdict = step.verdict;
  if (step.node != NodeState::Open) {
    set_state(id, step.node, step.reason);
  } else if (const poly::Verification v = poly::verify(step.schedule, options_.isl_quota); !v.ok) {
    n.verdict = v.verdict.kind;
    set_state(
        id, v.verdict.kind == poly::VerdictKind::Illegal ? NodeState::Illegal : NodeState::Unknown,
        "the independent verifier refuses it: " + v.verdict.why);
  } else {
    settled_.insert(id);
    cost_by_hand(id, step.schedule);
    if (n.reason.empty()) n.reason = step.note;
    ++result_.plans_costed;
    const double before = standing_.best.empty() ? INFINITY : standing_.best.begin()->first;
    enter_by_hand(id, step.schedule, true);
    changed(id);
    if (n.state == NodeState::Complete && n.seconds < before) changed(id, SearchEvent::Kind::Best);
  }
  answer();
  return id;
}

std::optional<Refusal> Engine::explore_below(int node) {
  auto refuse = [&](const std::string& why, const std::string& suggest) {
    return Refusal{"explore below node " + std::to_string(node), "", why, suggest};
  };
  if (node < 0 || node >= static_cast<int>(result_.nodes.size()))
    return refuse("there is no such node", "");
  if (const SearchNode& same = result_.nodes[node];
      same.state == NodeState::Duplicate && same.duplicate_of >= 0)
    node = same.duplicate_of;
  const SearchNode& n = result_.nodes[node];
  const bool refused = n.state == NodeState::Illegal || n.state == NodeState::Unknown ||
                       n.state == NodeState::Failed;
  if (refused && node != 0)
    return refuse("it was refused: " + n.reason, "its parent, node " + std::to_string(n.parent));
  const bool plan = !n.by_hand && n.steps.empty() &&
                    (n.state == NodeState::Complete || n.state == NodeState::OverCapacity);
  if (plan)
    return refuse("it is a plan with all numbers chosen",
                  "its parent, node " + std::to_string(n.parent));
  take_back();
  reopen();
  root_ = node;
  std::vector<Pending> all = frontier_.drain();
  all.insert(all.end(), std::make_move_iterator(aside_.begin()),
             std::make_move_iterator(aside_.end()));
  aside_.clear();
  for (Pending& p : all) push(std::move(p));
  if (node != 0) {
    // What was cut by plans elsewhere is open again here. Nodes that are still to be replayed wait
    // when that is done.
    const bool replaying = !agenda_.empty() && std::holds_alternative<Replaying>(agenda_.front());
    std::vector<int> depth{0}, rank{0}, listed(result_.nodes.size(), 0);
    depth.resize(result_.nodes.size());
    rank.resize(result_.nodes.size());
    for (size_t k = 1; k < result_.nodes.size(); ++k) {
      const size_t parent = static_cast<size_t>(result_.nodes[k].parent);
      depth[k] = depth[parent] + 1;
      rank[k] = rank[parent] + listed[parent]++;
      const int id = static_cast<int>(k);
      const NodeState was = result_.nodes[k].state;
      if ((was != NodeState::Bounded && was != NodeState::Dominated) || !below(id, node)) continue;
      set_state(id, NodeState::Open, "");
      if (replaying) continue;
      Pending p{id, {}, nullptr, depth[k], 2 * static_cast<int64_t>(id), rank[k], id == node};
      p.candidate.bound = result_.nodes[k].lower_bound;
      push(std::move(p));
    }
    if (n.by_hand) {
      const bool searched = std::any_of(
          result_.nodes.begin(), result_.nodes.end(),
          [&](const SearchNode& child) { return child.parent == node && !child.by_hand; });
      if (!searched) push({node, {}, nullptr, depth[node], 2 * int64_t{node}, rank[node], true});
    }
  }
  answer();
  return std::nullopt;
}

// What is left to decide below a node that a person made.
bool Engine::decide_by_hand(const Pending& p) {
  const Expected<StatePtr> state = state_of(p.node);
  if (poly::out_of_time()) return false;
  if (!state) {
    set_state(p.node, result_.nodes[p.node].state, state.error().text());
    return true;
  }
  seen_.emplace(state_key(**state), p.node);
  expand_or_evaluate(p.node, *state, p);
  return true;
}

std::optional<Refusal> Engine::set_machine(const Machine& machine, OpsProvider& ops) {
  if (machine.levels.empty())
    return Refusal{"change the machine", "", "it has no memory levels",
                   "load one with find_machine"};
  take_back();
  reopen();
  options_.machine = machine;
  ops_ = &ops;
  evaluators_.clear();
  known_states_.clear();
  frontier_.drain();
  aside_.clear();
  agenda_.clear();
  seen_.clear();
  structures_.clear();
  by_hand_.clear();
  opening_ = Opening::Done;
  Replaying replaying;
  replaying.new_machine = replaying.cost_again = true;
  agenda_.push_back(std::move(replaying));
  budget_ = {};
  stop_reason_.reset();
  start_ = Clock::now();
  running_ = true;
  const poly::QuotaGuard quota(program_->context->get(), options_.isl_quota);
  {
    const poly::DeadlineGuard guard(program_->context->get(), Clock::time_point::max(),
                                    options_.stop);
    work(true);
  }
  spent_ = elapsed();
  running_ = false;
  answer();
  changed(-1, SearchEvent::Kind::Progress);
  return std::nullopt;
}

}  // namespace nautilus::sched
