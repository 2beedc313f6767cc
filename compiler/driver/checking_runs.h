// What the checks of kernels share: runs of the memory interpreter within limits, and what of them
// is a fault.
#pragma once

#include <chrono>

#include "compiler/driver/checking.h"

namespace nautilus::driver {

inline constexpr int64_t kElements = int64_t(1) << 23;    // of all tensors together
inline constexpr uint64_t kOperations = 150'000'000;      // of one run of the interpreter
inline constexpr uint64_t kTileOperations = 150'000'000;  // of the tile program
inline constexpr double kTolerance = 1e-2;                // of a tensor's largest magnitude

double seconds_since(std::chrono::steady_clock::time_point t);
// Tile sizes of an axis in any of the plan's kernels, as one that all divide; 0: none.
int64_t tile_of(const sched::Knobs& knobs, const std::string& axis);
// Of all tensors; INT64_MAX if they are more than that.
int64_t elements_of(const memory::Module& m, const poly::Sizes& sizes = {});
// First element of an output that differs by more than rounding explains, in words.
std::optional<std::string> output_difference(const tile::Module& m, const poly::Sizes& sizes,
                                             const poly::Buffers& want, const poly::Buffers& got);

// One run of the interpreter: every block, or those at the corners of the grid.
struct BlockRun {
  memory::Interpretation result;
  uint64_t blocks = 0, of = 0;
  bool finished = true;  // within the operations allowed
};
Expected<BlockRun> run_blocks(const memory::Module& m, const poly::Sizes& sizes,
                              const poly::Buffers& inputs, bool all);
Refusal faulty(const std::string& name, const poly::Sizes& sizes, const memory::Fault& f);

}  // namespace nautilus::driver
