// Whether an order is legal. Four answers; Unknown is never legal. (legality-and-repair.md)
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyhedral/dependence.h"
#include "polyhedral/schedule.h"

namespace nautilus::poly {

enum class VerdictKind : uint8_t { Legal, Repairable, Illegal, Unknown };
std::string_view verdict_name(VerdictKind k);  // "legal" "repairable" "illegal" "unknown"

// Two concrete instances whose order a schedule would break.
struct Witness {
  std::string source, sink;  // statements
  std::vector<int64_t> source_iter, sink_iter;
  Sizes sizes;  // values of the parameters at the witness
  std::string tensor;
  std::vector<int64_t> element;
  DepKind kind = DepKind::Flow;
  std::string text;  // "max[i=0,j=1] must precede sum[i=0,j=0]: it updates m[0], which sum reads"
};

struct Verdict {
  VerdictKind kind = VerdictKind::Unknown;
  std::vector<Repair> repairs;           // Repairable
  std::optional<Witness> witness;        // Illegal, and Repairable: what plain order would break
  std::string why;                       // Illegal/Unknown: the reason; Repairable: what is paid
  std::vector<std::string> relaxations;  // reduction reorderings relied on
  std::string suggest;
};

// The part of one dependence that a schedule does not keep: found where the walk down the tree
// first orders the two ends the wrong way round, or not at all.
struct Violation {
  const Dependence* dependence = nullptr;  // in the DependenceSet that was checked
  isl::map pairs;          // { source -> sink } out of order, a subset of dependence->relation
  NodeId node = 0;         // band, sequence or leaf that decides
  std::string member;      // of a band
  bool unordered = false;  // parallel members, one tile or one leaf: neither comes first
  int paid_by = -1;        // index into s.repairs, or -1
};
// Every dependence with a part out of order (one entry per dependence and deciding node), paid ones
// included. Reduction dependences appear only where they may not be reordered (Grid and Warpgroup
// members).
Expected<std::vector<Violation>> violations(const Schedule& s, const DependenceSet& deps,
                                            unsigned long quota = kDefaultQuota);

// Tree walk: descends the tree once per dependence, splitting it into carried, still-open and
// violated parts. Members mapped Grid/Warpgroup must carry nothing; Tile members must carry nothing
// but reductions. Violations whose pair is covered by an entry of s.repairs (source reduction or
// via-statement -> target or via-statement, at that band or below) count as paid.
Verdict check(const Schedule& s, const DependenceSet& deps, unsigned long quota = kDefaultQuota);

// check() of only those dependences whose ends `after` orders by other functions than `before` did;
// the rest keep the verdict of `before`, which is taken to be good. What the transforms use.
Verdict check_change(const Schedule& before, const Schedule& after, const DependenceSet& deps,
                     unsigned long quota = kDefaultQuota);

// The independent verifier. That the schedule's program computes what its original program does
// (verify_program.h); whole-map lexicographic comparison of the flattened schedule against freshly
// computed dependences; structural conditions of each repair (no consumer of a via value outside
// its targets, source before target inside a tile, accumulators in step); and the values of rolling
// updates, by running the loops of their bands on sampled data (verify_rolling.h). Order, values
// and data are code of its own: nothing is shared with the derivation of repairs or with the
// transforms. Samples can refute but do not prove; the proofs are the derivation's.
struct Verification {
  bool ok = false;
  Verdict verdict;
  std::vector<std::string> checked;  // one line a thing that was checked
};
Verification verify(const Schedule& s, unsigned long quota = kDefaultQuota);

}  // namespace nautilus::poly
