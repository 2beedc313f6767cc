#include "polyhedral/footprint.h"

#include <gtest/gtest.h>

#include "tests/polyhedral/loops_trees.h"

namespace nautilus::poly {
namespace {
using namespace testing_trees;
namespace programs = testing_programs;

NodeId leaf_of(const Schedule& s, const std::string& stmt) {
  for (const Node* n : preorder(s))
    if (n->kind == NodeKind::Leaf && statements_below(s, n->id) == std::vector<std::string>{stmt})
      return n->id;
  return -1;
}

TEST(Footprint, CausalTileClasses) {
  ContextPtr ctx = make_context();
  for (int64_t n : {8, 10, 4096}) {
    Schedule s = flash(fixed(programs::attention(ctx), {{"H", 1}, {"N", n}, {"D", 2}}), 4, 2);
    auto c = classify_tiles(s, "S_P", leaf_of(s, "S_P"));
    ASSERT_TRUE(c) << c.error().text();
    EXPECT_EQ(c->loop_names, (std::vector<std::string>{"h0", "i0", "j0"}));
    int64_t full = 0, all = 0;
    for (int64_t i = 0; i * 4 < n; ++i)
      for (int64_t j = 0; j * 2 < n; ++j) {
        if (j * 2 > std::min(i * 4 + 3, n - 1)) continue;
        ++all;
        if (i * 4 + 3 < n && j * 2 + 1 <= i * 4) ++full;
      }
    EXPECT_EQ(*count_points(c->full, {}), full) << n;
    EXPECT_EQ(*count_points(c->nonempty, {}), all) << n;
    EXPECT_EQ(*count_points(c->partial, {}), all - full) << n;
  }
}

TEST(Footprint, TileClassesRefuse) {
  ContextPtr ctx = make_context();
  Schedule s = flash(fixed(programs::attention(ctx), {{"H", 1}, {"N", 8}, {"D", 2}}), 4, 2);
  EXPECT_FALSE(classify_tiles(s, "S_P", s.root->id));
  EXPECT_FALSE(classify_tiles(s, "S_P", leaf_of(s, "S_m")));
  EXPECT_FALSE(footprints(s, 12345, {}));
}

// More elements than 64 bits count: an answer in words, not a wrong number.
TEST(Footprint, MoreThan64BitsCount) {
  const Schedule s =
      initial_schedule(fixed(programs::matmul(make_context()),
                             {{"M", int64_t{1} << 40}, {"N", int64_t{1} << 40}, {"K", 1}}));
  const auto f = footprints(s, s.root->id, {});
  ASSERT_FALSE(f);
  EXPECT_NE(f.error().why.find("64 bits"), std::string::npos) << f.error().text();
}

TEST(Footprint, AttentionLoop) {
  ContextPtr ctx = make_context();
  NodeId band = 0;
  Schedule s =
      flash(fixed(programs::attention(ctx, false), {{"H", 2}, {"N", 64}, {"D", 8}}), 16, 4, &band);
  auto f = footprints(s, band, {});
  ASSERT_TRUE(f) << f.error().text();
  int seen = 0;
  for (const Footprint& x : *f) {
    if (x.tensor == "K") {
      ++seen;
      EXPECT_EQ(x.per_iteration, 4 * 8);
      EXPECT_EQ(x.distinct, 2 * 64 * 8);
      EXPECT_EQ(x.iterations, 2 * 4 * 16);
    }
    if (x.tensor == "Q") {
      ++seen;
      EXPECT_EQ(x.per_iteration, 16 * 8);
    }
    if (x.tensor == "m" && x.read < 0) {
      ++seen;
      EXPECT_EQ(x.per_iteration, 16);
      EXPECT_EQ(x.distinct, 2 * 64);
    }
  }
  EXPECT_EQ(seen, 3);
}

TEST(Footprint, BoxNeverExceedsTheTensor) {
  ContextPtr ctx = make_context();
  NodeId band = 0;
  Schedule s =
      flash(fixed(programs::attention(ctx, false), {{"H", 1}, {"N", 3}, {"D", 2}}), 16, 4, &band);
  auto f = footprints(s, band, {});
  ASSERT_TRUE(f);
  for (const Footprint& x : *f) {
    if (x.tensor != "K") continue;
    EXPECT_EQ(x.per_iteration, 3 * 2);
  }
}

}  // namespace
}  // namespace nautilus::poly
