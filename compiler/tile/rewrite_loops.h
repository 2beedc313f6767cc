// Changes of variable of carried values.
#pragma once

#include "compiler/tile/rewrite_graph.h"

namespace nautilus::tile::rw {

// Adds to every loop the carried variables z = x*f that can be computed without x, where f is a
// constant, a value that the loop does not change, another carried value, or the inverse of one,
// and says how x follows from z. Returns the number of variables added. (legality-and-repair.md,
// "Rolling update": corrections are quotients of carried values; here they cancel.)
int change_carried_variables(Graph& g);

}  // namespace nautilus::tile::rw
