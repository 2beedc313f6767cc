// Decisions that wait, and which is taken next.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>

#include "autosched/search/state.h"

namespace nautilus::sched {

// A decision that waits, with the state it would be taken in.
struct Pending {
  int node = -1;
  Candidate candidate;
  // Null where it has to be replayed first; of the candidate only the bound is known then.
  std::shared_ptr<const SearchState> from;
  int depth = 0;
  int64_t order = 0;    // among equals: in the order in which decisions are listed
  int departures = 0;   // how far the path left the first choices (most fused, all tiled)
  bool forced = false;  // whatever its bound
};

class Frontier {
 public:
  Frontier(Strategy strategy, int beam, uint64_t seed)
      : strategy_(strategy), beam_(beam), rng_(seed) {}
  void push(Pending p);
  std::optional<Pending> pop(std::vector<Pending>& cut);  // `cut`: what a beam leaves behind
  bool empty() const { return open_.empty() && next_.empty(); }
  std::vector<Pending> drain();
  template <class Fn>
  void each(Fn&& fn) const {
    for (const auto* m : {&open_, &next_})
      for (auto& [key, p] : *m) fn(p);
  }

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

}  // namespace nautilus::sched
