// Small measured loops for the CPU probe, compiled for several vector widths and chosen at run
// time.
#pragma once

#include <cstddef>

namespace nautilus::sched::probe {

// Runs `rounds` rounds of 16 independent vector FMAs of 16 floats; returns a value that depends on
// all of them.
float fma_rounds(long rounds);
inline constexpr double kFmaFlopsPerRound = 2.0 * 16 * 16;

// exp2 of n floats by range reduction and a degree-5 polynomial, as vectorized code does it.
float exp_many(const float* x, float* y, size_t n);

// One more operation an element than a copy of n floats, in whole vectors: a division, a conversion
// to an integer and back, a comparison that selects.
float divide_many(const float* x, float* y, size_t n);
float convert_many(const float* x, float* y, size_t n);
float compare_many(const float* x, float* y, size_t n);

// Sum of n floats (n a multiple of 128): a pure read stream.
float read_many(const float* x, size_t n);

}  // namespace nautilus::sched::probe
