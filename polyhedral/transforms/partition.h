// Partitioning the instances of a filter or a band into two parts, one after the other.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// Instances in `condition` first, the others after them, each with a copy of the subtree.
Expected<Schedule> partition(const Schedule& s, NodeId node, const isl::union_set& condition);

TransformInfo info_partition();

}  // namespace nautilus::poly
