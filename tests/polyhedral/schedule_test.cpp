// Schedule trees: construction, conversion to and from isl, text, hash, edits.
#include "polyhedral/schedule.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/polyhedral/transform_helpers.h"

namespace nautilus::poly {
namespace {

using namespace testing_programs;

TEST(ScheduleTree, InitialHasOneKernelAStatement) {
  ProgramPtr p = attention(make_context());
  Schedule s = initial_schedule(p);
  ASSERT_EQ(s.root->kind, NodeKind::Sequence);
  ASSERT_EQ(s.root->children.size(), p->statements.size());
  for (size_t k = 0; k < p->statements.size(); ++k) {
    const Node& f = *s.root->children[k];
    ASSERT_EQ(f.kind, NodeKind::Filter);
    EXPECT_EQ(f.statements, std::vector<std::string>{p->statements[k].name});
    const Node& band = *f.children[0];
    ASSERT_EQ(band.kind, NodeKind::Band);
    const auto dims = dim_names(p->statements[k].domain);
    ASSERT_EQ(band.members.size(), dims.size());
    for (size_t d = 0; d < dims.size(); ++d) EXPECT_EQ(band.members[d].axis, dims[d]);
  }
}

TEST(ScheduleTree, MemberNamesAreUnique) {
  Schedule s = initial_schedule(attention(make_context()));
  std::set<std::string> seen;
  for (const Node* n : preorder(s))
    for (const BandMember& m : n->members) EXPECT_TRUE(seen.insert(m.name).second) << m.name;
}

TEST(ScheduleTree, FlatScheduleIsInjectiveAndTotal) {
  ProgramPtr p = attention(make_context());
  isl::union_map flat = flat_schedule(initial_schedule(p));
  EXPECT_TRUE(flat.is_injective());
  EXPECT_TRUE(flat.is_single_valued());
  EXPECT_TRUE(flat.domain().is_equal(p->domain()));
}

TEST(ScheduleTree, RoundTripThroughIsl) {
  ProgramPtr p = attention(make_context());
  Schedule s = initial_schedule(p);
  NodeId next = 1;
  Expected<NodePtr> back = from_isl(*p, to_isl(s), next);
  ASSERT_TRUE(back) << back.error().text();
  Schedule t = s;
  t.root = *back;
  EXPECT_TRUE(flat_schedule(t).is_equal(flat_schedule(s)));
  EXPECT_EQ(canonical_hash(t), canonical_hash(s));
  EXPECT_EQ(to_text(t), to_text(s));
}

TEST(ScheduleTree, RoundTripKeepsMappingsStepsAndFilters) {
  Session t(matmul(make_context()));
  const NodeId band = t.band("S_C");
  t.must("tile", {{"node", band}, {"sizes", {16, 8, 0}}});
  t.must("map", {{"node", band}, {"member", "*"}, {"mapping", "grid"}});
  t.must("partition", {{"node", t.band("S_C", "k")}, {"condition", "{ S_C[i, j, k] : k < 7 }"}});
  t.s.scopes["C"] = Scope::Global;
  NodeId next = 1;
  Expected<NodePtr> back = from_isl(*t.program, to_isl(t.s), next);
  ASSERT_TRUE(back) << back.error().text();
  Schedule u = t.s;
  u.root = *back;
  EXPECT_TRUE(flat_schedule(u).is_equal(flat_schedule(t.s)));
  EXPECT_EQ(canonical_hash(u), canonical_hash(t.s));
}

TEST(ScheduleTree, FromIslTakesSetsAndRefusesPieces) {
  ProgramPtr p = two_pointwise(make_context());
  NodeId next = 1;
  const std::string domain = "domain: \"[N] -> { S_B[i] : 0 <= i < N; S_C[i] : 0 <= i < N }\"";
  const isl::schedule set(
      p->context->get(),
      "{ " + domain +
          ", child: { set: [ { filter: \"{ S_B[i] }\", child: { schedule: \"[{ S_B[i] -> "
          "[(floor(i/4))] }, { S_B[i] -> [(i)] }]\" } }, { filter: \"{ S_C[i] }\" } ] } }");
  Expected<NodePtr> tree = from_isl(*p, set, next);
  ASSERT_TRUE(tree) << tree.error().text();
  ASSERT_EQ((*tree)->kind, NodeKind::Sequence);
  const Node& band = *(*tree)->children[0]->children[0];
  EXPECT_EQ(band.members[0].axis, "i");
  EXPECT_EQ(band.members[1].name, "i");
  const isl::schedule pieces(p->context->get(),
                             "{ " + domain +
                                 ", child: { schedule: \"[{ S_B[i] -> [(i)]; S_C[i] -> [(i)] : i < "
                                 "3; S_C[i] -> [(2i)] : i >= 3 }]\" } }");
  Expected<NodePtr> refused = from_isl(*p, pieces, next);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().why.find("not one affine function"), std::string::npos)
      << refused.error().text();
}

TEST(ScheduleTree, PrefixAndInstances) {
  Session t(matmul(make_context()));
  const NodeId band = t.band("S_C");
  t.must("tile", {{"node", band}, {"sizes", {16, 8, 0}}});
  const NodeId inner = find(t.s, band)->children[0]->id;
  EXPECT_EQ(prefix(t.s, inner, "S_C", false).size(), 2u);
  EXPECT_EQ(prefix(t.s, inner, "S_C", true).size(), 5u);
  EXPECT_TRUE(instances_below(t.s, inner).is_equal(t.program->domain()));
  EXPECT_TRUE(instances_below(t.s, 4711).is_empty());
  EXPECT_TRUE(statements_below(t.s, 4711).empty());
  EXPECT_EQ(find(t.s, 4711), nullptr);
  EXPECT_EQ(parent_of(t.s, inner)->id, band);
}

TEST(ScheduleTree, DiffNamesChangedNodes) {
  Session t(two_pointwise(make_context()));
  const Schedule before = t.s;
  t.must("tile", {{"node", t.band("S_B")}, {"sizes", {4}}});
  const std::string d = diff(before, t.s);
  EXPECT_NE(d.find("~ 3: band [i = i] => band [i0:4"), std::string::npos) << d;
  EXPECT_NE(d.find("+ "), std::string::npos) << d;
  EXPECT_EQ(diff(before, before), "");
  EXPECT_TRUE(to_json(t.s).contains("script"));
}

TEST(ScheduleTree, OddPrograms) {
  ContextPtr ctx = make_context();
  for (const char* where : {"false", "0 <= i < N", "i = 3 and N = 0"}) {
    Builder b(ctx, "odd", {"N"}, "[N] -> { : N >= 0 }");
    b.tensor("A", TensorKind::Output, {"N"});
    b.statement("A", "i", where, "i", {}, Expr::constant(1));
    Session t(b.done());
    EXPECT_EQ(check(t.s, t.deps).kind, VerdictKind::Legal) << where;
    EXPECT_TRUE(verify(t.s).ok) << where << verify(t.s).verdict.why;
    EXPECT_FALSE(to_text(t.s).empty());
    canonical_hash(t.s);
  }
  Builder none(ctx, "none", {}, "{ : }");
  Session empty(none.done());
  EXPECT_TRUE(verify(empty.s).ok);
  Builder scalar(ctx, "scalar", {}, "{ : }");
  scalar.tensor("A", TensorKind::Output, {});
  scalar.statement("A", "", "true", "", {}, Expr::constant(1));
  Session one(scalar.done());
  EXPECT_TRUE(verify(one.s).ok) << verify(one.s).verdict.why;
  EXPECT_TRUE(flat_schedule(one.s).is_injective());
}

// 60 statements in a chain: everything stays fast.
TEST(ScheduleTree, SixtyStatements) {
  Builder b(make_context(), "chain", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("T0", TensorKind::Input, {"N"});
  for (int k = 1; k <= 60; ++k)
    b.tensor("T" + std::to_string(k), k == 60 ? TensorKind::Output : TensorKind::Temp, {"N"});
  for (int k = 1; k <= 60; ++k)
    b.statement("T" + std::to_string(k), "i", "0 <= i < N", "i",
                {{"T" + std::to_string(k - 1), "i"}}, rd(0));
  Session t(b.done());
  t.must("fuse", {{"node", t.root()}, {"first", 0}, {"last", 59}, {"depth", 1}});
  t.must("map",
         {{"node", t.s.root->children[0]->children[0]->id}, {"member", "*"}, {"mapping", "grid"}});
  EXPECT_EQ(check(t.s, t.deps).kind, VerdictKind::Legal);
}

}  // namespace
}  // namespace nautilus::poly
