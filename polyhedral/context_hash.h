// Hashes and cheap (representation) equality of isl objects, for keys of caches.
#pragma once

#include "polyhedral/context.h"

namespace nautilus::poly {

inline constexpr uint64_t kHashSeed = 0xcbf29ce484222325ull;
uint64_t hash_bytes(uint64_t seed, std::string_view bytes);  // FNV-1a: equal across runs and hosts
uint64_t hash_combine(uint64_t a, uint64_t b);

// Structural hash of an affine function: tuple and parameter names, coefficients, divisions.
// Parameters with coefficient zero do not matter. With ignore_denominators, floor(i/64) and
// floor(i/16) hash alike.
uint64_t hash(const isl::aff& a, bool ignore_denominators = false);
// Of the constraints as isl normalizes them; equal sets in different forms may hash differently.
uint64_t hash(const isl::set& s);
// True only if equal; may answer false for equal objects in different forms. Cheap for shared
// objects.
bool plain_equal(const isl::set& a, const isl::set& b);
bool plain_equal(const isl::aff& a, const isl::aff& b);

}  // namespace nautilus::poly
