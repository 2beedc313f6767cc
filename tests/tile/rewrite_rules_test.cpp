// Each rule: a module where it fires and one where it must not; what it makes is worth the same.
#include <algorithm>

#include "compiler/tile/rewrite.h"
#include "helpers.h"

namespace nautilus::tile {
namespace {

// Values at hand: %0 A[i, j], %1 B[i, j], %2 X[i], %3 Y[i], %4 H[i, j] (f16), %5 W[j], %6 K[d, j],
// %7 C: f16 K[d, j].
std::string module_text(const std::string& body, const std::string& store) {
  std::string t =
      "module m {\n  tensor A: f32[8, 8] input global\n  tensor B: f32[8, 8] input global\n  "
      "tensor X: f32[8] input global\n"
      "  tensor Y: f32[8] input global\n  tensor H: f16[8, 8] input global\n  tensor W: f32[8] "
      "input global\n  tensor K: f32[6, 8] input global\n"
      "  tensor C: f16[6, 8] input global\n  tensor O: f32[8, 8] output global\n  kernel k {\n    "
      "values 999\n"
      "%0: f32[i: 8, j: 8] = load A[i, j]\n%1: f32[i: 8, j: 8] = load B[i, j]\n%2: f32[i: 8] = "
      "load X[i]\n%3: f32[i: 8] = load Y[i]\n"
      "%4: f16[i: 8, j: 8] = load H[i, j]\n%5: f32[j: 8] = load W[j]\n%6: f32[d: 6, j: 8] = load "
      "K[d, j]\n%7: f16[d: 6, j: 8] = load C[d, j]\n";
  std::string b;
  for (size_t k = 0; k < body.size(); ++k) {
    if (body.compare(k, 3, "IJD") == 0)
      b += "f32[d: 6, i: 8, j: 8]", k += 2;
    else if (body.compare(k, 2, "IJ") == 0)
      b += "f32[i: 8, j: 8]", k += 1;
    else if (body.compare(k, 2, "DI") == 0)
      b += "f32[d: 6, i: 8]", k += 1;
    else if (body.compare(k, 2, "I1") == 0)
      b += "f32[i: 8]", k += 1;
    else
      b += body[k];
  }
  const std::string index = store == "IJ" ? "i, j" : store == "DI" ? "i, d" : "i, 0";
  return t + b + "\nstore O[" + index + "] = %99\n  }\n}\n";
}

struct RuleCase {
  const char* rule;
  const char* store;  // axes of %99
  const char* fires;
  const char* does_not;
  Numerics numerics = Numerics::Reassociate;
  double divide = 8;  // cost of a division
};

bool applied(const RewriteReport& r, const std::string& rule) {
  return std::any_of(r.applied.begin(), r.applied.end(),
                     [&](const std::string& a) { return a.substr(0, a.find(' ')) == rule; });
}

void expect_same_results(const Module& m, const Module& w, Numerics numerics) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    poly::Buffers in = random_inputs(m, seed);
    if (numerics == Numerics::Strict) {
      expect_close(outputs(m, in), outputs(w, in), 0, "strict");
    } else {
      expect_close(outputs(m, in, false), outputs(w, in, false), 1e-12, "exact arithmetic");
      expect_close(outputs(m, in), outputs(w, in), numerics == Numerics::Fast ? 1e-2 : 1e-4,
                   "rounded");
    }
  }
}

class RewriteRule : public testing::TestWithParam<RuleCase> {};

