// From a schedule tree to loops: bounds from the sets, full and partial tiles apart, empty ones
// never visited.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "polyhedral/index_expr.h"
#include "polyhedral/schedule.h"

namespace nautilus::poly {

// What a piece of code runs for, where it was split: full tiles, or those that reach over an edge.
enum class Tiles : uint8_t { All, Full, Partial };

struct Loop;
struct LeafGeometry;  // leaf_geometry.h
using LoopPtr = std::shared_ptr<const Loop>;
// One node of the loop AST.
struct Loop {
  enum class Kind : uint8_t { Block, For, If, Statement } kind = Kind::Block;
  std::vector<LoopPtr> children;  // Block: in order; For: [body]; If: [then] or [then, else]
  // For: for (iv = lower; iv < upper; iv += step), mapping from the band member
  std::string iv;
  IndexExpr lower, upper;
  int64_t step = 1;
  Mapping mapping = Mapping::Serial;
  NodeId node = -1;  // the schedule tree's band (or leaf) this came from
  int depth = -1;  // For: position of its member among the loops of the leaves below (0: outermost)
  // If
  Cond condition;
  // Statement: a (tile) statement. Domain dim k = base[k] + (its Tile axis, if any).
  std::string stmt;
  std::vector<IndexExpr> base;
  std::vector<std::string> axis;  // per domain dim: tile axis name or "" (fixed by the loops)
  std::vector<int64_t> extent;    // per domain dim: tile extent (1 if no axis)
  bool partial = false;           // some points of the tile lie outside the domain
  Cond mask;                      // when partial: which points are inside, over ivs and axis names
  std::vector<IndexExpr>
      times;  // value of each loop of the leaf, outermost first, over ivs in scope
  std::shared_ptr<const LeafGeometry> leaf;
};

struct LoopOptions {
  bool separate_full_tiles = true;  // split loops so that full tiles carry no mask
};
// Every loop member above a leaf is a For, also where it has one iteration only (upper = lower + 1:
// "degenerate"; its value may then be substituted below). Consecutive Fors of one member are its
// range, split. Generates loops for the whole schedule (top-level sequence children are separate
// kernels, in order) at the program's bound sizes or symbolically. Tile members must have constant
// extents; otherwise a Refusal says which. Mask conditions are simplified against what the loops
// already guarantee.
Expected<LoopPtr> generate_loops(const Schedule& s, const LoopOptions& options = {});
std::string to_text(const LoopPtr& l);

}  // namespace nautilus::poly
