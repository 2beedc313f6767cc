// derive_repair on programs: what is repaired, with which corrections, and what is refused.
#include <gtest/gtest.h>

#include <cmath>

#include "polyhedral/repair_internal.h"
#include "schedule_programs.h"

using namespace nautilus;
using namespace nautilus::poly;
using namespace nautilus::poly::testing_programs;

namespace {

using Strings = std::vector<std::string>;

Expr var_read(const char* text) { return *parse_expr(text); }

RepairRequest request(ProgramPtr p, std::string target, Strings sources, Strings via,
                      Strings others = {}) {
  RepairRequest r;
  r.program = std::move(p);
  r.target = std::move(target);
  r.sources = std::move(sources);
  r.via = std::move(via);
  r.others = std::move(others);
  return r;
}

double value(const Expr& h, std::map<std::string, double> vars) {
  EvalEnv env;
  env.vars = std::move(vars);
  env.param = [](const std::string&) { return 8.0; };
  return evaluate(h, env);
}

// x over [i, j]; a source over j; then T over j with this term over x ($0), w ($1) and the source
// ($2, a "r[i]").
ProgramPtr chain(ContextPtr ctx, ReduceOp source, const char* source_term, const char* term,
                 ReduceOp target = ReduceOp::Sum, const char* source_at = "i",
                 const char* where = "0 <= i < M and 0 <= j < N") {
  Builder b(ctx, "chain", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  b.tensor("x", TensorKind::Input, {"M", "N"}).tensor("w", TensorKind::Input, {"N"});
  b.tensor("r", TensorKind::Temp, {"M"})
      .tensor("T", TensorKind::Temp, {"M"})
      .tensor("y", TensorKind::Output, {"M"});
  b.statement("r", "i,j", where, "i", {{"x", "i,j"}}, var_read(source_term), over(source, {1}));
  b.statement("T", "i,j", where, "i", {{"x", "i,j"}, {"w", "j"}, {"r", source_at}}, var_read(term),
              over(target, {1}));
  b.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}}, rd(0));
  return b.done();
}

std::string why(const Expected<RepairResult>& r) {
  return r ? "repaired: " + to_string(r->repair.corrections[0]) : r.error().text();
}

}  // namespace

TEST(RepairDerive, SoftmaxDenominatorAndProduct) {
  const auto p = attention(make_context());
  const auto l = derive_repair(request(p, "S_l", {"S_m"}, {"S_P"}, {"S_Oa"}));
  ASSERT_TRUE(l) << why(l);
  const Expr h = l->repair.corrections[0];
  EXPECT_NEAR(value(h, {{"t0", 3}, {"m", 1}, {"m'", 2}}), 3 * std::exp(-1), 1e-12) << to_string(h);
  EXPECT_EQ(value(h, {{"t0", 3}, {"m", -INFINITY}, {"m'", -INFINITY}}), 3);
  EXPECT_EQ(value(h, {{"t0", 0}, {"m", -INFINITY}, {"m'", 5}}), 0);
  EXPECT_EQ(l->auxiliary.size(), 0u);
  EXPECT_EQ(l->repair.derivations.size(), 2u);
  for (const auto& o : l->repair.obligations) EXPECT_TRUE(o.discharged) << o.claim;
  EXPECT_EQ(l->repair.lazy_bound, 8);
  EXPECT_EQ(l->repair.rest,
            (std::map<std::string, std::pair<double, double>>{{"m", {-INFINITY, 0}}}));
  const auto o = derive_repair(request(p, "S_Oa", {"S_m"}, {"S_P"}, {"S_l"}));
  ASSERT_TRUE(o) << why(o);
  EXPECT_EQ(to_string(o->repair.corrections[0]), to_string(h));
  std::printf("  %s\n", to_string(h).c_str());
  for (const auto& ob : o->repair.obligations)
    std::printf("  %s: %s\n", ob.claim.c_str(), ob.method.c_str());
}