TEST_P(RewriteRule, FiresAndKeepsTheValue) {
  const RuleCase& p = GetParam();
  Module m = module_of(module_text(p.fires, p.store));
  RewriteOptions o;
  o.numerics = p.numerics;
  o.costs.divide = p.divide;
  RewriteReport report;
  Module w = rewrite(m, o, &report);
  EXPECT_TRUE(applied(report, p.rule)) << print(w);
  EXPECT_LE(report.cost_after, report.cost_before);
  EXPECT_EQ(report.stop_reason, "saturated");
  expect_same_results(m, w, p.numerics);
  // Numerics that exclude the rule.
  auto info = std::find_if(rules().begin(), rules().end(),
                           [&](const RuleInfo& r) { return r.name == p.rule; });
  ASSERT_NE(info, rules().end());
  for (Numerics n : {Numerics::Strict, Numerics::Reassociate, Numerics::Fast}) {
    o.numerics = n;
    Module x = rewrite(m, o, &report);
    SCOPED_TRACE(print(x));
    expect_same_results(m, x, n);
    if (int(info->tag) > int(n)) {
      EXPECT_FALSE(applied(report, p.rule));
    }
  }
}

TEST_P(RewriteRule, DoesNotFire) {
  const RuleCase& p = GetParam();
  Module m = module_of(module_text(p.does_not, p.store));
  RewriteOptions o;
  o.numerics = p.numerics;
  o.costs.divide = p.divide;
  RewriteReport report;
  Module w = rewrite(m, o, &report);
  EXPECT_FALSE(applied(report, p.rule)) << print(w);
  expect_same_results(m, w, p.numerics);
}

