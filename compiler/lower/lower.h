// From a schedule to a tile program.
#pragma once

#include "compiler/tile/rewrite.h"
#include "polyhedral/loops.h"

namespace nautilus::lower {

struct LowerOptions {
  bool separate_full_tiles = true;
  // Products of a partial tile: a term that is absent has weight 0 in one factor, and contributes
  // nothing as long as the other is finite. Strict does not assume that (the terms themselves are
  // masked, one multiply-add after the other); else the module's notes say so.
  tile::Numerics numerics = tile::Numerics::Reassociate;
};
// Lowers every top-level kernel of the schedule. Leaf bands mapped Tile become tile axes,
// everything else loops (a schedule without Tile members lowers to scalar code: any legal schedule
// runs). Register-scoped tensors become SSA values carried by loops; rolling-update repairs become
// corrections of carried values. The program's sizes must be bound. A Refusal names the statement
// and what cannot be expressed.
Expected<tile::Module> lower(const poly::Schedule& s, const LowerOptions& options = {});

}  // namespace nautilus::lower