TEST(RepairDerive, SeveralSourcesCompose) {
  Builder b(make_context(), "two", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"}).tensor("w", TensorKind::Input, {"N"});
  b.tensor("m", TensorKind::Temp, {"M"})
      .tensor("l", TensorKind::Temp, {"M"})
      .tensor("T", TensorKind::Output, {"M"});
  b.statement("m", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("l", "i,j", ij, "i", {{"x", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"m", "i"}, {"l", "i"}, {"w", "j"}},
              rd(3) * exp(rd(0) - rd(1)) / rd(2), over(ReduceOp::Sum, {1}));
  const auto r = derive_repair(request(b.done(), "S_T", {"S_m", "S_l"}, {}));
  ASSERT_TRUE(r) << why(r);
  const Expr h = r->repair.corrections[0];
  EXPECT_NEAR(value(h, {{"t0", 2}, {"m", 1}, {"m'", 3}, {"l", 4}, {"l'", 5}}),
              2 * std::exp(-2) * 4 / 5, 1e-12)
      << to_string(h);
  EXPECT_EQ(value(h, {{"t0", 0}, {"m", -INFINITY}, {"m'", 3}, {"l", 0}, {"l'", 5}}), 0)
      << to_string(h);
  EXPECT_EQ(value(h, {{"t0", 0}, {"m", -INFINITY}, {"m'", -INFINITY}, {"l", 0}, {"l'", 0}}), 0)
      << to_string(h);
  EXPECT_EQ(r->repair.lazy_bound, 8);
  std::printf("  %s\n", to_string(h).c_str());
}

TEST(RepairDerive, VarianceInOnePass) {
  Builder b(make_context(), "variance", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"});
  for (const char* t : {"s", "mean", "v"}) b.tensor(t, TensorKind::Temp, {"M"});
  b.tensor("var", TensorKind::Output, {"M"});
  b.statement("s", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("mean", "i", "0 <= i < M", "i", {{"s", "i"}}, rd(0) / Expr::param("N"));
  b.statement("v", "i,j", ij, "i", {{"x", "i,j"}, {"mean", "i"}},
              Expr::make(Op::Pow, {rd(0) - rd(1), Expr::constant(2)}), over(ReduceOp::Sum, {1}));
  b.statement("var", "i", "0 <= i < M", "i", {{"v", "i"}}, rd(0) / Expr::param("N"));
  const auto p = b.done();
  const auto r = derive_repair(request(p, "S_v", {"S_s"}, {"S_mean"}));
  ASSERT_TRUE(r) << why(r);
  EXPECT_EQ(r->repair.targets, (Strings{"S_v", "S_v_d1", "S_v_d2"}));
  EXPECT_EQ(r->repair.sources, (Strings{"S_s", "S_s_n"}));
  EXPECT_EQ(r->auxiliary.size(), 3u);
  ASSERT_EQ(r->replaced.size(), 1u);
  EXPECT_EQ(r->repair.lazy_bound, 0);
  for (const auto& h : r->repair.corrections) std::printf("  %s\n", to_string(h).c_str());
  const auto q = with_auxiliaries(*p, *r);
  EXPECT_FALSE(validate(*q)) << validate(*q)->text();
  EXPECT_FALSE(refute_repair(*q, r->repair, 100, 9));
  // The rewritten program computes the same variance.
  const Sizes sizes{{"M", 2}, {"N", 5}};
  const Buffers in{{"x", {1, 2, 3, 4, 9, -1, 0, 5, 2, 2}}};
  const auto before = interpret(*p, sizes, in), after = interpret(*q, sizes, in);
  ASSERT_TRUE(before && after);
  for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(before->at("var")[i], after->at("var")[i], 1e-12);
}

TEST(RepairDerive, MoreThatWorks) {
  const auto ctx = make_context();
  const struct {
    const char* name;
    ReduceOp source;
    const char *source_term, *term;
    ReduceOp target;
    size_t members;
  } cases[] = {
      {"rms", ReduceOp::Sum, "$0 * $0", "$0 * $1 * rsqrt($2 / @N + 1e-5)", ReduceOp::Sum, 1},
      {"sum of exponentials below", ReduceOp::Sum, "exp($0)", "$1 * exp($0) / $2", ReduceOp::Sum,
       1},
      {"plain sum as a factor", ReduceOp::Sum, "$0", "$0 * $1 * $2", ReduceOp::Sum, 2},
      {"entropy", ReduceOp::Max, "$0", "exp($0 - $2) * ($0 - $2)", ReduceOp::Sum, 2},
      {"max of shifted", ReduceOp::Max, "$0", "$1 + $0 - $2", ReduceOp::Max, 1},
      {"max of exponentials", ReduceOp::Max, "$0", "exp($0 - $2)", ReduceOp::Max, 1},
      {"min source", ReduceOp::Min, "$0", "exp($2 - $0)", ReduceOp::Sum, 1},
      {"third moment", ReduceOp::Sum, "$0", "($0 - $2 / @N) * ($0 - $2 / @N) * ($0 - $2 / @N)",
       ReduceOp::Sum, 4},
  };
  for (const auto& c : cases) {
    const auto p = chain(ctx, c.source, c.source_term, c.term, c.target);
    const auto r = derive_repair(request(p, "S_T", {"S_r"}, {}));
    ASSERT_TRUE(r) << c.name << ": " << why(r);
    EXPECT_EQ(r->repair.corrections.size(), c.members) << c.name;
    EXPECT_FALSE(refute_repair(*with_auxiliaries(*p, *r), r->repair)) << c.name;
    std::printf("  %s: %s\n", c.name, to_string(r->repair.corrections[0]).c_str());
  }
}

TEST(RepairRefuse, PlainSumAsDivisor) {
  const auto r = derive_repair(
      request(chain(make_context(), ReduceOp::Sum, "$0", "$1 / $2"), "S_T", {"S_r"}, {}));
  ASSERT_FALSE(r) << why(r);
  EXPECT_NE(r.error().why.find("r can be zero"), std::string::npos) << why(r);
  EXPECT_NE(r.error().why.find("pass through zero"), std::string::npos) << why(r);
}

TEST(RepairRefuse, MaximumAsDivisor) {
  const auto r = derive_repair(
      request(chain(make_context(), ReduceOp::Max, "$0", "$1 / $2"), "S_T", {"S_r"}, {}));
  ASSERT_FALSE(r) << why(r);
  EXPECT_NE(r.error().why.find("r can be zero"), std::string::npos) << why(r);
}

TEST(RepairRefuse, NarrowingCastUnlessFast) {
  const auto p = chain(make_context(), ReduceOp::Max, "$0", "$1 * f16(exp($0 - $2))");
  auto q = request(p, "S_T", {"S_r"}, {});
  const auto no = derive_repair(q);
  ASSERT_FALSE(no) << why(no);
  EXPECT_NE(no.error().why.find("rounding to f16"), std::string::npos) << why(no);
  q.policy = RepairPolicy::Fast;
  const auto yes = derive_repair(q);
  ASSERT_TRUE(yes) << why(yes);
  EXPECT_EQ(yes->repair.numeric, NumericTag::Approximates);
  EXPECT_NE(yes->repair.note.find("2^-11"), std::string::npos) << yes->repair.note;
  EXPECT_EQ(yes->repair.lazy_bound, 0);
  EXPECT_FALSE(refute_repair(*p, yes->repair));
  // An integer cast is no rounding, and a cast of what does not depend on the source does not
  // matter.
  q.program = chain(make_context(), ReduceOp::Max, "$0", "$1 * f32(i32(exp($0 - $2)))");
  EXPECT_FALSE(derive_repair(q));
  q.program = chain(make_context(), ReduceOp::Max, "$0", "f16($1) * exp($0 - $2)");
  q.policy = RepairPolicy::Reassociate;
  EXPECT_TRUE(derive_repair(q));
}

TEST(RepairRefuse, StrictNumerics) {
  auto q = request(chain(make_context(), ReduceOp::Max, "$0", "exp($0 - $2)"), "S_T", {"S_r"}, {});
  q.policy = RepairPolicy::Strict;
  const auto r = derive_repair(q);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().why.find("strict"), std::string::npos) << why(r);
}

TEST(RepairRefuse, IntermediateWithAnotherConsumer) {
  const auto p = attention(make_context());
  const auto r = derive_repair(request(p, "S_l", {"S_m"}, {"S_P"}));
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().why.find("S_Oa also reads P"), std::string::npos) << why(r);
}

TEST(RepairRefuse, NeitherSeparableNorClosed) {
  for (const char* term : {"tanh($0 - $2)", "exp(-(($0 - $2) * ($0 - $2)))", "abs($0 - $2)",
                           "max($0, $2)", "erf($0 * $2)"}) {
    const auto r = derive_repair(
        request(chain(make_context(), ReduceOp::Max, "$0", term), "S_T", {"S_r"}, {}));
    ASSERT_FALSE(r) << term << ": " << why(r);
    EXPECT_TRUE(r.error().why.find("not closed") != std::string::npos ||
                r.error().why.find("cannot be differentiated") != std::string::npos)
        << why(r);
  }
}

TEST(RepairRefuse, ReductionThatDoesNotDistribute) {
  const auto prod = derive_repair(
      request(chain(make_context(), ReduceOp::Max, "$0", "exp($0 - $2)", ReduceOp::Prod), "S_T",
              {"S_r"}, {}));
  ASSERT_FALSE(prod);
  EXPECT_NE(prod.error().why.find("distributes over neither"), std::string::npos) << why(prod);
  const auto sign = derive_repair(
      request(chain(make_context(), ReduceOp::Max, "$0", "$0 * (-exp($2))", ReduceOp::Max), "S_T",
              {"S_r"}, {}));
  ASSERT_FALSE(sign);
  EXPECT_NE(sign.error().why.find("can be negative"), std::string::npos) << why(sign);
}

// exp(c - r) below 50 and its square above: equal at small values, but of no common correction.
TEST(RepairRefuse, TermsThatChangeTheirForm) {
  const auto r = derive_repair(request(chain(make_context(), ReduceOp::Max, "$0",
                                             "select($0 < 50, exp($0 - $2), exp(2 * ($0 - $2)))"),
                                       "S_T", {"S_r"}, {}));
  EXPECT_FALSE(r) << why(r);
  const auto masked = derive_repair(
      request(chain(make_context(), ReduceOp::Max, "$0", "select($0 < 50, exp($0 - $2), 0)"), "S_T",
              {"S_r"}, {}));
  EXPECT_TRUE(masked) << why(masked);
}

// m = max where A > 0, l = sum where B > 0: l would take terms while m is still -inf.
TEST(RepairRefuse, AnotherConditionOnData) {
  const auto program = [](const char* other) {
    Builder b(make_context(), "guards", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
    const char* ij = "0 <= i < M and 0 <= j < N";
    for (const char* t : {"x", "A", "B"}) b.tensor(t, TensorKind::Input, {"M", "N"});
    b.tensor("r", TensorKind::Temp, {"M"})
        .tensor("T", TensorKind::Temp, {"M"})
        .tensor("y", TensorKind::Output, {"M"});
    b.statement("r", "i,j", ij, "i", {{"x", "i,j"}, {"A", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
    b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"r", "i"}, {"A", "i,j"}, {"B", "i,j"}},
                exp(rd(0) - rd(1)), over(ReduceOp::Sum, {1}));
    b.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}}, rd(0));
    auto p = std::make_shared<Program>(*b.done());
    p->statements[0].guard = var_read("0 < $1");
    if (*other) p->statements[1].guard = var_read(other);
    return ProgramPtr(p);
  };
  for (const char* other : {"", "0 < $3", "1 < $2", "0 < $3 && 1 < $2"}) {
    const auto r = derive_repair(request(program(other), "S_T", {"S_r"}, {}));
    ASSERT_FALSE(r) << other << ": " << why(r);
    EXPECT_NE(r.error().why.find("condition on data"), std::string::npos) << why(r);
  }
  for (const char* other : {"0 < $2", "0 < $3 && 0 < $2"}) {
    const auto r = derive_repair(request(program(other), "S_T", {"S_r"}, {}));
    ASSERT_TRUE(r) << other << ": " << why(r);
    EXPECT_FALSE(
        unguarded_terms(*program(other), r->repair.targets, r->repair.sources, r->repair.via));
    EXPECT_TRUE(
        unguarded_terms(*program("0 < $3"), r->repair.targets, r->repair.sources, r->repair.via));
  }
}