INSTANTIATE_TEST_SUITE_P(
    All, RewriteRule,
    testing::Values(
        RuleCase{
            "fold-constants", "IJ",
            "%8: f32 = const 3\n%9: f32 = const 4\n%10: f32 = add %8, %9\n%99: IJ = mul %0, %10",
            "%8: f32 = const 3\n%99: IJ = mul %0, %8", Numerics::Strict},
        RuleCase{"multiply-by-one", "IJ", "%8: f32 = const 1\n%99: IJ = mul %0, %8",
                 "%8: f32 = const 2\n%99: IJ = mul %0, %8", Numerics::Strict},
        RuleCase{"signs", "IJ", "%8: IJ = neg %1\n%99: IJ = sub %0, %8",
                 "%8: IJ = abs %1\n%99: IJ = sub %0, %8", Numerics::Strict},
        RuleCase{"subtract-zero", "IJ", "%8: f32 = const 0\n%99: IJ = sub %0, %8",
                 "%8: f32 = const -0\n%99: IJ = sub %0, %8", Numerics::Strict},
        RuleCase{"add-zero", "IJ", "%8: f32 = const 0\n%99: IJ = add %0, %8",
                 "%8: f32 = const 1\n%99: IJ = add %0, %8"},
        RuleCase{"known-choice", "IJ", "%99: IJ = mask %0, %1 where (true)",
                 "%99: IJ = mask %0, %1 where (i <= j)", Numerics::Strict},
        RuleCase{"extremum-identity", "IJ", "%8: f32 = const -inf\n%99: IJ = max %0, %8",
                 "%8: f32 = const -inf\n%99: IJ = min %0, %8"},
        RuleCase{"drop-widening", "IJ", "%8: IJ = cast %4\n%99: IJ = mul %8, %0",
                 "%8: f16[i: 8, j: 8] = cast %1\n%99: IJ = mul %8, %0", Numerics::Strict},
        RuleCase{"integer-powers", "IJ", "%8: f32 = const 2\n%99: IJ = pow %0, %8",
                 "%8: f32 = const 2.5\n%99: IJ = pow %0, %8"},
        RuleCase{"divide-by-power-of-two", "IJ", "%8: f32 = const 4\n%99: IJ = div %0, %8",
                 "%8: f32 = const 3\n%99: IJ = div %0, %8", Numerics::Strict},
        RuleCase{"divide-by-constant", "IJ", "%8: f32 = const 3\n%99: IJ = div %0, %8",
                 "%8: f32 = const 4\n%99: IJ = div %0, %8"},
        RuleCase{"reciprocal", "IJ", "%99: IJ = div %0, %2",
                 "%8: f32 = const 0\n%99: IJ = div %0, %8"},
        RuleCase{"hoist-division", "IJ", "%8: IJ = mul %0, %2\n%99: IJ = div %8, %3",
                 "%8: IJ = mul %0, %1\n%99: IJ = div %8, %3", Numerics::Reassociate, 1},
        RuleCase{"cancel-division", "IJ", "%8: IJ = mul %0, %2\n%99: IJ = div %8, %2",
                 "%8: IJ = mul %0, %2\n%99: IJ = div %8, %3"},
        RuleCase{"reciprocal-root", "I1", "%8: I1 = abs %2\n%9: I1 = sqrt %8\n%99: I1 = div %3, %9",
                 "%8: I1 = abs %2\n%9: I1 = sqrt %8\n%99: I1 = div %9, %3"},
        RuleCase{"exp-to-exp2", "IJ", "%8: IJ = sub %0, %2\n%99: IJ = exp %8",
                 "%8: IJ = sub %0, %2\n%99: IJ = exp2 %8"},
        RuleCase{"exp-product", "IJ", "%8: IJ = exp2 %0\n%9: IJ = exp2 %1\n%99: IJ = mul %8, %9",
                 "%8: IJ = exp2 %0\n%9: IJ = exp2 %1\n%99: IJ = add %8, %9"},
        RuleCase{"log-of-exp", "IJ", "%8: IJ = exp2 %0\n%99: IJ = log2 %8",
                 "%8: IJ = log2 %0\n%99: IJ = exp2 %8"},
        RuleCase{
            "combine-scales", "IJ",
            "%8: f32 = const 3\n%9: f32 = const 5\n%10: IJ = mul %0, %8\n%99: IJ = mul %10, %9",
            "%8: f32 = const 3\n%10: IJ = mul %0, %8\n%99: IJ = mul %10, %1"},
        RuleCase{"distribute-scale", "IJ",
                 "%8: f32 = const 3\n%9: IJ = sub %0, %2\n%99: IJ = mul %9, %8",
                 "%8: f32 = const 3\n%9: IJ = sub %0, %1\n%99: IJ = mul %9, %8"},
        RuleCase{"factor-scale", "I1",
                 "%8: IJ = mul %0, %2\n%9: IJ = mul %1, %2\n%10: IJ = add %8, %9\n%99: I1 = reduce "
                 "sum %10 over (j)",
                 "%8: IJ = mul %0, %2\n%9: IJ = mul %1, %3\n%10: IJ = add %8, %9\n%99: I1 = reduce "
                 "sum %10 over (j)"},
        RuleCase{"reassociate-product", "IJ", "%8: IJ = mul %0, %2\n%99: IJ = mul %8, %3",
                 "%8: IJ = mul %0, %1\n%99: IJ = mul %8, %3"},
        RuleCase{"reassociate-sum", "IJ", "%8: IJ = add %0, %2\n%99: IJ = sub %8, %3",
                 "%8: IJ = add %0, %1\n%99: IJ = sub %8, %3"},
        RuleCase{
            "scale-through-extremum", "IJ",
            "%8: f32 = const 3\n%9: IJ = mul %0, %8\n%10: IJ = mul %1, %8\n%99: IJ = max %9, %10",
            "%8: f32 = const 3\n%9: IJ = mul %0, %8\n%10: IJ = mul %1, %2\n%99: IJ = max %9, %10"},
        RuleCase{"scale-through-choice", "I1",
                 "%8: f32 = const 3\n%9: IJ = mul %0, %8\n%10: f32 = const 0\n%11: IJ = mask %9, "
                 "%10 where (j <= i)\n"
                 "%99: I1 = reduce sum %11 over (j)",
                 "%8: f32 = const 3\n%9: IJ = mul %0, %8\n%10: f32 = const 1\n%11: IJ = mask %9, "
                 "%10 where (j <= i)\n%99: I1 = reduce sum %11 over (j)"},
        RuleCase{"scale-out-of-sum", "I1", "%8: IJ = mul %0, %2\n%99: I1 = reduce sum %8 over (j)",
                 "%8: IJ = mul %0, %1\n%99: I1 = reduce sum %8 over (j)"},
        RuleCase{"scale-out-of-extremum", "I1",
                 "%8: f32 = const -3\n%9: IJ = mul %0, %8\n%99: I1 = reduce max %9 over (j)",
                 "%9: IJ = mul %0, %2\n%99: I1 = reduce max %9 over (j)"},
        RuleCase{"scale-out-of-dot", "I1", "%8: IJ = mul %0, %2\n%99: I1 = dot %8, %5 over (j)",
                 "%8: IJ = mul %0, %1\n%99: I1 = dot %8, %5 over (j)"},
        RuleCase{"scale-into-dot", "DI",
                 "%8: f32 = const 3\n%9: f32 = const 0\n%99: DI = for n in [0, 9) step 1 carry "
                 "(%10: DI = %9) {\n%11: f32[d: 6, j: 8] = load K[d, mod(j + n, 8)]\n"
                 "%12: DI = dot %0, %11 over (j)\n%13: DI = mul %12, %8\n%14: DI = tanh %13\n%15: "
                 "DI = add %10, %14\nyield %15\n}",
                 "%8: f32 = const 3\n%9: DI = dot %0, %6 over (j)\n%99: DI = mul %9, %8"},
        RuleCase{"uniform-extremum", "I1", "%99: I1 = reduce max %2 over (q) span (q: 5)",
                 "%99: I1 = reduce max %0 over (j)", Numerics::Strict},
        RuleCase{"uniform-sum", "I1", "%99: I1 = reduce sum %2 over (q) span (q: 5)",
                 "%99: I1 = reduce sum %0 over (j)"},
        RuleCase{"contraction", "DI", "%8: IJD = mul %0, %6\n%99: DI = reduce sum %8 over (j)",
                 "%8: IJD = mul %0, %6\n%99: DI = reduce max %8 over (j)"},
        RuleCase{"mask-into-product", "DI",
                 "%8: f32 = const 0\n%9: IJD = mul %0, %6\n%10: IJD = mask %9, %8 where (j <= "
                 "4)\n%99: DI = reduce sum %10 over (j)",
                 "%8: f32 = const 0\n%9: IJD = mul %0, %6\n%10: IJD = mask %9, %8 where (j <= "
                 "i)\n%99: DI = reduce sum %10 over (j)"},
        RuleCase{"mask-into-factor", "DI",
                 "%8: f32 = const 0\n%9: IJD = mul %0, %6\n%10: IJD = mask %9, %8 where (j <= "
                 "i)\n%99: DI = reduce sum %10 over (j)",
                 "%8: f32 = const 0\n%9: IJD = mul %0, %6\n%10: IJD = mask %9, %8 where (d <= "
                 "i)\n%99: DI = reduce sum %10 over (j)",
                 Numerics::Fast},
        RuleCase{"scale-out-of-masked-sum", "I1",
                 "%8: f32 = const 0\n%9: IJ = mul %0, %2\n%10: IJ = mask %9, %8 where (j <= "
                 "i)\n%99: I1 = reduce sum %10 over (j)",
                 "%8: f32 = const 0\n%9: IJ = mul %0, %5\n%10: IJ = mask %9, %8 where (j <= "
                 "i)\n%99: I1 = reduce sum %10 over (j)"},
        RuleCase{
            "scale-out-of-narrowed-dot", "DI",
            "%8: IJ = mul %0, %2\n%9: f16[i: 8, j: 8] = cast %8\n%99: DI = dot %9, %7 over (j)",
            "%8: IJ = mul %0, %1\n%9: f16[i: 8, j: 8] = cast %8\n%99: DI = dot %9, %7 over (j)",
            Numerics::Fast},
        RuleCase{"invariant-carry", "I1",
                 "%99: I1 = for n in [0, 4) step 1 carry (%9: I1 = %2) {\nyield %9\n}",
                 "%99: I1 = for n in [0, 4) step 1 carry (%9: I1 = %2) {\n%10: I1 = exp2 %9\nyield "
                 "%10\n}",
                 Numerics::Strict},
        RuleCase{"factor-of-choice", "IJ",
                 "%8: bool[i: 8] = lt %2, %3\n%9: IJ = mul %0, %2\n%99: IJ = select %8, %0, %9",
                 "%8: bool[i: 8, j: 8] = lt %0, %1\n%9: IJ = mul %0, %2\n%99: IJ = select %8, %0, "
                 "%9",
                 Numerics::Strict},
        RuleCase{"same-branches", "I1",
                 "%8: I1 = if (0 <= 1) {\nyield %2\n} else {\nyield %3\n}\n%9: I1 = if (1 <= 0) "
                 "{\nyield %2\n} else {\nyield %3\n}\n%99: I1 = mul %8, %9",
                 "%99: I1 = for n in [0, 4) step 1 carry (%9: I1 = %2) {\n%10: I1 = if (n <= 2) "
                 "{\nyield %9\n} else {\nyield %3\n}\nyield %10\n}",
                 Numerics::Strict},
        RuleCase{"change-carried-variable", "I1",
                 "%8: f32 = const 0\n%9: f32 = const 1\n%98: I1, %99: I1 = for n in [0, 8) step 1 "
                 "carry (%10: I1 = %8, %11: I1 = %8) {\n"
                 "%12: I1 = load A[i, n]\n%13: I1 = abs %12\n%14: I1 = add %10, %13\n%15: bool[i: "
                 "8] = eq %10, %14\n%16: I1 = div %10, %14\n"
                 "%17: I1 = select %15, %9, %16\n%18: I1 = mul %11, %17\n%19: I1 = div %12, "
                 "%14\n%20: I1 = add %18, %19\nyield %14, %20\n}",
                 "%8: f32 = const 0\n%99: I1 = for n in [0, 8) step 1 carry (%10: I1 = %8) {\n%11: "
                 "I1 = load A[i, n]\n"
                 "%12: I1 = div %11, %2\n%13: I1 = add %10, %12\n%14: I1 = tanh %13\nyield %14\n}"},
        RuleCase{"loop-invariant-motion", "I1",
                 "%8: f32 = const 0\n%99: I1 = for n in [0, 8) step 1 carry (%10: I1 = %8) {\n%11: "
                 "I1 = tanh %2\n%12: I1 = mul %10, %11\n%13: I1 = add %12, %3\nyield %13\n}",
                 "%8: f32 = const 0\n%99: I1 = for n in [0, 8) step 1 carry (%10: I1 = %8) {\n%11: "
                 "I1 = load A[i, n]\n%12: I1 = mul %10, %11\nyield %12\n}",
                 Numerics::Strict},
        RuleCase{"common-subexpressions", "IJ",
                 "%8: IJ = tanh %0\n%9: IJ = tanh %0\n%99: IJ = mul %8, %9",
                 "%8: IJ = tanh %0\n%9: IJ = tanh %1\n%99: IJ = mul %8, %9", Numerics::Strict}),
    [](const auto& p) {
      std::string s = p.param.rule;
      std::replace(s.begin(), s.end(), '-', '_');
      return s;
    });

