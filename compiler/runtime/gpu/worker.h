// A job in a child process: descriptors 3 (job), 4 (tensors), 5 (report), 6 (cubin). What happens
// there, a fault or a kernel that never ends included, is a result.
#pragma once

#include "compiler/runtime/gpu/job.h"
#include "compiler/runtime/process.h"

namespace nautilus::gpu {

// Runs the job in a child of this program (or of $NAUTILUS_WORKER) with the hidden verb
// `__gpu_worker`, for job.seconds at most.
Expected<Outcome> run_in_child(const Job& job, const std::string& cubin,
                               const runtime::SharedMemory& data);
// The child's side; main() calls it for `__gpu_worker`.
int worker_main();

}  // namespace nautilus::gpu
