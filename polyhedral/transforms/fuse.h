// Fusing neighbouring children of a sequence into one band.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

struct Fused {
  Schedule schedule;
  NodeId band = 0;      // the fused band
  NodeId sequence = 0;  // the sequence below it
};
// The first `depth` members of the bands below children first..last (inclusive) become, position by
// position, one band over a sequence of the children with what remains of their bands. The band
// keeps the id of the first child's band where that one is used up, and a sequence right below it
// takes the others in. Repairs at bands that disappear move to the fused band. The edit alone: fuse
// and rolling_update decide on legality.
Expected<Fused> fuse_children(const Schedule& s, NodeId sequence, size_t first, size_t last,
                              size_t depth);

TransformInfo info_fuse();

}  // namespace nautilus::poly