TEST(RewriteRules, RegistryIsDocumented) {
  std::vector<std::string> names;
  for (const RuleInfo& r : rules()) {
    EXPECT_FALSE(r.name.empty());
    EXPECT_FALSE(r.doc.empty()) << r.name;
    EXPECT_EQ(r.tag == poly::NumericTag::Approximates, !r.bound.empty()) << r.name;
    EXPECT_EQ(std::count(names.begin(), names.end(), r.name), 0) << r.name;
    names.push_back(r.name);
  }
  EXPECT_EQ(numerics_from_name("fast"), Numerics::Fast);
  EXPECT_FALSE(numerics_from_name("sloppy"));
}

int count_code(const Region& r, Code c) {
  int n = 0;
  for (const Instr& i : r.body) {
    n += i.code == c;
    for (const Region& x : i.regions) n += count_code(x, c);
  }
  return n;
}

// Statements name their axes apart; what they share is found all the same, and what is apart stays
// apart.
TEST(RewriteRules, RenamedAxesAreOneAxisWhereTheyCanBe) {
  const std::string head =
      "module m {\n  tensor X: f32[6] input global\n  tensor O: f32[6, 6] output global\n  kernel "
      "k {\n    values 99\n";
  Module shared = module_of(head +
                            "%0: f32[i1: 6] = load X[i1]\n%1: f32[i1: 6] = exp2 %0\n%2: f32[i2: 6] "
                            "= rename %0 (i1 -> i2)\n"
                            "%3: f32[i2: 6] = exp2 %2\n%4: f32[i3: 6] = rename %1 (i1 -> i3)\n%5: "
                            "f32[i3: 6] = rename %3 (i2 -> i3)\n"
                            "%6: f32[i3: 6] = add %4, %5\nstore O[i3, 0] = %6\n}\n}\n");
  Module outer =
      module_of(head +
                "%0: f32[i: 6] = load X[i]\n%1: f32[k: 6] = rename %0 (i -> k)\n%2: f32[i: 6, k: "
                "6] = sub %0, %1\n"
                "%3: f32[a: 6, b: 6] = rename %2 (i -> b, k -> a)\nstore O[a, b] = %3\n}\n}\n");
  for (Numerics n : {Numerics::Strict, Numerics::Reassociate}) {
    RewriteOptions o;
    o.numerics = n;
    const Module s = rewrite(shared, o), t = rewrite(outer, o);
    EXPECT_EQ(count_code(s.kernels[0].body, Code::Rename), 0) << print(s);
    EXPECT_EQ(count_code(s.kernels[0].body, Code::Map), 2) << print(s);
    EXPECT_EQ(count_code(t.kernels[0].body, Code::Rename), 1) << print(t);
    expect_same_results(shared, s, n);
    expect_same_results(outer, t, n);
  }
}

