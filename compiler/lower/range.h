// Intervals of index expressions: which bounds hold for every value of the loops and axes in scope.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "polyhedral/index_expr.h"

namespace nautilus::lower {

// Closed; an absent side is unbounded. `from`, `to`: the ends (inclusive) over sizes and variables
// bound further out, where sizes are symbolic.
struct Range {
  std::optional<int64_t> lo = {}, hi = {};
  std::optional<IndexExpr> from = {}, to = {};
};
using Ranges = std::map<std::string, Range>;

// The interval of e when every variable lies in its range (an unknown variable is unbounded). Like
// terms were collected by IndexExpr, so an affine expression's interval is exact over independent
// variables.
Range range_of(const IndexExpr& e, const Ranges& vars);

// True if the atom holds for all values of the variables: by intervals, else with variables at the
// end where the expression is least.
bool always_holds(const Cond::Atom& a, const Ranges& vars);
bool never_holds(const Cond::Atom& a, const Ranges& vars);

// The variables where the condition holds, or where it does not: bounds by atoms of one variable of
// `vars`.
Ranges ranges_where(Ranges vars, const Cond& c, bool holds);

// Drops atoms that always hold and conjunctions that cannot hold.
Cond simplify(const Cond& c, const Ranges& vars);

}  // namespace nautilus::lower
