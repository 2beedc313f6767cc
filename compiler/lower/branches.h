// Branches of a kernel's body.
#pragma once

#include "compiler/tile/ir.h"

namespace nautilus::lower {

// Full and partial tiles part at a branch on the block's place, and meet again behind it with what
// was computed so far. Moves what follows into both sides, where the values of each are known, so
// that rewriting and pipelining see one straight line for full blocks and one for the others (tail
// duplication: Chang, Mahlke, Hwu, Using profile information to assist classic code optimizations,
// 1991). A later branch on the same condition goes the same way. Kernels that would become long
// stay as they are.
void part_blocks(tile::Kernel& k);

}  // namespace nautilus::lower
