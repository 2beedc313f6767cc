// Emitted code against the interpreter, one feature at a time.
#include "cpu_attention.h"
#include "cpu_helpers.h"

namespace nautilus::cpu {
namespace {

tile::Module with_kernel(const std::string& tensors, const std::string& kernel) {
  return module_of("module m {\n" + tensors + "  kernel k {\n" + kernel + "  }\n}\n");
}

TEST(CpuEmit, MaskedLoadsAndStoresNeverTouchMemory) {
  for (int64_t size : {0, 1, 3, 4, 7, 16, 37}) {
    auto m = with_kernel(
        "  tensor A: f32[" + n(size) + "] input global\n  tensor O: f32[" + n(size) +
            "] output global\n",
        "grid i0 < " + n((size + 15) / 16) +
            "\nvalues 9\n%0: f32[i: 16] = load A[16*i0 + i] where (16*i0 + i <= " + n(size - 1) +
            ") fill -inf\n%1: f32 = reduce max %0 over (i)\n%2: f32[i: 16] = sub %0, %1\nstore "
            "O[16*i0 + i] = %2 where (16*i0 + i <= " +
            n(size - 1) + ")\n");
    expect_as_interpreted(m, 0);
  }
}

TEST(CpuEmit, GathersAndScatters) {
  expect_as_interpreted(
      with_kernel("  tensor A: f32[4, 2] input global\n  tensor P: i32[4] input global\n  tensor "
                  "O: f32[2, 4] output global\n",
                  "values 9\n%0: i32[i: 4] = load P[i]\n%1: f32[d: 2, i: 4] = load A[%0, d]\n%2: "
                  "i32[i: 4] = iota 3 - i\nstore O[d, %2] = %1\n"),
      0);
}

TEST(CpuEmit, LoopsCarryValuesInParallel) {
  expect_as_interpreted(
      with_kernel("  tensor O: f32[4] output global\n",
                  "values 99\n%0: f32 = const 0\n%1: f32 = const 1\n%2: f32, %3: f32 = for n in "
                  "[0, 10) step 1 carry (%4: f32 = %0, %5: f32 = %1) {\n"
                  "%6: f32 = add %4, %5\nyield %5, %6\n}\n%7: f32, %8: f32 = for q in [3, 8) step "
                  "2 carry (%9: f32 = %0, %10: f32 = %1) {\nyield %10, %9\n}\n"
                  "store O[0] = %2\nstore O[1] = %3\nstore O[2] = %7\nstore O[3] = %8\n"),
      0);
  // The same with tiles: a swap, and a value that reads the other's old value after it is computed.
  expect_as_interpreted(
      with_kernel("  tensor A: f32[20] input global\n  tensor B: f32[20] input global\n  tensor O: "
                  "f32[2, 20] output global\n",
                  "values 99\n%0: f32[i: 20] = load A[i]\n%1: f32[i: 20] = load B[i]\n"
                  "%2: f32[i: 20], %3: f32[i: 20] = for n in [0, 3) step 1 carry (%4: f32[i: 20] = "
                  "%0, %5: f32[i: 20] = %1) {\n"
                  "%6: f32[i: 20] = max %4, %5\n%7: f32[i: 20] = sub %4, %6\n%8: f32[i: 20] = sub "
                  "%5, %7\nyield %8, %6\n}\n"
                  "%9: f32[i: 20], %10: f32[i: 20] = for q in [0, 3) step 1 carry (%11: f32[i: 20] "
                  "= %2, %12: f32[i: 20] = %3) {\nyield %12, %11\n}\n"
                  "store O[0, i] = %9\nstore O[1, i] = %10\n"),
      1e-6);
}

TEST(CpuEmit, EmptyLoopKeepsInitialValuesAndBroadcasts) {
  expect_as_interpreted(
      with_kernel(
          "  tensor A: f32[2] input global\n  tensor O: f32[2, 3] output global\n",
          "grid g < 2\nvalues 99\n%0: f32 = const -inf\n%1: f32[i: 3] = for n in [0, g) step 1 "
          "carry (%2: f32[i: 3] = %0) {\n"
          "%3: f32 = load A[n]\n%4: f32[i: 3] = max %2, %3\nyield %4\n}\nstore O[g, i] = %1\n"),
      0);
}

TEST(CpuEmit, BranchesAndSpans) {
  expect_as_interpreted(
      with_kernel("  tensor A: f32[3] input global\n  tensor O: f32[5, 6] output global\n",
                  "grid g < 5\nvalues 99\n%0: f32 = if (g <= 2) {\n%1: f32 = load A[g]\nyield "
                  "%1\n} else {\n%2: f32 = const -1\nyield %2\n}\n"
                  "%3: f32 = reduce sum %0 over (r) span (r: 4)\nstore O[g, i] = %3 span (i: 6)\n"),
      1e-6);
}

TEST(CpuEmit, SharedBuffersArePrivateToABlock) {
  expect_as_interpreted(
      with_kernel("  tensor A: f32[8, 24] input global\n  tensor O: f32[8, 24] output global\n",
                  "grid g < 8\nbuffer s: f32[24] temp shared\nvalues 99\n%0: f32[i: 24] = load "
                  "A[g, i]\nstore s[i] = %0\nbarrier\n"
                  "%1: f32[i: 24] = load s[23 - i]\nstore O[g, i] = %1\n"),
      0);
}

TEST(CpuEmit, StorageTypesConvert) {
  std::string tensors, kernels;
  for (const std::string t : {"f16", "bf16", "e4m3", "e5m2", "f32", "f64", "i32", "i8", "bool"}) {
    tensors += "  tensor A_" + t + ": " + t + "[5, 19] input global\n";
    for (const std::string u : {"f16", "bf16", "e4m3", "e5m2", "f32", "f64", "i32", "i8", "bool"}) {
      if (t == u || (t.size() + size_t(t[0]) + u.size() + size_t(u[0])) % 3 == 0)
        continue;  // some pairs: compiling takes time
      tensors += "  tensor " + t + "_" + u + ": " + u + "[5, 19] output global\n";
      kernels += "  kernel k_" + t + "_" + u + " {\n    values 9\n%0: " + t +
                 "[i: 5, j: 19] = load A_" + t + "[i, j]\n%1: " + u +
                 "[i: 5, j: 19] = cast %0\nstore " + t + "_" + u + "[i, j] = %1\n  }\n";
    }
  }
  expect_as_interpreted(module_of("module m {\n" + tensors + kernels + "}\n"), 0);
}

TEST(CpuEmit, IntegerArithmeticWraps) {
  expect_as_interpreted(
      with_kernel("  tensor A: i32[17] input global\n  tensor O: i32[17] output global\n  tensor "
                  "S: i32[] output global\n",
                  "values 20\n%0: i32[i: 17] = load A[i]\n%1: i32 = const 1500000000\n%2: i32[i: "
                  "17] = mul %0, %1\n%3: i32[i: 17] = add %2, %1\n"
                  "%4: i32[i: 17] = iota i - 5\n%5: i32[i: 17] = max %3, %4\n%6: i32[i: 17] = neg "
                  "%5\nstore O[i] = %6\n%7: i32 = reduce sum %6 over (i)\nstore S[] = %7\n"),
      0);
}

TEST(CpuEmit, EveryReduction) {
  for (const std::string op : {"sum", "prod", "max", "min", "any", "all"})
    for (const char* axes : {"i", "j", "i, j"}) {
      const bool logic = op == "any" || op == "all", both = std::string(axes) == "i, j";
      const std::string elem = logic ? "bool" : "f32", rest = both                       ? ""
                                                              : std::string(axes) == "i" ? "[j: 48]"
                                                                                         : "[i: 3]";
      const std::string dims = both                       ? "[]"
                               : std::string(axes) == "i" ? "[48]"
                                                          : "[3]",
                        at = both                       ? "[]"
                             : std::string(axes) == "i" ? "[j]"
                                                        : "[i]";
      expect_as_interpreted(
          with_kernel("  tensor A: " + elem + "[3, 48] input global\n  tensor O: " + elem + dims +
                          " output global\n",
                      "values 9\n%0: " + elem + "[i: 3, j: 48] = load A[i, j]\n%1: " + elem + rest +
                          " = reduce " + op + " %0 over (" + axes + ")\nstore O" + at + " = %1\n"),
          1e-5);
    }
  expect_as_interpreted(
      with_kernel("  tensor A: f32[3, 48] input global\n  tensor O: f32[3] output global\n",
                  "values 9\n%0: f32[i: 3, j: 48] = load A[i, j]\n%1: f32[i: 3] = reduce user %0 "
                  "over (j) combine \"a + b - a * b * 0.5\" identity \"0\"\nstore O[i] = %1\n"),
      1e-3);
}

// C = A B for every orientation of the operands in memory and odd extents; a kernel a shape.
TEST(CpuEmit, ProductsInEveryOrientation) {
  struct Case {
    int64_t m, n, k;
  };
  for (int orientation = 0; orientation < 8; ++orientation) {
    const bool at = orientation & 1, bt = orientation & 2, ct = orientation & 4;
    auto dims = [](bool t, int64_t x, int64_t y) {
      return "[" + n(t ? y : x) + ", " + n(t ? x : y) + "]";
    };
    auto index = [](bool t, const char* x, const char* y) {
      return std::string("[") + (t ? y : x) + ", " + (t ? x : y) + "]";
    };
    std::string tensors, kernels;
    for (const Case c :
         {Case{1, 1, 1}, {4, 16, 8}, {13, 77, 31}, {64, 1, 5}, {3, 65, 2}, {7, 5, 3}}) {
      const std::string I = "i: " + n(c.m), J = "j: " + n(c.n), K = "k: " + n(c.k),
                        tag = n(c.m) + "_" + n(c.n);
      tensors += "  tensor A" + tag + ": f32" + dims(at, c.m, c.k) + " input global\n  tensor B" +
                 tag + ": f32" + dims(bt, c.k, c.n) + " input global\n  tensor C" + tag + ": f32" +
                 dims(ct, c.m, c.n) + " output global\n";
      kernels += "  kernel k" + tag + " {\n    values 9\n%0: f32[" + I + ", " + K + "] = load A" +
                 tag + index(at, "i", "k") + "\n%1: f32[" + J + ", " + K + "] = load B" + tag +
                 index(bt, "k", "j") + "\n%2: f32[" + I + ", " + J +
                 "] = dot %0, %1 over (k)\nstore C" + tag + index(ct, "i", "j") + " = %2\n  }\n";
    }
    expect_as_interpreted(module_of("module m {\n" + tensors + kernels + "}\n"), 1e-5);
  }
}

TEST(CpuEmit, ProductsWithBatchesSeveralSumsAndOtherTypes) {
  expect_as_interpreted(
      with_kernel("  tensor A: f32[3, 5, 4, 6] input global\n  tensor B: f32[3, 4, 6, 18] input "
                  "global\n  tensor C: f32[3, 5, 18] output global\n",
                  "values 9\n%0: f32[b: 3, i: 5, k: 4, l: 6] = load A[b, i, k, l]\n%1: f32[b: 3, "
                  "j: 18, k: 4, l: 6] = load B[b, k, l, j]\n"
                  "%2: f32[b: 3, i: 5, j: 18] = dot %0, %1 over (k, l)\nstore C[b, i, j] = %2\n"),
      1e-5);
  expect_as_interpreted(
      with_kernel("  tensor A: f16[9, 33] input global\n  tensor B: bf16[33, 20] input global\n  "
                  "tensor C: f64[9, 20] output global\n",
                  "values 9\n%0: f16[i: 9, k: 33] = load A[i, k]\n%1: bf16[j: 20, k: 33] = load "
                  "B[k, j]\n%2: f64[i: 9, j: 20] = dot %0, %1 over (k)\nstore C[i, j] = %2\n"),
      1e-12);
  expect_as_interpreted(
      with_kernel(
          "  tensor A: i8[9, 33] input global\n  tensor B: i8[33] input global\n  tensor C: i32[9] "
          "output global\n  tensor D: f32[] output global\n  tensor X: f32[33] input global\n",
          "values 9\n%0: i8[i: 9, k: 33] = load A[i, k]\n%1: i8[k: 33] = load B[k]\n%2: i32[i: 9] "
          "= dot %0, %1 over (k)\nstore C[i] = %2\n"
          "%3: f32[k: 33] = load X[k]\n%4: f32 = dot %3, %3 over (k)\nstore D[] = %4\n"),
      1e-5);
}

TEST(CpuEmit, Attention) {
  for (const bool causal : {false, true}) {
    expect_as_interpreted(module_of(fused_attention(1, 64, 32, 32, 16, causal)), 1e-5);
    expect_as_interpreted(module_of(fused_attention(1, 32, 16, 16, 16, causal, "f16")), 2e-3);
  }
  expect_as_interpreted(module_of(unfused_attention(2, 24, 16)), 1e-5);
}

// Masked -inf arithmetic stays right with reassociation on: rows without any element are 0, not
// NaN.
TEST(CpuEmit, InfinitiesSurviveReassociation) {
  auto m = with_kernel(
      "  tensor A: f32[40, 48] input global\n  tensor O: f32[40] output global\n",
      "values 30\n%0: f32 = const -inf\n%1: f32 = const 0\n%2: f32[i: 40, j: 48] = load A[i, "
      "j]\n%3: f32[i: 40, j: 48] = mask %2, %0 where (j <= i - 8)\n"
      "%4: f32[i: 40] = reduce max %3 over (j)\n%5: f32[i: 40, j: 48] = sub %3, %4\n%6: f32[i: 40, "
      "j: 48] = exp %5\n%7: f32[i: 40, j: 48] = mask %6, %1 where (j <= i - 8)\n"
      "%8: f32[i: 40] = reduce sum %7 over (j)\n%9: bool[i: 40] = eq %4, %0\n%10: f32[i: 40] = "
      "select %9, %1, %8\nstore O[i] = %10\n");
  expect_as_interpreted(m, 1e-5);
}

TEST(CpuEmit, RefusesWhatIsNotBound) {
  auto m = tile::parse(
      "module m {\n  sizes N\n  tensor O: f32[N] output global\n  kernel k {\n    grid g < N\n    "
      "values 9\n%0: f32 = const 1\nstore O[g] = %0\n  }\n}\n");
  ASSERT_TRUE(m) << m.error().text();
  auto text = emit(*m);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().why.find("N"), std::string::npos);
}

TEST(CpuEmit, TextIsDeterministicAndReadable) {
  auto m = module_of(fused_attention(2, 64, 16, 16, 16, true));
  auto a = emit(m), b = emit(m);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a, *b);
  // The key tile is read where it lies; no copy of it is made (K appears once as an operand of a
  // product).
  EXPECT_NE(a->find("&T_K["), std::string::npos);
  EXPECT_EQ(a->find("packed"), std::string::npos);
}

}  // namespace
}  // namespace nautilus::cpu