// Full tiles and then partial ones: two loops in sequence with one variable name. What the text of
// a value says of `j` differs between them.
TEST(RewriteRules, LoopsInSequenceHaveTheirOwnVariables) {
  const Module m = module_of(
      "module m {\n  tensor X: f32[6] input global\n  tensor O: f32[6] output global\n  kernel k "
      "{\n    values 99\n"
      "%0: f32 = const 0\n%1: f32[i: 6] = load X[i]\n"
      "%2: f32[i: 6] = for j in [0, 3) step 1 carry (%3: f32[i: 6] = %0) {\n"
      "%4: i32[i: 6] = iota 2*j - i\n%5: f32[i: 6] = cast %4\n%6: f32[i: 6] = mul %5, %1\n"
      "%7: f32[i: 6] = exp %6\n%8: f32[i: 6] = add %3, %7\nyield %8\n}\n"
      "%9: f32[i: 6] = for j in [3, 5) step 1 carry (%10: f32[i: 6] = %2) {\n"
      "%11: i32[i: 6] = iota 2*j - i\n%12: f32[i: 6] = cast %11\n%13: f32[i: 6] = mask %12, %1 "
      "where (i <= j)\n"
      "%14: f32[i: 6] = mul %13, %1\n%15: f32[i: 6] = exp %14\n%16: f32[i: 6] = add %10, "
      "%15\nyield %16\n}\n"
      "store O[i] = %9\n}\n}\n");
  for (Numerics n : {Numerics::Strict, Numerics::Reassociate}) {
    RewriteOptions o;
    o.numerics = n;
    RewriteReport report;
    const Module w = rewrite(m, o, &report);
    EXPECT_EQ(report.stop_reason, "saturated") << print(w);
    expect_same_results(m, w, n);
  }
}

