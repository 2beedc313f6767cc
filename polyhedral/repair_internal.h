// Inside the repair room: real algebra on expressions (ranges, proofs, derivatives) and inlined
// terms. Not for other rooms, except the transforms that add or rewrite statements.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "polyhedral/repair.h"

namespace nautilus::poly::algebra {

// What each free name can be: Vars by name, sizes as "@N". A name without an entry can be any
// finite number.
using Ranges = std::map<std::string, ValueRange>;
ValueRange any_value(std::string why = "any finite number");
ValueRange between(double lo, double hi, bool excludes_zero = false, std::string why = "");

// --- ranges (repair_range.cpp): interval and sign arithmetic over the real numbers
// ------------------
ValueRange range_of(const Expr& e, const Ranges& ranges);
// The first subterm that is not a number for some admissible values ("1 / S: S can be zero"), or
// nothing.
std::optional<std::string> undefined_part(const Expr& e, const Ranges& ranges);
// The same facts plus: names that g divides by are not zero (where a term is defined).
Ranges with_denominators(const Expr& g, Ranges ranges);
// Range of one value of the statement's expression (of a reduction: of one term).
ValueRange term_range(const Program& p, const Statement& s);
ValueRange tensor_range(const Program& p,
                        const std::string& tensor);  // final values, and reads of inputs
ValueRange param_range(const Program& p, const Statement& s, const std::string& param);

// --- identities (repair_algebra.cpp, repair_numeric.cpp)
// --------------------------------------------
struct Proof {
  bool ok = false;
  std::string method;  // how, or the counterexample
};
// a = b for all values in range: by the e-graph's rules of real algebra, else by 200 random points
// in 50 digits (never by the e-graph alone: the points are always tried). Points alone prove
// nothing where a side is piecewise (select, min, max, abs, floor, comparisons), unless the
// equality holds for any values of these parts.
Proof prove_equal(const Expr& a, const Expr& b, const Ranges& ranges);
// An equal expression without the forbidden names, cheapest to compute; nothing if none was found.
// Casts that only widen are dropped. With nothing forbidden: a tidier form of e.
std::optional<Expr> rewrite_without(const Expr& e, const std::set<std::string>& forbidden,
                                    const Ranges& ranges);
// The first of `points` random points at which a and b differ in 50 digits, in words. Casts count
// as identity.
std::optional<std::string> refute_equal(const Expr& a, const Expr& b, const Ranges& ranges,
                                        int points, uint64_t seed);
Type var_type(const Expr& e, const std::string& var);  // F32 if e does not contain it
std::optional<Expr> derivative(const Expr& e,
                               const std::string& var);  // nothing: not differentiable here

// Real coefficients a with d^K g = sum a_l d^l g, free of every name (found at random points);
// empty: none.
std::vector<double> constant_coefficients(const std::vector<Expr>& derivatives,
                                          const Ranges& ranges);

// --- inlined terms (repair_term.cpp)
// ---------------------------------------------------------------- One value a term reads, seen
// from the target's domain: an access or an affine index.
struct Leaf {
  std::string name;                          // Var in the term: "<tensor>" of a source, else "c<k>"
  std::string tensor;                        // empty: an affine index
  isl::map map;                              // { target -> element } or { target -> value }
  std::vector<std::pair<int, int>> gathers;  // (tensor dim, leaf that holds the index)
  std::optional<isl::aff> index;             // affine index
  Type type = Type::F32;
  std::string key;
};
struct InlinedTerm {
  Expr g;
  Expr guard;  // of the target and of what was inlined; may be null
  std::vector<Leaf> leaves;
};
// The target's expression over its own domain with the via statements inlined; reads of `sources`
// are Vars named by the tensor, all else is "c<k>", numbered by `leaves` (which several terms of
// one domain may share). Refuses: a source read at two elements or at one that varies within the
// target's accumulation.
Expected<InlinedTerm> inline_term(const Program& p, const Statement& target,
                                  const std::vector<std::string>& sources,
                                  const std::vector<std::string>& via,
                                  std::vector<Leaf> leaves = {});
// A statement over `like`'s domain with this expression over the leaves' names; `tensor` is written
// where `like` writes.
Statement statement_from(const Statement& like, const std::string& tensor, const Expr& e,
                         const Expr& guard, const std::vector<Leaf>& leaves);
// The target with these via statements inlined into its expression: same value, more reads.
Expected<Statement> inline_via(const Program& p, const Statement& target,
                               const std::vector<std::string>& via);
// Whether one element of the reduction gets exactly `size` terms ("@N" or a number) whenever it
// gets any.
bool counts(const Program& p, const Statement& reduction, const Expr& size);

// A finite number that the target may read in place of this source while that is at its identity,
// so that terms are the target's identity there (exp(c - m) with all c so far -inf); nothing if
// none was found. `term`: the target's.
std::optional<double> rest_value(const Program& p, const Statement& target, const InlinedTerm& term,
                                 const Statement& source, const std::vector<std::string>& via);

// --- one reference at a time
// ------------------------------------------------------------------------- How an accumulator of
// terms g(ref, c) changes when ref becomes ref' ("ref0", "ref0'"): h over Var "t0".
struct Correction {
  Expr h;
  std::vector<std::string> steps;
};
Expected<Correction> by_inversion(const Expr& g, const std::string& ref, const Ranges& ranges);
Expected<Correction> by_separation(const Expr& g, const std::string& ref, ReduceOp op,
                                   const Ranges& ranges);
// A closed family: members d^k g / d ref^k and their fundamental matrix, h[k] over t0..t{K-1}.
struct Family {
  std::vector<Expr> members, h;
  std::vector<std::string> steps;
  std::vector<Obligation> obligations;
};
Expected<Family> by_family(const Expr& g, const std::string& ref, const Ranges& ranges,
                           int max_members);

// --- the whole correction, sets apart (repair_solve.cpp)
// ----------------------------------------------
struct SourceFact {
  std::string tensor;  // also the Var in g
  ReduceOp op = ReduceOp::Sum;
  double identity = 0;  // its value before the first term
  ValueRange range;     // its values after it
  Type type = Type::F32;
  Expr count;  // a sum: how many terms one element gets, if that is known (a size or number)
  std::string count_name;  // Var to use for the number of terms so far
};
struct Problem {
  Expr g;  // over the sources' tensors and c0, c1, ..
  ReduceOp op = ReduceOp::Sum;
  double identity = 0;    // of the target
  Type type = Type::F32;  // of the target's accumulator
  std::vector<SourceFact> sources;
  Ranges facts;  // of everything in g
};
struct Solution {
  Expr g;                         // as in the problem, or with sizes replaced by running counts
  std::vector<Expr> members;      // [0] is g; the rest are the terms of auxiliary accumulators
  std::vector<Expr> corrections;  // as Repair::corrections, guarded
  std::vector<Derivation> derivations;
  std::vector<Obligation> obligations;
  std::vector<std::string> counted;  // sources whose running count is used
  std::vector<std::string>
      exponential;  // sources whose correction is one exponential of the source
};
Expected<Solution> solve(const Problem& p);  // cached on all of the problem; thread-safe

// Whether what is finally stored depends on which value the source takes; see Repair::lazy_bound.
std::optional<Obligation> lazy_reference(const Program& p, const std::string& source);
// When a value of this source may be kept although it changed: the factor by which the change alone
// scales every accumulator lies within 2^-bound and 2^bound. Nothing if the corrections are no such
// factors. Adds what was shown to r.obligations.
std::optional<Expr> may_stay(Repair& r, const std::string& source, double bound,
                             const Ranges& facts);

}  // namespace nautilus::poly::algebra
