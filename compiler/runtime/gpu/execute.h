// Carries a job out on the device, in this process.
#pragma once

#include <functional>

#include "compiler/runtime/gpu/driver.h"
#include "compiler/runtime/gpu/job.h"

namespace nautilus::gpu {

// Loads the cubin, copies the inputs in from `shared` (job.bytes of it), poisons outputs and
// scratch (all bits set: NaN), launches the kernels in order, copies the outputs back to `shared`,
// then times repeats by events. A fault, a write beyond a tensor or memory that does not suffice is
// in the outcome's `failure`. `reached`: told what has been done so far ("loaded", "ran").
Outcome execute(const Driver& d, const Job& job, const std::string& cubin, char* shared,
                const std::function<void(const std::string&)>& reached = {});

}  // namespace nautilus::gpu