// A branch on data stays, unless what it looks at is known; what only one side needs stays there.
TEST(RewriteRules, BranchesOnData) {
  const auto text = [](const std::string& condition) {
    return module_text(condition +
                           "\n%99: I1 = if %10 {\n%11: I1 = tanh %2\nyield %11\n} else {\nyield "
                           "%3\n}",
                       "I1");
  };
  const Module open =
      module_of(text("%8: f32 = reduce max %2 over (i)\n%9: f32 = const 0\n%10: bool = lt %8, %9"));
  for (Numerics n : {Numerics::Strict, Numerics::Reassociate}) {
    RewriteOptions o;
    o.numerics = n;
    const Module w = rewrite(open, o);
    ASSERT_EQ(count_code(w.kernels[0].body, Code::If), 1) << print(w);
    for (const Instr& i : w.kernels[0].body.body)
      if (i.code == Code::If) {
        EXPECT_EQ(count_code(i.regions[0], Code::Map), 1) << print(w);
      }
    expect_same_results(open, w, n);
    for (const char* known : {"%10: bool = const 1", "%10: bool = const 0"}) {
      const Module closed = module_of(text(known));
      RewriteReport report;
      const Module x = rewrite(closed, o, &report);
      EXPECT_EQ(count_code(x.kernels[0].body, Code::If), 0) << print(x);
      EXPECT_TRUE(applied(report, "same-branches"));
      expect_same_results(closed, x, n);
    }
  }
}

