// The pieces of loop generation: one kernel's isl schedule over loop coordinates, and isl's AST
// made into Loops.
#pragma once

#include "polyhedral/leaf_geometry.h"
#include "polyhedral/loops.h"

namespace nautilus::poly {

// A leaf's sets with the outermost Grid loops turned into parameters: what isl generates code for.
struct LoopLeaf {
  LeafPtr geometry;
  isl::set times;  // { label[t'] }: t' are the loops that are not grid dims
  // Absent when every tile is full (inside, box: { label[t', a] }); full also when not wanted.
  std::optional<isl::set> full, inside, box;
  std::vector<std::string> names;  // of t', then axes
  std::vector<IndexExpr> base;     // over all loop names
};
struct GridLoop {
  LoopDim dim;
  IndexExpr lower, upper;
};
struct LoopKernel {
  const KernelTree* tree = nullptr;
  std::vector<GridLoop> grid;
  isl::set context;  // parameters: sizes and grid loops
  std::vector<LoopLeaf> leaves;
};

// Outermost Grid members with their rectangular hulls, and the leaves' sets within them.
Expected<LoopKernel> loop_kernel(const KernelTree& tree, const isl::set& size_context,
                                 bool full_tiles);

// Domain: the union of the leaves' times; bands: the members that remain. Loops are split (isolate)
// where all tiles below are full.
isl::schedule loop_schedule(const LoopKernel& k);

// A statement copy in isl's AST: which leaf, and what is known about the tiles it is executed for.
struct Piece {
  size_t leaf = 0;
  bool partial = false;
  Cond mask = Cond::always();
};
// isl's AST as Loops below the grid; every member gets its For.
Expected<LoopPtr> to_loops(const LoopKernel& k, const isl::ast_node& ast,
                           const std::vector<Piece>& pieces);
// An If whose second branch is the first with the one value that a loop variable has there becomes
// its first branch. `around`: bounds [lower, upper) of the loops outside.
LoopPtr merge_branches(const LoopPtr& l,
                       std::map<std::string, std::pair<IndexExpr, IndexExpr>> around);

}  // namespace nautilus::poly
