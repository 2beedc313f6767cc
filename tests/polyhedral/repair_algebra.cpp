// The algebra below repairs: proofs, rewriting, ranges, the derivations of one correction.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "polyhedral/repair_internal.h"

using namespace nautilus;
using namespace nautilus::poly;
using namespace nautilus::poly::algebra;

namespace {

Expr e(const char* text) {
  auto x = parse_expr(text);
  if (!x) throw std::logic_error(x.error().text());
  return *x;
}
constexpr double kInf = std::numeric_limits<double>::infinity();
const Ranges kPositive = {{"r", between(0, kInf, true)},
                          {"r'", between(0, kInf, true)},
                          {"p", between(0, kInf, true)},
                          {"@N", between(1, kInf)}};

// h at old = a, new = b and t, over the names r, r', t0.
double at(const Expr& h, double t, double a, double b) {
  EvalEnv env;
  env.vars = {{"t0", t}, {"r", a}, {"r'", b}};
  env.param = [](const std::string&) { return 5.0; };
  return evaluate(h, env);
}

}  // namespace

TEST(RepairProofs, EqualitiesAreProved) {
  const std::pair<const char*, const char*> equal[] = {
      {"a * (b + c)", "c * a + b * a"},
      {"exp(a - b) * exp(b - c)", "exp(a - c)"},
      {"(a + b) - b", "a"},
      {"(x + y) * exp(a - b)", "x * exp(a - b) + y * exp(a - b)"},
      {"t / exp(a) * exp(b)", "t * exp(b - a)"},
      {"a / p * p", "a"},
      {"exp(log(p) + a)", "p * exp(a)"},
      {"pow(a - b, 2)", "a * a - 2 * a * b + b * b"},
      {"max(a + c, b + c)", "c + max(b, a)"},
      {"max(a * p, b * p)", "max(a, b) * p"},
      {"exp2(a - b) * exp2(b)", "exp2(a)"},
      {"rsqrt(p) * sqrt(p)", "1"},
  };
  for (const auto& [a, b] : equal) {
    const Proof p = prove_equal(e(a), e(b), kPositive);
    EXPECT_TRUE(p.ok) << a << " = " << b << ": " << p.method;
    EXPECT_EQ(p.method.substr(0, 7), "e-graph") << a << " = " << b << ": " << p.method;
  }
}

TEST(RepairProofs, UnequalitiesAreRefuted) {
  const std::pair<const char*, const char*> different[] = {{"exp(a - b)", "exp(b - a)"},
                                                           {"a * b", "a + b"},
                                                           {"max(a * c, b * c)", "max(a, b) * c"},
                                                           {"abs(a)", "a"},
                                                           {"sqrt(a * a)", "a"},
                                                           {"a", "a * 1.0000000000000002"},
                                                           {"(x + y) * (x + y)", "x * x + y * y"},
                                                           {"log(a)", "log(a + 1)"}};
  for (const auto& [a, b] : different) {
    const Proof p = prove_equal(e(a), e(b), {});
    EXPECT_FALSE(p.ok) << a << " = " << b << ": " << p.method;
  }
}

// Beyond the e-graph's rules: the points in 50 digits decide, and say so.
TEST(RepairProofs, RandomizedIsTheFallback) {
  const Proof p = prove_equal(e("tanh(a)"), e("(exp(2 * a) - 1) / (exp(2 * a) + 1)"), {});
  EXPECT_TRUE(p.ok);
  EXPECT_EQ(p.method, "randomized (200 points, 50 digits)");
}

// Points on one side of a condition say nothing about the other.
TEST(RepairProofs, PointsDoNotProveWhatChangesItsForm) {
  const std::pair<const char*, const char*> open[] = {
      {"tanh(select(c < 1e9, a, b))", "tanh(a) + select(c < 1e9, 0, tanh(b) - tanh(a) + 1)"},
      {"tanh(max(a, -1e9))", "tanh(a)"},
      {"select(c < 50, exp(c - a), exp(2 * (c - a)))", "exp(c - a)"},
      {"abs(a + 1e9) - 1e9", "a"}};
  for (const auto& [a, b] : open) {
    const Proof p = prove_equal(e(a), e(b), {});
    EXPECT_FALSE(p.ok) << a << " = " << b << ": " << p.method;
  }
  // The parts that change their form are the same on both sides; or the rules suffice.
  const std::pair<const char*, const char*> equal[] = {
      {"tanh(max(a, b))", "(exp(2 * max(a, b)) - 1) / (exp(2 * max(a, b)) + 1)"},
      {"select(c < 50, exp(c - a), 0) * exp(a - b)", "select(c < 50, exp(c - b), 0)"}};
  for (const auto& [a, b] : equal) {
    const Proof p = prove_equal(e(a), e(b), {});
    EXPECT_TRUE(p.ok) << a << " = " << b << ": " << p.method;
  }
}

