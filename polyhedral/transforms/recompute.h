// Recompute: a producer is executed again inside one of its consumers.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// {stmt, into, dims?, at?}. Pointwise: inlined into the consumer's expression. Reduction: a copy
// with a private temporary, run in the outermost sequence above the consumer (or in sequence `at`)
// where that is legal. The program of the schedule changes: its dependences must be computed anew
// for what follows.
Outcome recompute(const Schedule& s, const DependenceSet& deps, const nlohmann::json& params);
TransformInfo info_recompute();

}  // namespace nautilus::poly
