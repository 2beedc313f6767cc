// The verifier on rolling updates: planted faults in corrections, guards, order and accumulators
// are refused; the recorded ones pass.
#include "polyhedral/verify_rolling.h"
#include "tests/polyhedral/repair_helpers.h"
#include "tests/polyhedral/verify_reason.h"

namespace nautilus::poly {
namespace {

using namespace testing_programs;

std::vector<const Repair*> all(const Schedule& s) {
  std::vector<const Repair*> out;
  for (const Repair& r : s.repairs) out.push_back(&r);
  return out;
}

// The reason (verify_reason.h) of an accumulator that does not end as it should.
std::string ends_wrong(const std::string& tensor) {
  return tensor + "[..] ends as # on sampled data, and should be #";
}

void expect_illegal(const Schedule& s, const std::string& why) {
  const Verification v = verify(s);
  EXPECT_FALSE(v.ok);
  EXPECT_EQ(v.verdict.kind, VerdictKind::Illegal);
  EXPECT_EQ(verifying::reason(v.verdict.why), why) << v.verdict.why;
}

// A fault that only the values show, for this reason, and that the verifier as a whole refuses for
// the same one.
void expect_wrong(const Schedule& s, const std::string& what, const std::string& why) {
  SCOPED_TRACE(what);
  const auto d = verifying::rolling_doubt(s, all(s));
  ASSERT_TRUE(d) << "a planted fault was not seen\n" << to_text(s);
  EXPECT_FALSE(d->undecided) << d->why;
  EXPECT_EQ(verifying::reason(d->why), why) << d->why;
  expect_illegal(s, "repair of " + s.repairs[0].targets[0] + ": " + why);
}

Schedule attention_in_one_loop(const ProgramPtr& p) {
  Session t(p);
  t.must("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 5}, {"depth", 3}});
  return t.s;
}

Schedule with_correction(const Schedule& s, size_t k, const Expr& h) {
  Schedule out = s;
  out.repairs.at(k).corrections.at(0) = h;
  return out;
}

Expr var(const char* n) { return Expr::var(n); }

// exp(x - m) summed over every row, in one loop with the maximum m.
Schedule sum_of_exponentials(const std::string& facts, const Sizes& sizes = {}) {
  Builder b(make_context(), "lse", {"M", "N"}, facts);
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"}).tensor("m", TensorKind::Temp, {"M"});
  b.tensor("T", TensorKind::Temp, {"M"}).tensor("y", TensorKind::Output, {"M"});
  b.statement("m", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  b.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}}, rd(0));
  Session t(sizes.empty() ? b.done() : bound(b.done(), sizes));
  t.must("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  return t.s;
}

}  // namespace

TEST(VerifyRolling, WrongCorrections) {
  for (const bool large : {false, true}) {
    ProgramPtr p = attention(make_context());
    if (large) p = bound(p, {{"H", 2}, {"N", 1000}, {"D", 64}});
    const Schedule s = attention_in_one_loop(p);
    ASSERT_EQ(s.repairs.size(), 2u);
    EXPECT_FALSE(verifying::rolling_doubt(s, all(s)));
    EXPECT_TRUE(verify(s).ok) << verify(s).verdict.why;
    const Expr t = var("t0"), old = var("m"), now = var("m'");
    for (size_t k : {0, 1}) {
      const std::string wrong = ends_wrong(k == 0 ? "l" : "Oa");
      expect_wrong(with_correction(s, k, t), "none", wrong);
      expect_wrong(with_correction(s, k, t * exp(now - old)), "the wrong way round", wrong);
      expect_wrong(with_correction(s, k, t * exp(Expr::constant(2) * (old - now))), "squared",
                   wrong);
      expect_wrong(with_correction(s, k, t * exp(old - now)), "no guard at the first step", wrong);
      expect_wrong(with_correction(s, k, t * exp(old - var("l'"))), "a name that is not there",
                   "a correction uses a name that is neither an accumulator nor a source");
      const Expr h = s.repairs[k].corrections[0];
      expect_wrong(with_correction(s, k, h + Expr::constant(1e-3)), "an offset", wrong);
    }
    Schedule no_rest = s;
    for (Repair& r : no_rest.repairs)
      for (auto& [tensor, v] : r.rest) v.second = v.first;
    expect_wrong(no_rest, "what is read at rest is the identity itself", ends_wrong("l"));
  }
}

TEST(VerifyRolling, WrongOrderUnderTheBand) {
  Session t(attention(make_context(), false));
  t.must("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 5}, {"depth", 3}});
  const Node* band = find(t.s, t.s.repairs[0].band);
  const NodePtr seq = band->children[0];
  std::vector<NodePtr> children = seq->children;
  std::rotate(children.begin(), children.begin() + 1, children.end());  // m last
  const Schedule s = replace(t.s, seq->id, make_sequence(children, seq->id));
  const auto d = verifying::rolling_doubt(s, all(s));
  ASSERT_TRUE(d);
  EXPECT_FALSE(d->undecided);
  EXPECT_EQ(verifying::reason(d->why), ends_wrong("l")) << d->why;
  expect_illegal(
      s,
      "S_m[..] and S_P[..] touch the same element of m, and the first must come first; it "
      "does not");
}

TEST(VerifyRolling, TilesOfAnySize) {
  for (const int tile : {1, 3, 64}) {
    Session t(bound(attention(make_context()), {{"H", 1}, {"N", 200}, {"D", 8}}));
    for (const char* stmt : {"S_m", "S_P", "S_l", "S_Oa"})
      t.must("tile",
             {{"node", t.band(stmt)},
              {"sizes", stmt == std::string("S_Oa") ? json{-1, -1, tile, 0} : json{-1, -1, tile}}});
    t.must("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 5}, {"depth", 3}});
    EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why << to_text(t.s);
    expect_wrong(with_correction(t.s, 0, var("t0")), "none", ends_wrong("l"));
  }
}

TEST(VerifyRolling, FamiliesMoveTogether) {
  Builder b(make_context(), "moments", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 1 }");
  sums(b);
  b.tensor("y", TensorKind::Output, {"M"});
  b.statement("y", "i", "0 <= i < M", "i", {{"v", "i"}, {"mean", "i"}}, rd(0) + rd(1));
  Session t(b.done());
  t.must("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}});
  ASSERT_EQ(t.s.repairs.size(), 1u);
  ASSERT_GT(t.s.repairs[0].targets.size(), 1u);
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
  for (size_t k = 0; k < t.s.repairs[0].corrections.size(); ++k) {
    Schedule s = t.s;
    s.repairs[0].corrections[k] = s.repairs[0].corrections[k] * Expr::constant(1.01);
    expect_wrong(s, "correction " + std::to_string(k) + " is off by one percent", ends_wrong("v"));
  }
  // An accumulator of the family that misses a term.
  Schedule s = t.s;
  Program p = *s.program;
  for (Statement& x : p.statements)
    if (x.name == t.s.repairs[0].targets[1])
      x.domain = x.domain.intersect(isl::set(p.context->get(), "{ " + x.name + "[i, j] : j > 0 }"));
  p.original = textual_order(p);
  s.program = std::make_shared<const Program>(in_param_order(p));
  const auto d = verifying::rolling_doubt(s, all(s));
  ASSERT_TRUE(d) << "a planted fault was not seen";
  EXPECT_FALSE(d->undecided);
  EXPECT_EQ(verifying::reason(d->why),
            ends_wrong(p.statement(s.repairs[0].targets[1])->write.tensor))
      << d->why;
  expect_illegal(s, "repair of S_v: " + s.repairs[0].targets[1] + " has other terms than S_v");
}

// A row that takes too long to run whole: what a thinned sample of it shows is not forgotten.
TEST(VerifyRolling, RowsTooLongToRunWhole) {
  const Schedule s =
      sum_of_exponentials("[M, N] -> { : M >= 0 and N >= 0 }", {{"M", 2}, {"N", 150'000}});
  EXPECT_TRUE(verify(s).ok) << verify(s).verdict.why;
  const Schedule wrong = with_correction(s, 0, var("t0"));
  const auto d = verifying::rolling_doubt(wrong, all(wrong));
  ASSERT_TRUE(d) << "a planted fault was not seen";
  EXPECT_TRUE(d->undecided);
  EXPECT_EQ(verifying::reason(d->why), ends_wrong("T")) << d->why;
  const Verification v = verify(wrong);
  EXPECT_FALSE(v.ok);
  EXPECT_EQ(v.verdict.kind, VerdictKind::Unknown);
}

// What one part of a repair says must fit the others, before anything is done with it.
TEST(VerifyRolling, RepairsThatDoNotFit) {
  const Schedule s = sum_of_exponentials("[M, N] -> { : M >= 0 and N >= 0 }");
  Schedule more = s;
  more.repairs[0].corrections.push_back(var("t1"));
  more.repairs[0].lazy = true;
  more.repairs[0].moved = {var("t0"), var("t1"), var("t2")};
  expect_illegal(more, "repair of S_T: it has 2 corrections for 1 targets");
  Schedule unmoved = s;
  unmoved.repairs[0].lazy = true;
  expect_illegal(unmoved, "repair of S_T: it does not say what a move makes of it");
  Schedule nameless = s;
  nameless.repairs[0].source_tensors.clear();
  expect_illegal(nameless, "repair of S_T: it has 0 tensors for 1 sources");
}

// The sizes that are tried include some at which there is something to compute.
TEST(VerifyRolling, SizesThatAreMultiples) {
  const Schedule s = sum_of_exponentials("[M, N] -> { : M >= 0 and N >= 0 and N mod 16 = 0 }");
  EXPECT_TRUE(verify(s).ok) << verify(s).verdict.why;
  expect_wrong(with_correction(s, 0, var("t0")), "none", ends_wrong("T"));
}

// m skips what the condition on data excludes; T must skip it too, or it adds exp(x + inf) while m
// is still at its identity.
TEST(VerifyRolling, ConditionsOnData) {
  Builder b(make_context(), "ragged", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("on", TensorKind::Input, {"M", "N"})
      .tensor("m", TensorKind::Temp, {"M"})
      .tensor("T", TensorKind::Temp, {"M"})
      .tensor("y", TensorKind::Output, {"M"});
  b.statement("m", "i,j", ij, "i", {{"x", "i,j"}, {"on", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"m", "i"}, {"on", "i,j"}}, exp(rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  b.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}}, rd(0));
  Program p = *b.done();
  const auto condition = [](int k) {
    return Expr::make(Op::Lt, {Expr::constant(0), Expr::read(k, Type::F32)});
  };
  p.statements[0].guard = condition(1);
  p.statements[1].guard = condition(2);
  Session t(std::make_shared<const Program>(p));
  t.must("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 1}, {"depth", 2}});
  EXPECT_TRUE(verify(t.s).ok) << verify(t.s).verdict.why;
  Schedule s = t.s;
  Program q = *s.program;
  q.statements[1].guard = Expr();
  s.program = s.origin = std::make_shared<const Program>(q);
  expect_wrong(s, "the target has no condition", ends_wrong("T"));
}

}  // namespace nautilus::poly
