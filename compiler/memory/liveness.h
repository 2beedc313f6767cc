// Which values registers hold where.
#pragma once

#include <functional>
#include <set>

#include "compiler/memory/ir.h"

namespace nautilus::memory {

// Registers a thread that a value takes, of 4 bytes each.
int64_t registers_of(const FragmentType& t);
int64_t registers_of(const Kernel& k, const std::set<ValueId>& values);
// Of a thread, where most are live.
int64_t register_pressure(const Kernel& k);

// Calls `visit` for every point of the role's body, last first: with null at the end of each
// region, and behind each instruction, of inner regions too; there together with what its regions
// use of outside. What a loop's body uses of outside is live in all of it.
void for_each_point(
    const Role& r,
    const std::function<void(const Instr* behind, const std::set<ValueId>& live)>& visit);

}  // namespace nautilus::memory
