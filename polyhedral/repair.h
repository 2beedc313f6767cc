// Derives the algebraic corrections that pay for fusing a reduction with an earlier one it depends
// on. Sources: Neptune (arXiv 2510.08726, sec. on rolling update: inversion), RedFuser (2603.10026:
// separation); families of accumulators are ours (legality-and-repair.md).
#pragma once

#include "polyhedral/legality.h"

namespace nautilus::poly {

enum class RepairPolicy : uint8_t { Strict, Reassociate, Fast };

// What is to be fused at one band: the sources (reductions whose final values are read), the
// pointwise statements on the way, the target reduction.
struct RepairRequest {
  ProgramPtr program;
  std::string target;
  std::vector<std::string> sources;  // reductions fused with it, in program order
  std::vector<std::string>
      via;  // pointwise statements between, executed inside with running values
  std::vector<std::string>
      others;  // further statements fused at the band (targets of repairs of their own)
  int band = -1;
  RepairPolicy policy = RepairPolicy::Reassociate;
};
struct RepairResult {
  Repair repair;
  // Families: statements to add to the program so that the accumulators are closed (T_1.., T_0..);
  // empty for K = 1.
  std::vector<Statement> auxiliary;
  std::vector<Tensor> auxiliary_tensors;
  // Statements of the program to put in place of those with the same name: the target, with its via
  // statements inlined, when its terms read a running count where the program has a size.
  std::vector<Statement> replaced;
};
// The program with the repair's statements and tensors added (each after the target or, for a
// running count, after its source) and replaced.
ProgramPtr with_auxiliaries(const Program& p, const RepairResult& r);

// A Refusal names the obligation that was not discharged or the condition that fails: H may be zero
// (with the source that can pass through zero), a narrowing cast inside g, another consumer of a
// via statement, no unique inverse and no closed family, the two methods disagree.
Expected<RepairResult> derive_repair(const RepairRequest& r);

// g of a target: its expression with the via statements inlined. Vars: "<tensor>" for source
// tensors, "c0", "c1", ... for everything else (one a distinct access after inlining).
Expected<Expr> inlined_term(const RepairRequest& r);

// Repair::moved of r among the repairs that keep stale values of the same source, with what was
// shown; the Refusal says what was not.
struct Moved {
  std::vector<Expr> accumulators;
  std::vector<Obligation> shown;
};
Expected<Moved> moved_accumulators(const Program& p, const Repair& r,
                                   const std::vector<Repair>& together);

// Range facts used by the proofs: what a reduction's running value can be ("max of f32: [-inf,
// inf)", "sum of exp(...): (0, inf)").
struct ValueRange {
  double lo, hi;
  bool excludes_zero = false;
  std::string why;
};
ValueRange running_range(const Program& p, const std::string& statement);

// Where a source skips instances by a condition on data, every target must skip at least those of
// the same iterations: the inlined conditions are compared as conjunctions. What differs, in words,
// or nothing.
std::optional<std::string> unguarded_terms(const Program& p,
                                           const std::vector<std::string>& targets,
                                           const std::vector<std::string>& sources,
                                           const std::vector<std::string>& via);

// Independent of the derivations: evaluates both sides of (a) and (b) at random points in 50
// digits. Reads the terms off the program anew; the answer is kept by all that the check depends
// on, points and seed included. Returns the first counterexample in words, or nothing.
std::optional<std::string> refute_repair(const Program& p, const Repair& r, int points = 200,
                                         uint64_t seed = 1);

}  // namespace nautilus::poly
