// The text of a program with what each line came from.
#pragma once

#include "compiler/memory/ir.h"
#include "polyhedral/line_map.h"

namespace nautilus::memory {

MappedLines to_lines(const Module& m);  // print(m)

}  // namespace nautilus::memory
