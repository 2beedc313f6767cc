// The record of an algebraic repair: what was violated, what pays for it, and why that is right.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "polyhedral/expr.h"

namespace nautilus::poly {

enum class NumericTag : uint8_t { Exact, Reassociates, Approximates };
std::string_view numeric_tag_name(NumericTag t);

// What had to be shown, and how it was: "h(g(r,c),r,r') = g(r',c)" by "e-graph, 14 steps".
struct Obligation {
  std::string claim;
  std::string method;  // "e-graph" | "identity" | "randomized (200 points, 50 digits)" | ...
  bool discharged = false;
};

// One derivation of the correction: its method and readable steps.
struct Derivation {
  std::string method;  // "inversion" | "separation" | "family"
  std::vector<std::string> steps;
  Expr correction;  // over Vars as in Repair::corrections[0]
};

// Rolling update of one target reduction (or of a family of K accumulators that is closed under a
// change of r). While the sources hold running values, before each tile's contribution is folded
// in:
//   T_k <- corrections[k](T_0.., r_old.., r_new..)
// Variables in `corrections`: "t0".."t{K-1}" accumulators, "<tensor>" the old running value of a
// source tensor and "<tensor>'" the new one. `term` is g: the statement's expression with the
// pointwise chain inlined, over Vars "<tensor>" (sources) and "c0","c1",.. (the rest).
struct Repair {
  int band = -1;  // NodeId of the band at which sources and target are fused
  std::vector<std::string>
      targets;  // statement names; [0] is the one asked for, rest are auxiliaries
  std::vector<std::string> target_tensors;
  std::vector<std::string> sources;  // source reductions: statement names
  std::vector<std::string> source_tensors;
  std::vector<std::string> via;   // pointwise statements on the way, executed with running values
  Expr term;                      // g
  std::vector<Expr> corrections;  // one a target, with guards (no NaN on first/empty steps)
  std::vector<Derivation> derivations;
  std::vector<Obligation> obligations;
  NumericTag numeric = NumericTag::Reassociates;
  std::string note;  // e.g. what an empty row's value is
  // By source tensor: its identity, and the number that via statements and targets read in place of
  // it, so that terms are the target's identity and not NaN where all inputs so far were -inf.
  // Corrections see the source itself.
  std::map<std::string, std::pair<double, double>> rest;
  // Lazy reference: the correction cancels in the final result, so a stale value of the source
  // `lazy_source` (a tensor) may be kept while that scales the accumulators by at most
  // 2^lazy_bound (0: not allowed). Set only with its own discharged obligations. `may_stay` says
  // when: over "<tensor>" (the value kept) and "<tensor>'" (the present one); false where either
  // makes it NaN. Where it is false the accumulators are corrected as they always are.
  double lazy_bound = 0;
  std::string lazy_source;
  Expr may_stay;
  bool lazy = false;  // chosen (transform lazy_reference)
  // Of a lazy repair: what each accumulator becomes when lazy_source moves and the other sources
  // that are accumulators of lazy repairs follow it. Over "t0".., "<lazy source>", its new value
  // primed, and the other sources as they were.
  std::vector<Expr> moved;
};

}  // namespace nautilus::poly
