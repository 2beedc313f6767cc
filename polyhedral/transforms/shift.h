// Shifting statements along a band member.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// Adds `amount` to the member's function for the given statements.
Expected<Schedule> shift(const Schedule& s, NodeId band, size_t member, int64_t amount,
                         const std::vector<std::string>& statements);

TransformInfo info_shift();

}  // namespace nautilus::poly
