// Which warps and lanes hold what: a placement for every tile of a kernel, from anchors (fragments
// of products, vectors of loads and stores) along point-wise operations, reductions and loops.
#pragma once

#include "compiler/memory/lower/tiles.h"

namespace nautilus::memory::lowering {

// What a target's matrix units take.
struct Units {
  bool tf32 = false;
  bool warpgroups = false;               // wgmma, with shared operands by bulk tensor copies
  const tile::Module* module = nullptr;  // whose tensors are copied
};

// One matrix product, from the point of view of the instruction: its first operand has the rows.
struct Product {
  Shape shape = Shape::M16N8K16;
  bool swapped = false;  // the instruction's first operand is the tile IR's second
  DotAxes axes;          // m: of the first operand
  TileId first = -1, second = -1;
  Type narrow = Type::F16;                         // of the factors
  bool split_first = false, split_second = false;  // f32: two narrow parts
  int row_warps = 1, column_warps = 1;
  Placement c, a, b;  // whole tiles
  // Fragments of a part of the contracted axes: `depth` of the first of them, one point of the
  // others.
  Placement a_part, b_part;
  int64_t depth = 16;
  bool warpgroup() const { return shape_size(shape).warpgroup; }
};

struct Layouts {
  int warps = 4;
  std::map<TileId, Placement> place;   // of values with axes
  std::map<TileId, Product> products;  // by result
  std::set<TileId> lane_products;      // Dots by multiply-adds of the lanes, by result
  std::set<std::string> reduced;       // axes that reductions take away
  bool bulk = false;                   // products take their tiles from bulk copies
};

// Warps that a kernel is worth: rows of reduced accumulators stay inside a warp; accumulators take
// up to half of the registers.
// `spread`: axes that are there to lie over warps, though reductions take them away in the end.
int choose_warps(const tile::Kernel& k, const Units& units, const std::set<std::string>& spread);
Layouts infer_layouts(const tile::Kernel& k, int warps, const Units& units,
                      const std::set<std::string>& spread);
// A reduced axis that warps should share because nothing else gives them work, and over how many.
std::optional<Split> spread_axis(const tile::Kernel& k, const Units& units,
                                 const std::set<std::string>& spread);

// `vector` elements along `inner`, lanes along it and then along the others, warps along axes that
// are not in `reduced`; what is left takes registers.
struct Blocking {
  std::string inner;
  int64_t vector = 1;
  int64_t inner_lanes = 32;
  int warps = 1;
};
Placement block_placement(const std::vector<Axis>& axes, const Blocking& how,
                          const std::set<std::string>& reduced);
// Axes with an extent that are in `all` but not in `some`.
std::vector<std::string> missing(const std::vector<Axis>& all, const std::vector<Axis>& some);
// The axis that the last dimension of a tensor is walked along one by one, if there is one.
std::optional<std::string> inner_axis(const tile::Instr& access, const std::vector<Axis>& axes);

}  // namespace nautilus::memory::lowering
