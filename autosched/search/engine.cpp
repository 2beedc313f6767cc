// Decisions: taken one after the other, each with its nodes.
#include "autosched/search/engine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace nautilus::sched {
namespace {

uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ull + (h >> 29); }

}  // namespace

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

uint64_t state_key(const SearchState& s) {
  return mix(mix(poly::canonical_hash(s.schedule, true), static_cast<uint64_t>(s.last + 1)),
             s.next + 1000 * s.kernel.size());
}

Engine::Engine(poly::ProgramPtr program, const SearchOptions& options, OpsProvider& ops,
               EventSink sink)
    : options_(options),
      ops_(&ops),
      sink_(std::move(sink)),
      program_(std::move(program)),
      actions_(options_),
      frontier_(options.strategy, options.beam, options.seed),
      rng_(options.seed) {}

bool Engine::stop() {
  if (stop_reason_) return true;
  if (options_.stop && options_.stop->load(std::memory_order_relaxed))
    stop_reason_ = StopReason::Interrupted;
  else if (budget_.seconds > 0 && elapsed() >= budget_.seconds)
    stop_reason_ = StopReason::TimeBudget;
  else if (budget_.nodes > 0 && static_cast<int>(result_.nodes.size()) >= budget_.nodes)
    stop_reason_ = StopReason::NodeBudget;
  else if (budget_.plans > 0 && result_.plans_costed >= budget_.plans)
    stop_reason_ = StopReason::PlanBudget;
  return stop_reason_.has_value();
}

double Engine::elapsed() const {
  return spent_ + (running_ ? std::chrono::duration<double>(Clock::now() - start_).count() : 0);
}

Engine::Clock::time_point Engine::deadline() const {
  if (budget_.seconds <= 0) return Clock::time_point::max();
  return start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                      std::clamp(budget_.seconds - spent_, -1e9, 1e9)));
}

// What isl or a loop gave up because the moment had come says nothing about the node.
bool Engine::cut(int node, const char* what) {
  if (!poly::out_of_time()) return false;
  stop();
  const SearchNode& n = result_.nodes[node];
  if (!cut_) cut_ = Mark{node, n.state, n.reason};
  set_state(node, NodeState::Budget,
            std::string(what) + " was not finished: " +
                std::string(stop_reason_name(stop_reason_.value_or(StopReason::TimeBudget))));
  return true;
}

int Engine::add_node(int parent, const std::string& decision, double bound) {
  SearchNode n;
  n.id = static_cast<int>(result_.nodes.size());
  n.parent = parent;
  n.decision = decision;
  n.lower_bound = bound;
  n.made_at = elapsed();
  result_.nodes.push_back(std::move(n));
  changed(result_.nodes.back().id, SearchEvent::Kind::Added);
  return result_.nodes.back().id;
}

void Engine::changed(int id, SearchEvent::Kind kind) {
  if (!sink_) return;
  sink_({kind, id < 0 ? nullptr : &result_.nodes[id], result_.plans_costed,
         result_.structures_verified, elapsed()});
}

void Engine::set_state(int node, NodeState state, std::string reason) {
  result_.nodes[node].state = state;
  result_.nodes[node].reason = std::move(reason);
  changed(node);
}

bool Engine::below(int node, int root) const {
  while (node > root) node = result_.nodes[node].parent;
  return node == root;
}

void Engine::push(Pending p) {
  p.forced |= p.node == root_;
  if (below(p.node, root_))
    frontier_.push(std::move(p));
  else
    aside_.push_back(std::move(p));
}

// With K structures in hand, what cannot become one of the K best is cut.
double Engine::threshold() const {
  if (options_.strategy == Strategy::Exhaustive) return INFINITY;
  size_t left = static_cast<size_t>(std::max(1, options_.top));
  for (auto& [seconds, structure] : standing_.best)
    if (below(structure, root_) && --left == 0) return seconds;
  return INFINITY;
}

