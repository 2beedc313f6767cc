// From the tile IR to the memory IR: where every tile lives, who moves it when, and what waits for
// whom. A list of passes: what products and loops look like (on the tile program), placements of
// values over the warps, instructions, rings for what loops copy, bytes of shared memory, barriers
// from dependences. (architecture.md stage 9; pipelining-and-synchronization.md)
#pragma once

#include <functional>

#include "compiler/memory/ir.h"

namespace nautilus::memory {

struct LowerOptions {
  std::string target = "sm_80";
  // Of the plan: "stages" (slots of a ring, 0 or absent: 2), "warps" (of a block, 0 or absent:
  // chosen so that what is live fits the registers).
  std::map<std::string, int64_t> knobs;
  // That tiles may take of a thread's registers by this pass's own count, which does not know what
  // the compiler shares or moves: one that asks the compiler afterwards may allow more than 255.
  int64_t most_registers = 250;
  bool tf32 = false;  // f32 products on the matrix unit (--numerics fast)
  // Called with the module after each pass that changed it (--print-after).
  std::function<void(const std::string& pass, const Module&)> after;
};
// Tile IR (after rewriting) to a verified memory IR. A branch on data (tile If with an operand)
// guards what is seldom needed: any lane may run its first side, so each warp decides by the lanes
// that it holds. Refused: tiles that do not fit the registers or the shared memory of a block.
Expected<Module> lower(const tile::Module& m, const LowerOptions& o = {});

}  // namespace nautilus::memory
