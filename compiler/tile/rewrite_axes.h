// One name for axes that are the same.
#pragma once

#include "compiler/tile/ir.h"

namespace nautilus::tile::rw {

// A lowered statement has axes of its own; a value that another statement reads is renamed. Axes
// that a Rename links get one name, unless some value or instruction has both; the Renames between
// them go. So do axes over which two loads run in the same way. With `keep_order` the kernel is
// left as it is if a reduction would meet its lanes in another order.
Kernel unify_axes(const Kernel& k, bool keep_order);

}  // namespace nautilus::tile::rw