// Counts of what a branch on data guards: a share of its executions.
TEST(RewriteRules, GuardedWorkCountsForItsShare) {
  const Module m = module_of(
      module_text("%8: f32 = reduce max %2 over (i)\n%9: f32 = const 0\n%10: bool = lt %8, %9\n"
                  "%99: I1 = if %10 {\n%11: I1 = log2 %2\nyield %11\n} else {\n%12: I1 = exp2 "
                  "%3\nyield %12\n}",
                  "I1"));
  double special = 0;
  for (const OpCount& c : count_ops(m))
    if (c.unit == "special") special += c.per_lane;
  EXPECT_EQ(special, kTakenShare + (1 - kTakenShare));
}

using poly::Tiles;
using Counts = std::map<std::pair<Tiles, std::string>, double>;
Counts counts_of(const std::string& body) {
  Counts out;
  const Module m = module_of(
      "module m {\n  tensor X: f32[24] input global\n  tensor O: f32[24] output global\n  kernel "
      "k {\n    grid i0 < 3\n    values 99\n%0: f32 = const 0\n" +
      body + "}\n}\n");
  for (const OpCount& c : count_ops(m)) out[{c.tiles, c.unit}] += c.per_lane;
  return out;
}

// Two loops that share the iterations of one: what both do counts once, the second's as partial,
// with what it computes before and after its masks.
TEST(CountOps, LoopsThatGoOnShareTheirIterations) {
  const auto loops = [](const std::string& from) {
    return counts_of(
        "%2: f32[i: 8] = for j in [0, 3) step 1 carry (%3: f32[i: 8] = %0) {\n"
        "%4: f32[i: 8] = load X[8*j + i]\n%5: f32[i: 8] = exp2 %4\n%6: f32[i: 8] = add %3, "
        "%5\nyield %6\n}\n"
        "%7: f32[i: 8] = for j in [" +
        from +
        ", 5) step 1 carry (%8: f32[i: 8] = %2) {\n%9: f32[i: 8] = load X[i]\n%10: f32[i: 8] = "
        "exp2 %9\n%11: f32[i: 8] = exp2 %10\n%12: f32[i: 8] = mask %11, %0 where (i <= j)\n"
        "%13: f32[i: 8] = add %8, %12\nyield %13\n}\nstore O[8*i0 + i] = %7\n");
  };
  const Counts on = loops("3");
  EXPECT_EQ(on.at({Tiles::Full, "special"}), 1);
  EXPECT_EQ(on.at({Tiles::Partial, "special"}), 2);
  EXPECT_EQ(on.at({Tiles::Full, "fma"}), 1);
  EXPECT_EQ(on.at({Tiles::Partial, "fma"}), 1);
  EXPECT_FALSE(on.contains({Tiles::Full, "compare"}));
  EXPECT_EQ(on.at({Tiles::All, "store"}), 1);
}
TEST(CountOps, LoopsWithoutMasksThatGoOnCountOnce) {
  for (const char* from : {"3", "2"}) {  // goes on; is another loop
    const Counts c = counts_of(
        "%2: f32[i: 8] = for j in [0, 3) step 1 carry (%3: f32[i: 8] = %0) {\n"
        "%4: f32[i: 8] = load X[8*j + i]\n%6: f32[i: 8] = add %3, %4\nyield %6\n}\n"
        "%7: f32[i: 8] = for j in [" +
        std::string(from) +
        ", 3) step 1 carry (%8: f32[i: 8] = %2) {\n%9: f32[i: 8] = load X[8*j + i]\n%13: f32[i: "
        "8] = add %8, %9\nyield %13\n}\nstore O[8*i0 + i] = %7\n");
    EXPECT_EQ(c.at({Tiles::All, "fma"}), from[0] == '3' ? 1 : 2);
  }
}