TEST(RepairRefuse, OtherElementsOfTheSource) {
  // The element read changes with the reduced index.
  const auto p = chain(make_context(), ReduceOp::Max, "$0", "exp($0 - $2)", ReduceOp::Sum, "j",
                       "0 <= i < M and 0 <= j < N and j < M");
  const auto r = derive_repair(request(p, "S_T", {"S_r"}, {}));
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().why.find("changes while one element"), std::string::npos) << why(r);
  // Two elements at once: one inside the chain, one beside it.
  Builder b(make_context(), "beside", {"M", "N"}, "[M, N] -> { : M >= 1 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("r", TensorKind::Temp, {"M"})
      .tensor("P", TensorKind::Temp, {"M", "N"});
  b.tensor("T", TensorKind::Output, {"M"});
  b.statement("r", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("P", "i,j", ij, "i,j", {{"x", "i,j"}, {"r", "i"}}, exp(rd(0) - rd(1)));
  b.statement("T", "i,j", ij, "i", {{"P", "i,j"}, {"r", "0"}}, rd(0) * exp(-rd(1)),
              over(ReduceOp::Sum, {1}));
  const auto two = derive_repair(request(b.done(), "S_T", {"S_r"}, {"S_P"}));
  ASSERT_FALSE(two);
  EXPECT_NE(two.error().why.find("two different elements of r"), std::string::npos) << why(two);
}

TEST(RepairRefuse, MalformedRequests) {
  const auto p = attention(make_context());
  EXPECT_FALSE(derive_repair(request(p, "S_nothing", {"S_m"}, {})));
  EXPECT_FALSE(derive_repair(request(p, "S_P", {"S_m"}, {})));
  EXPECT_FALSE(derive_repair(request(p, "S_l", {"S_P"}, {})));
  EXPECT_FALSE(derive_repair(request(p, "S_l", {"S_m"}, {"S_m"})));
  const auto none = derive_repair(request(p, "S_m", {"S_S_sum"}, {}));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().why.find("no repair is needed"), std::string::npos) << why(none);
}

