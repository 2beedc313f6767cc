// Concrete shapes of a program whose sizes are bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::runtime {

// The program with every size substituted; a Refusal names a size that has no value.
Expected<poly::Program> instantiate_for_run(const poly::Program& p, const poly::Sizes& sizes);
// Row-major extents of a tensor of an instantiated program; never negative.
std::vector<int64_t> extents_of(const poly::Program& p, const std::string& tensor);
int64_t element_count(const std::vector<int64_t>& extents);  // saturates at INT64_MAX / 64
// "[3, 0, 17]" of the k-th element in row-major order.
std::string element_text(const std::vector<int64_t>& extents, int64_t k);

}  // namespace nautilus::runtime
