// Tiling: one band into a band of tiles over a band of points.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// Member k with sizes[k] = T > 0 becomes floor(e/T) in an outer band (which keeps the id) over the
// unchanged e in an inner one; 0 or absent: inner only; -1: outer only.
Expected<Schedule> tile(const Schedule& s, NodeId band, const std::vector<int64_t>& sizes);

TransformInfo info_tile();

}  // namespace nautilus::poly
