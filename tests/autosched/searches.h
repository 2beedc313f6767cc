// Running searches in tests, and what must hold of every one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "autosched/search.h"

namespace nautilus::sched::testing_searches {

inline SearchOptions options_for(const std::string& machine = "h200") {
  SearchOptions o;
  o.machine =
      *load_machine(std::string(NAUTILUS_SOURCE_DIR "/corpus/machines/") + machine + ".json");
  o.seconds = 20;
  return o;
}

inline SearchResult run(poly::ProgramPtr p, const SearchOptions& o) {
  auto ops = direct_ops_provider();
  auto r = search(p, o, *ops);
  EXPECT_TRUE(r) << r.error().text();
  return r ? *std::move(r) : SearchResult{};
}

// What must hold of every search, whatever it found.
inline void check_invariants(const SearchResult& r) {
  ASSERT_FALSE(r.nodes.empty());
  double best = INFINITY;
  for (const SearchNode& n : r.nodes) {
    EXPECT_LT(n.parent, n.id);
    EXPECT_NE(n.state, NodeState::Open) << n.decision;
    if (n.state == NodeState::Complete) {
      EXPECT_TRUE(std::isfinite(n.seconds) && n.seconds > 0);
      EXPECT_LE(n.lower_bound, n.seconds * 1.0000001) << n.decision;
      EXPECT_FALSE(n.limiter.empty());
      best = std::min(best, n.seconds);
      // Admissible: no bound on the path exceeds what was reached.
      for (int id = n.parent; id >= 0; id = r.nodes[id].parent)
        EXPECT_LE(r.nodes[id].lower_bound, n.seconds * 1.0000001);
    }
    if (n.state != NodeState::Complete && n.state != NodeState::Expanded) {
      EXPECT_FALSE(n.reason.empty()) << state_name(n.state) << " " << n.decision;
    }
    if (n.state == NodeState::Duplicate) {
      EXPECT_GE(n.duplicate_of, 0);
    }
  }
  ASSERT_FALSE(r.best.empty());
  EXPECT_EQ(r.nodes[r.best[0]].seconds, best);
  for (size_t k = 1; k < r.best.size(); ++k) {
    EXPECT_LE(r.nodes[r.best[k - 1]].seconds, r.nodes[r.best[k]].seconds);
    EXPECT_NE(r.nodes[r.best[k - 1]].parent, r.nodes[r.best[k]].parent);
  }
  for (int id : r.pareto) EXPECT_EQ(r.nodes[id].state, NodeState::Complete);
}

inline int kernels_of(const poly::Schedule& s) { return static_cast<int>(s.root->children.size()); }

inline int count_state(const SearchResult& r, NodeState s) {
  int n = 0;
  for (const SearchNode& node : r.nodes) n += node.state == s;
  return n;
}

inline void expect_same(const SearchResult& a, const SearchResult& b) {
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].decision, b.nodes[i].decision);
    EXPECT_EQ(a.nodes[i].seconds, b.nodes[i].seconds);
    EXPECT_EQ(a.nodes[i].state, b.nodes[i].state)
        << a.nodes[i].reason << " / " << b.nodes[i].reason;
    EXPECT_EQ(steps_to_json(a.nodes[i].steps), steps_to_json(b.nodes[i].steps));
  }
  EXPECT_EQ(a.best, b.best);
  EXPECT_EQ(a.pareto, b.pareto);
}

}  // namespace nautilus::sched::testing_searches
