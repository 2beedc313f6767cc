// Recovers a statement's domain dims from the loops and Tile members above it (the inverse of its
// schedule).
#pragma once

#include "polyhedral/leaf_geometry.h"

namespace nautilus::poly {

struct LeafProblem {
  std::string stmt, label;
  NodeId leaf = -1;
  isl::set domain;  // no bound size among its parameters
  std::vector<std::string> dim_names;
  struct Member {
    LoopDim loop;       // mapping Tile: an axis
    isl::aff schedule;  // over stmt[x]
  };
  std::vector<Member> members;  // outermost first
};

// Determined dims become affine in the loops; a dim covered by a Tile member becomes base + axis,
// where the box is that of the innermost enclosing tile loop floor(x/T), else the smallest
// constant-size box over the domain; any other dim gets an implicit loop.
Expected<LeafGeometry> solve_leaf(const LeafProblem& p);

}  // namespace nautilus::poly
