// Tidy drawings of trees in linear time: Reingold and Tilford's, with Buchheim, Junger and
// Leipert's correction for nodes with many children. Parents are centred over their children,
// subtrees of one shape look alike, siblings keep their order and are spread evenly, and no two
// nodes overlap. Iterative, so depth is limited by memory alone.
#pragma once

#include <vector>

namespace nautilus::gui {

// A tree whose nodes are numbered breadth first: level by level, children of one node contiguous
// and in order. Node 0 is the root.
struct LevelTree {
  std::vector<int> parent;       // of the root: -1
  std::vector<int> first_child;  // -1 if it has none
  std::vector<int> children;     // how many
  std::vector<int> level_begin;  // first node of each level, and the number of nodes
  int size() const { return static_cast<int>(parent.size()); }
  int levels() const { return static_cast<int>(level_begin.size()) - 1; }
  int level_of(int node) const;
};

struct TidyGaps {
  double siblings = 4, cousins = 14;  // free space between nodes side by side
};

// The middle of each node along the direction in which siblings lie, where `extent` is its size in
// that direction; the smallest edge of all nodes is at 0. Empty for an empty tree.
std::vector<double> tidy_layout(const LevelTree& tree, const std::vector<float>& extent,
                                const TidyGaps& gaps);

}  // namespace nautilus::gui
