// Changing instructions in place, with what is nested in them.
#pragma once

#include <functional>
#include <set>

#include "compiler/memory/ir.h"

namespace nautilus::memory::lowering {

// Every value that the instruction reads, those of its regions and their yields included.
void each_operand(Instr& i, const std::function<void(ValueId&)>& f);
std::set<ValueId> used_by(const Instr& i);
// Variables of indices, slots, parities, bounds and conditions.
void substitute(Instr& i, const std::map<std::string, IndexExpr>& by);
// The instruction or one in it reads or writes this shared buffer.
bool touches(const Instr& i, const std::string& buffer);
IndexExpr iterations(const Instr& loop);

}  // namespace nautilus::memory::lowering
