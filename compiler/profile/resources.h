// What the CUDA compiler says of kernels, in the cost model's terms.
#pragma once

#include "autosched/cost.h"
#include "compiler/backend/cuda/cuda.h"

namespace nautilus::profile {

// The profile with the registers and shared memory that its kernels (one a launch, in the order of
// the profile's parts) really take, so that the model sees as many blocks on a unit as there will
// be. Unchanged where kernels and parts are not one to one.
sched::ResourceProfile with_resources(sched::ResourceProfile p, const sched::Machine& m,
                                      const std::vector<cuda::Launch>& launches,
                                      const std::vector<cuda::Resources>& kernels);

}  // namespace nautilus::profile
