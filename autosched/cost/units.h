// Which unit executes a scalar operation: "fma", "special", "divide", "convert", "compare" (and
// "matrix").
#pragma once

#include <map>
#include <string>

#include "autosched/cost/structure.h"

namespace nautilus::sched {

const char* unit_of(Op op);                             // nullptr: a leaf, no operation
std::map<std::string, double> units_of(const Expr& e);  // distinct subterms by unit
const char* combine_unit(poly::ReduceOp op);

}  // namespace nautilus::sched
