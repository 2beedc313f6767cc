// Mapping band members to the machine: serial, grid, warpgroup, tile, unroll.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// Sets the mapping of some members of a band; refuses where the tree's structure cannot mean it.
Expected<Schedule> map_members(const Schedule& s, NodeId band, const std::vector<size_t>& members,
                               Mapping to);

TransformInfo info_map();

}  // namespace nautilus::poly
