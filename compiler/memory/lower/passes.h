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
// Blocks with the longest loops start first, so that the last ones to end are short.
void longest_first(Kernel& k, const Module& m);
// Bytes of every buffer; buffers that are never live together share them.
void place_buffers(Kernel& k);
// Bulk copies become the work of a producer warp, ahead of the others by up to `stages` tiles.
// Refused: copies under conditions of values or of loops, beside those of lanes, or in inner loops
// of varying length.
// `sizes`: of the module, never negative.
std::optional<Refusal> specialize(Kernel& k, int stages, const std::vector<std::string>& sizes);
// A product whose sum only the next iteration needs runs beside that iteration's other work: it is
// shifted by one. In the first role.
void overlap_products(Kernel& k);
// Waits for products where their results are used; tiles are released when their readers are done.
void wait_for_products(Kernel& k);
void share_registers(Kernel& k);  // between roles; after blocks_per_sm is known
void name_barriers(Kernel& k);    // block barriers that one of several roles comes to
// Barriers and waits where one access of shared memory (or of a tensor that the kernel itself
// writes) depends on another of other lanes.
// `apart`: buffers that mbarriers order.
void synchronize(Kernel& k, const Rings& rings, const std::set<std::string>& apart = {});

}  // namespace nautilus::memory::lowering
