#include <chrono>
#include <limits>

#include "helpers.h"

namespace nautilus::tile {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Module with_kernel(const std::string& tensors, const std::string& kernel,
                   const std::string& sizes = "") {
  return module_of("module m {\n" + (sizes.empty() ? "" : "  sizes " + sizes + "\n") + tensors +
                   "  kernel k {\n" + kernel + "  }\n}\n");
}

TEST(Interpret, MaskedLanesNeverTouchMemory) {
  Module m = with_kernel("  tensor A: f32[N] input global\n  tensor O: f32[N] output global\n",
                         "grid i0 < floor((N + 3)/4)\nvalues 9\n"
                         "%0: f32[i: 4] = load A[4*i0 + i] where (4*i0 + i <= N - 1) fill -inf\n"
                         "%1: f32 = reduce max %0 over (i)\n%2: f32[i: 4] = sub %0, %1\n"
                         "store O[4*i0 + i] = %2 where (4*i0 + i <= N - 1)\n",
                         "N");
  for (int64_t n : {0, 1, 3, 4, 7, 13}) {
    poly::Buffers in = random_inputs(m, 1, {{"N", n}});
    auto out = outputs(m, in, true, {{"N", n}})["O"];
    ASSERT_EQ(out.size(), size_t(n));
    for (int64_t i = 0; i < n; ++i) {
      double best = -kInf;
      for (int64_t j = i / 4 * 4; j < std::min(n, i / 4 * 4 + 4); ++j)
        best = std::max(best, in["A"][size_t(j)]);
      EXPECT_EQ(out[size_t(i)], double(float(in["A"][size_t(i)] - best)));
    }
  }
}

TEST(Interpret, AccessOutOfBoundsNamesTheInstruction) {
  Module m = with_kernel("  tensor A: f32[5] input global\n  tensor O: f32[8] output global\n",
                         "values 9\n%0: f32[i: 8] = load A[i]\nstore O[i] = %0\n");
  auto r = interpret(m, {}, {{"A", {1, 2, 3, 4, 5}}});
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().why.find("index 5 is outside dimension 0 of A (extent 5)"), std::string::npos)
      << r.error().text();
  EXPECT_NE(r.error().where.find("load A[i]"), std::string::npos);
}

TEST(Interpret, GathersAndScatters) {
  Module m = with_kernel(
      "  tensor A: f32[3, 2] input global\n  tensor P: i32[4] input global\n  tensor O: f32[2, 4] "
      "output global\n",
      "values 9\n%0: i32[i: 4] = load P[i]\n%1: f32[d: 2, i: 4] = load A[%0, d]\n"
      "%2: i32[i: 4] = iota 3 - i\nstore O[d, %2] = %1\n");
  auto out = outputs(m, {{"A", {1, 2, 3, 4, 5, 6}}, {"P", {2, 0, 1, 2}}})["O"];
  EXPECT_EQ(out, (std::vector<double>{5, 3, 1, 5, 6, 4, 2, 6}));
  EXPECT_FALSE(interpret(m, {}, {{"A", {1, 2, 3, 4, 5, 6}}, {"P", {2, 0, 3, 2}}}));
}

TEST(Interpret, LoopsCarryValuesInParallel) {
  // Fibonacci: (a, b) <- (b, a + b); and a swap shows that yields are read before they are written.
  Module m = with_kernel(
      "  tensor O: f32[4] output global\n",
      "values 99\n%0: f32 = const 0\n%1: f32 = const 1\n"
      "%2: f32, %3: f32 = for n in [0, 10) step 1 carry (%4: f32 = %0, %5: f32 = %1) {\n"
      "  %6: f32 = add %4, %5\n  yield %5, %6\n}\n"
      "%7: f32, %8: f32 = for q in [3, 8) step 2 carry (%9: f32 = %0, %10: f32 = %1) {\n  yield "
      "%10, %9\n}\n"
      "store O[0] = %2\nstore O[1] = %3\nstore O[2] = %7\nstore O[3] = %8\n");
  EXPECT_EQ(outputs(m, {})["O"], (std::vector<double>{55, 89, 1, 0}));
}

TEST(Interpret, EmptyLoopKeepsInitialValuesAndBroadcasts) {
  Module m = with_kernel(
      "  tensor A: f32[2] input global\n  tensor O: f32[2, 3] output global\n",
      "grid g < 2\nvalues 99\n%0: f32 = const -inf\n"
      "%1: f32[i: 3] = for n in [0, g) step 1 carry (%2: f32[i: 3] = %0) {\n"
      "  %3: f32 = load A[n]\n  %4: f32[i: 3] = max %2, %3\n  yield %4\n}\nstore O[g, i] = %1\n");
  EXPECT_EQ(outputs(m, {{"A", {7, 8}}})["O"], (std::vector<double>{-kInf, -kInf, -kInf, 7, 7, 7}));
}

