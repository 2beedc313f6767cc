// Cutting a reduced dimension into parts that run in parallel.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// {node, axis, parts, multiple?, numerics?}: see split_k_program.h for what becomes of the
// statements (legality-and-repair.md, Split-k; Neptune, arXiv 2510.08726, Thm 4.4).
Outcome split_k(const Schedule& s, const DependenceSet& deps, const nlohmann::json& params);
TransformInfo info_split_k();

}  // namespace nautilus::poly
