#include "gui/views/search_tree_picture.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/gui/big_session.h"

namespace nautilus::gui {
namespace {

using sched::NodeState;
TreeQuestion question_of(const sched::Session& s) {
  TreeQuestion q;
  for (const sched::SearchNode& n : s.result.nodes) q.facts.push_back(fact_of(n, 0));
  q.best = s.result.best;
  return q;
}

// A root with one expanded child, whose children are as named.
TreeQuestion family(const std::vector<std::pair<NodeState, int>>& children) {
  TreeQuestion q;
  q.facts = {{-1, -1, 0, 10, NodeState::Expanded}, {0, -1, 0, 10, NodeState::Expanded}};
  for (auto& [state, count] : children)
    for (int k = 0; k < count; ++k) {
      const float seconds = state == NodeState::Complete ? 1e-6F * static_cast<float>(k + 1) : 0;
      q.facts.push_back({1, -1, seconds, 20, state});
    }
  q.open[1] = true;
  return q;
}

int fold_item(const SearchTreePicture& p, Group g) {
  for (int i = 0; i < p.size(); ++i)
    if (p.items[i].fold == g) return i;
  return -1;
}

void expect_consistent(const TreeQuestion& q, const SearchTreePicture& p) {
  int shown = 0, folded = 0;
  std::vector<int> seen(q.facts.size(), 0);
  for (int i = 0; i < p.size(); ++i) {
    const TreeItem& it = p.items[i];
    if (it.fold == Group::None) {
      ++shown;
      ++seen[it.node];
      EXPECT_EQ(p.item_of[it.node], i);
      folded += it.below;
    } else if (!it.open) {
      folded += it.below;
      for (int k = it.hidden_begin; k < it.hidden_begin + it.below; ++k) {
        ++seen[p.hidden[k]];
        EXPECT_EQ(p.item_of[p.hidden[k]], i);
      }
    }
  }
  EXPECT_EQ(shown, p.shown_nodes);
  EXPECT_EQ(folded, p.folded_nodes);
  for (int n : seen) EXPECT_LE(n, 1) << "a candidate is shown twice";
}

TEST(SearchTreePicture, EveryCandidateIsShownFoldedOrBelowAClosedOne) {
  for (uint32_t seed : {1U, 2U, 3U}) {
    const sched::Session s = big_session(3000, seed, kH200);
    TreeQuestion q = question_of(s);
    for (bool everything : {false, true}) {
      q.everything = everything;
      const SearchTreePicture p = make_tree_picture(q);
      expect_consistent(q, p);
      EXPECT_EQ(p.shown_nodes + p.folded_nodes, 3000);
      if (everything) {
        EXPECT_EQ(p.shown_nodes, 3000);
      }
      for (int item : p.item_of) EXPECT_GE(item, 0);
    }
  }
}

TEST(SearchTreePicture, BoxesDoNotOverlapAndAreFoundAgain) {
  TreeQuestion q = question_of(big_session(1500, 7, kH200));
  q.everything = true;
  const SearchTreePicture p = make_tree_picture(q);
  for (int level = 0; level < p.tree.levels(); ++level)
    for (int i = p.tree.level_begin[level]; i < p.tree.level_begin[level + 1]; ++i) {
      EXPECT_LE(p.box(i).right(), p.column_x[level] + p.column_width[level] + 1e-3);
      if (level + 1 < p.tree.levels()) {
        EXPECT_LT(p.box(i).right(), p.column_x[level + 1]);
      }
      if (i > p.tree.level_begin[level]) {
        EXPECT_LT(p.box(i - 1).bottom(), p.box(i).top());
      }
      EXPECT_EQ(p.at(p.box(i).center()), i);
      EXPECT_TRUE(p.bounds.adjusted(-1, -1, 1, 1).contains(p.box(i)));
    }
  EXPECT_EQ(p.at({-5, -5}), -1);
}

TEST(SearchTreePicture, RangesAreWhatBruteForceFinds) {
  TreeQuestion q = question_of(big_session(1000, 11, kH200));
  q.everything = true;
  const SearchTreePicture p = make_tree_picture(q);
  std::mt19937 r(3);
  for (int trial = 0; trial < 200; ++trial) {
    const double top = r() % 20000, bottom = top + r() % 900;
    for (int level = 0; level < p.tree.levels(); ++level) {
      auto [first, last] = p.range(level, top, bottom);
      for (int i = p.tree.level_begin[level]; i < p.tree.level_begin[level + 1]; ++i) {
        const bool meets = p.box(i).bottom() >= top && p.box(i).top() <= bottom;
        EXPECT_EQ(meets, i >= first && i < last);
      }
    }
  }
}

TEST(SearchTreePicture, SiblingsStayInTheOrderOfTheSearchWhenItGrows) {
  const sched::Session s = big_session(2000, 5, kH200);
  TreeQuestion all = question_of(s);
  for (size_t n = 200; n <= 2000; n += 450) {
    TreeQuestion q;
    q.facts.assign(all.facts.begin(), all.facts.begin() + static_cast<std::ptrdiff_t>(n));
    q.everything = true;
    const SearchTreePicture p = make_tree_picture(q);
    for (int i = 1; i < p.size(); ++i)
      if (p.tree.parent[i] == p.tree.parent[i - 1]) {
        EXPECT_LT(p.items[i - 1].node, p.items[i].node);
      }
  }
}

TEST(SearchTreePicture, PrunedChildrenFoldIntoOneItemThatSaysWhy) {
  TreeQuestion q =
      family({{NodeState::Illegal, 92}, {NodeState::Dominated, 40}, {NodeState::OverCapacity, 7}});
  SearchTreePicture p = make_tree_picture(q);
  const int fold = fold_item(p, Group::Pruned);
  ASSERT_GE(fold, 0);
  EXPECT_EQ(fold_text(p, q.facts, fold, 1000),
            "+137 pruned (illegal 90, dominated 40, capacity 7)");
  int illegal = 0;
  for (const TreeItem& it : p.items)
    illegal += it.fold == Group::None && q.facts[it.node].state == NodeState::Illegal;
  EXPECT_EQ(illegal, 2) << "the first two refusals stay visible";
  EXPECT_EQ(fold_text(p, q.facts, fold, 2 + 50), "+48 pruned (illegal 48)") << "as of replay";

  q.unfolded.insert(fold_key(1, Group::Pruned));
  p = make_tree_picture(q);
  expect_consistent(q, p);
  EXPECT_EQ(p.shown_nodes, 2 + 139);
  EXPECT_TRUE(p.items[fold_item(p, Group::Pruned)].open) << "stays, to fold them again";
}

TEST(SearchTreePicture, SlowerPlansFoldAndTheFastestStay) {
  TreeQuestion q = family({{NodeState::Complete, 60}});
  q.facts[2 + 33].seconds = 1e-7F;
  const SearchTreePicture p = make_tree_picture(q);
  const int fold = fold_item(p, Group::Plans);
  ASSERT_GE(fold, 0);
  EXPECT_EQ(p.items[fold].below, 57);
  EXPECT_EQ(p.items[p.item_of[2 + 33]].fold, Group::None);
  EXPECT_EQ(p.best_so_far.back(), 2 + 33);
  EXPECT_EQ(p.best_so_far[2 + 32], 2);
  q.shown.insert(2 + 50);
  const SearchTreePicture again = make_tree_picture(q);
  EXPECT_EQ(again.items[again.item_of[2 + 50]].fold, Group::None) << "pinned or selected";
}

TEST(SearchTreePicture, OnlyPathsToTheBestPlansAreOpenInALargeTree) {
  const sched::Session s = big_session(5000, 9, kH200);
  TreeQuestion q = question_of(s);
  const SearchTreePicture p = make_tree_picture(q);
  EXPECT_LT(p.size(), 400);
  for (size_t k = 0; k < 3; ++k) {
    const int item = p.item_of[s.result.best[k]];
    EXPECT_EQ(p.items[item].fold, Group::None);
    EXPECT_EQ(p.items[item].node, s.result.best[k]);
  }
  q.open[0] = false;
  EXPECT_EQ(make_tree_picture(q).size(), 1);
}

TEST(SearchTreePicture, ARootInsideShowsItsSubtreeAlone) {
  const sched::Session s = big_session(2000, 4, kH200);
  TreeQuestion q = question_of(s);
  q.everything = true;
  const int root = s.result.nodes[s.result.best[0]].parent;
  q.root = root;
  const SearchTreePicture p = make_tree_picture(q);
  EXPECT_EQ(p.items[0].node, root);
  for (int i = 1; i < p.size(); ++i) {
    int up = p.items[i].node;
    while (up != root && up >= 0) up = q.facts[up].parent;
    EXPECT_EQ(up, root);
  }
}

TEST(SearchTreePicture, DuplicatesPointToTheirOriginals) {
  TreeQuestion q = family({{NodeState::Expanded, 2}});
  q.facts.push_back({3, 2, 0, 10, NodeState::Duplicate});
  const SearchTreePicture p = make_tree_picture(q);
  ASSERT_EQ(p.ghosts.size(), 1U);
  EXPECT_EQ(p.items[p.ghosts[0]].node, 4);
}

TEST(SearchTreePicture, NothingAndNonsenseAreFine) {
  EXPECT_EQ(make_tree_picture({}).size(), 0);
  TreeQuestion q = family({{NodeState::Complete, 3}});
  q.root = 4711;
  q.best = {-3, 9999};
  q.shown = {77};
  EXPECT_EQ(make_tree_picture(q).items[0].node, 0);
}

}  // namespace
}  // namespace nautilus::gui