TEST(Interpret, IfTakesOneSide) {
  Module m = with_kernel("  tensor A: f32[3] input global\n  tensor O: f32[5] output global\n",
                         "grid g < 5\nvalues 99\n%0: f32 = if (g <= 2) {\n  %1: f32 = load A[g]\n  "
                         "yield %1\n} else {\n"
                         "  %2: f32 = const -1\n  yield %2\n}\nstore O[g] = %0\n");
  EXPECT_EQ(outputs(m, {{"A", {5, 6, 7}}})["O"], (std::vector<double>{5, 6, 7, -1, -1}));
}

TEST(Interpret, BranchesOnDataAreCounted) {
  Module m = with_kernel(
      "  tensor A: f32[5] input global\n  tensor O: f32[5] output global\n",
      "grid g < 5\nvalues 99\n%0: f32 = load A[g]\n%1: f32 = const 0\n%2: bool = lt %0, %1\n"
      "%3: f32 = if %2 @S_x {\n  %4: f32 = neg %0\n  yield %4\n} else {\n  yield %0\n}\n"
      "store O[g] = %3\n");
  std::map<std::string, BranchCount> branches;
  InterpretOptions o;
  o.branches = &branches;
  const double nan = std::nan("");
  auto r = interpret(m, {}, {{"A", {5, -6, 7, -8, nan}}}, o);
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_EQ((*r)["O"][1], 6);
  EXPECT_EQ((*r)["O"][3], 8);
  EXPECT_TRUE(std::isnan((*r)["O"][4]));
  EXPECT_EQ(branches["S_x"].reached, 5u);
  EXPECT_EQ(branches["S_x"].taken, 2u);
}

TEST(Interpret, SharedBuffersAreAsNewInEveryBlock) {
  Module m =
      with_kernel("  tensor O: f32[2, 4] output global\n",
                  "grid g < 2\nbuffer s: f32[4] temp shared\nvalues 99\n%0: f32[i: 4] = load s[i]\n"
                  "store O[g, i] = %0\n%1: f32 = const 1\nstore s[i] = %1 span (i: 4)\nbarrier\n");
  const poly::Buffers out = outputs(m, {});
  for (double v : out.at("O")) EXPECT_TRUE(std::isnan(v));
}

TEST(Interpret, TempsPassBetweenKernels) {
  Module m = module_of(
      "module m { tensor A: f32[4] input global\n tensor T: f32[4] temp global\n tensor O: f32[4] "
      "output global\n"
      " kernel a { values 9 %0: f32[i: 4] = load A[i]\n %1: f32[i: 4] = mul %0, %0\n store T[i] = "
      "%1 }\n"
      " kernel b { values 9 %0: f32[i: 4] = load T[3 - i]\n store O[i] = %0 } }");
  EXPECT_EQ(outputs(m, {{"A", {1, 2, 3, 4}}})["O"], (std::vector<double>{16, 9, 4, 1}));
}

TEST(Interpret, ReductionsAndDotsAgainstPlainLoops) {
  Module m = with_kernel(
      "  tensor A: f32[4, 6] input global\n  tensor B: f32[6, 3] input global\n  tensor O: f32[4, "
      "3] output global\n"
      "  tensor R: f32[5, 6] output global\n",
      "values 99\n%0: f32[i: 4, k: 6] = load A[i, k]\n%1: f32[j: 3, k: 6] = load B[k, j]\n"
      "%2: f32[i: 4, j: 3] = dot %0, %1 over (k)\nstore O[i, j] = %2\n"
      "%3: f32[k: 6] = reduce max %0 over (i)\nstore R[0, k] = %3\n%4: f32[k: 6] = reduce prod %0 "
      "over (i)\nstore R[1, k] = %4\n"
      "%5: f32[i: 4] = reduce min %0 over (k)\nstore R[2, i] = %5\n"
      "%6: f32 = const 0\n%7: bool[i: 4, k: 6] = lt %0, %6\n%8: bool[i: 4] = reduce any %7 over "
      "(k)\n%9: f32[i: 4] = cast %8\n"
      "store R[3, i] = %9\n%10: f32[i: 4] = reduce user %0 over (k) combine \"(a + b) + a*b\" "
      "identity \"0\"\nstore R[4, i] = %10\n");
  poly::Buffers in = random_inputs(m, 5);
  auto out = outputs(m, in, false);
  const auto &a = in["A"], &b = in["B"];
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      double s = 0;
      for (size_t k = 0; k < 6; ++k) s += a[i * 6 + k] * b[k * 3 + j];
      EXPECT_EQ(out["O"][i * 3 + j], s);
    }
    double least = kInf, user = 0;
    bool any = false;
    for (size_t k = 0; k < 6; ++k) {
      least = std::min(least, a[i * 6 + k]);
      any = any || a[i * 6 + k] < 0;
      user = k == 0 ? a[i * 6] : user + a[i * 6 + k] + user * a[i * 6 + k];
    }
    EXPECT_EQ(out["R"][12 + i], least);
    EXPECT_EQ(out["R"][18 + i], any);
    EXPECT_NEAR(out["R"][24 + i], user, 1e-12);
  }
  for (size_t k = 0; k < 6; ++k) {
    EXPECT_EQ(out["R"][k], std::max({a[k], a[6 + k], a[12 + k], a[18 + k]}));
    EXPECT_EQ(out["R"][6 + k], a[k] * a[6 + k] * a[12 + k] * a[18 + k]);
  }
}

