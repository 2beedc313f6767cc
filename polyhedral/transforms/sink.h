// Sinking a producer into a consumer's loops (compute-at).
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// Moves the filter `node` into band `into` of a later sibling, below its first `depth` members: the
// producer's instances are placed in the iteration that first uses them (lexmin over the flow
// dependence).
Expected<Schedule> sink(const Schedule& s, NodeId node, NodeId into, size_t depth);

TransformInfo info_sink();

}  // namespace nautilus::poly
