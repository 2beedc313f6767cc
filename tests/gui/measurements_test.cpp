#include "gui/models/measurements.h"

#include <gtest/gtest.h>

namespace nautilus::gui {
namespace {

sched::Session sample() {
  sched::Session s;
  s.kernel = "matmul";
  s.options.sizes = {{"M", 512}};
  s.result.nodes.resize(4);
  for (int k = 0; k < 4; ++k) s.result.nodes[k].id = k;
  s.result.nodes[1].knobs = {{"tile.i", 64}, {"stages", 2}};
  s.result.nodes[2].knobs = {{"tile.i", 32}};
  s.result.nodes[3].knobs = {{"tile.i", 32}};
  return s;
}

TEST(Measurements, CsvByNodeAndByKnobs) {
  const auto r = read_measurements(
      "kernel,node,knobs,seconds,right,source\n"
      "matmul,3,,1.5e-4,true,\"H200, run 3\"\r\n"
      "matmul,,stages=2 tile.i=64,2e-4,0,\n"
      "softmax,1,,1e-4,1,x\n"
      "matmul,,tile.i=32,1e-4,1,x\n"
      "matmul,9,,1e-4,1,x\n",
      sample(), "store.csv");
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->rows.size(), 2u);
  EXPECT_EQ(r->rows[0].node, 3);
  EXPECT_DOUBLE_EQ(r->rows[0].measured.seconds, 1.5e-4);
  EXPECT_TRUE(r->rows[0].measured.right.holds());
  EXPECT_EQ(r->rows[0].measured.source, "H200, run 3");
  EXPECT_EQ(r->rows[1].node, 1);
  EXPECT_TRUE(r->rows[1].measured.right.fails());
  EXPECT_EQ(r->rows[1].measured.source, "store.csv");
  EXPECT_EQ(r->left_out, 3);
  EXPECT_TRUE(r->why.contains("of softmax")) << r->why.toStdString();
  EXPECT_TRUE(r->why.contains("several candidates"));
  EXPECT_TRUE(r->why.contains("no candidate 9"));
}

// What nobody compared is neither right nor wrong; words that mean neither leave the row out.
TEST(Measurements, OutputsAreComparedOrNot) {
  const auto r = read_measurements(
      "node,seconds,right\n0,1e-5,\n1,1e-5,TRUE\n2,1e-5,No\n3,1e-5,maybe\n3,1e308,1\n3,-1,1\n3,x,"
      "1\n",
      sample(), "sheet.csv");
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->rows.size(), 3u) << r->why.toStdString();
  EXPECT_FALSE(r->rows[0].measured.right.made());
  EXPECT_TRUE(r->rows[1].measured.right.holds());
  EXPECT_TRUE(r->rows[2].measured.right.fails());
  EXPECT_EQ(r->left_out, 4);
  EXPECT_TRUE(r->why.contains("maybe")) << r->why.toStdString();
  EXPECT_TRUE(r->why.contains("1e308")) << r->why.toStdString();
  EXPECT_TRUE(r->why.endsWith("and 1 more")) << r->why.toStdString();
  const auto without = read_measurements("node,seconds\n0,1e-5\n", sample(), "sheet.csv");
  ASSERT_TRUE(without && without->rows.size() == 1);
  EXPECT_FALSE(without->rows[0].measured.right.made());
}

TEST(Measurements, JsonInBothShapes) {
  for (const char* text : {R"([{"node": 1, "ms": 0.5, "correct": true}])",
                           R"({"machine": "h200", "runs": [{"knobs": {"tile.i": 64, "stages": 2},
                               "median_ms": 0.5, "right": true}]})"}) {
    const auto r = read_measurements(text, sample(), "x");
    ASSERT_TRUE(r) << r.error().text();
    ASSERT_EQ(r->rows.size(), 1u) << r->why.toStdString();
    EXPECT_EQ(r->rows[0].node, 1);
    EXPECT_DOUBLE_EQ(r->rows[0].measured.seconds, 5e-4);
    EXPECT_TRUE(r->rows[0].measured.right.holds());
  }
}

// An illegal candidate has no kernel that could have a time; one over capacity may have.
TEST(Measurements, CandidatesWithoutAKernelAreLeftOut) {
  sched::Session s = sample();
  s.result.nodes[1].state = sched::NodeState::Illegal;
  s.result.nodes[2].state = sched::NodeState::OverCapacity;
  s.result.nodes[2].knobs = {{"tile.i", 16}};
  const auto r =
      read_measurements("node,knobs,seconds\n1,,1e-4\n,stages=2 tile.i=64,1e-4\n2,,1e-4\n", s, "x");
  ASSERT_TRUE(r);
  ASSERT_EQ(r->rows.size(), 1u);
  EXPECT_EQ(r->rows[0].node, 2);
  EXPECT_EQ(r->left_out, 2);
  EXPECT_TRUE(r->why.contains("row 1: candidate 1 is illegal")) << r->why.toStdString();
}

TEST(Measurements, BadFilesAndRows) {
  for (const char* text : {"", "   \n", "[1, 2]", "{\"a\": ", "[[[["})
    EXPECT_FALSE(read_measurements(text, sample(), "x")) << text;
  const auto r = read_measurements(
      "node,seconds,sizes\n1,fast,\n1,-3,\n1,nan,\n1,1e-4,M=64\n1.5,1e-4,\n,1e-4,\n1,,\n", sample(),
      "x");
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->rows.empty());
  EXPECT_EQ(r->left_out, 7);
}

}  // namespace
}  // namespace nautilus::gui
