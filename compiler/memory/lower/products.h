// Fragments of one matrix product.
#pragma once

#include "compiler/memory/lower/layouts.h"

namespace nautilus::memory::lowering {

// Rows or columns of a product with the padding to powers of two, at least `least`.
int64_t padded_rows(const std::vector<Axis>& axes, int64_t least);
// Sets row_warps and column_warps. `columns`: that warps may take; 0: as many as there are.
void grid_of_warps(Product& p, int warps, int64_t columns);
// Sets the placements. `contracted_axes`: axes that matrix products of the kernel contract; those
// are not padded further, so that an accumulator is the next operand as it lies.
void place_product(Product& p, int warps, const std::set<std::string>& contracted_axes);

}  // namespace nautilus::memory::lowering
