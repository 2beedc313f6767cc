// Contraction of block-local buffers.
#pragma once

#include "compiler/tile/ir.h"

namespace nautilus::lower {

// A shared buffer is declared with its tensor's extents, of which a block may touch only a part:
// where every index of a dim is one sum of grid variables plus a bounded rest, that dim keeps the
// rest (array contraction: Lefebvre and Feautrier, Automatic storage management for parallel
// programs, 1998, for boxes). Indices of loads and stores change with it; masks do not, they speak
// of instances.
void contract_buffers(tile::Kernel& k);

}  // namespace nautilus::lower
