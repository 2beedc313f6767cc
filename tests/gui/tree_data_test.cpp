// The schedule tree and verdicts as plain data.
#include "gui/models/tree_data.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/gui/sched_programs.h"

namespace nautilus::gui {
namespace {

using namespace poly::testing_programs;
using nlohmann::json;

TEST(TreeData, InitialScheduleOfMatmul) {
  const Session t(matmul(poly::make_context()));
  const TreePicture p = tree_picture(t.s);
  ASSERT_EQ(p.boxes.size(), 3u) << poly::to_text(t.s);
  EXPECT_EQ(p.boxes[0].kind, poly::NodeKind::Sequence);
  EXPECT_EQ(p.boxes[1].text, "S_C");
  const TreeBox& band = p.boxes[2];
  EXPECT_EQ(band.kind, poly::NodeKind::Band);
  EXPECT_EQ(box_title(band), "band [i, j, k]");
  ASSERT_EQ(band.members.size(), 3u);
  EXPECT_EQ(band.members[2].functions,
            (std::vector<std::pair<std::string, std::string>>{{"S_C", "k"}}));
  EXPECT_EQ(p.statements, std::vector<std::string>{"S_C"});
  EXPECT_EQ(p.axes, (std::vector<std::string>{"k", "i", "j"}));
  EXPECT_TRUE(p.temporaries.empty());
}

TEST(TreeData, RowsParentsAndLastOfAttention) {
  const Session t(attention(poly::make_context()));
  const TreePicture p = tree_picture(t.s);
  ASSERT_EQ(p.boxes[0].kind, poly::NodeKind::Sequence);
  EXPECT_EQ(p.boxes[0].children.size(), 7u);
  EXPECT_EQ(p.boxes[0].last, static_cast<int>(p.boxes.size()) - 1);
  for (size_t k = 1; k < p.boxes.size(); ++k) {
    const TreeBox& b = p.boxes[k];
    const TreeBox& parent = p.boxes[static_cast<size_t>(b.parent)];
    EXPECT_EQ(b.depth, parent.depth + 1);
    EXPECT_LE(b.last, parent.last);
    EXPECT_NE(std::find(parent.children.begin(), parent.children.end(), static_cast<int>(k)),
              parent.children.end());
    EXPECT_EQ(p.row_of(b.id), static_cast<int>(k));
  }
  EXPECT_EQ(p.row_of(9999), -1);
  EXPECT_EQ(p.scopes.front().second, "global");
}

TEST(TreeData, ALegalStepShowsWhatChanges) {
  const Session t(matmul(poly::make_context()));
  const Attempt a =
      try_step(t.s, t.deps, step("tile", {{"node", t.band("S_C")}, {"sizes", {4, 4, 0}}}));
  EXPECT_EQ(a.verdict.kind, poly::VerdictKind::Legal) << a.verdict.why;
  EXPECT_EQ(headline(a.verdict), "legal");
  ASSERT_EQ(a.after.boxes.size(), 4u);
  EXPECT_EQ(a.touched.size(), 2u);
  EXPECT_NE(a.diff.find("+ "), std::string::npos);
  EXPECT_EQ(a.after.boxes[2].members[0].step, 4);
}

TEST(TreeData, AnIllegalFusionOfSoftmaxHasAWitness) {
  const Session t(softmax(poly::make_context()));
  const Attempt a = try_step(
      t.s, t.deps, step("fuse", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}}));
  EXPECT_EQ(a.verdict.kind, poly::VerdictKind::Illegal) << headline(a.verdict);
  ASSERT_EQ(a.verdict.witness.size(), 1u);
  const WitnessStory& w = a.verdict.witness.front();
  EXPECT_EQ(w.source, "S_m");
  EXPECT_EQ(w.tensor, "m");
  EXPECT_EQ(w.source_dims, (std::vector<std::string>{"i", "j"}));
  EXPECT_GT(w.source_at[1], w.sink_at[1]);  // the later maximum is missing in the earlier term
  EXPECT_EQ(instance_text(w.source, w.source_dims, w.source_at).find("S_m[i="), 0u);
  EXPECT_NE(a.verdict.suggest.find("rolling_update"), std::string::npos);
  EXPECT_TRUE(a.after.boxes.empty());
  EXPECT_TRUE(a.diff.empty());
}

