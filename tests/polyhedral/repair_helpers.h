// What the tests of rolling_update, split_k and the verifier share: inputs, results against the
// interpreter, and a program with two dependent sums.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/polyhedral/repair_run.h"
#include "tests/polyhedral/transform_helpers.h"

namespace nautilus::poly::testing_programs {

// Normal numbers, rounded to float.
inline std::vector<double> noise(size_t n, uint64_t seed, double mean = 0, double sigma = 1) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> d(mean, sigma);
  std::vector<double> v(n);
  for (double& x : v) x = double(float(d(rng)));
  return v;
}

inline void expect_near(const std::vector<double>& a, const std::vector<double>& b,
                        double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) continue;  // an element that the program leaves undefined
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << "element " << i;
  }
}

// The schedule's results are those of the program it started from.
inline void expect_same(const Session& t, const Sizes& sizes, const Buffers& inputs,
                        double tolerance = 1e-9) {
  const auto want = interpret(*t.program, sizes, inputs);
  ASSERT_TRUE(want) << want.error().text();
  RepairRun run(t.s, sizes, inputs);
  run.sizes_ = sizes;
  const Buffers got = run.outputs();
  for (const auto& [name, values] : *want) {
    SCOPED_TRACE(name);
    expect_near(got.at(name), values, tolerance);
  }
}

inline std::string words(const Outcome& o) {
  return o.refusal ? o.refusal->text()
                   : std::string(verdict_name(o.verdict.kind)) + ": " + o.verdict.why;
}

inline ProgramPtr bound(ProgramPtr p, const Sizes& sizes) {
  return std::make_shared<const Program>(*bind_sizes(*p, sizes));
}

// x over [i, j]: the sum s of every row, its mean, and the sum v of squared distances from it.
inline void sums(Builder& b) {
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"});
  for (const char* t : {"s", "mean", "v"}) b.tensor(t, TensorKind::Temp, {"M"});
  b.statement("s", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("mean", "i", "0 <= i < M", "i", {{"s", "i"}}, rd(0) / Expr::param("N"));
  b.statement("v", "i,j", ij, "i", {{"x", "i,j"}, {"mean", "i"}}, (rd(0) - rd(1)) * (rd(0) - rd(1)),
              over(ReduceOp::Sum, {1}));
}

}  // namespace nautilus::poly::testing_programs
