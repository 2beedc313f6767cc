// Between buffers of doubles and memory in an element type's own format.
#pragma once

#include <cstddef>
#include <cstdint>

#include "polyhedral/expr.h"

namespace nautilus::runtime {

// n elements, rounded to nearest even; bytes must hold n * type_bytes(t).
void encode(Type t, const double* values, size_t n, void* bytes);
void decode(Type t, const void* bytes, size_t n, double* values);
// As round_to_type, fast for the common formats.
double round_value(Type t, double v);

}  // namespace nautilus::runtime
