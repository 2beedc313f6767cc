// A kernel with its names resolved and its broadcasts as tables: what the interpreter runs.
#pragma once

#include "compiler/tile/lanes.h"

namespace nautilus::tile {

struct Step;
struct StepBlock {  // a region
  std::vector<Step> steps;
  std::vector<size_t> args, yields;  // value slots
};
struct Step {
  const Instr* instr = nullptr;
  Type elem = Type::F32;
  LaneSpace space;                          // lanes it runs over
  std::vector<size_t> in, out;              // value slots
  std::vector<std::vector<int32_t>> table;  // per operand: broadcast_table
  std::vector<LaneIndex> index;             // Load, Store: per dim; Iota; For: lower, upper
  LaneCond cond;
  std::vector<int32_t> fold;          // Reduce: output lane of each input lane
  std::vector<int32_t> sum_a, sum_b;  // Dot: offsets of the contracted lanes in a and b
  size_t tensor = 0;
  int iv = -1;
  std::vector<StepBlock> blocks;
  std::vector<std::vector<int32_t>> init_table, yield_table;  // For, If: into the carried value
};

// The steps of a kernel's body. `slots`: where each value is kept; `tensors`: where each tensor is;
// loop variables and sizes get slots in `scalars`. The kernel must outlive the steps.
StepBlock resolve(const Kernel& k, const std::map<ValueId, size_t>& slots,
                  const std::map<std::string, size_t>& tensors, Scalars& scalars);

}  // namespace nautilus::tile
