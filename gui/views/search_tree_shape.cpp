// Which candidates are shown, by levels.
#include "gui/views/search_tree_shape.h"

#include <algorithm>
#include <cmath>

namespace nautilus::gui {
namespace {

using sched::NodeState;
constexpr int kBestPaths = 3;      // shown whole unless somebody closes them
constexpr int kSmallTree = 60;     // candidates: small trees are shown whole
constexpr size_t kPlansShown = 3;  // of one parent, the fastest
constexpr size_t kRefusalsShown = 2, kWaitingShown = 5;

// Refusals teach something, so the first ones stay visible.
bool tells_a_reason(NodeState s) {
  return s == NodeState::Illegal || s == NodeState::Unknown || s == NodeState::Failed ||
         s == NodeState::Duplicate;
}

class Shaper {
 public:
  Shaper(const TreeQuestion& q, SearchTreePicture& p)
      : q_(q), p_(p), n_(static_cast<int>(q.facts.size())) {}

  void run() {
    if (n_ == 0) return;
    index_children();
    measure_subtrees();
    mark_kept();
    p_.root = q_.root >= 0 && q_.root < n_ ? q_.root : 0;
    p_.item_of.assign(n_, -1);
    add_item({.node = p_.root}, -1);
    LevelTree& t = p_.tree;
    t.level_begin = {0};
    for (int begin = 0; begin < p_.size();) {
      const int end = p_.size();
      t.level_begin.push_back(end);
      for (int i = begin; i < end; ++i) add_children(i);
      begin = end;
    }
    place_the_hidden();
  }

 private:
  void index_children() {
    begin_.assign(n_ + 1, 0);
    for (const TreeFact& f : q_.facts)
      if (f.parent >= 0) ++begin_[f.parent + 1];
    for (int i = 0; i < n_; ++i) begin_[i + 1] += begin_[i];
    children_.resize(begin_[n_]);
    std::vector<int> at(begin_.begin(), begin_.end() - 1);
    for (int i = 0; i < n_; ++i)
      if (q_.facts[i].parent >= 0) children_[at[q_.facts[i].parent]++] = i;
  }

  void measure_subtrees() {
    below_.assign(n_, 0);
    best_.assign(n_, 0);
    for (int i = n_ - 1; i >= 0; --i) {
      const TreeFact& f = q_.facts[i];
      if (f.state == NodeState::Complete) keep_faster(best_[i], f.seconds);
      if (f.parent < 0) continue;
      below_[f.parent] += below_[i] + 1;
      keep_faster(best_[f.parent], best_[i]);
    }
    p_.best_so_far.assign(n_, -1);
    int fastest = -1;
    for (int i = 0; i < n_; ++i) {
      const TreeFact& f = q_.facts[i];
      const bool plan = f.state == NodeState::Complete && f.seconds > 0;
      if (plan && (fastest < 0 || f.seconds < q_.facts[fastest].seconds)) fastest = i;
      p_.best_so_far[i] = fastest;
    }
  }
  static void keep_faster(float& best, float seconds) {
    if (seconds > 0 && (best == 0 || seconds < best)) best = seconds;
  }

  std::vector<int> leaders() const {
    std::vector<int> plans = q_.best;
    if (plans.empty()) {
      for (int i = 0; i < n_; ++i)
        if (q_.facts[i].state == NodeState::Complete && q_.facts[i].seconds > 0) plans.push_back(i);
      const size_t k = std::min(plans.size(), size_t{kBestPaths});
      std::partial_sort(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(k), plans.end(),
                        [&](int a, int b) { return q_.facts[a].seconds < q_.facts[b].seconds; });
    }
    plans.resize(std::min(plans.size(), size_t{kBestPaths}));
    return plans;
  }

  void mark_kept() {
    kept_.assign(n_, false);
    auto keep = [&](int node) {
      for (int i = node; i >= 0 && i < n_ && !kept_[i]; i = q_.facts[i].parent) kept_[i] = true;
    };
    for (int i : leaders()) keep(i);
    for (int i : q_.shown) keep(i);
  }

  bool is_open(int node) const {
    if (auto it = q_.open.find(node); it != q_.open.end()) return it->second;
    return q_.everything || kept_[node] || node == p_.root || below_[p_.root] < kSmallTree;
  }

  void add_item(const TreeItem& item, int parent) {
    LevelTree& t = p_.tree;
    const int id = p_.size();
    p_.items.push_back(item);
    t.parent.push_back(parent);
    t.first_child.push_back(-1);
    t.children.push_back(0);
    if (parent >= 0) {
      if (t.children[parent]++ == 0) t.first_child[parent] = id;
    }
    TreeItem& it = p_.items.back();
    if (it.fold != Group::None) return;
    it.best_below = best_[it.node];
    it.open = below_[it.node] > 0 && is_open(it.node);
    it.below = it.open ? 0 : below_[it.node];
    p_.item_of[it.node] = id;
    p_.folded_nodes += it.below;
    ++p_.shown_nodes;
  }

