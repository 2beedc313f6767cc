// Programs for the tests of the schedule tree, Why and the iteration space.
#pragma once

#include "tests/polyhedral/transform_helpers.h"

namespace nautilus::poly::testing_programs {

// Row maximum, sum of exponentials relative to it, quotient: fusing at j needs a correction.
inline ProgramPtr softmax(ContextPtr ctx) {
  const std::string ij = "0 <= i < N and 0 <= j < M";
  Builder b(ctx, "softmax", {"N", "M"}, "[N, M] -> { : N >= 0 and M >= 0 }");
  b.tensor("X", TensorKind::Input, {"N", "M"});
  b.tensor("m", TensorKind::Temp, {"N"}).tensor("P", TensorKind::Temp, {"N", "M"});
  b.tensor("l", TensorKind::Temp, {"N"}).tensor("Y", TensorKind::Output, {"N", "M"});
  b.statement("m", "i,j", ij, "i", {{"X", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("P", "i,j", ij, "i,j", {{"X", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "i,j", ij, "i", {{"P", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("Y", "i,j", ij, "i,j", {{"X", "i,j"}, {"m", "i"}, {"l", "i"}},
              exp(rd(0) - rd(1)) / rd(2));
  return b.done();
}

inline TransformStep step(const std::string& name, const json& params) {
  return {name, params.dump()};
}

// Row maximum, sum of exponentials and output as an accumulator that only the end reads: the whole
// can be fused at j.
inline ProgramPtr rows_of_attention(ContextPtr ctx, bool causal) {
  const std::string mask = causal ? " and j <= i + M - N" : "";
  const std::string ij = "0 <= i < N and 0 <= j < M" + mask;
  Builder b(ctx, "rows", {"N", "M", "D"},
            "[N, M, D] -> { : N >= 1 and M >= N and D >= 1 and M mod 4 = 0 }");
  b.tensor("S", TensorKind::Input, {"N", "M"}).tensor("V", TensorKind::Input, {"M", "D"});
  b.tensor("m", TensorKind::Temp, {"N"}).tensor("P", TensorKind::Temp, {"N", "M"});
  b.tensor("l", TensorKind::Temp, {"N"}).tensor("A", TensorKind::Temp, {"N", "D"});
  b.tensor("O", TensorKind::Output, {"N", "D"});
  b.statement("m", "i,j", ij, "i", {{"S", "i,j"}}, rd(0), over(ReduceOp::Max, {1}));
  b.statement("P", "i,j", ij, "i,j", {{"S", "i,j"}, {"m", "i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "i,j", ij, "i", {{"P", "i,j"}}, rd(0), over(ReduceOp::Sum, {1}));
  b.statement("A", "i,j,d", ij + " and 0 <= d < D", "i,d", {{"P", "i,j"}, {"V", "j,d"}},
              rd(0) * rd(1), over(ReduceOp::Sum, {1}));
  b.statement("O", "i,d", "0 <= i < N and 0 <= d < D", "i,d", {{"A", "i,d"}, {"l", "i"}},
              rd(0) / rd(1));
  return b.done();
}

// T1 = T0, T2 = T1, ...: n statements of one dimension.
inline ProgramPtr chain(ContextPtr ctx, int n) {
  Builder b(ctx, "chain", {"N"}, "[N] -> { : N >= 1 }");
  b.tensor("T0", TensorKind::Input, {"N"});
  for (int k = 1; k <= n; ++k)
    b.tensor("T" + std::to_string(k), k == n ? TensorKind::Output : TensorKind::Temp, {"N"});
  for (int k = 1; k <= n; ++k)
    b.statement("T" + std::to_string(k), "i", "0 <= i < N", "i",
                {{"T" + std::to_string(k - 1), "i"}}, rd(0));
  return b.done();
}

// A scalar from a scalar, and a statement that never runs beside one that runs once.
inline ProgramPtr scalars(ContextPtr ctx) {
  Builder b(ctx, "scalars", {"N"}, "[N] -> { : N >= 1 }");
  b.tensor("a", TensorKind::Input, {}).tensor("b", TensorKind::Output, {});
  b.tensor("E", TensorKind::Output, {"N"});
  b.statement("b", "", "0 = 0", "", {{"a", ""}}, rd(0));
  b.statement("E", "i", "1 <= i < 1", "i", {{"a", ""}}, rd(0));
  return b.done();
}

}  // namespace nautilus::poly::testing_programs
