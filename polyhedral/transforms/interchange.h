// Reordering the members of a band.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// order[k]: which old member comes k-th; a permutation of all members.
Expected<Schedule> interchange(const Schedule& s, NodeId band, const std::vector<size_t>& order);

TransformInfo info_interchange();

}  // namespace nautilus::poly
