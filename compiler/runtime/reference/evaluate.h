// Evaluation of a program's outputs, or of sampled rows of them, by compiled straightforward code.
#pragma once

#include "compiler/runtime/reference/reference_text.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::runtime {

struct Evaluation {
  Reference exact;         // Arithmetic::Double
  poly::Buffers baseline;  // Arithmetic::OwnTypes, the same elements; empty unless asked for
};
// `p` is instantiated. sample: 0 = all rows; > 0 = that many of each output (always its first and
// last); < 0 = all when that is cheap, else as many (8 to 64) as are. A row: the elements along an
// output's last dimension.
Expected<Evaluation> evaluate_rows(const poly::Program& p, const poly::Buffers& inputs,
                                   int64_t sample, uint64_t seed, bool baseline);

}  // namespace nautilus::runtime
