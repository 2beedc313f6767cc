// Exact dependences of a program: pairs of instances that touch one element, at least one writing,
// the first before the second in the original order. (legality-and-repair.md)
#pragma once

#include <memory>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::poly {

enum class DepKind : uint8_t {
  Flow,       // write then read (last writer: value-based)
  Anti,       // read then write
  Output,     // write then write
  Reduction,  // between two updates of one reduction: free to reorder (associative, commutative)
};

struct Dependence {
  DepKind kind;
  std::string source, sink;  // statement names
  std::string tensor;
  int read = -1;             // Flow: index of the sink's read access
  isl::map relation;         // { source[..] -> sink[..] }
  bool approximate = false;  // over-approximated (gathered access): still sound
  mutable std::shared_ptr<const void> facts =
      nullptr;  // cache of the legality walk; follows `relation`
};

struct DependenceSet {
  std::vector<Dependence> all;
  const std::vector<std::string> relaxations() const;  // one sentence per Reduction dependence used
};

// Flow dependences from a reduction R to a reader run from EVERY instance of R that updates the
// element (all of them must precede the read): the final value is what is read. A Refusal when the
// quota runs out.
Expected<DependenceSet> dependences(const Program& p, unsigned long quota = kDefaultQuota);

// Only the flow from reductions among `statements` to readers among them: of a valid program, where
// reductions are complete before they are read, these need no order and no dataflow. Throws
// isl::exception.
DependenceSet final_value_flow(const Program& p, const std::vector<std::string>& statements);

}  // namespace nautilus::poly
