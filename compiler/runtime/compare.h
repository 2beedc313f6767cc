// A run's outputs against the reference.
#pragma once

#include "compiler/runtime/runtime.h"

namespace nautilus::runtime {

// Relative tolerance of an output when none is given: 2 u_out + 8 u_acc (8 + sqrt(L)), where u_out
// and u_acc are the unit roundoffs of the output's type and of the accumulation (f32, or f64 for an
// f64 output) and L is the sum over the program's reductions of their longest length. Rounding
// errors of L sums add up like a random walk, sqrt(L) u; 8 allows for the constants of several
// operations and for the approximations of exp and others (2 ulp). Integers and bool: 0 (equal).
// numerics fast: 16 times that, for approximate rewrites.
double default_tolerance(const poly::Program& p, const std::string& output,
                         tile::Numerics numerics);

// Fills errors, compared, passed, failure and worst of `r`. An element passes if NaN meets NaN, the
// infinities are equal, or |got - ref| <= t (|ref| + rms(ref of that output)), or <= 4 times the
// largest error of the straightforward evaluation in the program's own types (where that rounds
// intermediate values, so may others), or if it equals that evaluation. Elements with known = 0 are
// not compared. `p`: instantiated.
void compare(const poly::Program& p, const Reference& reference, const poly::Buffers& baseline,
             const poly::Buffers& got, const RunOptions& options, RunResult& r);

}  // namespace nautilus::runtime
