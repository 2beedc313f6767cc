// Sessions like a long search's: structures that fan out into plans with numbers, many pruned, with
// points on four levels below the roofs.
#pragma once

#include <cmath>
#include <random>

#include "autosched/search.h"

namespace nautilus::gui {

inline const std::string kH200 = NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json";

inline sched::Session big_session(int count, uint32_t seed, const std::string& machine_file) {
  using sched::NodeState;
  std::mt19937 r(seed);
  const auto below = [&](int n) { return static_cast<int>(r() % static_cast<unsigned>(n)); };
  std::normal_distribution<double> normal;
  sched::Session s;
  s.kernel = "synthetic";
  s.options.machine = *sched::load_machine(machine_file);
  const auto& levels = s.options.machine.levels;
  std::vector<sched::SearchNode>& nodes = s.result.nodes;
  std::vector<int> open{0};
  std::vector<int> depth{0};
  nodes.push_back({});
  nodes[0].decision = "the program as it was written";
  nodes[0].state = NodeState::Expanded;
  auto add = [&](int parent, NodeState state, std::string decision) -> sched::SearchNode& {
    sched::SearchNode n;
    n.id = static_cast<int>(nodes.size());
    n.parent = parent;
    n.state = state;
    n.decision = std::move(decision);
    nodes.push_back(std::move(n));
    depth.push_back(depth[parent] + 1);
    return nodes.back();
  };
  while (static_cast<int>(nodes.size()) < count) {
    const int parent = open[below(static_cast<int>(open.size()))];
    if (depth[parent] < 7 && (open.size() < 40 || below(3) == 0)) {
      const NodeState state = below(3) ? NodeState::Expanded : NodeState(3 + below(8));
      auto& n = add(parent, state,
                    "fuse S" + std::to_string(below(9)) + " .. O_acc at j by rolling update");
      n.reason = state == NodeState::Illegal ? "S must precede T" : "";
      if (state == NodeState::Duplicate) n.duplicate_of = below(n.id);
      if (state == NodeState::Expanded) open.push_back(n.id);
      continue;
    }
    const double intensity = std::pow(10, 1 + 0.7 * normal(r)), quality = -1.2 + 0.5 * normal(r);
    for (int k = 0; k < 60 && static_cast<int>(nodes.size()) < count; ++k) {
      auto& n = add(parent, below(8) ? NodeState::Complete : NodeState::OverCapacity,
                    "stages = " + std::to_string(1 + k % 3) +
                        ", tile.i = " + std::to_string(8 << (k / 3 % 5)) +
                        ", tile.j = " + std::to_string(8 << (k / 15)));
      n.knobs = {{"stages", 1 + k % 3}, {"tile.i", 8 << (k / 3 % 5)}, {"tile.j", 8 << (k / 15)}};
      n.seconds = 1e-6 * std::pow(10, 1 - quality + 0.2 * normal(r));
      n.lower_bound = 2e-6;
      n.limiter = "latency bound: 60 % of the time in dependent steps";
      double at = intensity * std::pow(10, 0.15 * normal(r));
      for (const sched::MemoryLevel& l : levels) {
        const double roof = std::min(l.bandwidth.value * at, 3e14);
        n.points.push_back({l.name, at, std::min(3e9 / n.seconds, 0.9 * roof), roof});
        at /= std::pow(10, std::abs(0.4 * normal(r)));
      }
    }
  }
  for (const sched::SearchNode& n : nodes)
    if (n.state == NodeState::Complete) s.result.best.push_back(n.id);
  std::partial_sort(
      s.result.best.begin(), s.result.best.begin() + std::min<long>(10, s.result.best.size()),
      s.result.best.end(), [&](int a, int b) { return nodes[a].seconds < nodes[b].seconds; });
  s.result.best.resize(std::min<size_t>(10, s.result.best.size()));
  return s;
}

}  // namespace nautilus::gui
