// The verifier's conditions on one repair that are not about the order of instances or about
// values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyhedral/schedule.h"

namespace nautilus::poly::verifying {

// What is wrong with a repair, if anything: its band and statements exist and play their roles, its
// accumulators move together, values on the way are read by nobody else, sources and accumulators
// are in step, obligations are discharged. Appends a line for each thing that holds. Whether the
// values come out is for rolling_doubt.
std::optional<std::string> repair_problem(const Schedule& s, const Repair& r,
                                          std::vector<std::string>& checked);

}  // namespace nautilus::poly::verifying
