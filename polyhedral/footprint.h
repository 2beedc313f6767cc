// How much is touched and computed: exact counts over integer sets at given sizes.
#pragma once

#include "polyhedral/schedule.h"

namespace nautilus::poly {

// Number of integer points, exact, for a set whose parameters are all fixed by `sizes`. Independent
// groups of dims are multiplied; coupled dims are enumerated, the innermost in closed form. Refuses
// when more than `max_steps` would be enumerated, or when the set is unbounded.
Expected<int64_t> count_points(const isl::set& s, const Sizes& sizes,
                               int64_t max_steps = 50'000'000);

// Tile classes of one statement under the loop members (everything not Tile-mapped) above its leaf:
// coordinates of non-empty tiles, of tiles whose box is wholly inside the domain, and of the
// others.
struct TileClasses {
  isl::set nonempty, full, partial;     // over the loop coordinates [t0, t1, ...]
  std::vector<std::string> loop_names;  // member names, outermost first
};
Expected<TileClasses> classify_tiles(const Schedule& s, const std::string& stmt, NodeId leaf);

// Elements of `access` touched by one iteration of the loops down to and including node `at`
// (rectangular hull, in elements, at these sizes), and by the whole kernel.
struct Footprint {
  std::string tensor, stmt;
  int read = -1;              // -1: the write
  int64_t per_iteration = 0;  // distinct elements touched by one iteration of the enclosing loops
  int64_t distinct = 0;       // distinct elements over all iterations
  int64_t iterations = 0;     // iterations of the enclosing loops that touch it (non-empty tiles)
};
Expected<std::vector<Footprint>> footprints(const Schedule& s, NodeId at, const Sizes& sizes);

}  // namespace nautilus::poly
