// Wide factors of products on the matrix unit, rounded to the narrow type of the other factor.
#pragma once

#include "compiler/tile/rewrite.h"

namespace nautilus::tile {

// A product of an f32 factor and one of f16 or bf16 takes two passes of the matrix unit, one for
// each half of the wide factor. Here the wide factor is rounded to the narrow type instead, which
// takes one: as other implementations of attention do with exp(S - max), relative error 2^-12
// (bf16: 2^-9) a term. To f16 only where its magnitude is proven to fit: exponentials of what is
// not above a maximum over it, choices, sums and products of such. Strict numerics keep the halves.
Module narrow_factors(const Module& m, Numerics numerics);

}  // namespace nautilus::tile
