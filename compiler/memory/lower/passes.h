// Passes on a kernel of the memory IR.
#pragma once

#include "compiler/memory/lower/emit.h"

namespace nautilus::memory::lowering {

// A ring and the loop that it is shifted along: iteration `number` uses slot number mod slots.
struct Ring {
  std::string iv;
  IndexExpr number;
  int slots = 1;
};
using Rings = std::map<std::string, Ring>;  // by buffer

// Copies of a loop's body move `stages` - 1 iterations ahead: their buffers become rings, the first
// tiles are copied before the loop, and every iteration waits for its own. Copies that stay are
// closed in groups.
Rings pipeline(Kernel& k, int stages);
// Bytes of every buffer; buffers that are never live together share them.
void place_buffers(Kernel& k);
// Barriers and waits where one access of shared memory (or of a tensor that the kernel itself
// writes) depends on another of other lanes.
void synchronize(Kernel& k, const Rings& rings);

}  // namespace nautilus::memory::lowering