TEST(TreeData, ARollingUpdateIsToldWithItsObligations) {
  Session t(softmax(poly::make_context()));
  const Attempt a = try_step(
      t.s, t.deps,
      step("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}}));
  ASSERT_EQ(a.verdict.kind, poly::VerdictKind::Repairable) << headline(a.verdict);
  ASSERT_EQ(a.verdict.repairs.size(), 1u);
  const RepairStory& r = a.verdict.repairs.front();
  EXPECT_EQ(r.targets.front(), "S_l");
  EXPECT_EQ(r.sources.front(), "S_m");
  EXPECT_FALSE(r.term.empty());
  EXPECT_GE(r.derivations.size(), 2u);
  ASSERT_FALSE(r.obligations.empty());
  for (const ObligationStory& o : r.obligations) EXPECT_TRUE(o.discharged) << o.claim;
  EXPECT_NE(r.corrections.front().second.find("exp"), std::string::npos);
  EXPECT_NE(a.step.params.find("pays"), std::string::npos);  // what was left open is filled in
  const int band = a.after.row_of(r.band);
  ASSERT_GE(band, 0);
  EXPECT_EQ(a.after.boxes[static_cast<size_t>(band)].repairs.size(), 1u);
  EXPECT_EQ(headline(a.verdict).find("legal with a correction of S_l"), 0u);

  // A later step does not count the repair again.
  t.s = *poly::apply(t.s, t.deps, a.step).schedule;
  const Attempt next =
      try_step(t.s, t.deps, step("map", {{"node", r.band}, {"member", 0}, {"mapping", "grid"}}));
  EXPECT_EQ(next.verdict.kind, poly::VerdictKind::Legal) << headline(next.verdict);
}

TEST(TreeData, MeaninglessRequestsAreRefusedInWords) {
  const Session t(matmul(poly::make_context()));
  const Attempt no_node = try_step(t.s, t.deps, step("tile", {{"node", 77}, {"sizes", {4}}}));
  EXPECT_TRUE(no_node.verdict.malformed);
  EXPECT_EQ(headline(no_node.verdict).find("does not apply: "), 0u);
  EXPECT_TRUE(try_step(t.s, t.deps, {"tile", "{nonsense"}).verdict.malformed);
  EXPECT_TRUE(try_step(t.s, t.deps, {"polish", "{}"}).verdict.malformed);
  EXPECT_FALSE(edit_only(t.s, {"tile", "{nonsense"}));
}

TEST(TreeData, TheOrderOfARefusedStepCanBeMade) {
  const Session t(softmax(poly::make_context()));
  const auto s =
      edit_only(t.s, step("fuse", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}}));
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(poly::check(*s, t.deps).kind, poly::VerdictKind::Illegal);
}

TEST(TreeData, SixtyStatements) {
  const Session t(chain(poly::make_context(), 60));
  const TreePicture p = tree_picture(t.s);
  EXPECT_EQ(p.statements.size(), 60u);
  EXPECT_EQ(p.boxes.size(), 121u);
  EXPECT_EQ(p.boxes[0].statements.size(), 60u);
}

TEST(TreeData, StepsInOneLine) {
  EXPECT_EQ(step_text({"fuse", R"({"depth":1,"first":0,"last":2,"node":35})"}),
            "fuse depth=1 first=0 last=2 node=35");
  EXPECT_EQ(step_text({"map", R"({"mapping":"tile","member":"*","node":3})"}),
            "map mapping=tile member=* node=3");
}

}  // namespace
}  // namespace nautilus::gui
