// Fragments of one matrix product.
#pragma once

#include "compiler/memory/lower/layouts.h"

namespace nautilus::memory::lowering {

// Rows or columns of a product with the padding to powers of two, at least `least`.
int64_t padded_rows(const std::vector<Axis>& axes, int64_t least);
// A warpgroup's instruction takes a product of 64 rows or more whose second operand is one bulk
// copy to shared memory, and whose first is another or computed.
bool takes_warpgroup(const tile::Kernel& k, const Product& p, const Units& units);
// A load that bulk tensor copies can do: each axis alone in one dimension, the last along rows of
// whole 16 bytes, of a tensor that the kernel does not write; no condition but the tensor's bounds.
bool bulk_load(const tile::Instr& load, const tile::Kernel& k, const tile::Module& m);
// Sets row_warps and column_warps. `columns`: that warps may take; 0: as many as there are.
void grid_of_warps(Product& p, int warps, int64_t columns);
// Sets the placements. `contracted_axes`: axes that matrix products of the kernel contract; those
// are not padded further, so that an accumulator is the next operand as it lies.
void place_product(Product& p, int warps, const std::set<std::string>& contracted_axes);

}  // namespace nautilus::memory::lowering
