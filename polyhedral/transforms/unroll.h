// Unrolling a band member.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

Expected<Schedule> unroll(const Schedule& s, NodeId band, size_t member);

TransformInfo info_unroll();

}  // namespace nautilus::poly
