// rolling_update on trees: verdicts, what plain fusion breaks, results against the interpreter, the
// verifier's word.
#include "tests/polyhedral/repair_helpers.h"

namespace nautilus::poly {
namespace {

using namespace testing_programs;

// x over [i, j]; mean and variance of every row.
ProgramPtr variance(ContextPtr ctx, bool normalize = false) {
  Builder b(ctx, "variance", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  sums(b);
  b.tensor("var", normalize ? TensorKind::Temp : TensorKind::Output, {"M"});
  if (normalize) b.tensor("y", TensorKind::Output, {"M", "N"});
  b.statement("var", "i", "0 <= i < M", "i", {{"v", "i"}}, rd(0) / Expr::param("N"));
  if (normalize)
    b.statement("y", "i,j", "0 <= i < M and 0 <= j < N", "i,j",
                {{"x", "i,j"}, {"mean", "i"}, {"var", "i"}},
                (rd(0) - rd(1)) * Expr::make(Op::Rsqrt, {rd(2) + Expr::constant(1e-5)}));
  return b.done();
}

}  // namespace

TEST(RollingUpdate, AttentionInOneLoop) {
  for (bool causal : {true, false}) {
    Session t(attention(make_context(), causal));
    // m, P, l over [h, i, j]: fused at all three members.
    const Outcome o =
        t.apply("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 5}, {"depth", 3}});
    ASSERT_TRUE(o.accepted()) << words(o);
    EXPECT_EQ(o.verdict.kind, VerdictKind::Repairable);
    ASSERT_TRUE(o.verdict.witness);
    EXPECT_EQ(o.verdict.witness->source, "S_m");
    ASSERT_EQ(t.s.repairs.size(), 2u);
    EXPECT_EQ(t.s.repairs[0].targets, std::vector<std::string>{"S_l"});
    EXPECT_EQ(t.s.repairs[1].targets, std::vector<std::string>{"S_Oa"});
    EXPECT_EQ(t.s.repairs[0].lazy_bound, 8);
    const Verification v = verify(t.s);
    EXPECT_TRUE(v.ok) << v.verdict.why;
    const Sizes sizes{{"H", 2}, {"N", 5}, {"D", 3}};
    expect_same(t, sizes,
                {{"Q", noise(30, 1, 0, 3)}, {"K", noise(30, 2, 0, 3)}, {"V", noise(30, 3)}});
  }
}

// The user of running values outside the loop that makes them: m moves on within the tile after
// P[j] was computed, and l is corrected to the tile's m before it adds them all.
TEST(RollingUpdate, RunningValuesMayNotOutliveTheirIteration) {
  Builder b(make_context(), "softmax", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("S", TensorKind::Input, {"M", "N"}).tensor("m", TensorKind::Temp, {"M"});
  b.tensor("P", TensorKind::Temp, {"M", "N"}).tensor("l", TensorKind::Output, {"M"});
  b.statement("m", "i,j", ij, "i", {{"S", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("P", "i,j", ij, "i,j", {{"S", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "i,j", ij, "i", {{"P", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  Session t(b.done());
  for (const char* s : {"S_m", "S_P", "S_l"})
    t.must("tile", {{"node", t.band(s)}, {"sizes", {-1, 4}}});
  t.must("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}});
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
  NodeId inner = -1;
  for (const Node* n : preorder(t.s))
    if (n->kind == NodeKind::Sequence && n->id != t.root()) inner = n->id;
  if (inner < 0) inner = t.root();
  const json pair{{"node", inner}, {"first", 0}, {"last", 1}, {"depth", 1}};
  const Expected<Schedule> stale = apply_unchecked(t.s, "fuse", pair);
  ASSERT_TRUE(stale) << stale.error().text();
  EXPECT_EQ(check(*stale, t.deps).kind, VerdictKind::Illegal) << to_text(*stale);
  EXPECT_FALSE(verify(*stale).ok) << to_text(*stale);
  // All three in one loop: l adds each P where it was made.
  const Expected<Schedule> fresh =
      apply_unchecked(t.s, "fuse", {{"node", inner}, {"first", 0}, {"last", 2}, {"depth", 1}});
  ASSERT_TRUE(fresh) << fresh.error().text();
  EXPECT_EQ(check(*fresh, t.deps).kind, VerdictKind::Repairable) << to_text(*fresh);
  EXPECT_TRUE(verify(*fresh).ok) << verify(*fresh).verdict.why;
}

TEST(RollingUpdate, TiledAttention) {
  Session t(attention(make_context()));
  for (const char* s : {"S_m", "S_P", "S_l", "S_Oa"}) {
    const size_t n = find(t.s, t.band(s))->members.size();
    json sizes = json::array({0, 4, 2});
    if (n == 4) sizes.push_back(0);
    t.must("tile", {{"node", t.band(s)}, {"sizes", sizes}});
  }
  // h and the tiles of i, j: two members outside (i0, j0).
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 5}, {"depth", 2}});
  ASSERT_TRUE(o.accepted()) << words(o) << "\n" << to_text(t.s);
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
  expect_same(t, {{"H", 2}, {"N", 7}, {"D", 2}},
              {{"Q", noise(28, 1, 0, 2)}, {"K", noise(28, 2, 0, 2)}, {"V", noise(28, 3)}});
}

// Softmax as written: the weights are divided by their sum before the product; both references are
// running.
TEST(RollingUpdate, NormalizedWeights) {
  Builder b(make_context(), "softmax", {"M", "N", "D"},
            "[M, N, D] -> { : M >= 0 and N >= 0 and D >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N and j <= i + 2";
  b.tensor("S", TensorKind::Input, {"M", "N"}).tensor("V", TensorKind::Input, {"N", "D"});
  for (const char* t : {"m", "l"}) b.tensor(t, TensorKind::Temp, {"M"});
  for (const char* t : {"E", "P"}) b.tensor(t, TensorKind::Temp, {"M", "N"});
  b.tensor("O", TensorKind::Output, {"M", "D"});
  b.statement("m", "i,j", ij, "i", {{"S", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("E", "i,j", ij, "i,j", {{"S", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "i,j", ij, "i", {{"E", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("P", "i,j", ij, "i,j", {{"E", "i,j"}, {"l", "i"}}, rd(0) / rd(1));
  b.statement("O", "i,j,d", std::string(ij) + " and 0 <= d < D", "i,d",
              {{"P", "i,j"}, {"V", "j,d"}}, rd(0) * rd(1), over(ReduceOp::Sum, {1}));
  Session t(b.done());
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 4}, {"depth", 2}});
  ASSERT_TRUE(o.accepted()) << words(o);
  ASSERT_EQ(t.s.repairs.size(), 2u);
  EXPECT_EQ(t.s.repairs[1].sources, (std::vector<std::string>{"S_m", "S_l"}));
  EXPECT_EQ(t.s.repairs[1].via, (std::vector<std::string>{"S_E", "S_P"}));
  EXPECT_EQ(t.s.repairs[1].lazy_bound, 8);
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
  expect_same(t, {{"M", 4}, {"N", 6}, {"D", 2}}, {{"S", noise(24, 8, 0, 5)}, {"V", noise(12, 9)}});
}

// A product with normalized rows in one pass: a family for the mean times a factor for the
// deviation.
TEST(RollingUpdate, LayerNormProduct) {
  Builder b(make_context(), "ln", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"}).tensor("w", TensorKind::Input, {"N"});
  for (const char* t : {"s", "mean", "v", "rstd"}) b.tensor(t, TensorKind::Temp, {"M"});
  b.tensor("T", TensorKind::Output, {"M"});
  b.statement("s", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("mean", "i", "0 <= i < M", "i", {{"s", "i"}}, rd(0) / Expr::param("N"));
  b.statement("v", "i,j", ij, "i", {{"x", "i,j"}, {"mean", "i"}}, (rd(0) - rd(1)) * (rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  b.statement("rstd", "i", "0 <= i < M", "i", {{"v", "i"}},
              Expr::make(Op::Rsqrt, {rd(0) / Expr::param("N") + Expr::constant(1e-5)}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"mean", "i"}, {"rstd", "i"}, {"w", "j"}},
              (rd(0) - rd(1)) * rd(2) * rd(3), over(ReduceOp::Sum, {1}));
  Session t(b.done());
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 4}, {"depth", 2}});
  ASSERT_TRUE(o.accepted()) << words(o);
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why << "\n" << to_text(t.s);
  ASSERT_EQ(t.s.repairs.size(), 2u);
  EXPECT_EQ(t.s.repairs[1].corrections.size(), 2u) << to_string(t.s.repairs[1].corrections[0]);
  expect_same(t, {{"M", 3}, {"N", 9}}, {{"x", noise(27, 10, 5)}, {"w", noise(9, 11)}}, 1e-8);
  // Rows that are constant, or zero, leave sources at their identity.
  expect_same(t, {{"M", 3}, {"N", 9}}, {{"x", std::vector<double>(27, 0.0)}, {"w", noise(9, 11)}},
              1e-8);
  expect_same(t, {{"M", 3}, {"N", 9}}, {{"x", std::vector<double>(27, 2.0)}, {"w", noise(9, 11)}},
              1e-8);
}

// The rows of a tile that are left in the band of a point-wise statement between two sums are not
// the tiles of columns that the sums share.
TEST(RollingUpdate, RowsLeftOfATileAreNotTheLoop) {
  Builder b(make_context(), "rms", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"}).tensor("w", TensorKind::Input, {"N"});
  for (const char* t : {"q", "r", "T"}) b.tensor(t, TensorKind::Temp, {"M"});
  b.tensor("y", TensorKind::Output, {"M"});
  b.statement("q", "i,j", ij, "i", {{"x", "i,j"}}, rd(0) * rd(0), over(ReduceOp::Sum, {1}));
  b.statement("r", "i", "0 <= i < M", "i", {{"q", "i"}},
              Expr::make(Op::Rsqrt, {rd(0) + Expr::constant(1e-5)}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"r", "i"}, {"w", "j"}}, rd(0) * rd(1) * rd(2),
              over(ReduceOp::Sum, {1}));
  b.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}}, rd(0));
  Session t(b.done());
  for (const char* s : {"S_q", "S_r", "S_T", "S_y"}) {
    json sizes = json::array({2});
    if (find(t.s, t.band(s))->members.size() == 2) sizes.push_back(0);
    t.must("tile", {{"node", t.band(s)}, {"sizes", sizes}});
  }
  t.must("fuse", {{"node", t.root()}, {"first", 0}, {"last", 3}, {"depth", 1}});
  for (const char* s : {"S_q", "S_T"}) t.must("tile", {{"node", t.band(s)}, {"sizes", {0, 4}}});
  NodeId inside = -1;
  for (const Node* n : preorder(t.s))
    if (n->kind == NodeKind::Sequence) inside = n->id;
  const Outcome o =
      t.apply("rolling_update", {{"node", inside}, {"first", 0}, {"last", 2}, {"depth", 1}});
  ASSERT_TRUE(o.accepted()) << words(o) << "\n" << to_text(t.s);
  ASSERT_EQ(t.s.repairs.size(), 1u);
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why << "\n" << to_text(t.s);
  expect_same(t, {{"M", 5}, {"N", 9}}, {{"x", noise(45, 10)}, {"w", noise(9, 11)}}, 1e-8);
}

// One more loop joins what is already fused: its repair pays for its own sources.
TEST(RollingUpdate, JoinsOneByOne) {
  Session t(attention(make_context()));
  Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 3}, {"depth", 3}});
  EXPECT_FALSE(o.accepted()) << "P alone would hold running values: " << to_text(t.s);
  o = t.apply("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 4}, {"depth", 3}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Illegal) << "Oa reads P too";
  EXPECT_NE(o.verdict.why.find("S_Oa also reads P"), std::string::npos) << words(o);
}

TEST(RollingUpdate, VarianceInOnePass) {
  for (bool normalize : {false, true}) {
    Session t(variance(make_context(), normalize));
    const Outcome o =
        t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}});
    ASSERT_TRUE(o.accepted()) << words(o);
    ASSERT_EQ(t.s.repairs.size(), 1u);
    EXPECT_EQ(t.s.repairs[0].targets, (std::vector<std::string>{"S_v", "S_v_d1", "S_v_d2"}));
    const Verification v = verify(t.s);
    EXPECT_TRUE(v.ok) << v.verdict.why << "\n" << to_text(t.s);
    for (const Sizes& sizes :
         {Sizes{{"M", 3}, {"N", 7}}, Sizes{{"M", 2}, {"N", 1}}, Sizes{{"M", 1}, {"N", 0}}}) {
      const size_t n = static_cast<size_t>(sizes.at("M") * sizes.at("N"));
      expect_same(t, sizes, {{"x", noise(n, 4, 10)}});
    }
  }
}

// Root mean square of the relative error in f32, against double: two passes, one pass with
// corrections.
TEST(RollingUpdate, VarianceNumerics) {
  Session t(variance(make_context()));
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}});
  ASSERT_TRUE(o.accepted()) << words(o);
  const Sizes sizes{{"M", 16}, {"N", 1000}};
  for (double mean : {0.0, 10.0, 1000.0}) {
    const Buffers in{{"x", noise(16000, 5, mean)}};
    InterpretOptions round;
    round.round_stores = true;
    const auto exact = interpret(*t.program, sizes, in),
               twice = interpret(*t.program, sizes, in, round);
    ASSERT_TRUE(exact && twice);
    RepairRun run(t.s, sizes, in, true);
    run.sizes_ = sizes;
    const Buffers once = run.outputs();
    double e2 = 0, e1 = 0;
    for (size_t i = 0; i < 16; ++i) {
      const double want = exact->at("var")[i];
      e2 += std::pow(twice->at("var")[i] / want - 1, 2) / 16;
      e1 += std::pow(once.at("var")[i] / want - 1, 2) / 16;
    }
    std::printf("  mean %g: two passes %.2e, one pass %.2e\n", mean, std::sqrt(e2), std::sqrt(e1));
    EXPECT_LT(std::sqrt(e1), 1e-4 + 4 * std::sqrt(e2)) << mean;
  }
}

// A reduction that is the output itself gets a temporary and a copy behind the loop.
TEST(RollingUpdate, OutputsArePrivatized) {
  Builder b(make_context(), "lse", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("m", TensorKind::Output, {"M"})
      .tensor("T", TensorKind::Output, {"M"});
  b.statement("m", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  Session t(b.done());
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  ASSERT_TRUE(o.accepted()) << words(o);
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why << "\n" << to_text(t.s);
  EXPECT_EQ(t.s.repairs[0].lazy_bound, 0) << "m is stored";
  expect_same(t, {{"M", 3}, {"N", 6}}, {{"x", noise(18, 6, 0, 10)}});
}

// A script replayed with a tile that takes in the whole loop makes the statements and nodes that
// its later steps name, though nothing is broken there.
TEST(RollingUpdate, ScriptsHoldAtOtherTileSizes) {
  Builder b(make_context(), "lse", {"M", "N"}, "[M, N] -> { : M = 8 and N = 16 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("m", TensorKind::Output, {"M"})
      .tensor("T", TensorKind::Output, {"M"});
  b.statement("m", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  Session t(b.done());
  for (const char* s : {"S_m", "S_T"}) t.must("tile", {{"node", t.band(s)}, {"sizes", {-1, 4}}});
  t.must("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  ASSERT_EQ(t.s.repairs.size(), 1u);
  std::vector<TransformStep> script = t.s.script;
  for (TransformStep& s : script)
    if (s.name == "tile") {
      json p = json::parse(s.params);
      p["sizes"] = {-1, 16};
      s.params = p.dump();
    }
  for (const bool checked : {false, true}) {
    const Replay r = replay(t.program, script, checked);
    ASSERT_TRUE(r.schedule) << words(r.outcomes.back());
    EXPECT_EQ(r.schedule->repairs.size(), 1u);
    EXPECT_EQ(r.schedule->next_id, t.s.next_id);
    EXPECT_TRUE(verify(*r.schedule).ok) << verify(*r.schedule).verdict.why;
  }
  script.back().params = R"({"depth":2,"first":0,"last":1,"node":1,"pays":["S_T > S_m"]})";
  EXPECT_FALSE(replay(t.program, script, false).schedule);
}

TEST(RollingUpdate, EmptyRowsKeepTheirValue) {
  Builder b(make_context(), "rows", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N and j < i";  // row 0 is empty
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("m", TensorKind::Temp, {"M"})
      .tensor("T", TensorKind::Temp, {"M"});
  b.tensor("y", TensorKind::Output, {"M"});
  b.statement("m", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  b.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}}, rd(0));
  Session t(b.done());
  t.must("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  RepairRun run(t.s, {{"M", 3}, {"N", 3}}, {{"x", noise(9, 7)}});
  const Buffers got = run.outputs();
  EXPECT_EQ(got.at("y")[0], 0);
  EXPECT_EQ(got.at("y")[1], 1);
  expect_same(t, {{"M", 3}, {"N", 3}}, {{"x", noise(9, 7)}});
}

TEST(RollingUpdate, UpdatesAfterTheLastTermAreRefused) {
  Builder b(make_context(), "late", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("m", TensorKind::Temp, {"M"})
      .tensor("T", TensorKind::Temp, {"M"});
  b.tensor("y", TensorKind::Output, {"M"});
  b.statement("m", "i,j", "0 <= i < M and 0 <= j < N", "i", {{"x", "i,j"}}, rd(0),
              over(ReduceOp::Max, {1}));
  b.statement("T", "i,j", "0 <= i < M and 0 <= j < N and j <= i", "i", {{"x", "i,j"}, {"m", "i"}},
              exp(rd(0) - rd(1)), over(ReduceOp::Sum, {1}));
  b.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}}, rd(0));
  Session t(b.done());
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  ASSERT_FALSE(o.accepted());
  EXPECT_NE(o.verdict.why.find("after the last term"), std::string::npos) << words(o);
}

// The sum of row 0 has a term before the maximum has any.
TEST(RollingUpdate, TermsBeforeTheFirstUpdateAreRefused) {
  Builder b(make_context(), "early", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("x", TensorKind::Input, {"N", "N"})
      .tensor("m", TensorKind::Temp, {"N"})
      .tensor("T", TensorKind::Temp, {"N"})
      .tensor("y", TensorKind::Output, {"N"});
  b.statement("m", "i,j", "0 <= i < N and 1 <= j <= i", "i", {{"x", "i,j"}}, rd(0),
              over(ReduceOp::Max, {1}));
  b.statement("T", "i,j", "0 <= i < N and 0 <= j <= i", "i", {{"x", "i,j"}, {"m", "i"}},
              exp(rd(0) - rd(1)), over(ReduceOp::Sum, {1}));
  b.statement("y", "i", "0 <= i < N", "i", {{"T", "i"}}, rd(0));
  Session t(b.done());
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  ASSERT_FALSE(o.accepted());
  EXPECT_NE(words(o).find("gets terms before S_m has a value"), std::string::npos) << words(o);
}

// What is computed from running values on the way may not be stored.
TEST(RollingUpdate, StoredValuesOnTheWayAreRefused) {
  Builder b(make_context(), "stored", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("m", TensorKind::Temp, {"M"})
      .tensor("P", TensorKind::Output, {"M", "N"})
      .tensor("l", TensorKind::Output, {"M"});
  b.statement("m", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("P", "i,j", ij, "i,j", {{"x", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "i,j", ij, "i", {{"P", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  Session t(b.done());
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}});
  ASSERT_FALSE(o.accepted());
  EXPECT_NE(words(o).find("P is an output, but would be computed from running values"),
            std::string::npos)
      << words(o);
}

TEST(RollingUpdate, RefusalsCarryTheWitness) {
  Builder b(make_context(), "sum", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("r", TensorKind::Temp, {"M"})
      .tensor("T", TensorKind::Temp, {"M"});
  b.tensor("y", TensorKind::Output, {"M"});
  b.statement("r", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"r", "i"}}, rd(0) / rd(1),
              over(ReduceOp::Sum, {1}));
  b.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}}, rd(0));
  Session t(b.done());
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Illegal);
  ASSERT_TRUE(o.verdict.witness);
  EXPECT_EQ(o.verdict.witness->sink, "S_T");
  EXPECT_NE(o.verdict.why.find("r can be zero"), std::string::npos) << words(o);
  // Malformed requests.
  EXPECT_TRUE(
      t.apply("rolling_update", {{"node", 999}, {"first", 0}, {"last", 1}, {"depth", 2}}).refusal);
  EXPECT_TRUE(
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 9}, {"depth", 2}})
          .refusal);
  EXPECT_TRUE(
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 5}})
          .refusal);
  // A pointwise loop read by a reduction at other iterations is no reduction's final value.
  Session two(two_pointwise(make_context(), "i+1"));
  const Outcome p =
      two.apply("rolling_update", {{"node", two.root()}, {"first", 0}, {"last", 1}, {"depth", 1}});
  EXPECT_FALSE(p.accepted());
  EXPECT_NE(p.verdict.why.find("no correction"), std::string::npos) << words(p);
}

// Fusion points to the rolling update; where that is refused, it does not point to itself.
TEST(RollingUpdate, RefusalsDoNotSuggestTheStepThatWasRefused) {
  Builder b(make_context(), "shifted", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("r", TensorKind::Temp, {"M"})
      .tensor("y", TensorKind::Output, {"M", "N"});
  b.statement("r", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("y", "i,j", ij, "i,j", {{"x", "i,j"}, {"r", "i"}}, rd(0) - rd(1));
  Session t(b.done());
  const nlohmann::json params = {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}};
  const Outcome fused = t.apply("fuse", params);
  ASSERT_FALSE(fused.accepted());
  EXPECT_NE(fused.verdict.suggest.find("rolling_update"), std::string::npos) << words(fused);
  const Outcome rolled = t.apply("rolling_update", params);
  ASSERT_FALSE(rolled.accepted());
  EXPECT_NE(rolled.verdict.why.find("no correction of it is known"), std::string::npos)
      << words(rolled);
  EXPECT_EQ(rolled.verdict.suggest, "");
}

TEST(RollingUpdate, LegalFusionNeedsNoRepair) {
  Session t(two_pointwise(make_context()));
  const Outcome o =
      t.apply("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 1}});
  ASSERT_TRUE(o.accepted()) << words(o);
  EXPECT_EQ(o.verdict.kind, VerdictKind::Legal);
  EXPECT_TRUE(t.s.repairs.empty());
}

}  // namespace nautilus::poly
