// What the lowering knows before it emits anything: affine forms of all accesses, where each tensor
// lives in a kernel, and how repairs connect their accumulators.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/lower/range.h"
#include "compiler/tile/ir.h"
#include "polyhedral/leaf_geometry.h"
#include "polyhedral/loops.h"

namespace nautilus::lower {

using poly::LeafGeometry;
using poly::LoopPtr;

// A statement with its accesses as index expressions over its dim names, sizes substituted.
struct StatementInfo {
  const poly::Statement* statement = nullptr;
  std::vector<std::string> dims;
  std::vector<IndexExpr> write;
  std::vector<std::vector<IndexExpr>> reads;  // gathered dims: 0
  std::vector<IndexExpr> indices;
};

struct Analysis {
  const poly::Schedule* schedule = nullptr;
  const poly::Program* program = nullptr;
  poly::Sizes sizes;                         // bound
  std::vector<std::string> symbolic;         // sizes that stay, in order of declaration
  isl::set facts;                            // of those that stay
  Ranges size_ranges;                        // of those that stay
  std::map<std::string, int64_t> multiples;  // of those that stay: powers of two above 1
  std::map<std::string, StatementInfo> statements;
  std::map<std::string, std::vector<IndexExpr>> extents;  // by tensor, over the sizes that stay
  std::map<std::string, const poly::Statement*>
      writer;  // by tensor: its reduction, or any statement writing it
  std::set<std::string> holes;  // temporaries with elements that no instance writes
  poly::Scope scope(const std::string& tensor) const;  // Temps only; all else is Global
};
Expected<Analysis> analyse(const poly::Schedule& s, const poly::Sizes& sizes);

// A tensor whose current tile is an SSA value inside the loops 0..depth-1 that determine its
// elements.
struct Resident {
  std::string tensor;
  size_t depth = 0;
  bool store = false;  // a memory-scoped reduction: written back where the loops end
  std::set<const LeafGeometry*> writers, users;  // leaves that write it; that write or read it
};

// Rolling update as the lowering needs it.
struct RepairPlan {
  const poly::Repair* repair = nullptr;
  std::set<std::string> target_statements;
  // Per source: its element as a function of the target's element dims "e0", "e1", ...
  std::vector<std::vector<IndexExpr>> source_index;
};

// A source whose stale values terms may refer to (Repair::lazy): when one may stay, and the repairs
// that share the reference.
struct LazySource {
  Expr may_stay;
  std::vector<size_t> repairs;
};

struct KernelPlan {
  std::vector<std::shared_ptr<const LeafGeometry>> leaves;  // in order of first occurrence
  std::map<std::string, Resident> residents;
  std::vector<RepairPlan> repairs;
  std::map<std::string, LazySource> lazy;  // by source tensor
  size_t grid = 0;                         // leading Grid loops
  std::map<std::string, int64_t> fixed;    // loops inside the grid that have one value everywhere
};
// `demoted`: memory-scoped reductions that shall not be kept in values.
Expected<KernelPlan> plan_kernel(const Analysis& a, const LoopPtr& kernel,
                                 const std::vector<LoopPtr>& all_kernels,
                                 const std::set<std::string>& demoted);

// Leaves of statements below a loop node, each once, in order.
std::vector<std::shared_ptr<const LeafGeometry>> leaves_of(const LoopPtr& l);

}  // namespace nautilus::lower
