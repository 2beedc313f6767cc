// Splitting one band into two nested ones.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// The first `at` members keep the id, the rest become a band below.
Expected<Schedule> split(const Schedule& s, NodeId band, size_t at);

TransformInfo info_split();

}  // namespace nautilus::poly
