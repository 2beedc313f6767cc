// Numbers of lessons that belong to no schedule: how many passes an access to shared memory takes,
// and what there is to say of a memory program beside a lesson (NAME.mtile): its roles, its ring,
// and what the interpreter finds in it, whole or with a line left out.
#pragma once

#include <optional>
#include <string>

#include "polyhedral/expected.h"

namespace nautilus::gui {

// "bank_passes.column.32x32.4.0": one warp reads a column of a row-major tile of 32 rows of 32
// elements of 4 bytes, swizzled by mode 0 (none) to 3. Also "row", and "ldmatrix" (16-bit
// elements).
std::optional<double> layout_number(const std::string& what);

// "memory.NAME.roles", ".warps", ".barriers", ".shared_bytes", ".slots" (of its first buffer),
// ".stage_bytes" (of one slot of all buffers with as many) and ".ring_bytes" (all slots of these).
std::optional<double> memory_number(const std::string& dir, const std::string& what);

// "interpreted.NAME" or "interpreted.NAME.wait_full": without the lines that say "wait full". The
// kind of the first fault ("deadlock", "race", ...) with its text, or "clean". Sizes are those that
// the lesson gives in its first line, "sizes M=128 N8=16".
Expected<std::string> interpreted(const std::string& dir, const std::string& what);

}  // namespace nautilus::gui
