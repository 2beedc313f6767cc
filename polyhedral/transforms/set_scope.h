// Where a temporary lives: global, shared, register.
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// Refuses tensors whose scope is not free, and scopes that the loops around the accesses do not
// allow.
Expected<Schedule> set_scope(const Schedule& s, const std::string& tensor, Scope scope);

TransformInfo info_set_scope();

}  // namespace nautilus::poly
