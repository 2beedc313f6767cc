#include "gui/views/tidy_layout.h"

#include <gtest/gtest.h>

#include <random>

namespace nautilus::gui {
namespace {

// A random tree, numbered by levels; `bushy` from 0 (chains) to 1 (stars).
LevelTree random_tree(int size, double bushy, std::mt19937& r) {
  std::vector<std::vector<int>> children(size);
  for (int i = 1; i < size; ++i) {
    const int back = 1 + static_cast<int>((i - 1) * bushy);
    children[i - 1 - static_cast<int>(r() % static_cast<unsigned>(back))].push_back(i);
  }
  LevelTree t;
  std::vector<int> order{0};
  t.parent = {-1};
  t.level_begin = {0};
  for (size_t begin = 0; begin < order.size();) {
    const size_t end = order.size();
    t.level_begin.push_back(static_cast<int>(end));
    for (size_t k = begin; k < end; ++k) {
      const auto& c = children[order[k]];
      t.first_child.push_back(c.empty() ? -1 : static_cast<int>(order.size()));
      t.children.push_back(static_cast<int>(c.size()));
      for (int child : c) {
        order.push_back(child);
        t.parent.push_back(static_cast<int>(k));
      }
    }
    begin = end;
  }
  return t;
}

// What makes a drawing tidy, by going through all nodes.
void expect_tidy(const LevelTree& t, const std::vector<float>& extent, const TidyGaps& gaps) {
  const std::vector<double> at = tidy_layout(t, extent, gaps);
  ASSERT_EQ(at.size(), t.parent.size());
  double least = 1e300;
  for (int v = 0; v < t.size(); ++v) {
    least = std::min(least, at[v] - extent[v] / 2);
    if (t.children[v] == 0) continue;
    const int first = t.first_child[v], last = first + t.children[v] - 1;
    EXPECT_NEAR(at[v], (at[first] + at[last]) / 2, 1e-6)
        << "parent " << v << " is off its children";
  }
  EXPECT_NEAR(least, 0, 1e-6);
  for (int level = 0; level < t.levels(); ++level)
    for (int v = t.level_begin[level] + 1; v < t.level_begin[level + 1]; ++v) {
      const double gap = t.parent[v] == t.parent[v - 1] ? gaps.siblings : gaps.cousins;
      const double apart = (at[v] - extent[v] / 2.0) - (at[v - 1] + extent[v - 1] / 2.0);
      EXPECT_GE(apart, gap - 1e-6) << v - 1 << " and " << v << " on level " << level;
    }
}

TEST(TidyLayout, RandomTreesAreTidy) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 r(seed);
    const LevelTree t = random_tree(1 + static_cast<int>(r() % 120), (r() % 100) / 100.0, r);
    std::vector<float> extent(t.parent.size());
    for (float& e : extent) e = 10 + static_cast<float>(r() % 30);
    expect_tidy(t, extent, {4, 11});
  }
}

// A node with subtrees of different width: Buchheim's correction spreads the small ones evenly.
TEST(TidyLayout, SmallSiblingsBetweenLargeOnesAreSpreadEvenly) {
  LevelTree t;
  t.parent = {-1, 0, 0, 0, 0, 0};
  t.first_child = {1, 6, -1, -1, -1, 16};
  t.children = {5, 10, 0, 0, 0, 10};
  for (int k = 0; k < 20; ++k) {
    t.parent.push_back(k < 10 ? 1 : 5);
    t.first_child.push_back(-1);
    t.children.push_back(0);
  }
  t.level_begin = {0, 1, 6, 26};
  const std::vector<double> at = tidy_layout(t, std::vector<float>(26, 10), {2, 6});
  for (int k = 2; k < 5; ++k)
    EXPECT_NEAR(at[k + 1] - at[k], at[2] - at[1], 1e-6) << "between the large siblings";
}

TEST(TidyLayout, SubtreesOfOneShapeLookAlike) {
  LevelTree t;  // the root, two children, each with the same three grandchildren
  t.parent = {-1, 0, 0, 1, 1, 1, 2, 2, 2};
  t.first_child = {1, 3, 6, -1, -1, -1, -1, -1, -1};
  t.children = {2, 3, 3, 0, 0, 0, 0, 0, 0};
  t.level_begin = {0, 1, 3, 9};
  const std::vector<float> extent{10, 20, 20, 10, 30, 10, 10, 30, 10};
  const auto at = tidy_layout(t, extent, {4, 10});
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(at[3 + k] - at[1], at[6 + k] - at[2], 1e-9);
}

TEST(TidyLayout, ChainsAndStarsOfAnySizeEnd) {
  std::mt19937 r(1);
  for (double bushy : {0.0, 1.0}) {
    const LevelTree t = random_tree(100000, bushy, r);
    const auto at = tidy_layout(t, std::vector<float>(100000, 20), {4, 10});
    EXPECT_EQ(at.size(), 100000U);
  }
  LevelTree star;
  star.parent.assign(50001, 0);
  star.parent[0] = -1;
  star.first_child.assign(50001, -1);
  star.first_child[0] = 1;
  star.children.assign(50001, 0);
  star.children[0] = 50000;
  star.level_begin = {0, 1, 50001};
  const auto at = tidy_layout(star, std::vector<float>(50001, 20), {4, 10});
  EXPECT_NEAR(at[50000] - at[1], 49999 * 24.0, 1e-3);
}

TEST(TidyLayout, EmptyAndSingle) {
  EXPECT_TRUE(tidy_layout({}, {}, {}).empty());
  LevelTree one;
  one.parent = {-1};
  one.first_child = {-1};
  one.children = {0};
  one.level_begin = {0, 1};
  EXPECT_EQ(tidy_layout(one, {30}, {}), std::vector<double>{15});
}

}  // namespace
}  // namespace nautilus::gui
