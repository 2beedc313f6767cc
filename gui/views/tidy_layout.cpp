#include "gui/views/tidy_layout.h"

#include <algorithm>

namespace nautilus::gui {
namespace {

// The walks of Buchheim's algorithm. Because nodes are numbered by levels, going through them level
// by level from the deepest visits children before parents and left siblings before right ones.
class Tidy {
 public:
  Tidy(const LevelTree& t, const std::vector<float>& extent, const TidyGaps& gaps)
      : t_(t), extent_(extent), gaps_(gaps) {
    const size_t n = t.parent.size();
    for (auto* v : {&preliminary_, &modifier_, &shift_, &change_}) v->assign(n, 0);
    thread_.assign(n, -1);
    default_ancestor_.assign(n, -1);
    ancestor_.resize(n);
    for (size_t i = 0; i < n; ++i) ancestor_[i] = static_cast<int>(i);
  }

  std::vector<double> run() {
    for (int level = t_.levels() - 1; level >= 0; --level)
      for (int v = t_.level_begin[level]; v < t_.level_begin[level + 1]; ++v) place(v);
    std::vector<double> at(preliminary_.size()), modifiers(preliminary_.size());
    double least = 0;
    for (int v = 0; v < t_.size(); ++v) {
      const double above = v ? modifiers[t_.parent[v]] : 0;
      at[v] = preliminary_[v] + above;
      modifiers[v] = above + modifier_[v];
      const double edge = at[v] - extent_[v] / 2;
      least = v ? std::min(least, edge) : edge;
    }
    for (double& y : at) y -= least;
    return at;
  }

 private:
  int first(int v) const { return t_.first_child[v]; }
  int last(int v) const { return t_.first_child[v] + t_.children[v] - 1; }
  int left_sibling(int v) const {
    const int p = t_.parent[v];
    return p >= 0 && v > first(p) ? v - 1 : -1;
  }
  int next_left(int v) const { return t_.children[v] ? first(v) : thread_[v]; }
  int next_right(int v) const { return t_.children[v] ? last(v) : thread_[v]; }
  double distance(int a, int b) const {
    const bool siblings = t_.parent[a] == t_.parent[b];
    return (extent_[a] + extent_[b]) / 2.0 + (siblings ? gaps_.siblings : gaps_.cousins);
  }

  // First walk at one node, and its place beside the subtrees of its left siblings.
  void place(int v) {
    double middle = 0;
    if (t_.children[v]) {
      spread_shifts(v);
      middle = (preliminary_[first(v)] + preliminary_[last(v)]) / 2;
    }
    const int left = left_sibling(v);
    preliminary_[v] = left < 0 ? middle : preliminary_[left] + distance(left, v);
    if (t_.children[v]) modifier_[v] = preliminary_[v] - middle;
    if (left >= 0) apportion(v, left);
  }

  // Children that were pushed apart pass a share of it to the ones in between.
  void spread_shifts(int v) {
    double shift = 0, change = 0;
    for (int w = last(v); w >= first(v); --w) {
      preliminary_[w] += shift;
      modifier_[w] += shift;
      change += change_[w];
      shift += shift_[w] + change;
    }
  }

  // Pushes v's subtree away from those on its left, following the two contours downwards.
  void apportion(int v, int left) {
    const int parent = t_.parent[v];
    int& fallback = default_ancestor_[parent];
    if (fallback < 0) fallback = first(parent);
    int in_right = v, out_right = v, in_left = left, out_left = first(parent);
    double s_in_right = modifier_[v], s_out_right = s_in_right;
    double s_in_left = modifier_[in_left], s_out_left = modifier_[out_left];
    while (next_right(in_left) >= 0 && next_left(in_right) >= 0) {
      in_left = next_right(in_left);
      in_right = next_left(in_right);
      out_left = next_left(out_left);
      out_right = next_right(out_right);
      ancestor_[out_right] = v;
      const double push = preliminary_[in_left] + s_in_left - preliminary_[in_right] - s_in_right +
                          distance(in_left, in_right);
      if (push > 0) {
        move_subtree(blocking_sibling(in_left, v, fallback), v, push);
        s_in_right += push;
        s_out_right += push;
      }
      s_in_left += modifier_[in_left];
      s_in_right += modifier_[in_right];
      s_out_left += modifier_[out_left];
      s_out_right += modifier_[out_right];
    }
    if (next_right(in_left) >= 0 && next_right(out_right) < 0) {
      thread_[out_right] = next_right(in_left);
      modifier_[out_right] += s_in_left - s_out_right;
    }
    if (next_left(in_right) >= 0 && next_left(out_left) < 0) {
      thread_[out_left] = next_left(in_right);
      modifier_[out_left] += s_in_right - s_out_left;
      fallback = v;
    }
  }

  int blocking_sibling(int in_left, int v, int fallback) const {
    const int a = ancestor_[in_left];
    return t_.parent[a] == t_.parent[v] ? a : fallback;
  }

  void move_subtree(int from, int to, double push) {
    const double share = push / (to - from);
    change_[to] -= share;
    shift_[to] += push;
    change_[from] += share;
    preliminary_[to] += push;
    modifier_[to] += push;
  }

  const LevelTree& t_;
  const std::vector<float>& extent_;
  const TidyGaps gaps_;
  std::vector<double> preliminary_, modifier_, shift_, change_;
  std::vector<int> thread_, ancestor_, default_ancestor_;
};

}  // namespace

int LevelTree::level_of(int node) const {
  auto it = std::upper_bound(level_begin.begin(), level_begin.end(), node);
  return static_cast<int>(it - level_begin.begin()) - 1;
}

std::vector<double> tidy_layout(const LevelTree& tree, const std::vector<float>& extent,
                                const TidyGaps& gaps) {
  if (tree.parent.empty()) return {};
  return Tidy(tree, extent, gaps).run();
}

}  // namespace nautilus::gui
