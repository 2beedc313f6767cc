#pragma once

#include "compiler/backend/cpu/kernel.h"

namespace nautilus::cpu {

// Buffer value -> the value that names its array (itself, if it has its own).
using Storage = std::map<ValueId, ValueId>;
Storage assign_storage(const KernelInfo& k);

}  // namespace nautilus::cpu
