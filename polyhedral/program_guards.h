// Conditions on data: whether a reader runs only where what it reads was written.
#pragma once

#include <optional>
#include <string>

#include "polyhedral/program.h"

namespace nautilus::poly {

// Every instance of `reader` that its guard lets run must read, through `access` (one of its
// reads), an element that the guard of the point-wise `writer` let be written. Shown by comparing
// expressions alone: each conjunct of the writer's guard, with its operands seen from the reader,
// must stand among the conjuncts of the reader's. The first that does not, in the writer's
// operands; nothing if all do, or the writer has no guard. Throws isl::exception.
std::optional<Expr> missing_condition(const Program& p, const Statement& writer,
                                      const Statement& reader, const Access& access);

// A condition with what its operands stand for: "#0 < $1:i32 ($1 of len, #0 = (i))".
std::string condition_text(const Statement& s, const Expr& condition);

}  // namespace nautilus::poly
