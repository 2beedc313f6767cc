// What a rolling update has to move first: point-wise children that do not have its loop.
#pragma once

#include "polyhedral/schedule.h"

namespace nautilus::poly {

struct Cleared {
  Schedule schedule;
  size_t last;  // of the children that are left to fuse
};

// Children between first and last of a sequence that are pointwise and do not have the loop (a mean
// between two sums) are inlined into the children that read them and run behind the others, where
// sources have their final values. `first` and `last` are children of the sequence; the program
// changes where something is inlined.
Expected<Cleared> clear_the_way(const Schedule& s, NodeId sequence, size_t first, size_t last,
                                size_t depth);

}  // namespace nautilus::poly
