// Documents to test with: a small program with a tree of nodes, and large random trees.
#pragma once

#include <random>

#include "gui/models/document.h"

namespace nautilus::gui::testing_samples {

// `count` nodes, every one below an earlier one, with states, numbers and knobs drawn at random.
inline std::vector<sched::SearchNode> random_nodes(int count, uint32_t seed, int first = 0) {
  std::mt19937 r(seed);
  const auto below = [&](int n) { return static_cast<int>(r() % static_cast<unsigned>(n)); };
  std::vector<sched::SearchNode> out;
  for (int id = first; id < first + count; ++id) {
    sched::SearchNode n;
    n.id = id;
    n.parent = id == 0 ? -1 : below(id);
    n.state = static_cast<sched::NodeState>(below(static_cast<int>(sched::NodeState::Failed) + 1));
    n.verdict = n.state == sched::NodeState::Illegal ? poly::VerdictKind::Illegal
                                                     : poly::VerdictKind::Legal;
    n.decision = id == 0 ? "as written" : "tile i by " + std::to_string(8 << below(5));
    n.steps = {{"tile", "{\"band\":" + std::to_string(below(9)) + "}"}};
    if (n.state == sched::NodeState::Complete) {
      n.seconds = 1e-6 * (1 + below(1000));
      n.lower_bound = n.seconds / 2;
      n.limiter = below(2) ? "memory bound: hbm" : "matrix bound";
      n.knobs = {{"tile.i", 8 << below(5)}, {"stages", 1 + below(3)}};
      n.points = {{"hbm", 10.0 + below(100), 1e12, 2e12}};
    }
    out.push_back(std::move(n));
  }
  return out;
}

inline const char* const kProgram = "program none";  // no job of the bench needs it

inline sched::Session random_session(int count, uint32_t seed) {
  sched::Session s;
  s.program_naut = kProgram;
  s.kernel = "sample";
  s.result.nodes = random_nodes(count, seed);
  for (const sched::SearchNode& n : s.result.nodes)
    if (n.state == sched::NodeState::Complete && s.result.best.size() < 5)
      s.result.best.push_back(n.id);
  return s;
}

}  // namespace nautilus::gui::testing_samples
