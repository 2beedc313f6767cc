// From a program to the C++ of its straightforward evaluation: the statements in their original
// order, loops by isl's code generator, nothing shared with schedules, the tile IR or rewriting.
#pragma once

#include <string>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::runtime {

enum class Arithmetic : uint8_t {
  Double,    // double precision; casts inside expressions round, the last rounding into an output
             // does not
  OwnTypes,  // every operation and every stored value in its own type, sums in the program's order
};

struct ReferenceText {
  std::string text;  // extern "C" void <entry>(double* const* t, const long* row, double* out)
  std::vector<int64_t> box;  // elements to keep of each tensor, in the program's order; 0 for
                             // inputs, which are read from whole row-major buffers
};

// `q`: an instantiated program restricted to the wanted elements; its only parameters are
// `row_params`, the coordinates row[0..] of a row of `output`, limited by `rows` (a set over those
// parameters). `out` receives the row: its elements along the last dimension (tensors of rank <= 1:
// one element). Without row_params the whole program is evaluated, each tensor's box is all of it,
// and `out` is not touched.
Expected<ReferenceText> reference_text(const poly::Program& q, const std::string& output,
                                       const std::vector<std::string>& row_params,
                                       const isl::set& rows, Arithmetic arithmetic,
                                       const std::string& entry);

}  // namespace nautilus::runtime