// One g, two operators, two types: the answers differ (a cache keyed on g alone would mix them up).
TEST(RepairDerive, CacheIsKeyedOnOperatorAndTypes) {
  const auto ctx = make_context();
  const char* g = "$0 - $2";
  const auto sum =
      derive_repair(request(chain(ctx, ReduceOp::Max, "$0", g, ReduceOp::Sum), "S_T", {"S_r"}, {}));
  const auto max =
      derive_repair(request(chain(ctx, ReduceOp::Max, "$0", g, ReduceOp::Max), "S_T", {"S_r"}, {}));
  const auto again =
      derive_repair(request(chain(ctx, ReduceOp::Max, "$0", g, ReduceOp::Sum), "S_T", {"S_r"}, {}));
  ASSERT_TRUE(sum && max && again) << why(sum) << why(max);
  EXPECT_EQ(sum->repair.corrections.size(), 2u);
  EXPECT_EQ(max->repair.corrections.size(), 1u);
  EXPECT_EQ(again->repair.corrections, sum->repair.corrections);
  auto wide = std::make_shared<Program>(*chain(ctx, ReduceOp::Max, "$0", g, ReduceOp::Max));
  for (Tensor& t : wide->tensors) t.type = Type::F64;
  for (Statement& s : wide->statements)
    s.expr = substitute(s.expr, [](const Expr& x) -> std::optional<Expr> {
      if (x->op != Op::Read) return std::nullopt;
      return Expr::read(x->index, Type::F64);
    });
  const auto f64 = derive_repair(request(wide, "S_T", {"S_r"}, {}));
  ASSERT_TRUE(f64) << why(f64);
  EXPECT_EQ(f64->repair.corrections[0]->type, Type::F64);
  EXPECT_EQ(max->repair.corrections[0]->type, Type::F32);
}

