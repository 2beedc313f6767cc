// Intervals of index expressions: which bounds hold for every value of the loops and axes in scope.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "polyhedral/index_expr.h"

namespace nautilus::lower {

// Closed; an absent side is unbounded.
struct Range {
  std::optional<int64_t> lo, hi;
};
using Ranges = std::map<std::string, Range>;

// The interval of e when every variable lies in its range (an unknown variable is unbounded). Like
// terms were collected by IndexExpr, so an affine expression's interval is exact over independent
// variables.
Range range_of(const IndexExpr& e, const Ranges& vars);

// True if the atom holds for all values of the variables.
bool always_holds(const Cond::Atom& a, const Ranges& vars);
bool never_holds(const Cond::Atom& a, const Ranges& vars);

// Drops atoms that always hold and conjunctions that cannot hold.
Cond simplify(const Cond& c, const Ranges& vars);

}  // namespace nautilus::lower