// Does what is under way, up to the next decision. False: it was left unfinished.
bool Engine::work(bool one_task) {
  while (!agenda_.empty()) {
    Task task = std::move(agenda_.front());
    agenda_.pop_front();
    after_.clear();
    bool finished = true;
    const int node = std::visit(
        [](const auto& t) {
          using T = std::decay_t<decltype(t)>;
          if constexpr (std::is_same_v<T, Decision>)
            return t.pending.node;
          else if constexpr (std::is_same_v<T, FollowUp>)
            return t.of.node;
          else if constexpr (std::is_same_v<T, Replaying>)
            return 0;
          else
            return t.node;
        },
        task);
    const bool opening = node == 0 || node == written_;
    try {
      finished = std::visit([&](auto& t) { return perform(t); }, task);
    } catch (const isl::exception& e) {
      if (cut(opening ? 0 : node, opening ? "the analysis of the program" : "this decision")) {
        finished = false;
      } else {
        set_state(opening ? 0 : node, NodeState::Unknown, e.what());
        after_.clear();
        if (!opening) continue;
        stop_reason_ = StopReason::OperationBudget;
        return false;
      }
    }
    if (!finished) after_.push_front(std::move(task));
    for (; !after_.empty(); after_.pop_back()) agenda_.push_front(std::move(after_.back()));
    if (!finished || one_task) return finished;
  }
  return true;
}

bool Engine::perform(Evaluation& e) { return evaluate(e); }

bool Engine::perform(Expansion& e) {
  if (!e.listed) e.candidates = actions_.candidates(*e.state);
  e.listed = true;
  while (e.next < e.candidates.size()) {
    Candidate& c = e.candidates[e.next];
    // A bound never falls on the way down.
    c.bound = std::max(c.bound, result_.nodes[e.node].lower_bound);
    const int id = add_node(e.node, c.decision, c.bound);
    push({id, std::move(c), e.state, e.depth + 1, 2 * static_cast<int64_t>(id),
          e.departures + static_cast<int>(e.next)});
    ++e.next;
    if (budget_.nodes > 0 && static_cast<int>(result_.nodes.size()) >= budget_.nodes)
      return e.next == e.candidates.size();
  }
  return true;
}

bool Engine::perform(FollowUp& f) {
  if (stop()) return false;
  f.also.bound = std::max(f.also.bound, f.of.candidate.bound);
  const int id = add_node(result_.nodes[f.of.node].parent, f.also.decision, f.also.bound);
  push({id, std::move(f.also), f.of.from, f.of.depth, f.of.order + 1, f.of.departures});
  return true;
}

void Engine::expand_or_evaluate(int node, StatePtr state, const Pending& from) {
  if (state->complete()) {
    Evaluation e;
    e.node = node;
    e.state = std::move(state);
    after_.push_back(std::move(e));
  } else {
    Expansion e;
    e.node = node;
    e.state = std::move(state);
    e.depth = from.depth;
    e.departures = from.departures;
    after_.push_back(std::move(e));
  }
}

bool Engine::perform(Decision& d) {
  Pending& p = d.pending;
  if (result_.nodes[p.node].by_hand) return decide_by_hand(p);
  if (result_.nodes[p.node].state != NodeState::Open) return true;  // taken meanwhile
  const double limit = threshold();
  if (p.candidate.bound >= limit && !p.forced) {
    set_state(p.node, NodeState::Bounded,
              "every plan below takes at least " + time_text(p.candidate.bound) + "; " +
                  std::to_string(options_.top) + (options_.top == 1 ? " plan is" : " plans are") +
                  " known with at most " + time_text(limit));
    return true;
  }
  if (!p.from && !revive(p)) return !cut(p.node, "this decision");
  Taken t = actions_.take(*p.from, p.candidate);
  if (cut(p.node, "this decision")) return false;
  // What may be interrupted comes before the node says that it was taken.
  const uint64_t key = t.state ? state_key(*t.state) : 0;
  SearchNode& n = result_.nodes[p.node];
  n.steps = std::move(t.steps);
  n.verdict = t.verdict;
  n.reason = t.reason;
  if (!t.state) {
    n.state = t.node == NodeState::Open ? NodeState::Failed : t.node;
    changed(p.node);
    if (t.also) after_.push_back(FollowUp{p, *t.also});
    return true;
  }
  n.state = NodeState::Expanded;
  auto state = std::make_shared<const SearchState>(*std::move(t.state));
  auto [it, fresh] = seen_.emplace(key, p.node);
  if (!fresh) {
    n.duplicate_of = it->second;
    ++result_.duplicates;
    set_state(p.node, NodeState::Duplicate, "the same state as node " + std::to_string(it->second));
    return true;
  }
  changed(p.node);
  if (t.also) after_.push_back(FollowUp{p, *t.also});
  expand_or_evaluate(p.node, std::move(state), p);
  return true;
}

}  // namespace nautilus::sched
