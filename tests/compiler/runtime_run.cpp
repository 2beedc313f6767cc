// Candidates in a child process: right, wrong, crashing, hanging, hungry.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <chrono>
#include <cmath>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/runtime/compare.h"
#include "compiler/runtime/extents.h"
#include "compiler/runtime/process.h"
#include "cpu_helpers.h"
#include "tests/polyhedral/program_samples.h"

namespace nautilus::runtime {
namespace {

using poly::samples::parsed;

// C = A B over 8 x 6 x 5, with `body` after the loads %0 = A[i, j], %1 = B[j, k].
tile::Module product(const std::string& body) {
  return cpu::module_of(
      "module candidate {\n  tensor A: f32[8, 6] input global\n  tensor B: f32[6, 5] input "
      "global\n  tensor C: f32[8, 5] output global\n"
      "  kernel k {\n    values 99\n%0: f32[i: 8, j: 6] = load A[i, j]\n%1: f32[j: 6, k: 5] = load "
      "B[j, k]\n" +
      body + "  }\n}\n");
}
const char* const kRight = "%2: f32[i: 8, k: 5] = dot %0, %1 over (j)\nstore C[i, k] = %2\n";
const poly::Sizes kSizes{{"N", 8}, {"M", 6}, {"K", 5}};

RunResult run(const tile::Module& m, const RunOptions& o = {}) {
  auto r = run_cpu(parsed(poly::samples::kMatmul), kSizes, m, o);
  if (!r) {
    ADD_FAILURE() << r.error().text();
    return {};
  }
  return *r;
}

TEST(RunCpu, RightResultPasses) {
  const RunResult r = run(product(kRight));
  EXPECT_TRUE(r.passed) << r.failure;
  EXPECT_EQ(r.failure, "");
  EXPECT_EQ(r.compared, 40);
  EXPECT_LT(r.max_error, 1e-5);
  EXPECT_GT(r.baseline_max_error, 0);
  EXPECT_GT(r.seconds, 0);
  EXPECT_GT(r.compile_seconds, 0);
  const auto j = to_json(r);
  EXPECT_EQ(j.at("passed"), true);
  EXPECT_EQ(j.at("compared"), 40);
}

TEST(RunCpu, WrongResultNamesElements) {
  const RunResult r =
      run(product("%2: f32[i: 8, k: 5] = dot %0, %1 over (j)\n%3: f32 = const 1.001\n%4: f32[i: 8, "
                  "k: 5] = mul %2, %3\nstore C[i, k] = %4\n"));
  EXPECT_FALSE(r.passed);
  EXPECT_EQ(r.failure.rfind("wrong result: ", 0), 0u) << r.failure;
  ASSERT_FALSE(r.worst.empty());
  EXPECT_EQ(r.worst[0].rfind("C[", 0), 0u) << r.worst[0];
}

TEST(RunCpu, ElementsNeverWrittenAreWrong) {
  const RunResult r = run(
      product("%2: f32[i: 8, k: 5] = dot %0, %1 over (j)\nstore C[i, k] = %2 where (i <= 6)\n"));
  EXPECT_FALSE(r.passed);
  EXPECT_NE(r.failure.find("5 of 40"), std::string::npos) << r.failure;
}

TEST(RunCpu, CrashIsAResult) {
  const RunResult r = run(
      product(std::string(kRight) +
              "%5: f32 = const 1\nfor n in [0, 1) step 1 {\nstore C[1000000000 + n, 0] = %5\n}\n"));
  EXPECT_FALSE(r.passed);
  EXPECT_EQ(r.failure.rfind("killed by SIG", 0), 0u) << r.failure;
  EXPECT_NE(r.failure.find("while running"), std::string::npos);
}

TEST(RunCpu, HangIsAResult) {
  RunOptions o;
  o.seconds = 3;
  const auto t0 = std::chrono::steady_clock::now();
  const RunResult r =
      run(product("%2: f32[i: 8, k: 5] = dot %0, %1 over (j)\n%3: f32[i: 8, k: 5] = for n in [0, "
                  "100000000000000) step 1 carry (%4: f32[i: 8, k: 5] = %2) {\n"
                  "%5: f32[i: 8, k: 5] = sigmoid %4\nyield %5\n}\nstore C[i, k] = %3\n"),
          o);
  EXPECT_FALSE(r.passed);
  EXPECT_EQ(r.failure.rfind("timeout after 3 s", 0), 0u) << r.failure;
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count(), 60);
}

TEST(RunCpu, MemoryExhaustionIsAResult) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer reserves terabytes, so address space is not limited";
#endif
  RunOptions o;
  o.memory_bytes = 2ull << 30;
  tile::Module m = product(kRight);
  m.tensors.push_back({"huge",
                       Type::F32,
                       poly::TensorKind::Temp,
                       poly::Scope::Global,
                       {IndexExpr(int64_t(1) << 30)}});
  const RunResult r = run(m, o);
  EXPECT_FALSE(r.passed);
  EXPECT_EQ(r.failure, "memory limit");
}