// Blocks take one way. That of partial tiles is partial in its loops too, which have no masks.
TEST(CountOps, APathForPartialTilesIsPartialInAll) {
  const auto side = [](int at, const std::string& where) {
    const auto v = [&](int n) { return "%" + std::to_string(at + n); };
    return v(0) + ": f32[i: 8] = load X[8*i0 + i]" + where + "\n" + v(1) +
           ": f32[i: 8] = for j in [0, 3) step 1 carry (" + v(2) + ": f32[i: 8] = " + v(0) +
           ") {\n" + v(3) + ": f32[i: 8] = exp2 " + v(2) + "\nyield " + v(3) +
           "\n}\nstore O[8*i0 + i] = " + v(1) + where + "\n";
  };
  const std::string masked = " where (8*i0 + i <= 20)";
  for (const bool first : {false, true}) {
    const Counts c = counts_of("if (" + std::string(first ? "2 <= i0" : "i0 <= 1") + ") {\n" +
                               side(10, first ? masked : "") + "} else {\n" +
                               side(20, first ? "" : masked) + "}\n");
    EXPECT_EQ(c, (Counts{{{Tiles::Full, "load"}, 1},
                         {{Tiles::Full, "special"}, 1},
                         {{Tiles::Full, "store"}, 1},
                         {{Tiles::Partial, "load"}, 1},
                         {{Tiles::Partial, "special"}, 1},
                         {{Tiles::Partial, "store"}, 1}}));
  }
}

// The last iteration of a loop, written out with a mask along the loop's axis, is its partial tile;
// where the mask is along another axis, the loop runs for all.
TEST(CountOps, IterationsWrittenOutBesideTheirLoop) {
  for (const char* axis : {"j", "i"}) {
    const Counts c = counts_of(
        "%1: f32[i: 8] = for j0 in [0, i0) step 1 carry (%2: f32[i: 8] = %0) {\n"
        "%3: f32[j: 8] = load X[8*j0 + j]\n%4: f32[j: 8] = exp2 %3\n%5: f32 = reduce sum %4 over "
        "(j)\n%6: f32[i: 8] = add %2, %5\nyield %6\n}\n"
        "%7: f32[" +
        std::string(axis) + ": 8] = load X[8*i0 + " + axis + "] where (8*i0 + " + axis +
        " <= 20)\n%8: f32[" + axis + ": 8] = exp2 %7\n%9: f32 = reduce sum %8 over (" + axis +
        ")\n%10: f32[i: 8] = add %1, %9\nstore O[8*i0 + i] = %10\n");
    const bool out = axis[0] == 'j';
    EXPECT_EQ(c.at({out ? Tiles::Full : Tiles::All, "special"}), out ? 1 : 2) << axis;
    EXPECT_EQ(c.contains({Tiles::Partial, "special"}), out) << axis;
  }
}

TEST(RewriteRules, MalformedModulesComeBackUnchanged) {
  Module m;
  m.name = "m";
  Kernel k;
  k.name = "k";
  Builder b(k, k.body);
  b.map(Op::Add, {5, 6});
  m.kernels.push_back(k);
  RewriteReport report;
  EXPECT_EQ(print(rewrite(m, {}, &report)), print(m));
  EXPECT_EQ(report.stop_reason, "the module is malformed");
}

}  // namespace
}  // namespace nautilus::tile
