// What every candidate of one program is run on and compared with.
#pragma once

#include <memory>

#include "compiler/runtime/reference/evaluate.h"

namespace nautilus::runtime {

struct Prepared {
  std::string key;
  poly::Buffers inputs;
  Evaluation evaluation;
  double seconds = 0;  // that the evaluation took
};
// `p` is instantiated. The last two programs' inputs and references are kept: a search runs many
// candidates of one.
Expected<std::shared_ptr<const Prepared>> prepare(const poly::Program& p, const RunOptions& o);

}  // namespace nautilus::runtime
