// Keeping stale references in rolling updates.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// Marks the repairs at this band (or unmarks them): their source's reference moves only when that
// would scale the accumulators by more than Repair::lazy_bound says. All repairs that refer to one
// source are marked together, since their terms share the reference.
Expected<Schedule> lazy_reference(const Schedule& s, NodeId band, bool on);

TransformInfo info_lazy_reference();

}  // namespace nautilus::poly