TEST(Interpret, ValuesAreRoundedToTheirType) {
  Module m = with_kernel(
      "  tensor A: f32[4] input global\n  tensor H: f16[4] output global\n  tensor I: i32[4] "
      "output global\n",
      "values 9\n%0: f32[i: 4] = load A[i]\n%1: f16[i: 4] = cast %0\nstore H[i] = %1\n"
      "%2: i32[i: 4] = cast %0\nstore I[i] = %2\n");
  const double third = 1.0 / 3;
  auto out = outputs(m, {{"A", {third, 1e6, -2.7, kInf}}});
  EXPECT_EQ(out["H"], (std::vector<double>{round_to_type(double(float(third)), Type::F16), kInf,
                                           round_to_type(double(-2.7f), Type::F16), kInf}));
  EXPECT_EQ(out["I"], (std::vector<double>{0, 1e6, -2, 2147483647}));
  EXPECT_EQ(outputs(m, {{"A", {third, 0, 0, 0}}}, false)["H"][0], third);
}

TEST(Interpret, InfinityAndNanFlowAsInIeee) {
  Module m = with_kernel(
      "  tensor A: f32[3] input global\n  tensor O: f32[4, 3] output global\n",
      "values 99\n%0: f32[i: 3] = load A[i]\n%1: f32[i: 3] = sub %0, %0\nstore O[0, i] = %1\n"
      "%2: f32 = const -inf\n%3: f32[i: 3] = max %1, %2\nstore O[1, i] = %3\n"
      "%4: bool[i: 3] = eq %0, %0\n%5: f32 = const 1\n%6: f32[i: 3] = select %4, %5, %1\nstore "
      "O[2, i] = %6\n"
      "%7: f32[i: 3] = exp %0\nstore O[3, i] = %7\n");
  auto o = outputs(m, {{"A", {-kInf, 1, std::nan("")}}})["O"];
  EXPECT_TRUE(std::isnan(o[0]));
  EXPECT_EQ(o[1], 0);
  EXPECT_EQ(o[3], -kInf);  // maxNum: the number wins over NaN
  EXPECT_EQ(o[6], 1);
  EXPECT_TRUE(std::isnan(o[8]));
  EXPECT_EQ(o[9], 0);
}

TEST(Interpret, IndicesWithFloorAndModInLanes) {
  Module m = with_kernel(
      "  tensor A: f32[2, 3] input global\n  tensor O: f32[6] output global\n",
      "values 9\n%0: f32[i: 6] = load A[floor(i/3), mod(i, 3)]\nstore O[max(5 - i, 0)] = %0\n");
  EXPECT_EQ(outputs(m, {{"A", {1, 2, 3, 4, 5, 6}}})["O"], (std::vector<double>{6, 5, 4, 3, 2, 1}));
}

TEST(Interpret, BudgetAndMissingInputsAreRefusals) {
  Module m = with_kernel("  tensor A: f32[4] input global\n  tensor O: f32[4] output global\n",
                         "values 9\n%0: f32[i: 4] = load A[i]\nfor j in [0, 1000000000000) step 1 "
                         "{\n  store O[i] = %0\n}\n");
  InterpretOptions o;
  o.max_ops = 100000;
  auto r = interpret(m, {}, {{"A", {1, 2, 3, 4}}}, o);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().why.find("operations"), std::string::npos);
  EXPECT_FALSE(interpret(m, {}, {}));
  EXPECT_FALSE(interpret(m, {}, {{"A", {1}}}));
}

TEST(Interpret, IsFastEnoughForTests) {
  Module m = with_kernel(
      "  tensor A: f32[64, 64] input global\n  tensor O: f32[64, 64] output global\n",
      "values 99\n%0: f32[i: 64, k: 64] = load A[i, k]\n"
      "%1: f32[i: 64, k: 64] = for n in [0, 100) step 1 carry (%2: f32[i: 64, k: 64] = %0) {\n"
      "  %3: f32[i: 64] = reduce sum %2 over (k)\n  %4: f32[i: 64, k: 64] = sub %2, %3\n"
      "  %5: f32[i: 64, k: 64] = mul %4, %4\n  %6: f32[i: 64, k: 64] = add %5, %0\n"
      "  %7: f32[i: 64, k: 64] = mask %6, %0 where (k <= i + n)\n  yield %7\n}\nstore O[i, k] = "
      "%1\n");
  auto start = std::chrono::steady_clock::now();
  outputs(m, random_inputs(m, 1));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%.1f million lane operations a second\n", 5 * 4096 * 100 / seconds / 1e6);
}

}  // namespace
}  // namespace nautilus::tile
