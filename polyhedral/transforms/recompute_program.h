// The program's side of `recompute`: one consumer gets a producer of its own.
#pragma once

#include "polyhedral/program.h"

namespace nautilus::poly {

struct Recomputed {
  Program program;
  std::string copy;      // statement that was added; empty if the producer was inlined
  bool removed = false;  // the producer had no other reader and is gone
  isl::map serves;  // copy: { copy[..] -> into[..] }: consumer instances that read what it computes
};

// Pointwise producer: its expression replaces the reads of its tensor inside `into` (with a cast
// where the tensor is narrower than the expression), its reads composed with the consumer's access.
// Reduction: a copy { copy[r.., x..] : r in producer, x in extra, into reads the element at some
// instance with these x } writes a private temporary with the extra dims x appended; `into` reads
// that one instead. `extra`: names of dims of `into`; by default all that do not choose the element
// read.
Expected<Recomputed> recompute_in(const Program& p, const std::string& producer,
                                  const std::string& into,
                                  const std::optional<std::vector<std::string>>& extra = {});

}  // namespace nautilus::poly