// Unbounded values are tried at many magnitudes, without mistaking rounding or overflow for a
// difference.
TEST(RepairProofs, PointsOfAllMagnitudes) {
  EXPECT_TRUE(refute_equal(e("select(c < 50, a, b)"), e("a"), {}, 200, 1));
  EXPECT_TRUE(refute_equal(e("max(a, 0 - 900)"), e("a"), {}, 200, 1));
  EXPECT_TRUE(refute_equal(e("a"), e("select(a < 0.01, 0, a)"), kPositive, 200, 1));
  EXPECT_FALSE(refute_equal(e("(a - b) * (a - b) * (a - b)"),
                            e("a*a*a - 3*a*a*b + 3*a*b*b - b*b*b"), {}, 200, 1));
  EXPECT_FALSE(refute_equal(e("exp(a - b) * x"), e("exp(a) / exp(b) * x"), {}, 200, 1));
}

TEST(RepairProofs, RewritesNamesAway) {
  const auto h = rewrite_without(e("t0 / exp(c - r) * exp(c - r')"), {"c"}, {});
  ASSERT_TRUE(h);
  EXPECT_FALSE(contains_var(*h, "c"));
  EXPECT_NEAR(at(*h, 2, 1, 3), 2 * std::exp(-2), 1e-12);
  EXPECT_FALSE(rewrite_without(e("t0 * c"), {"c"}, {}));
}

TEST(RepairRanges, SignsAndBounds) {
  const struct {
    const char* text;
    double lo, hi;
    bool nonzero;
  } cases[] = {{"exp(a)", 0, kInf, true},
               {"a * a", 0, kInf, false},
               {"pow(a - b, 2)", 0, kInf, false},
               {"a * b", -kInf, kInf, false},
               {"a * a + 1", 1, kInf, true},
               {"p + a * a", 0, kInf, true},
               {"sqrt(a * a / @N + 0.001)", std::sqrt(0.001), kInf, true},
               {"rsqrt(a * a + 4)", 0, 0.5, true},
               {"1 / p", 0, kInf, true},
               {"-exp(a)", -kInf, 0, true},
               {"sigmoid(a)", 0, 1, true},
               {"tanh(a)", -1, 1, false},
               {"max(a, 2)", 2, kInf, true},
               {"select(a < b, 1, 3)", 1, 3, true},
               {"f16(exp(a))", 0, kInf, false},
               {"abs(a) + 1", 1, kInf, true},
               {"exp(a) * p", 0, kInf, true},
               {"exp(a) - p", -kInf, kInf, false},
               {"exp(a) / @N", 0, kInf, true}};
  for (const auto& c : cases) {
    const ValueRange r = range_of(e(c.text), kPositive);
    EXPECT_DOUBLE_EQ(r.lo, c.lo) << c.text;
    EXPECT_DOUBLE_EQ(r.hi, c.hi) << c.text;
    EXPECT_EQ(r.excludes_zero, c.nonzero) << c.text;
  }
  EXPECT_FALSE(undefined_part(e("1 / (exp(a) + 1)"), {}));
  EXPECT_EQ(undefined_part(e("2 + 1 / a"), {}), "a can be zero");
  EXPECT_TRUE(undefined_part(e("log(a)"), {}));
  EXPECT_FALSE(undefined_part(e("log(p)"), kPositive));
  EXPECT_TRUE(undefined_part(e("pow(a, 0.5)"), {}));
}

TEST(RepairDerivations, TwoMethodsAgree) {
  const struct {
    const char* g;
    std::function<double(double, double)> factor;  // h(1, a, b)
    Ranges ranges;
  } cases[] = {
      {"exp(c - r)", [](double a, double b) { return std::exp(a - b); }, {}},
      {"v * exp(c - r)", [](double a, double b) { return std::exp(a - b); }, {}},
      {"exp((c - r) * 0.125) * v", [](double a, double b) { return std::exp((a - b) / 8); }, {}},
      {"exp2(c - r) * v / w", [](double a, double b) { return std::exp2(a - b); }, {}},
      {"v / r", [](double a, double b) { return a / b; }, kPositive},
      {"v * exp(c) / r", [](double a, double b) { return a / b; }, kPositive},
      {"x * w * rsqrt(r / @N + 0.5)",
       [](double a, double b) { return std::sqrt((a / 5 + 0.5) / (b / 5 + 0.5)); },
       {{"r", between(0, kInf)}, {"@N", between(1, kInf)}}},
      {"r * (c + d)", [](double a, double b) { return b / a; }, kPositive},
      {"-(v * exp(-r))", [](double a, double b) { return std::exp(a - b); }, {}},
      {"f32(v:f16) * exp(c - r)", [](double a, double b) { return std::exp(a - b); }, {}},
  };
  for (const auto& c : cases) {
    const auto i = by_inversion(e(c.g), "r", c.ranges);
    const auto s = by_separation(e(c.g), "r", ReduceOp::Sum, c.ranges);
    ASSERT_TRUE(i) << c.g << ": " << i.error().text();
    ASSERT_TRUE(s) << c.g << ": " << s.error().text();
    EXPECT_TRUE(prove_equal(i->h, s->h, c.ranges).ok)
        << c.g << ": " << to_string(i->h) << ", " << to_string(s->h);
    for (const auto& [a, b] : {std::pair(1.0, 3.0), {2.0, 0.5}}) {
      EXPECT_NEAR(at(i->h, 2, a, b), 2 * c.factor(a, b), 1e-9) << c.g << ": " << to_string(i->h);
      EXPECT_NEAR(at(s->h, 2, a, b), 2 * c.factor(a, b), 1e-9) << c.g << ": " << to_string(s->h);
    }
    std::printf("  %s: %s\n", c.g, to_string(i->h).c_str());
  }
}

