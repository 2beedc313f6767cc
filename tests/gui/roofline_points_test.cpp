#include "gui/views/roofline_points.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gui/views/roofline_geometry.h"
#include "tests/gui/big_session.h"

namespace nautilus::gui {
namespace {

using sched::NodeState;
sched::SearchNode plan_node(int id, int parent, const std::string& decision, double seconds = 0) {
  sched::SearchNode n;
  n.id = id;
  n.parent = parent;
  n.decision = decision;
  n.state = seconds > 0 ? NodeState::Complete : NodeState::Expanded;
  n.seconds = seconds;
  if (seconds > 0) {
    n.knobs = {{"tile.i", 8 * id}};
    const double achieved = 1e9 / seconds;
    n.points = {{"hbm", 100, achieved, 4.49e14}, {"l2", 20, achieved, 1.7e14}};
  }
  return n;
}

// as written (2: 1 ms) | kernel -> fuse -> plans 6 (20 us), 7 (10 us) | kernel -> split -> plan 8
// (40 us)
sched::Session small_search() {
  sched::Session s;
  s.program_naut = "program none";
  s.options.machine = *sched::load_machine(kH200);
  s.result.nodes = {plan_node(0, -1, "as written"),    plan_node(1, 0, "leave"),
                    plan_node(2, 1, "as it is", 1e-3), plan_node(3, 0, "kernel"),
                    plan_node(4, 3, "fuse"),           plan_node(5, 3, "split"),
                    plan_node(6, 4, "i=8", 2e-5),      plan_node(7, 4, "i=16", 1e-5),
                    plan_node(8, 5, "i=8", 4e-5)};
  s.result.best = {7, 6};
  return s;
}

TEST(RooflinePoints, LevelsOfACandidateAreContiguousAndLieAtItsRate) {
  Document d;
  d.set_session(small_search(), "");
  RooflineCloud c;
  c.build(d);
  EXPECT_EQ(c.points.size(), 8U);
  auto [begin, end] = c.of(7);
  ASSERT_EQ(end - begin, 2);
  EXPECT_EQ(begin[0].y, begin[1].y);
  EXPECT_NEAR(begin[0].x, 2, 1e-6);
  EXPECT_NEAR(begin[0].y, -14, 1e-6);
  EXPECT_EQ(c.of(3).first, nullptr);
}

TEST(RooflinePoints, FamiliesAreStructuresByTheirFastestPlan) {
  Document d;
  d.set_session(small_search(), "");
  RooflineCloud c;
  c.build(d);
  ASSERT_EQ(c.families.size(), 3U);
  EXPECT_EQ(c.families[0].node, 4);
  EXPECT_EQ(c.families[0].plans, 2);
  EXPECT_EQ(c.of(6).first->family, c.of(7).first->family);
  EXPECT_NE(c.of(6).first->family, c.of(8).first->family);
  EXPECT_TRUE(c.families[0].name.contains("fuse"));
}

TEST(RooflinePoints, ColoursStayWhenAFasterFamilyAppears) {
  Document d;
  d.set_session(small_search(), "");
  RooflineCloud c;
  c.build(d);
  const uint8_t before = c.of(7).first->family;
  d.append({plan_node(9, 3, "other"), plan_node(10, 9, "i=8", 1e-6)});
  c.advance(d, 100);
  c.find_families(d);
  EXPECT_EQ(c.of(7).first->family, before);
  EXPECT_LT(c.of(10).first->family, kOtherFamilies);
  EXPECT_NE(c.of(10).first->family, before);
}

TEST(RooflinePoints, AddedInSlicesTheyAreTheSame) {
  Document d;
  d.set_session(big_session(2000, 4, kH200), "");
  RooflineCloud at_once, sliced;
  at_once.build(d);
  sliced.begin(d);
  while (sliced.advance(d, 37)) {
  }
  sliced.find_families(d);
  ASSERT_EQ(sliced.points.size(), at_once.points.size());
  EXPECT_EQ(sliced.candidates, at_once.candidates);
  EXPECT_EQ(sliced.states, at_once.states);
  for (size_t i = 0; i < sliced.points.size(); ++i) {
    EXPECT_EQ(sliced.points[i].x, at_once.points[i].x);
    EXPECT_EQ(sliced.points[i].node, at_once.points[i].node);
    EXPECT_EQ(sliced.points[i].family, at_once.points[i].family);
  }
}

TEST(RooflinePoints, AFamilyWhoseBestPlanGetsSlowerHasAnotherBest) {
  Document d;
  d.set_session(small_search(), "");
  RooflineCloud c;
  c.build(d);
  EXPECT_EQ(c.families[0].best, 7);
  d.change({plan_node(7, 4, "i=16", 5e-5)});
  c.refresh(d, 7);
  c.find_families(d);
  const auto fused =
      std::find_if(c.families.begin(), c.families.end(), [](auto& f) { return f.node == 4; });
  ASSERT_NE(fused, c.families.end());
  EXPECT_EQ(fused->best, 6);
  EXPECT_EQ(fused->best_seconds, 2e-5);
  EXPECT_EQ(fused->plans, 2);
}

// A plan that does not fit is none: the structure's time is that of the best that does.
TEST(RooflinePoints, WhatDoesNotFitIsNoBestPlan) {
  Document d;
  d.set_session(small_search(), "");
  RooflineCloud c;
  c.build(d);
  sched::SearchNode large = plan_node(9, 4, "i=256", 1e-7);
  large.state = sched::NodeState::OverCapacity;
  d.append({large});
  c.advance(d, 100);
  c.find_families(d);
  const auto fused =
      std::find_if(c.families.begin(), c.families.end(), [](auto& f) { return f.node == 4; });
  ASSERT_NE(fused, c.families.end());
  EXPECT_EQ(fused->best, 7);
  for (const PathStop& stop : path_stops(d, 7)) EXPECT_NE(stop.plan, 9);
}

TEST(RooflinePoints, MeasurementsMoveThePointAndKeepThePrediction) {
  Document d;
  d.set_session(small_search(), "");
  RooflineCloud c;
  c.build(d);
  d.set_measured(7, {2e-5, true, "here"});
  c.refresh(d, 7);
  const CloudPoint& p = *c.of(7).first;
  EXPECT_TRUE(p.measured && p.right);
  EXPECT_NEAR(p.y - p.predicted_y, std::log10(2), 1e-5) << "twice the time, half the rate";
  EXPECT_FALSE(p.suspicious);
  d.set_measured(7, {1e-9, true, "a broken clock"});
  c.refresh(d, 7);
  EXPECT_TRUE(c.of(7).first->suspicious) << "above every roof";
}

TEST(RooflinePoints, PathStopsAreTheBestPlansWithoutTheNextDecision) {
  Document d;
  d.set_session(small_search(), "");
  const auto stops = path_stops(d, 7);
  ASSERT_EQ(stops.size(), 4U);
  EXPECT_EQ(stops[0].plan, 2) << "the program as written";
  EXPECT_EQ(stops[1].node, 3);
  EXPECT_EQ(stops[1].plan, 8) << "the kernel without the fusion";
  EXPECT_EQ(stops[2].plan, 6) << "fused, with other numbers";
  EXPECT_EQ(stops[3].plan, 7);
  EXPECT_EQ(path_stops(d, 4).back().plan, 7) << "a structure is shown by its fastest plan";
  EXPECT_TRUE(path_stops(d, 99).empty());
}

TEST(RooflinePoints, NearestIsWhatBruteForceFinds) {
  Document d;
  d.set_session(big_session(3000, 2, kH200), "");
  RooflineCloud c;
  c.build(d);
  std::mt19937 r(5);
  for (int trial = 0; trial < 100; ++trial) {
    const QPointF at(-1 + (r() % 4000) / 1000.0, -14 + (r() % 4000) / 1000.0);
    const uint32_t shown = 1 + r() % 15;
    double best = 0.3;
    for (const CloudPoint& p : c.points)
      if (shown >> p.level & 1) best = std::min(best, std::hypot(p.x - at.x(), p.y - at.y()));
    const int found = c.nearest(at, 0.3, shown);
    if (best >= 0.3) {
      EXPECT_EQ(found, -1);
    } else {
      ASSERT_GE(found, 0);
      EXPECT_NEAR(std::hypot(c.points[found].x - at.x(), c.points[found].y - at.y()), best, 1e-5);
    }
  }
}

TEST(RooflinePoints, PointsThatCannotBeDrawnAreLeftOut) {
  sched::Session s = small_search();
  s.result.nodes[7].points[0].achieved = 0;
  s.result.nodes[7].points[1].intensity = NAN;
  s.result.nodes[8].points[0].level = "elsewhere";
  Document d;
  d.set_session(s, "");
  RooflineCloud c;
  c.build(d);
  EXPECT_EQ(c.of(7).first, nullptr);
  EXPECT_EQ(c.levels.back(), "elsewhere");
}

}  // namespace
}  // namespace nautilus::gui
