// Fusing reductions that need each other's final values, paid for by corrections.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// {node, first, last, depth, numerics?}: fuse_children, then a repair for every reduction that
// would read running values (legality-and-repair.md, Rolling update). The program changes where a
// repair needs further accumulators.
Outcome rolling_update(const Schedule& s, const DependenceSet& deps, const nlohmann::json& params);
TransformInfo info_rolling_update();

}  // namespace nautilus::poly
