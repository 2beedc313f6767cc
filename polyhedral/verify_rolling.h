// That rolling updates end with the values that the program defines, by running them: the loop of a
// band on sampled data, with the recorded corrections, against the program's own order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyhedral/schedule.h"
#include "polyhedral/verify_program.h"

namespace nautilus::poly::verifying {

// All repairs at one band together, since the target of one may be the source of another.
// Iterations come in the band's order (also one by one, whatever the tile size); before its terms
// of an iteration a target is corrected to what its sources then hold. Tried with values of both
// signs, positive and far apart, with sources that stay at their identity at first or for ever
// where the repair says what is read then, and (conditions on data) with many draws. Needs no
// derivation, term or proof. Throws isl::exception.
std::optional<Doubt> rolling_doubt(const Schedule& s, const std::vector<const Repair*>& repairs);

}  // namespace nautilus::poly::verifying
