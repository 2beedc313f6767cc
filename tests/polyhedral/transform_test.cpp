// Each transform: what it does to the tree, and its verdict.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/polyhedral/transform_helpers.h"

namespace nautilus::poly {
namespace {

using namespace testing_programs;

TEST(Transform, TileNamesStepsAndIds) {
  Session t(matmul(make_context()));
  const NodeId band = t.band("S_C");
  t.must("tile", {{"node", band}, {"sizes", {64, 32, 0}}});
  const Node* outer = find(t.s, band);
  ASSERT_TRUE(outer);
  ASSERT_EQ(outer->members.size(), 2u);
  EXPECT_EQ(outer->members[0].name, "i0");
  EXPECT_EQ(outer->members[0].step, 64);
  EXPECT_EQ(outer->members[1].axis, "j");
  const Node& inner = *outer->children[0];
  ASSERT_EQ(inner.members.size(), 3u);
  EXPECT_EQ(inner.members[0].name, "i1");
  EXPECT_EQ(inner.members[2].name, "k");
  EXPECT_EQ(inner.members[2].step, 1);
  EXPECT_TRUE(flat_schedule(t.s).is_injective());
}

TEST(Transform, TileKeepsOuterOnly) {
  Session t(matmul(make_context()));
  t.must("tile", {{"node", t.band("S_C")}, {"sizes", {-1, 8}}});
  const Node& outer = *t.s.root->children[0]->children[0];
  ASSERT_EQ(outer.members.size(), 2u);
  EXPECT_EQ(outer.members[0].name, "i");
  EXPECT_EQ(outer.children[0]->members.size(), 2u);
}

TEST(Transform, TileOfReductionIsALoggedRelaxation) {
  Session t(matmul(make_context()));
  Outcome o = t.apply("interchange", {{"node", t.band("S_C")}, {"order", {"k", "j", "i"}}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Legal);
  EXPECT_TRUE(o.verdict.relaxations.empty());  // k still ascends
  o = t.apply("reverse", {{"node", t.band("S_C")}, {"member", "k"}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Legal);
  ASSERT_EQ(o.verdict.relaxations.size(), 1u);
  EXPECT_NE(o.verdict.relaxations[0].find("sum"), std::string::npos) << o.verdict.relaxations[0];
}

TEST(Transform, InterchangeOfRecurrenceIsIllegalWithWitness) {
  Session t(recurrence(make_context()));
  Outcome o = t.apply("interchange", {{"node", t.band("S_A")}, {"order", {"j", "i"}}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Illegal);
  ASSERT_TRUE(o.verdict.witness);
  const Witness& w = *o.verdict.witness;
  ASSERT_EQ(w.source_iter.size(), 2u);
  EXPECT_EQ(w.sink_iter[0], w.source_iter[0] + 1);
  EXPECT_EQ(w.sink_iter[1], w.source_iter[1] - 1);
  EXPECT_EQ(w.element, w.source_iter);
  EXPECT_EQ(w.sizes.at("N"), 3);
  EXPECT_NE(w.text.find("S_A[i=1, j=1]"), std::string::npos) << w.text;
}

TEST(Transform, SkewMakesRecurrenceTileable) {
  Session t(recurrence(make_context()));
  EXPECT_EQ(t.apply("tile", {{"node", t.band("S_A")}, {"sizes", {4, 4}}}).verdict.kind,
            VerdictKind::Illegal);
  t.must("skew", {{"node", t.band("S_A")}, {"member", "j"}, {"by", "i"}, {"factor", 1}});
  t.must("tile", {{"node", t.band("S_A")}, {"sizes", {4, 4}}});
}

TEST(Transform, ReverseOfRecurrenceIsIllegal) {
  Session t(recurrence(make_context()));
  EXPECT_EQ(t.apply("reverse", {{"node", t.band("S_A")}, {"member", "i"}}).verdict.kind,
            VerdictKind::Illegal);
  EXPECT_EQ(t.apply("reverse", {{"node", t.band("S_A")}, {"member", "j"}}).verdict.kind,
            VerdictKind::Legal);
}

TEST(Transform, SplitAndInterchangeKeepOrder) {
  Session t(matmul(make_context()));
  const Schedule before = t.s;
  t.must("split", {{"node", t.band("S_C")}, {"at", 1}});
  EXPECT_TRUE(same_order(before, t.s));
}

TEST(Transform, FuseAndDistributeAreInverse) {
  Session t(two_pointwise(make_context()));
  const Schedule before = t.s;
  Outcome o = t.apply("fuse", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 1}});
  ASSERT_TRUE(o.accepted()) << o.verdict.why;
  ASSERT_EQ(t.s.root->children.size(), 1u);
  EXPECT_EQ(t.s.root->children[0]->children[0]->children[0]->kind, NodeKind::Sequence);
  t.must("distribute", {{"node", t.s.root->children[0]->children[0]->id}});
  EXPECT_TRUE(same_order(before, t.s));
  EXPECT_EQ(canonical_hash(before), canonical_hash(t.s));
}

TEST(Transform, FuseNeedsShiftWhenAheadIsRead) {
  Session t(two_pointwise(make_context(), "i + 1"));
  Outcome o = t.apply("fuse", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 1}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Illegal);
  ASSERT_TRUE(o.verdict.witness);
  EXPECT_TRUE(o.verdict.suggest.empty()) << o.verdict.suggest;
  t.must("shift",
         {{"node", t.band("S_C")}, {"member", "i_2"}, {"amount", 1}, {"statements", "S_C"}});
  t.must("fuse", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 1}});
}

