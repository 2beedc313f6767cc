// From a choice of nodes back to a kernel.
#pragma once

#include "compiler/tile/rewrite_extract.h"

namespace nautilus::tile::rw {

struct Emission {
  Kernel kernel;
  bool hoisted = false;  // some value left a loop
  bool shared = false;   // some value was computed more than once before
};
// Each value goes to the region on the way from its uses to its operands that runs least often, the
// innermost of those; inside a region right before what needs it. nullopt: the choice cannot be
// ordered (the caller keeps the kernel as it was).
std::optional<Emission> emit(const Module& m, const Graph& g, const Extraction& e);

}  // namespace nautilus::tile::rw