// A wrong correction is found out, whatever it was derived by.
TEST(RepairRefute, FindsWrongCorrections) {
  const auto p = chain(make_context(), ReduceOp::Max, "$0", "exp($0 - $2)");
  auto r = derive_repair(request(p, "S_T", {"S_r"}, {}));
  ASSERT_TRUE(r) << why(r);
  EXPECT_FALSE(refute_repair(*p, r->repair));
  for (const char* wrong :
       {"t0 * exp(r' - r)", "t0 * exp(r - r') + 1e-20", "t0", "t0 * exp(r - r')", "t0 * c0", "t1",
        "select(r == r', t0, t0 * exp(r - r') * (1 + 1e-25))"}) {
    r->repair.corrections[0] = *parse_expr(wrong);
    EXPECT_TRUE(refute_repair(*p, r->repair))
        << wrong;  // the fourth lacks its guard: NaN before the first term
  }
}

TEST(RepairLazy, OnlyWhereTheReferenceCancels) {
  const auto ctx = make_context();
  EXPECT_TRUE(algebra::lazy_reference(*attention(ctx), "S_m"));
  // T itself is stored: the reference shows.
  EXPECT_FALSE(algebra::lazy_reference(*chain(ctx, ReduceOp::Max, "$0", "exp($0 - $2)"), "S_r"));
  // Numerator and denominator of different rows do not cancel.
  Builder b(ctx, "rows", {"M", "N"}, "[M, N] -> { : M >= 1 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("r", TensorKind::Temp, {"M"})
      .tensor("T", TensorKind::Temp, {"M"});
  b.tensor("y", TensorKind::Output, {"M"});
  b.statement("r", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"r", "i"}}, exp(rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  b.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}, {"T", "0"}}, rd(0) / rd(1));
  EXPECT_FALSE(algebra::lazy_reference(*b.done(), "S_r"));
  // logsumexp: r + log(sum) does not depend on r.
  Builder c(ctx, "lse", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  c.tensor("x", TensorKind::Input, {"M", "N"})
      .tensor("r", TensorKind::Temp, {"M"})
      .tensor("T", TensorKind::Temp, {"M"});
  c.tensor("y", TensorKind::Output, {"M"});
  c.statement("r", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  c.statement("T", "i,j", ij, "i", {{"x", "i,j"}, {"r", "i"}}, exp(rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
  c.statement("y", "i", "0 <= i < M", "i", {{"T", "i"}, {"r", "i"}},
              Expr::make(Op::Log, {rd(0)}) + rd(1));
  EXPECT_TRUE(algebra::lazy_reference(*c.done(), "S_r"));
}

TEST(RepairRanges, RunningValues) {
  const auto p = attention(make_context());
  const ValueRange l = running_range(*p, "S_l"), m = running_range(*p, "S_m"),
                   o = running_range(*p, "S_Oa");
  EXPECT_EQ(l.lo, 0);
  EXPECT_TRUE(l.excludes_zero);
  EXPECT_EQ(m.lo, -INFINITY);
  EXPECT_FALSE(m.excludes_zero);
  EXPECT_FALSE(o.excludes_zero);
  EXPECT_NE(o.why.find("pass through zero"), std::string::npos);
}
