// A plan for sizes that stay open: one schedule for all of their values.
#pragma once

#include "autosched/plan.h"

namespace nautilus::sched {

// The plan's steps on its program with fewer sizes bound, each with the verdict that it has there:
// what holds at the sizes of the search need not hold at all. Refused: a step that does not apply
// or is not legal, by its number, with the sizes at which it would break an order where those are
// known.
Expected<poly::Schedule> with_open_sizes(const Plan& p, const poly::ProgramPtr& open);

}  // namespace nautilus::sched
