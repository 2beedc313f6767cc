// Reversing a band member.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// e_member becomes -e_member for every statement.
Expected<Schedule> reverse(const Schedule& s, NodeId band, size_t member);

TransformInfo info_reverse();

}  // namespace nautilus::poly
