// The invariants of a program, in the groups that validate() tries one after the other.
#pragma once

#include "polyhedral/access_order.h"
#include "polyhedral/program.h"

namespace nautilus::poly {

struct Flaw {
  std::string item;  // statement or tensor it is about; may be empty
  Refusal refusal;
};

// Names, spaces, ranks, operand numbers: what later code takes for granted. Needs no set
// computation beyond spaces, so it is safe and fast on anything a parser built.
std::optional<Flaw> check_structure(const Program& p);

// Extents, domains, accesses in bounds for every admissible size; shape of reductions.
std::optional<Flaw> check_bounds(const Program& p);

// Reads find a value, writes do not collide, outputs are complete, `original` orders all conflicts.
std::optional<Flaw> check_values(const Program& p);

}  // namespace nautilus::poly
