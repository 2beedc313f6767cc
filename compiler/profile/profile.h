// What the scheduler cannot know by itself: what a structure costs after lowering and rewriting,
// and which bytes each kernel moves through memory.
#pragma once

#include <memory>

#include "autosched/cost.h"
#include "compiler/tile/rewrite.h"

namespace nautilus::profile {

// Lowers, rewrites and counts; cached by canonical hash of the structure.
std::unique_ptr<sched::OpsProvider> tile_ops_provider(tile::Numerics numerics,
                                                      const tile::OpCosts& costs = {});

// Bytes through global memory if each kernel reads each distinct element it needs once and writes
// each it produces once: what fusion and storage decisions save, independent of caches.
struct Traffic {
  struct Item {
    std::string tensor;
    int kernel = 0;
    bool write = false;
    double bytes = 0;
  };
  std::vector<Item> items;
  double total = 0;
  int kernels = 0;
};
Expected<Traffic> global_traffic(const poly::Schedule& s, const poly::Sizes& sizes);

}  // namespace nautilus::profile
