// The verifier's conditions on one repair that are not about the order of instances.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyhedral/schedule.h"

namespace nautilus::poly::verifying {

// What is wrong with a repair, if anything: its band and statements exist and play their roles,
// values on the way are read by nobody else, obligations are discharged, and randomized evaluation
// does not refute the algebra. Appends a line for each thing that holds.
std::optional<std::string> repair_problem(const Schedule& s, const Repair& r,
                                          std::vector<std::string>& checked);

}  // namespace nautilus::poly::verifying
