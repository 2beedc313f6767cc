// Points, order and dependences at small sizes.
#include "gui/models/iteration_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "gui/models/iteration_scale.h"
#include "tests/gui/sched_programs.h"

namespace nautilus::gui {
namespace {

using namespace poly::testing_programs;
using nlohmann::json;

poly::ProgramPtr at_sizes(const poly::ProgramPtr& general, const poly::Sizes& sizes) {
  return std::make_shared<const poly::Program>(
      poly::restrict_to_demanded(*poly::bind_sizes(*general, sizes)));
}

IterationPicture drawn(const poly::ProgramPtr& general, const poly::Sizes& sizes,
                       const IterationRequest& r) {
  auto p = iteration_picture(at_sizes(general, sizes), general, sizes, r);
  EXPECT_TRUE(p) << p.error().text();
  return p ? *p : IterationPicture();
}

// The only band of a program of one statement.
poly::NodeId inner_band(const poly::ProgramPtr& p) {
  const poly::Schedule s = poly::initial_schedule(p);
  return poly::preorder(s)[2]->id;
}

int arrows_with(const IterationPicture& p, Fate f) {
  return static_cast<int>(std::count_if(p.arrows.begin(), p.arrows.end(),
                                        [&](const IterArrow& a) { return a.fate == f; }));
}

TEST(IterationData, SizesAndTilesAreScaledDownAndSaidSo) {
  const auto general = rows_of_attention(poly::make_context(), true);
  const poly::Sizes real = {{"N", 256}, {"M", 4096}, {"D", 64}};
  IterationRequest r;
  r.statements = {"S_P"};
  const poly::Schedule s = poly::initial_schedule(general);
  const poly::NodeId band = poly::preorder(s)[4]->id;
  r.steps = {step("tile", {{"node", band}, {"sizes", {64, 128}}})};
  const IterationPicture p = drawn(general, real, r);
  EXPECT_TRUE(p.scaled);
  EXPECT_FALSE(p.cropped);
  EXPECT_EQ(p.sizes.at("M") % 4, 0);  // a fact of the program
  EXPECT_GE(p.sizes.at("M"), p.sizes.at("N"));
  EXPECT_LE(p.sizes.at("M"), 16);
  ASSERT_FALSE(p.notes.empty());
  EXPECT_NE(p.notes[0].find("M 4096"), std::string::npos) << p.notes[0];
  EXPECT_NE(p.notes[0].find("tile 128 \u2192 4"), std::string::npos) << p.notes[0];
  // The mask: points beyond it are absent.
  const int64_t offset = p.sizes.at("M") - p.sizes.at("N");
  EXPECT_FALSE(p.points.empty());
  for (const IterPoint& at : p.points) EXPECT_LE(at.at[1], at.at[0] + offset);
  const IterStatement& st = p.statements.at(0);
  EXPECT_EQ(st.dims, (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(st.x, 1);
  EXPECT_EQ(st.y, 0);
  EXPECT_EQ(st.high[1], p.sizes.at("M") - 1);
}

TEST(IterationData, TilesAreRectanglesInOrder) {
  const auto general = matmul(poly::make_context());
  const poly::Sizes real = {{"M", 6}, {"N", 10}, {"K", 1}};
  IterationRequest r;
  r.sizes = real;
  r.steps = {step("tile", {{"node", inner_band(general)}, {"sizes", {4, 4, 0}}})};
  const IterationPicture p = drawn(general, real, r);
  EXPECT_FALSE(p.scaled);
  ASSERT_EQ(p.points.size(), 60u);
  std::vector<int> all(60);
  for (int k = 0; k < 60; ++k) all[static_cast<size_t>(k)] = k;
  const std::vector<TileRect> tiles = tile_rects(p, 0, 1, 0, all);
  ASSERT_EQ(tiles.size(), 6u);
  EXPECT_EQ(tiles[0].name, "i0=0, j0=0");
  EXPECT_EQ(tiles[2].x0, 8);  // partial along j
  EXPECT_EQ(tiles[2].x1, 9);
  EXPECT_EQ(tiles[5].y1, 5);
  // Row by row within a tile, tile after tile.
  EXPECT_EQ(p.points[0].at, (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(p.points[4].at, (std::vector<int64_t>{1, 0, 0}));
  EXPECT_EQ(p.points[16].at, (std::vector<int64_t>{0, 4, 0}));
  EXPECT_EQ(time_text(p, 16), "i0=0 j0=1 i1=0 j1=4 k=0");
  EXPECT_EQ(p.points[16].element, (std::vector<int64_t>{0, 4}));
  EXPECT_EQ(p.statements[0].tensor, "C");
  const std::vector<int> steps = steps_of(p, false);
  for (int k = 0; k < 60; ++k) EXPECT_EQ(steps[static_cast<size_t>(k)], k);
}

TEST(IterationData, TilesOfValuesAndBlocksRunAtOnce) {
  const auto general = matmul(poly::make_context());
  const poly::Sizes real = {{"M", 8}, {"N", 8}, {"K", 2}};
  const poly::NodeId band = inner_band(general);
  IterationRequest r;
  r.sizes = real;
  r.steps = {step("tile", {{"node", band}, {"sizes", {4, 4, 1}}})};
  auto tiled = poly::replay(general, r.steps, false).schedule;
  ASSERT_TRUE(tiled);
  const poly::NodeId inner = poly::preorder(*tiled)[3]->id;
  r.steps.push_back(step("map", {{"node", inner}, {"member", "*"}, {"mapping", "tile"}}));
  r.steps.push_back(step("split", {{"node", band}, {"at", 2}}));
  r.steps.push_back(step("map", {{"node", band}, {"member", "*"}, {"mapping", "grid"}}));
  const IterationPicture p = drawn(general, real, r);
  ASSERT_EQ(p.points.size(), 128u);
  const std::vector<int> alone = steps_of(p, false), together = steps_of(p, true);
  EXPECT_EQ(*std::max_element(alone.begin(), alone.end()), 7);  // four blocks of two steps
  EXPECT_EQ(*std::max_element(together.begin(), together.end()), 1);
  EXPECT_EQ(arrows_with(p, Fate::Violated), 0);
}

TEST(IterationData, IllegalFusionOfSoftmaxIsRed) {
  const auto general = softmax(poly::make_context());
  const poly::Sizes real = {{"N", 512}, {"M", 1024}};
  IterationRequest r;
  r.statements = {"S_m", "S_P"};
  r.steps = {step("fuse", {{"node", poly::initial_schedule(general).root->id},
                           {"first", 0},
                           {"last", 2},
                           {"depth", 2}})};
  const IterationPicture p = drawn(general, real, r);
  EXPECT_TRUE(p.scaled);
  EXPECT_GT(arrows_with(p, Fate::Violated), 0);
  EXPECT_GT(arrows_with(p, Fate::Kept), 0);
  for (const IterArrow& a : p.arrows) {
    const IterPoint &from = p.points[static_cast<size_t>(a.from)],
                    &to = p.points[static_cast<size_t>(a.to)];
    if (p.dependences[static_cast<size_t>(a.dependence)].tensor != "m") continue;
    EXPECT_EQ(from.at[0], to.at[0]);
    // Out of order exactly where the update comes after the read.
    EXPECT_EQ(a.fate == Fate::Violated, from.at[1] > to.at[1]);
    EXPECT_EQ(a.fate == Fate::Violated, a.from > a.to);
  }
  const auto bad = std::find_if(p.dependences.begin(), p.dependences.end(),
                                [](const IterDependence& d) { return d.fate != Fate::Kept; });
  ASSERT_NE(bad, p.dependences.end());
  EXPECT_EQ(bad->member, "j");
  EXPECT_EQ(fate_words(bad->fate), "out of order");
}

TEST(IterationData, WithoutAChoiceWhatIsOutOfOrderIsShown) {
  const auto general = softmax(poly::make_context());
  const poly::Sizes real = {{"N", 512}, {"M", 1024}};
  IterationRequest r;
  EXPECT_EQ(drawn(general, real, r).statements.at(0).name, "S_m");
  r.steps = {step("fuse", {{"node", poly::initial_schedule(general).root->id},
                           {"first", 0},
                           {"last", 2},
                           {"depth", 2}})};
  const IterationPicture p = drawn(general, real, r);
  ASSERT_EQ(p.statements.size(), 2u);
  EXPECT_EQ(p.statements[0].name, "S_m");
  EXPECT_EQ(p.statements[1].name, "S_P");
  EXPECT_GT(arrows_with(p, Fate::Violated), 0);
}

TEST(IterationData, RollingUpdateIsPaid) {
  const auto general = rows_of_attention(poly::make_context(), false);
  const poly::Sizes real = {{"N", 128}, {"M", 256}, {"D", 64}};
  IterationRequest r;
  r.statements = {"S_m", "S_P"};
  r.steps = {step("rolling_update", {{"node", poly::initial_schedule(general).root->id},
                                     {"first", 0},
                                     {"last", 3},
                                     {"depth", 2}})};
  const IterationPicture p = drawn(general, real, r);
  EXPECT_EQ(arrows_with(p, Fate::Violated), 0);
  EXPECT_GT(arrows_with(p, Fate::Paid), 0);
}

TEST(IterationData, ARollingUpdateWithoutACorrectionIsDrawnAsItsFusion) {
  const auto general = softmax(poly::make_context());
  IterationRequest r;
  r.statements = {"S_l", "S_Y"};
  r.steps = {step("rolling_update", {{"node", poly::initial_schedule(general).root->id},
                                     {"first", 0},
                                     {"last", 3},
                                     {"depth", 2}})};
  const IterationPicture p = drawn(general, {{"N", 64}, {"M", 64}}, r);
  EXPECT_GT(arrows_with(p, Fate::Violated), 0);
}

TEST(IterationData, ScalarsAndStatementsThatNeverRun) {
  const auto general = scalars(poly::make_context());
  IterationRequest r;
  r.statements = {"S_b", "S_E"};
  auto drawn_p = iteration_picture(general, general, {{"N", 4}}, r);
  ASSERT_TRUE(drawn_p) << drawn_p.error().text();
  const IterationPicture& p = *drawn_p;
  ASSERT_EQ(p.points.size(), 1u);
  EXPECT_TRUE(p.points[0].at.empty());
  EXPECT_EQ(p.statements[0].x, -1);
  EXPECT_TRUE(p.statements[0].low.empty());
  EXPECT_EQ(steps_of(p, false), std::vector<int>{0});
  EXPECT_TRUE(tile_rects(p, 0, -1, -1, {0}).empty());
}

TEST(IterationData, WithoutFreeSizesItIsAWindow) {
  const auto general = softmax(poly::make_context());
  const poly::Sizes real = {{"N", 512}, {"M", 1024}};
  IterationRequest r;
  r.statements = {"S_P"};
  r.focus = {{"S_P", {300, 512}}};
  auto p = iteration_picture(at_sizes(general, real), nullptr, real, r);
  ASSERT_TRUE(p) << p.error().text();
  EXPECT_TRUE(p->cropped);
  EXPECT_FALSE(p->scaled);
  EXPECT_EQ(p->points.size(), 1600u);
  const IterStatement& st = p->statements[0];
  EXPECT_LE(st.low[0], 300);
  EXPECT_GE(st.high[0], 300);
  EXPECT_LE(st.low[1], 512);
  EXPECT_GE(st.high[1], 512);
  EXPECT_NE(p->notes[0].find("at these sizes only"), std::string::npos);
}

TEST(IterationData, SixtyStatementsTwoAtATime) {
  const auto general = chain(poly::make_context(), 60);
  IterationRequest r;
  r.statements = {"S_T59", "S_T60"};
  const IterationPicture p = drawn(general, {{"N", 100000}}, r);
  EXPECT_EQ(p.available.size(), 60u);
  EXPECT_EQ(p.points.size(), 24u);
  EXPECT_EQ(arrows_with(p, Fate::Kept), 12);
  EXPECT_EQ(p.statements[0].y, -1);
  // The first runs completely before the second.
  EXPECT_EQ(p.points[11].statement, 0);
  EXPECT_EQ(p.points[12].statement, 1);
}

TEST(IterationData, BudgetsAndStops) {
  const auto general = softmax(poly::make_context());
  const poly::Sizes real = {{"N", 30}, {"M", 30}};
  IterationRequest r;
  r.sizes = real;
  r.statements = {"S_m", "S_P"};
  r.most_arrows = 50;
  const IterationPicture p = drawn(general, real, r);
  EXPECT_EQ(p.arrows.size(), 50u);
  EXPECT_NE(p.notes.back().find("only the first 50"), std::string::npos);
  const std::atomic<bool> stop = true;
  EXPECT_FALSE(iteration_picture(at_sizes(general, real), general, real, r, &stop));
  r.statements = {"no_such"};  // the first one instead
  EXPECT_EQ(drawn(general, real, r).statements[0].name, "S_m");
}

TEST(IterationScale, TilesKeepTheirProportions) {
  auto tiles = [](std::vector<int64_t> sizes) {
    return small_tiles({step("tile", {{"node", 1}, {"sizes", sizes}})});
  };
  EXPECT_EQ(tiles({64, -1, 0}), (std::map<int64_t, int64_t>{{64, 4}}));
  EXPECT_EQ(tiles({64, 128}), (std::map<int64_t, int64_t>{{64, 2}, {128, 4}}));
  EXPECT_EQ(tiles({3}), (std::map<int64_t, int64_t>{{3, 3}}));
  EXPECT_EQ(tiles({8, 256}).at(256), 8);
  EXPECT_TRUE(small_tiles({{"tile", "nonsense"}, {"map", "{}"}}).empty());
  const auto out = with_tiles({step("tile", {{"node", 1}, {"sizes", {64, -1, 64}}})}, {{64, 4}});
  EXPECT_EQ(out[0].params, R"({"node":1,"sizes":[4,-1,4]})");
}

TEST(IterationScale, SizesMeetTheFactsOrThereAreNone) {
  const auto ctx = poly::make_context();
  const auto p = rows_of_attention(ctx, true);
  const auto small = small_sizes(*p, {{"N", 100}, {"M", 104}, {"D", 3}}, {"S_A"}, 12);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->at("N"), 12);
  EXPECT_EQ(small->at("M"), 12);
  EXPECT_LE(small->at("D"), 3);
  poly::Program never = *p;
  never.param_context = isl::set(ctx->get(), "[N, M, D] -> { : 1 = 0 }");
  EXPECT_FALSE(small_sizes(never, {}, {}, 12));
}

}  // namespace
}  // namespace nautilus::gui
