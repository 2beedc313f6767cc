// That a transformed program computes what the program it came from computes, decided without the
// transforms: nothing here knows how the one was made from the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::poly::verifying {

// What is wrong, or (undecided) why it could not be told.
struct Doubt {
  std::string why;
  bool undecided = false;
};

// Every tensor of `origin` that `now` still has must have the value it had; those written by other
// statements than before are looked at, as equations over the tensors they read:
// - both programs have the same interface, `now` is valid, overwritten tensors keep their order;
// - an element written once is written once; nothing that an element was made of is dropped, and
//   partial reductions that are combined cover the reduction one to one (exact, for all sizes);
// - values are equal on sampled data, at small sizes or on thinned instances (verify_values.h).
// Answers are kept in the context, by the contents of both. Throws isl::exception.
std::optional<Doubt> program_doubt(const Program& origin, const Program& now,
                                   std::vector<std::string>& checked);

}  // namespace nautilus::poly::verifying