TEST(RepairDerivations, MaxUsesSums) {
  const auto i = by_inversion(e("c - r"), "r", {});
  const auto s = by_separation(e("c - r"), "r", ReduceOp::Max, {});
  ASSERT_TRUE(i && s);
  EXPECT_DOUBLE_EQ(at(i->h, 7, 1, 3), 5);
  EXPECT_DOUBLE_EQ(at(s->h, 7, 1, 3), 5);
  const auto scaled = by_separation(e("exp(c - r)"), "r", ReduceOp::Max, {});
  ASSERT_TRUE(scaled);
  EXPECT_NEAR(at(scaled->h, 7, 1, 3), 7 * std::exp(-2), 1e-12);
  const auto negative = by_separation(e("c * (-exp(r))"), "r", ReduceOp::Max, {});
  ASSERT_FALSE(negative);
  EXPECT_NE(negative.error().why.find("can be negative"), std::string::npos)
      << negative.error().text();
}

TEST(RepairDerivations, Refusals) {
  const struct {
    const char* g;
    const char* why;
  } separation[] = {{"v / r", "zero"},
                    {"v * r", "can be zero"},
                    {"(c - r) * (c - r)", "is not"},
                    {"tanh(c - r)", "is not"},
                    {"abs(c - r)", "is not"}};
  for (const auto& c : separation) {
    const auto s = by_separation(e(c.g), "r", ReduceOp::Sum, {});
    ASSERT_FALSE(s) << c.g;
    EXPECT_NE(s.error().why.find(c.why), std::string::npos) << c.g << ": " << s.error().text();
  }
  for (const char* g :
       {"(c - r) * (c - r)", "tanh(c - r)", "abs(c - r)", "v + exp(c - r)", "pow(c - r, 2)"})
    EXPECT_FALSE(by_inversion(e(g), "r", {})) << g;
  EXPECT_FALSE(by_separation(e("exp(c - r)"), "r", ReduceOp::Prod, {}));
}

// The family's fundamental matrix carries sums of g(r, c_i) over to sums of g(r', c_i).
TEST(RepairFamilies, CloseAndTransport) {
  const struct {
    const char* g;
    size_t members;
  } cases[] = {{"exp(c - r)", 1},
               {"c - r", 2},
               {"c * r", 2},
               {"(c - r) * (c - r)", 3},
               {"pow(c - r, 2) * w", 3},
               {"(c - r) * (c - r) * (c - r)", 4},
               {"(c - r) * exp(c - r)", 2},
               {"(c - r) * (c - r) * exp(c - r)", 3},
               {"exp(c - r) + exp(2 * (c - r))", 2},
               {"exp(c - r) + d", 2},
               {"exp(0.5 * r - c) * (c - r)", 2}};
  for (const auto& c : cases) {
    const auto f = by_family(e(c.g), "r", {}, 4);
    ASSERT_TRUE(f) << c.g << ": " << f.error().text();
    ASSERT_EQ(f->members.size(), c.members) << c.g;
    const double r = 0.3, r2 = -0.8, cs[] = {1, -2, 0.5}, ds[] = {0.2, 0.7, -1},
                 ws[] = {1.5, -0.5, 2};
    EvalEnv env;
    env.vars["r'"] = r2;
    std::vector<double> want(c.members, 0);
    for (size_t k = 0; k < c.members; ++k) {
      double sum = 0;
      for (int i = 0; i < 3; ++i) {
        env.vars["c"] = cs[i];
        env.vars["d"] = ds[i];
        env.vars["w"] = ws[i];
        env.vars["r"] = r;
        sum += evaluate(f->members[k], env);
        env.vars["r"] = r2;
        want[k] += evaluate(f->members[k], env);
      }
      env.vars["t" + std::to_string(k)] = sum;
    }
    env.vars["r"] = r;
    for (size_t k = 0; k < c.members; ++k)
      EXPECT_NEAR(evaluate(f->h[k], env), want[k], 1e-9)
          << c.g << ", member " << k << ": " << to_string(f->h[k]);
    std::printf("  %s: %s\n", c.g, to_string(f->h[0]).c_str());
  }
  for (const char* g : {"exp(-(c - r) * (c - r))", "1 / (c - r)", "tanh(c - r)", "abs(c - r)",
                        "max(c, r)", "pow(c - r, 5)"})
    EXPECT_FALSE(by_family(e(g), "r", {}, 4)) << g;
}
