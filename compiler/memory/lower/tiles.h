// Passes on the tile program before anything is placed: each gives a program that computes the
// same, in a form that the placement of tiles can take.
#pragma once

#include <set>

#include "compiler/memory/ir.h"

namespace nautilus::memory::lowering {

using TileId = tile::ValueId;

struct TileRules {
  const tile::Module* module = nullptr;
  bool tf32 = false;
  int64_t lanes = 8192;          // of one tile in registers, at most
  int64_t staged_bytes = 32768;  // of one product's operands in shared memory, at most
};

// Axes of a product by their part in it: of the first operand alone, of the second alone,
// contracted, in both and in the result.
struct DotAxes {
  std::vector<Axis> m, n, k, batch;
};
DotAxes dot_axes(const tile::Kernel& k, const tile::Instr& dot);
// The matrix instruction that takes a product, if one does: of one narrow type (the other operand
// is it too or f32, which is split into two narrow parts), or of f32 as tf32, summed in f32, with
// rows and columns.
std::optional<Shape> matrix_shape(const tile::Kernel& k, const tile::Instr& dot, bool tf32);

// Axes of extent 1 are gone.
tile::Kernel drop_unit_axes(const tile::Kernel& k);
// A renamed load is a load with other names; a renamed value that is not loaded stays.
tile::Kernel fold_renames(const tile::Kernel& k);
// A reduction or product over a long axis, of values that can be made piece by piece, is a loop
// over pieces: tiles fit registers and shared memory, and loops can be pipelined.
tile::Kernel strip_mine(const tile::Kernel& k, const TileRules& rules);
// A product that no matrix instruction takes and whose terms fit the registers is a point-wise
// product and a sum.
tile::Kernel small_products(const tile::Kernel& k, const TileRules& rules);
// Contracted axes of matrix products are padded with terms of zero to what the instruction takes.
tile::Kernel pad_contracted(const tile::Kernel& k, const TileRules& rules);

// An axis in `parts` parts: a new axis (its name is answered) counts them; reductions take the axis
// away inside the parts first, then the parts. nullopt: it is renamed somewhere.
std::optional<std::string> split_axis(tile::Kernel& k, const std::string& axis, int64_t parts,
                                      const TileRules& rules);
// Shared buffers keep what a block touches of their tensors, not the whole.
tile::Kernel narrow_shared(const tile::Kernel& k);
// A value that a store keeps where data says so, of a tensor that nothing wrote before, is any.
tile::Kernel first_writes(const tile::Kernel& k, const tile::Module& m);

// A load of what the kernel itself writes reads no more than masks let through of it.
tile::Kernel needed_loads(const tile::Kernel& k);

// The list, in order. `spread`: axes that count warps.
tile::Kernel prepared(const tile::Kernel& k, const TileRules& rules, std::set<std::string>& spread);

// How often each value is used, yields included.
std::map<TileId, int> use_counts(const tile::Kernel& k);
bool has_axis(const std::vector<Axis>& axes, const std::string& name);
double identity_of(const tile::Instr& reduce);

}  // namespace nautilus::memory::lowering
