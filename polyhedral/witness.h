// Two concrete instances out of a violated part of a dependence, in words.
#pragma once

#include "polyhedral/legality.h"

namespace nautilus::poly {

// The lexicographically smallest sizes, then instances. Nothing if v.pairs is empty.
std::optional<Witness> make_witness(const Program& p, const Violation& v);

}  // namespace nautilus::poly