  // The children of one item: who is shown by itself, then the folds.
  void add_children(int parent_item) {
    if (!p_.items[parent_item].open || p_.items[parent_item].fold != Group::None) return;
    const int node = p_.items[parent_item].node;
    std::vector<int> shown, folded[4];
    for (int k = begin_[node]; k < begin_[node + 1]; ++k) {
      const int c = children_[k];
      const Group g = below_[c] > 0 ? Group::None : group_of(q_.facts[c].state);
      (g == Group::None ? shown : folded[static_cast<int>(g)]).push_back(c);
    }
    const auto unfolded = [&](Group g) {
      return q_.everything || q_.unfolded.contains(fold_key(node, g));
    };
    for (Group g : {Group::Plans, Group::Waiting, Group::Pruned})
      spare(g, folded[static_cast<int>(g)], shown, unfolded(g));
    std::sort(shown.begin(), shown.end());
    for (int c : shown) add_item({.node = c}, parent_item);
    if (q_.everything) return;
    for (Group g : {Group::Plans, Group::Waiting, Group::Pruned})
      if (!folded[static_cast<int>(g)].empty())
        add_fold(g, folded[static_cast<int>(g)], parent_item, unfolded(g));
  }

  // Moves those of a group that are shown nevertheless; with `unfolded` all are shown, and the fold
  // stays to fold them again.
  void spare(Group g, std::vector<int>& members, std::vector<int>& shown, bool unfolded) const {
    if (members.empty()) return;
    std::vector<int> order = members;
    size_t keep = g == Group::Waiting ? kWaitingShown : g == Group::Plans ? kPlansShown : 0;
    if (g == Group::Plans) {
      std::stable_sort(order.begin(), order.end(),
                       [&](int a, int b) { return q_.facts[a].seconds < q_.facts[b].seconds; });
    } else if (g == Group::Pruned) {
      auto end = std::stable_partition(order.begin(), order.end(),
                                       [&](int c) { return tells_a_reason(q_.facts[c].state); });
      keep = std::min(static_cast<size_t>(end - order.begin()), kRefusalsShown);
    }
    auto kept = std::stable_partition(order.begin(), order.end(), [&](int c) { return kept_[c]; });
    keep = std::max(keep, static_cast<size_t>(kept - order.begin()));
    if (members.size() <= keep + 1) keep = members.size();
    if (unfolded && keep < members.size()) {
      shown.insert(shown.end(), members.begin(), members.end());
      return;
    }
    const auto cut = order.begin() + static_cast<std::ptrdiff_t>(keep);
    shown.insert(shown.end(), order.begin(), cut);
    members.assign(cut, order.end());
    std::sort(members.begin(), members.end());
  }

  void add_fold(Group g, const std::vector<int>& members, int parent_item, bool unfolded) {
    TreeItem fold{.node = p_.items[parent_item].node, .fold = g, .open = unfolded};
    fold.below = static_cast<int>(members.size());
    fold.hidden_begin = static_cast<int>(p_.hidden.size());
    for (int m : members) keep_faster(fold.best_below, best_[m]);
    p_.hidden.insert(p_.hidden.end(), members.begin(), members.end());
    const int id = p_.size();
    add_item(fold, parent_item);
    if (unfolded) return;
    p_.folded_nodes += fold.below;
    for (int m : members) p_.item_of[m] = id;
  }

  // Candidates below closed items, and where duplicates point to.
  void place_the_hidden() {
    for (int i = p_.root + 1; i < n_; ++i)
      if (p_.item_of[i] < 0 && q_.facts[i].parent >= 0)
        p_.item_of[i] = p_.item_of[q_.facts[i].parent];
    for (int i = 0; i < p_.size(); ++i) {
      const int other = q_.facts[p_.items[i].node].duplicate_of;
      if (p_.items[i].fold == Group::None && other >= 0 && other < n_ && p_.item_of[other] >= 0)
        p_.ghosts.push_back(i);
    }
  }

  const TreeQuestion& q_;
  SearchTreePicture& p_;
  const int n_;
  std::vector<int> begin_, children_, below_;
  std::vector<float> best_;
  std::vector<bool> kept_;
};

}  // namespace

Group group_of(NodeState s) {
  switch (s) {
    case NodeState::Expanded:
      return Group::None;
    case NodeState::Open:
      return Group::Waiting;
    case NodeState::Complete:
      return Group::Plans;
    default:
      return Group::Pruned;
  }
}

void shape_tree(const TreeQuestion& q, SearchTreePicture& picture) { Shaper(q, picture).run(); }

}  // namespace nautilus::gui
