// Verdicts: the tree walk against the independent verifier, repairs as payment, quotas, witnesses.
#include <gtest/gtest.h>

#include <random>

#include "tests/polyhedral/transform_helpers.h"

namespace nautilus::poly {
namespace {

using namespace testing_programs;

// A repair record without algebra: enough for what the order analysis must do with it.
Repair payment(NodeId band, std::vector<std::string> targets, std::vector<std::string> sources,
               std::vector<std::string> via) {
  Repair r;
  r.band = band;
  for (const std::string& n : targets) r.target_tensors.push_back(n.substr(2));  // S_l writes l
  for (const std::string& n : sources) r.source_tensors.push_back(n.substr(2));
  r.targets = std::move(targets);
  r.sources = std::move(sources);
  r.via = std::move(via);
  return r;
}

// m, P, l fused at [h, i, j] without a check, and the band.
Schedule fused_softmax(const Session& t, NodeId& band) {
  Expected<Schedule> s =
      apply_unchecked(t.s, "fuse", {{"node", t.root()}, {"first", 2}, {"last", 4}, {"depth", 3}});
  EXPECT_TRUE(s);
  band = s->root->children[2]->children[0]->id;
  return *s;
}

TEST(Legality, InitialSchedulesAreLegal) {
  for (bool causal : {false, true}) {
    Session t(attention(make_context(), causal));
    EXPECT_EQ(check(t.s, t.deps).kind, VerdictKind::Legal);
    Verification v = verify(t.s);
    EXPECT_TRUE(v.ok) << v.verdict.why;
  }
}

TEST(Legality, RepairsPayOnlyWhatTheyCover) {
  Session t(attention(make_context()));
  NodeId band = -1;
  Schedule s = fused_softmax(t, band);
  EXPECT_EQ(check(s, t.deps).kind, VerdictKind::Illegal);
  EXPECT_FALSE(verify(s).ok);
  Schedule paid = s;
  paid.repairs = {payment(band, {"S_l"}, {"S_m"}, {"S_P"})};
  Verdict v = check(paid, t.deps);
  EXPECT_EQ(v.kind, VerdictKind::Repairable) << v.why;
  EXPECT_EQ(v.repairs.size(), 1u);
  EXPECT_TRUE(v.witness);
  Schedule other = s;
  other.repairs = {payment(band, {"S_Oa"}, {"S_m"}, {})};
  EXPECT_EQ(check(other, t.deps).kind, VerdictKind::Illegal);
  Schedule elsewhere = s;
  elsewhere.repairs = {payment(s.root->children[0]->children[0]->id, {"S_l"}, {"S_m"}, {"S_P"})};
  EXPECT_EQ(check(elsewhere, t.deps).kind, VerdictKind::Illegal);
}

TEST(Legality, RepairsDoNotPayAtSequences) {
  // within one iteration the source must still come first: swap the children
  Session t(attention(make_context()));
  NodeId band = -1;
  Schedule s = fused_softmax(t, band);
  const Node* seq = find(s, band)->children[0].get();
  std::vector<NodePtr> swapped(seq->children.rbegin(), seq->children.rend());
  Schedule bad = replace(s, seq->id, make_sequence(swapped, seq->id));
  bad.repairs = {payment(band, {"S_l"}, {"S_m"}, {"S_P"})};
  EXPECT_EQ(check(bad, t.deps).kind, VerdictKind::Illegal);
  EXPECT_FALSE(verify(bad).ok);
}

TEST(Legality, RepairsDoNotPayForGrid) {
  Session t(attention(make_context()));
  NodeId band = -1;
  Schedule s = fused_softmax(t, band);
  s.repairs = {payment(band, {"S_l"}, {"S_m"}, {"S_P"})};
  Expected<Schedule> grid =
      apply_unchecked(s, "map", {{"node", band}, {"member", "*"}, {"mapping", "grid"}});
  ASSERT_TRUE(grid);
  EXPECT_EQ(check(*grid, t.deps).kind, VerdictKind::Illegal);
}

TEST(Legality, RepairsSurviveTilingOfTheirBand) {
  Session t(attention(make_context()));
  NodeId band = -1;
  Schedule s = fused_softmax(t, band);
  s.repairs = {payment(band, {"S_l"}, {"S_m"}, {"S_P"})};
  Outcome o = apply(s, t.deps, "tile", {{"node", band}, {"sizes", {-1, 16, 16}}});
  EXPECT_EQ(o.verdict.kind, VerdictKind::Repairable) << o.verdict.why;
}

TEST(Legality, ViolationsListsWhatIsBroken) {
  Session t(attention(make_context()));
  NodeId band = -1;
  Schedule s = fused_softmax(t, band);
  Expected<std::vector<Violation>> v = violations(s, t.deps);
  ASSERT_TRUE(v);
  ASSERT_EQ(v->size(), 1u);
  EXPECT_EQ((*v)[0].dependence->source, "S_m");
  EXPECT_EQ((*v)[0].dependence->sink, "S_P");
  EXPECT_EQ((*v)[0].node, band);
  EXPECT_EQ((*v)[0].member, find(s, band)->members[2].name);
}

// Distances that do not fit 64 bits: y, fused with t, would run before what it reads is there.
TEST(Legality, DistancesBeyond64Bits) {
  Builder b(make_context(), "far", {"N"}, "[N] -> { : 0 <= N <= 100 }");
  const std::string c = "4611686018427387500";
  b.tensor("x", TensorKind::Input, {"N"})
      .tensor("t", TensorKind::Temp, {"N"})
      .tensor("y", TensorKind::Output, {"N"});
  b.statement("t", "i", "0 <= i - " + c + " < N", "i - " + c, {{"x", "i - " + c}}, rd(0));
  b.statement("y", "i", "0 <= i + " + c + " < N", "i + " + c, {{"t", "i + " + c}}, rd(0));
  Session t(b.done());
  t.must("shift", {{"node", t.band("S_t")},
                   {"member", "i"},
                   {"amount", int64_t{1} << 31},
                   {"statements", "S_t"}});
  const json pair{{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 1}};
  const Expected<Schedule> fused = apply_unchecked(t.s, "fuse", pair);
  ASSERT_TRUE(fused) << fused.error().text();
  EXPECT_FALSE(verify(*fused).ok);
  EXPECT_EQ(check(*fused, t.deps).kind, VerdictKind::Illegal);
}

TEST(Legality, QuotaGivesUnknown) {
  Session t(attention(make_context()));
  NodeId band = -1;
  Schedule s = fused_softmax(t, band);
  Verdict v = check(s, t.deps, 10);
  EXPECT_EQ(v.kind, VerdictKind::Unknown);
  EXPECT_NE(v.why.find("ran out"), std::string::npos) << v.why;
  EXPECT_NE(v.why.find(" in: order of S_"), std::string::npos) << v.why;
  const Verification none = verify(s, 10);
  EXPECT_EQ(none.verdict.kind, VerdictKind::Unknown);
  EXPECT_NE(none.verdict.why.find(" in: "), std::string::npos) << none.verdict.why;
  EXPECT_EQ(check(s, t.deps).kind, VerdictKind::Illegal);  // the context still works
}

TEST(Legality, VerifierFindsMissingAndDoubledInstances) {
  Session t(two_pointwise(make_context()));
  Schedule missing = t.s;
  missing.root = make_sequence({t.s.root->children[0]}, t.s.root->id);
  EXPECT_EQ(verify(missing).verdict.why, "some instances of S_C never run");
  Schedule twice = t.s;
  twice.root = make_sequence({t.s.root->children[0], t.s.root->children[1], t.s.root->children[1]},
                             t.s.root->id);
  EXPECT_EQ(verify(twice).verdict.why, "some instances of S_C run twice");
  Schedule collapsed = t.s;  // all instances of S_B at one time
  collapsed.root =
      make_sequence({with_children(*t.s.root->children[0], {make_leaf(99)}), t.s.root->children[1]},
                    t.s.root->id);
  EXPECT_EQ(verify(collapsed).verdict.why, "different instances of S_B run at the same time");
}

// FlashAttention's loops by general steps: tiles, one grid, a rolling update at the tile loop,
// tiles in registers.
TEST(Legality, FlashAttentionTreeVerifies) {
  Session t(attention(make_context()));
  for (const char* n : {"S_S_sum", "S_S", "S_m", "S_P", "S_l", "S_Oa"})
    t.must("tile", {{"node", t.band(n)}, {"sizes", {-1, 64, 32}}});
  t.must("tile", {{"node", t.band("S_O")}, {"sizes", {-1, 64}}});
  t.must("fuse", {{"node", t.root()}, {"first", 0}, {"last", 6}, {"depth", 2}});
  const NodeId grid = t.s.root->children[0]->children[0]->id;
  const NodeId inner = find(t.s, grid)->children[0]->id;
  Outcome plain =
      poly::apply(t.s, t.deps, "fuse", {{"node", inner}, {"first", 0}, {"last", 5}, {"depth", 1}});
  EXPECT_EQ(plain.verdict.kind, VerdictKind::Illegal);
  EXPECT_NE(plain.verdict.suggest.find("rolling_update"), std::string::npos);
  t.must("rolling_update", {{"node", inner}, {"first", 0}, {"last", 5}, {"depth", 1}});
  t.must("map", {{"node", grid}, {"member", "*"}, {"mapping", "grid"}});
  for (const Statement& st : t.s.program->statements)
    t.must("map", {{"node", t.band(st.name)}, {"member", "*"}, {"mapping", "tile"}});
  for (const Tensor& x : t.s.program->tensors)
    if (x.kind == TensorKind::Temp)
      t.must("set_scope", {{"tensor", x.name}, {"scope", "register"}});
  EXPECT_EQ(check(t.s, t.deps).kind, VerdictKind::Repairable);
  const Verification v = verify(t.s);
  EXPECT_TRUE(v.ok) << v.verdict.why;
  EXPECT_EQ(v.verdict.kind, VerdictKind::Repairable);
  // Anything that breaks it is found.
  Schedule no_repairs = t.s;
  no_repairs.repairs.clear();
  EXPECT_FALSE(verify(no_repairs).ok);
  Schedule no_proof = t.s;
  no_proof.repairs[0].obligations.push_back({"0 = 1", "wishful thinking", false});
  EXPECT_FALSE(verify(no_proof).ok);
  Schedule wrong = t.s;
  wrong.repairs[0].corrections[0] = Expr::var("t0");
  EXPECT_FALSE(verify(wrong).ok);
}

TEST(Legality, VerifierWantsSourcesInStep) {
  // the maximum of row 0 has no term, but the sum has one
  Builder b(make_context(), "late", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("X", TensorKind::Input, {"N", "N"})
      .tensor("m", TensorKind::Temp, {"N"})
      .tensor("l", TensorKind::Temp, {"N"});
  b.tensor("O", TensorKind::Output, {"N"});
  b.statement("m", "i,j", "0 <= i < N and 0 <= j < i", "i", {{"X", "i,j"}}, rd(0),
              over(ReduceOp::Max, {1}));
  b.statement("l", "i,j", "0 <= i < N and 0 <= j <= i", "i", {{"X", "i,j"}, {"m", "i"}},
              exp(rd(0) - rd(1)), over(ReduceOp::Sum, {1}));
  b.statement("O", "i", "0 <= i < N", "i", {{"l", "i"}}, rd(0));
  Session t(b.done());
  Expected<Schedule> s =
      apply_unchecked(t.s, "fuse", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  ASSERT_TRUE(s);
  Schedule paid = *s;
  paid.repairs = {payment(s->root->children[0]->children[0]->id, {"S_l"}, {"S_m"}, {})};
  paid.repairs[0].corrections = {Expr::var("t0") * exp(Expr::var("m") - Expr::var("m'"))};
  EXPECT_EQ(check(paid, t.deps).kind, VerdictKind::Repairable);
  const Verification v = verify(paid);
  EXPECT_FALSE(v.ok);
  EXPECT_NE(v.verdict.why.find("before S_m has a value"), std::string::npos) << v.verdict.why;
}

// Random scripts without checks: the walk and the verifier must agree on every schedule they
// produce, and so must the check of the last change alone when everything before it was legal.
void agree(const std::function<ProgramPtr(ContextPtr)>& make, unsigned seed, int rounds,
           bool some_illegal = true) {
  std::mt19937 rng(seed);
  auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  Session base(make(make_context()));
  int legal = 0, illegal = 0;
  for (int round = 0; round < rounds; ++round) {
    Schedule s = base.s;
    bool before_legal = true;
    for (int step = 0; step < 3; ++step) {
      std::vector<const Node*> bands, seqs;
      for (const Node* n : preorder(s)) {
        if (n->kind == NodeKind::Band) bands.push_back(n);
        if (n->kind == NodeKind::Sequence && n->children.size() > 1) seqs.push_back(n);
      }
      const Node* b = bands[static_cast<size_t>(pick(static_cast<int>(bands.size())))];
      const int members = static_cast<int>(b->members.size());
      json params;
      std::string name;
      switch (pick(8)) {
        case 0:
        case 1:
          if (seqs.empty()) continue;
          {
            const Node* q = seqs[static_cast<size_t>(pick(static_cast<int>(seqs.size())))];
            const int first = pick(static_cast<int>(q->children.size()) - 1);
            name = "fuse";
            params = {
                {"node", q->id}, {"first", first}, {"last", first + 1}, {"depth", 1 + pick(3)}};
          }
          break;
        case 2: {
          std::vector<int> order(static_cast<size_t>(members));
          for (int k = 0; k < members; ++k) order[static_cast<size_t>(k)] = k;
          std::shuffle(order.begin(), order.end(), rng);
          name = "interchange";
          params = {{"node", b->id}, {"order", order}};
          break;
        }
        case 3: {
          std::vector<int> sizes;
          for (int k = 0; k < members; ++k) sizes.push_back(pick(4) - 1);
          name = "tile";
          params = {{"node", b->id}, {"sizes", sizes}};
          break;
        }
        case 4:
          name = "reverse";
          params = {{"node", b->id}, {"member", pick(members)}};
          break;
        case 5:
          name = "map";
          params = {
              {"node", b->id}, {"member", pick(members)}, {"mapping", pick(2) ? "grid" : "tile"}};
          break;
        case 6:
          name = "shift";
          params = {{"node", b->id},
                    {"member", pick(members)},
                    {"amount", pick(3) - 1},
                    {"statements", b->statements[0]}};
          break;
        case 7:
          name = "distribute";
          params = {{"node", b->id}};
          break;
      }
      Expected<Schedule> next = apply_unchecked(s, name, params);
      if (!next) continue;
      const Verdict full = check(*next, base.deps);
      const Verification independent = verify(*next);
      ASSERT_EQ(full.kind == VerdictKind::Legal, independent.ok)
          << "seed " << seed << " round " << round << ": " << name << " " << params.dump()
          << "\ncheck: " << full.why << "\nverify: " << independent.verdict.why << "\n"
          << to_text(*next);
      if (before_legal) {
        ASSERT_EQ(check_change(s, *next, base.deps).kind, full.kind)
            << "seed " << seed << ": " << name << " " << params.dump() << "\n"
            << to_text(*next);
      }
      (full.kind == VerdictKind::Legal ? legal : illegal)++;
      before_legal = full.kind == VerdictKind::Legal;
      s = *next;
    }
  }
  EXPECT_GT(legal, 0) << seed;
  if (some_illegal) {
    EXPECT_GT(illegal, 0) << seed;
  }
}

TEST(LegalityProperty, AgreesWithVerifierOnRecurrence) { agree(recurrence, 11, 40); }
TEST(LegalityProperty, AgreesWithVerifierOnStencilPair) {
  agree([](ContextPtr c) { return two_pointwise(c, "i + 1"); }, 12, 40);
}
TEST(LegalityProperty, AgreesWithVerifierOnMatmul) { agree(matmul, 13, 20, false); }
TEST(LegalityProperty, AgreesWithVerifierOnAttention) {
  agree([](ContextPtr c) { return attention(c, true); }, 14, 8);
}

}  // namespace
}  // namespace nautilus::poly
