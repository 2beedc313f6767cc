// split_k: partial and combined reductions compute what the original program does; refusals.
#include "tests/polyhedral/repair_helpers.h"

namespace nautilus::poly {
namespace {

using namespace testing_programs;

ProgramPtr moments(ContextPtr ctx) {
  Builder b(ctx, "moments", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  sums(b);
  b.tensor("y", TensorKind::Output, {"M"});
  b.statement("y", "i", "0 <= i < M", "i", {{"v", "i"}, {"mean", "i"}}, rd(0) + rd(1));
  return b.done();
}

}  // namespace

TEST(SplitK, MatrixProduct) {
  for (int64_t k : {2, 7, 16}) {
    const Sizes sizes{{"M", 3}, {"N", 2}, {"K", k}};
    Session t(bound(matmul(make_context()), sizes));
    const Outcome o = t.apply("split_k", {{"node", t.root()}, {"axis", "k"}, {"parts", 4}});
    ASSERT_TRUE(o.accepted()) << words(o);
    EXPECT_EQ(o.verdict.kind, VerdictKind::Legal);
    EXPECT_FALSE(validate(*t.s.program)) << validate(*t.s.program)->text();
    EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
    const size_t n = static_cast<size_t>(k);
    expect_same(t, sizes, {{"A", noise(3 * n, 1)}, {"B", noise(2 * n, 2)}});
  }
}

TEST(SplitK, AttentionThenFusedInEveryPart) {
  const Sizes sizes{{"H", 2}, {"N", 7}, {"D", 3}};
  const Buffers in{{"Q", noise(42, 1, 0, 3)}, {"K", noise(42, 2, 0, 3)}, {"V", noise(42, 3)}};
  for (bool causal : {false, true}) {
    Session t(bound(attention(make_context(), causal), sizes));
    const Outcome o = t.apply("split_k", {{"node", t.root()}, {"axis", "j"}, {"parts", 3}});
    ASSERT_TRUE(o.accepted()) << words(o);
    EXPECT_EQ(o.verdict.kind, VerdictKind::Repairable);
    EXPECT_EQ(o.verdict.repairs.size(), 2u);
    EXPECT_FALSE(validate(*t.s.program)) << validate(*t.s.program)->text();
    EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
    expect_same(t, sizes, in);  // causal: most parts of the first rows are empty
    // The partial loops m, P, l, O are neighbours: fused at [p, h, i, j] by rolling update.
    size_t first = 0, last = 0;
    for (size_t k = 0; k < t.s.root->children.size(); ++k) {
      if (t.s.root->children[k]->parts.count("S_m_part")) first = k;
      if (t.s.root->children[k]->parts.count("S_Oa_part")) last = k;
    }
    EXPECT_EQ(last - first, 3u) << to_text(t.s);
    t.deps = *dependences(*t.s.program);
    const Outcome f = t.apply("rolling_update",
                              {{"node", t.root()}, {"first", first}, {"last", last}, {"depth", 4}});
    ASSERT_TRUE(f.accepted()) << words(f);
    EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
    expect_same(t, sizes, in);
  }
}

// A statement that is split over several children of the root keeps all of them.
TEST(SplitK, KeepsPartsOfOtherStatements) {
  const Sizes sizes{{"H", 2}, {"N", 7}, {"D", 3}};
  Session t(bound(attention(make_context()), sizes));
  t.must("partition", {{"node", t.filter("S_S")}, {"condition", "{ S_S[h, i, j] : i < 3 }"}});
  const Outcome o = t.apply("split_k", {{"node", t.root()}, {"axis", "j"}, {"parts", 2}});
  ASSERT_TRUE(o.accepted()) << words(o);
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why << to_text(t.s);
  expect_same(t, sizes, {{"Q", noise(42, 1)}, {"K", noise(42, 2)}, {"V", noise(42, 3)}});
}

TEST(SplitK, FamiliesOfAccumulators) {
  for (int64_t n : {5, 8}) {
    const Sizes sizes{{"M", 2}, {"N", n}};
    Session t(bound(moments(make_context()), sizes));
    const Outcome o = t.apply("split_k", {{"node", t.root()}, {"axis", "j"}, {"parts", 3}});
    ASSERT_TRUE(o.accepted()) << words(o);
    EXPECT_FALSE(validate(*t.s.program)) << validate(*t.s.program)->text();
    EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why << to_text(t.s);
    expect_same(t, sizes, {{"x", noise(static_cast<size_t>(2 * n), 4, 20)}});
  }
}

TEST(SplitK, PartsAreMultiples) {
  const Sizes sizes{{"M", 2}, {"N", 2}, {"K", 20}};
  Session t(bound(matmul(make_context()), sizes));
  t.must("split_k", {{"node", t.root()}, {"axis", "k"}, {"parts", 3}, {"multiple", 8}});
  const Tensor* part = t.s.program->tensor("C_part");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->rank(), 3u);
  const isl::set first = fix_dim(t.s.program->statement("S_C_part")->domain, 0, 0);
  EXPECT_EQ(dim_max(first, 3), 7) << "20 in 3 parts of a multiple of 8";
  expect_same(t, sizes, {{"A", noise(40, 1)}, {"B", noise(40, 2)}});
}

// In the part that holds j = 0 row 0 has a term of l, but none of the maximum m that it refers to.
TEST(SplitK, PartsWithTermsButNoSourceAreRefused) {
  Builder b(make_context(), "late", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("X", TensorKind::Input, {"N", "N"})
      .tensor("m", TensorKind::Temp, {"N"})
      .tensor("l", TensorKind::Output, {"N"});
  b.statement("m", "i,j", "0 <= i < N and 0 <= j < i", "i", {{"X", "i,j"}}, rd(0),
              over(ReduceOp::Max, {1}));
  b.statement("l", "i,j", "0 <= i < N and 0 <= j <= i", "i", {{"X", "i,j"}, {"m", "i"}},
              exp(rd(0) - rd(1)), over(ReduceOp::Sum, {1}));
  Session t(bound(b.done(), {{"N", 6}}));
  const Outcome o = t.apply("split_k", {{"node", t.root()}, {"axis", "j"}, {"parts", 2}});
  EXPECT_FALSE(o.accepted());
  EXPECT_NE(words(o).find("in some part S_l has terms where S_m has none"), std::string::npos)
      << words(o);
}

TEST(SplitK, Refusals) {
  Session free(matmul(make_context()));
  EXPECT_NE(words(free.apply("split_k", {{"node", free.root()}, {"axis", "k"}, {"parts", 2}}))
                .find("not bound"),
            std::string::npos);
  const Sizes sizes{{"M", 3}, {"N", 2}, {"K", 6}};
  Session t(bound(matmul(make_context()), sizes));
  const auto why = [&](const json& p) { return words(t.apply("split_k", p)); };
  EXPECT_NE(why({{"node", t.root()}, {"axis", "i"}, {"parts", 2}}).find("no reduction"),
            std::string::npos);
  EXPECT_NE(why({{"node", t.root()}, {"axis", "zz"}, {"parts", 2}}).find("no reduction"),
            std::string::npos);
  EXPECT_NE(
      why({{"node", t.root()}, {"axis", "k"}, {"parts", 2}, {"multiple", 64}}).find("fit one part"),
      std::string::npos);
  EXPECT_NE(
      why({{"node", t.root()}, {"axis", "k"}, {"parts", 2}, {"numerics", "strict"}}).find("strict"),
      std::string::npos);
  EXPECT_TRUE(t.apply("split_k", {{"node", 4711}, {"axis", "k"}, {"parts", 2}}).refusal);
  Session endless(bound(matmul(make_context()), {{"M", 3}, {"N", 2}, {"K", INT64_MAX}}));
  EXPECT_NE(words(endless.apply("split_k", {{"node", endless.root()}, {"axis", "k"}, {"parts", 2}}))
                .find("too long to be cut"),
            std::string::npos);
  // Loops that are shared already.
  Session fused(bound(attention(make_context()), {{"H", 1}, {"N", 6}, {"D", 2}}));
  fused.must("fuse", {{"node", fused.root()}, {"first", 2}, {"last", 4}, {"depth", 2}});
  EXPECT_NE(words(fused.apply("split_k", {{"node", fused.root()}, {"axis", "j"}, {"parts", 2}}))
                .find("already shared by several statements"),
            std::string::npos);
  // An axis that does not start at zero, and a reduction of the user's own.
  const auto row = [](const char* where, const char* at, Reduction r) {
    Builder b(make_context(), "row", {"N"}, "[N] -> { : N = 8 }");
    b.tensor("x", TensorKind::Input, {"N"}).tensor("y", TensorKind::Output, {"1"});
    b.statement("y", "i,k", std::string("i = 0 and ") + where, "i", {{"x", at}}, rd(0), r);
    return b.done();
  };
  Session below(row("-4 <= k < 4", "k + 4", over(ReduceOp::Sum, {1})));
  EXPECT_NE(words(below.apply("split_k", {{"node", below.root()}, {"axis", "k"}, {"parts", 2}}))
                .find("starts below zero"),
            std::string::npos);
  Reduction own = over(ReduceOp::User, {1});
  own.combine = Expr::var("a") + Expr::var("b");
  own.identity = Expr::constant(0);
  Session user(row("0 <= k < 8", "k", own));
  EXPECT_NE(words(user.apply("split_k", {{"node", user.root()}, {"axis", "k"}, {"parts", 2}}))
                .find("user-defined reduction"),
            std::string::npos);
  // A chain that has no correction.
  Builder b(make_context(), "sum", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("r", TensorKind::Temp, {"M"})
      .tensor("T", TensorKind::Output, {"M"});
  b.statement("r", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"r", "i"}}, rd(0) / rd(1),
              over(ReduceOp::Sum, {1}));
  Session c(bound(b.done(), {{"M", 2}, {"N", 4}}));
  const Outcome o = c.apply("split_k", {{"node", c.root()}, {"axis", "j"}, {"parts", 2}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Illegal);
  EXPECT_NE(o.verdict.why.find("r can be zero"), std::string::npos) << words(o);
}

}  // namespace nautilus::poly