TEST(Transform, FusingSoftmaxAtJSuggestsRollingUpdate) {
  Session t(attention(make_context()));
  // m, P, l at [h, i]: legal; at [h, i, j]: the final maximum is needed
  Outcome legal = t.apply("fuse", {{"node", t.root()}, {"first", 2}, {"last", 4}, {"depth", 2}});
  EXPECT_EQ(legal.verdict.kind, VerdictKind::Legal) << legal.verdict.why;
  Session u(attention(make_context()));
  Outcome o = u.apply("fuse", {{"node", u.root()}, {"first", 2}, {"last", 4}, {"depth", 3}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Illegal);
  ASSERT_TRUE(o.verdict.witness);
  EXPECT_EQ(o.verdict.witness->source, "S_m");
  EXPECT_EQ(o.verdict.witness->sink, "S_P");
  EXPECT_EQ(o.verdict.witness->source_iter, (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(o.verdict.witness->sink_iter, (std::vector<int64_t>{0, 1, 0}));
  EXPECT_NE(o.verdict.suggest.find("rolling_update"), std::string::npos);
}

TEST(Transform, MapGridNeedsCoincidence) {
  Session t(matmul(make_context()));
  const NodeId band = t.band("S_C");
  t.must("map", {{"node", band}, {"member", json::array({"i", "j"})}, {"mapping", "grid"}});
  Outcome o = t.apply("map", {{"node", band}, {"member", "k"}, {"mapping", "grid"}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Illegal);
  ASSERT_TRUE(o.verdict.witness);
  EXPECT_EQ(o.verdict.witness->kind, DepKind::Reduction);
  t.must("map", {{"node", band}, {"member", "k"}, {"mapping", "tile"}});
}

TEST(Transform, MapTileRefusesCarriedFlow) {
  Session t(recurrence(make_context()));
  Outcome o = t.apply("map", {{"node", t.band("S_A")}, {"member", "*"}, {"mapping", "tile"}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Illegal);
}

// Kernel of attention fused at [h, i0]: QK, scale, max, P, sum, PV, division; all temps in
// registers but the order inside is still one full pass a statement.
TEST(Transform, AttentionUnderOneGrid) {
  Session t(attention(make_context()));
  for (const Statement& st : t.program->statements) {
    std::vector<int> sizes = {-1, 64};
    t.must("tile", {{"node", t.band(st.name)}, {"sizes", sizes}});
  }
  t.must("fuse", {{"node", t.root()}, {"first", 0}, {"last", 6}, {"depth", 2}});
  ASSERT_EQ(t.s.root->children.size(), 1u);
  const NodeId grid = t.s.root->children[0]->children[0]->id;
  t.must("map", {{"node", grid}, {"member", "*"}, {"mapping", "grid"}});
  for (const Statement& st : t.program->statements)
    t.must("map", {{"node", t.band(st.name)}, {"member", "*"}, {"mapping", "tile"}});
  for (const char* tensor : {"S_sum", "S", "m", "P", "l", "Oa"})
    t.must("set_scope", {{"tensor", tensor}, {"scope", "register"}});
  EXPECT_TRUE(flat_schedule(t.s).is_injective());
}

TEST(Transform, SinkPlacesProducerAtFirstUse) {
  Session t(attention(make_context()));
  t.must("tile", {{"node", t.band("S_O")}, {"sizes", {-1, 64, 0}}});
  const NodeId into = t.s.root->children[6]->children[0]->id;
  t.must("sink", {{"node", t.filter("S_Oa")}, {"into", into}, {"depth", 2}});
  ASSERT_EQ(t.s.root->children.size(), 6u);
  const Node* loops = find(t.s, into);
  ASSERT_EQ(loops->members.size(), 2u);
  EXPECT_TRUE(loops->members[1].schedule.count("S_Oa"));
  EXPECT_TRUE(flat_schedule(t.s).is_injective());
  t.must("sink", {{"node", t.filter("S_l")}, {"into", into}, {"depth", 2}});
  t.must("sink", {{"node", t.filter("S_P")}, {"into", into}, {"depth", 2}});
  t.must("sink", {{"node", t.filter("S_m")}, {"into", into}, {"depth", 2}});
  t.must("sink", {{"node", t.filter("S_S")}, {"into", into}, {"depth", 2}});
  t.must("sink", {{"node", t.filter("S_S_sum")}, {"into", into}, {"depth", 2}});
  EXPECT_EQ(t.s.root->children.size(), 1u);
  EXPECT_EQ(find(t.s, into)->children[0]->children.size(), 7u);
}

TEST(Transform, PartitionFullTiles) {
  Session t(matmul(make_context()));
  const NodeId band = t.band("S_C");
  t.must("tile", {{"node", band}, {"sizes", {16, 16}}});
  t.must("partition", {{"node", band}, {"condition", "full"}});
  ASSERT_EQ(t.s.root->children.size(), 2u);
  const isl::set full = t.s.root->children[0]->parts.at("S_C");
  const isl::set expected(full.ctx(),
                          "[M, N, K] -> { S_C[i, j, k] : 0 <= i < 16*floor(M/16) and 0 <= j < "
                          "16*floor(N/16) and 0 <= k < K }");
  EXPECT_TRUE(full.is_equal(expected));
  EXPECT_TRUE(flat_schedule(t.s).domain().is_equal(t.program->domain()));
  EXPECT_TRUE(flat_schedule(t.s).is_single_valued());
}

TEST(Transform, ReplayGivesTheSameIds) {
  Session t(attention(make_context()));
  t.must("fuse", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 3}});
  t.must("tile", {{"node", t.s.root->children[0]->children[0]->id}, {"sizes", {0, 8, 8}}});
  for (bool checked : {true, false}) {
    Replay r = replay(t.program, t.s.script, checked);
    ASSERT_TRUE(r.schedule);
    EXPECT_EQ(to_text(*r.schedule), to_text(t.s));
    EXPECT_EQ(canonical_hash(*r.schedule), canonical_hash(t.s));
  }
}

TEST(Transform, HashIgnoresTileSizesOnRequest) {
  ProgramPtr p = matmul(make_context());
  Session a(p), b(p), c(p);
  a.must("tile", {{"node", a.band("S_C")}, {"sizes", {64, 32}}});
  b.must("tile", {{"node", b.band("S_C")}, {"sizes", {16, 8}}});
  c.must("tile", {{"node", c.band("S_C")}, {"sizes", {16}}});
  EXPECT_NE(canonical_hash(a.s), canonical_hash(b.s));
  EXPECT_EQ(canonical_hash(a.s, true), canonical_hash(b.s, true));
  EXPECT_NE(canonical_hash(a.s, true), canonical_hash(c.s, true));
}

TEST(Transform, EveryEntryIsDocumented) {
  std::set<std::string> names;
  for (const TransformInfo& t : transforms()) {
    EXPECT_TRUE(names.insert(t.name).second);
    EXPECT_FALSE(t.summary.empty() || t.doc.empty() || t.before.empty() || t.after.empty())
        << t.name;
    EXPECT_TRUE(t.apply) << t.name;
    for (const ParamInfo& p : t.params) EXPECT_FALSE(p.help.empty()) << t.name << "." << p.name;
  }
}

}  // namespace
}  // namespace nautilus::poly