TEST(RunCpu, NothingToCompareIsSaid) {
  auto m = cpu::module_of(
      "module empty {\n  tensor A: f32[0, 6] input global\n  tensor B: f32[6, 5] input global\n  "
      "tensor C: f32[0, 5] output global\n  kernel k {\n    grid g < 0\n    values 9\n"
      "%0: f32 = const 1\nstore C[g, 0] = %0\n  }\n}\n");
  auto r = run_cpu(parsed(poly::samples::kMatmul), {{"N", 0}, {"M", 6}, {"K", 5}}, m, {});
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_TRUE(r->passed);
  EXPECT_EQ(r->compared, 0);
  ASSERT_EQ(r->worst.size(), 1u);
  EXPECT_NE(r->worst[0].find("nothing to compare"), std::string::npos);
}

TEST(RunCpu, OtherShapesAreRefused) {
  auto r =
      run_cpu(parsed(poly::samples::kMatmul), {{"N", 9}, {"M", 6}, {"K", 5}}, product(kRight), {});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().where, "A");
}

TEST(RunCpu, ChildrenAndDescriptorsAreGone) {
  auto count = [] {
    int n = 0;
    for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
    return n;
  };
  run(product(kRight));
  const int before = count();
  for (int k = 0; k < 3; ++k) run(product(kRight));
  EXPECT_EQ(count(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no zombie
}

TEST(RunChild, ReportsExitAndOutput) {
  auto end = run_child("/bin/sh", {"-c", "echo hello; exit 7"}, {}, {10, 0});
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status, 7);
  EXPECT_EQ(end->log, "hello\n");
  auto slow = run_child("/bin/sh", {"-c", "sleep 100 & sleep 100"}, {}, {0.2, 0});
  ASSERT_TRUE(slow);
  EXPECT_TRUE(slow->timed_out);
}

TEST(Compare, SpecialValuesAndSampling) {
  const auto p =
      instantiate_for_run(parsed(poly::samples::kMatmul), {{"N", 2}, {"M", 1}, {"K", 3}});
  ASSERT_TRUE(p);
  const double inf = INFINITY, nan = NAN;
  Reference ref;
  ref.outputs["C"] = {1, inf, nan, -inf, 2, nan};
  ref.known["C"] = {1, 1, 1, 1, 1, 0};
  auto with = [&](std::vector<double> got, double tolerance = 0) {
    RunResult r;
    RunOptions o;
    o.tolerance = tolerance;
    compare(*p, ref, {}, {{"C", std::move(got)}}, o, r);
    return r;
  };
  EXPECT_TRUE(with({1, inf, nan, -inf, 2, 99}).passed);  // the last is not known
  EXPECT_EQ(with({1, inf, nan, -inf, 2, 99}).compared, 5);
  EXPECT_FALSE(with({1, -inf, nan, -inf, 2, 0}).passed);
  EXPECT_FALSE(with({1, inf, 0, -inf, 2, 0}).passed);
  EXPECT_FALSE(with({nan, inf, nan, -inf, 2, 0}).passed);
  EXPECT_FALSE(with({1.01, inf, nan, -inf, 2, 0}).passed);
  EXPECT_TRUE(with({1.01, inf, nan, -inf, 2, 0}, 0.1).passed);
}

// What default numerics take for granted is named where values show that it does not hold.
TEST(Compare, WrongResultsNameTheAssumption) {
  const auto p =
      instantiate_for_run(parsed(poly::samples::kMatmul), {{"N", 2}, {"M", 1}, {"K", 3}});
  ASSERT_TRUE(p);
  auto advice = [&](const std::vector<double>& want, const std::vector<double>& got,
                    tile::Numerics numerics) {
    Reference ref;
    ref.outputs["C"] = want;
    ref.known["C"].assign(want.size(), 1);
    RunResult r;
    RunOptions o;
    o.numerics = numerics;
    compare(*p, ref, {}, {{"C", got}}, o, r);
    EXPECT_EQ(to_json(r)["suggest"], r.suggest);
    return r.suggest;
  };
  const std::vector<double> ones(6, 1.0);
  std::vector<double> odd = ones, off = ones;
  odd[3] = NAN;
  off[3] = 2;
  const std::string assumed = "numerics reassociate assume finite operands";
  EXPECT_TRUE(advice(ones, odd, tile::Numerics::Reassociate).starts_with(assumed));
  EXPECT_TRUE(advice(odd, off, tile::Numerics::Reassociate).starts_with(assumed));
  EXPECT_NE(advice(odd, ones, tile::Numerics::Fast).find("--numerics strict"), std::string::npos);
  // Finite throughout: nothing but the rewrites' rounding can be meant.
  EXPECT_TRUE(advice(ones, off, tile::Numerics::Reassociate)
                  .starts_with("--numerics strict shows whether the rewrites"));
  // Strict numerics assume nothing, and what is right needs no advice.
  EXPECT_EQ(advice(ones, odd, tile::Numerics::Strict), "");
  EXPECT_EQ(advice(odd, odd, tile::Numerics::Reassociate), "");
}

}  // namespace
}  // namespace nautilus::runtime
