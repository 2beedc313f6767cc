// Skewing one band member by another.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// e_member becomes e_member + factor * e_by for every statement.
Expected<Schedule> skew(const Schedule& s, NodeId band, size_t member, size_t by, int64_t factor);

TransformInfo info_skew();

}  // namespace nautilus::poly
