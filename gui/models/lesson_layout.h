// Numbers of lessons that belong to no schedule: how many passes an access to shared memory takes.
#pragma once

#include <optional>
#include <string>

namespace nautilus::gui {

// "bank_passes.column.32x32.4.0": one warp reads a column of a row-major tile of 32 rows of 32
// elements of 4 bytes, swizzled by mode 0 (none) to 3. Also "row", and "ldmatrix" (16-bit elements).
std::optional<double> layout_number(const std::string& what);

}  // namespace nautilus::gui
