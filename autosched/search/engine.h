// The search itself: a frontier of decisions not yet taken, structures verified and costed, nodes
// recorded.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>

#include "autosched/search/knobs.h"
#include "autosched/search/state.h"
#include "polyhedral/deadline.h"

namespace nautilus::sched {

// A decision that waits, with the state it would be taken in.
struct Pending {
  int node = -1;
  Candidate candidate;
  std::shared_ptr<const SearchState> from;
  int depth = 0;
  int64_t order = 0;   // among equals: in the order in which decisions are listed
  int departures = 0;  // how far the path left the first choices (most fused, all tiled)
};

// Which decision is taken next.
class Frontier {
 public:
  Frontier(Strategy strategy, int beam, uint64_t seed)
      : strategy_(strategy), beam_(beam), rng_(seed) {}
  void push(Pending p);
  std::optional<Pending> pop(std::vector<Pending>& cut);  // `cut`: what a beam leaves behind
  bool empty() const { return open_.empty() && next_.empty(); }
  std::vector<Pending> drain();

 private:
  struct Key {
    double bound;
    int depth;
    int64_t order;
    bool operator<(const Key& o) const {
      return std::tie(bound, o.depth, order) < std::tie(o.bound, depth, o.order);
    }
  };
  // The same decisions from the deepest on, the best of each depth first.
  struct Deeper {
    bool operator()(const Key& a, const Key& b) const {
      return a.depth != b.depth ? a.depth > b.depth : a < b;
    }
  };
  Pending take(std::map<Key, Pending>::iterator it);

  Strategy strategy_;
  int beam_;
  std::mt19937_64 rng_;
  int64_t popped_ = 0;
  std::map<Key, Pending> open_;    // Beam: the current level
  std::map<Key, Pending> next_;    // Beam: the level below
  std::set<Key, Deeper> deepest_;  // BestFirst: of open_
  std::vector<Key> any_;           // Random: of open_, in no order
};

class Engine {
 public:
  Engine(poly::ProgramPtr program, const SearchOptions& options, OpsProvider& ops,
         const EventSink& sink);
  Expected<SearchResult> run();

 private:
  using Clock = std::chrono::steady_clock;
  bool stop();                           // sets stop_reason_ at the first budget that ran out
  bool cut(int node, const char* what);  // whether what is done to the node ended for lack of time
  Clock::time_point deadline() const;
  void explore(std::shared_ptr<const ProgramFacts> facts, int root);
  void answer_with_written(std::shared_ptr<const ProgramFacts> facts);
  int add_node(int parent, const std::string& decision, double bound);
  void changed(int id, SearchEvent::Kind kind = SearchEvent::Kind::Changed);
  void expand(int node, const SearchState& state, const Pending& from);
  void process(const Pending& p);
  void outside_beam(const Pending& p);
  void follow_up(const Pending& p, Taken& t);
  void evaluate(int node, const SearchState& state);
  void record_plan(int parent, const std::vector<const KernelChoice*>& choice,
                   const StructureOps& ops, Evaluator& evaluator);
  // The structure's best plan with stale references, where that is cheaper.
  void try_lazy(int node, const SearchState& state, std::vector<KernelChoice> best,
                Evaluator& evaluator);
  Evaluator& evaluator_for(const SearchState& state);
  double threshold() const;  // bounds at or above it are cut
  bool among_best(int structure) const;  // has a plan, one of the best that are asked for so far
  bool settle(int structure);
  void forget(int structure, bool another);
  void finish(std::shared_ptr<const ProgramFacts> facts);
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  SearchOptions options_;
  OpsProvider& ops_;
  const EventSink& sink_;
  poly::ProgramPtr program_;
  Actions actions_;
  Frontier frontier_;
  std::mt19937_64 rng_;
  Clock::time_point start_ = Clock::now();
  SearchResult result_;
  std::optional<StopReason> stop_reason_;
  std::map<const poly::Program*, std::unique_ptr<Evaluator>> evaluators_;
  std::unordered_map<uint64_t, int> seen_, structures_;
  struct Best {
    double seconds;
    int node, structure;
  };
  std::map<int, Best> best_of_structure_;  // by structure node
  std::set<std::pair<double, int>> best_;  // (seconds, structure node)
  struct Footing {
    int node;
    double seconds, shared, registers;
  };
  std::vector<Footing> footing_;  // complete plans, for the Pareto front
  std::set<int> settled_;         // plans that were verified at their own sizes
  int written_ = -1;              // the program's own order
  double last_progress_ = 0;
};

}  // namespace nautilus::sched
