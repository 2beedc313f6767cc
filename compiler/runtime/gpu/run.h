// Runs compiled kernels on the GPU and compares their outputs with the double-precision reference,
// as run_cpu does on the CPU.
#pragma once

#include "compiler/runtime/gpu/job.h"

namespace nautilus::gpu {

struct GpuOptions {
  bool in_process = false;    // no child: for compute-sanitizer and debuggers
  bool flush = false;         // empty the L2 cache before each timed run
  uint64_t memory_bytes = 0;  // of device memory for the tensors; 0: what is free
  // Path of a file whose lock is held while the device is used: of runs side by side one has it at a
  // time. "": no lock.
  std::string turns = "";
};
struct GpuResult {
  runtime::RunResult run;  // compile_seconds is left to the caller
  Outcome outcome;
};
// `options`: threads and memory_bytes are not used. In process the tensors have no bands around
// them, so that a checker sees every access beyond one; nothing is timed beyond the one run.
Expected<GpuResult> run_gpu(const poly::Program& p, const poly::Sizes& sizes,
                            const cuda::Source& source, const cuda::Compiled& code,
                            const runtime::RunOptions& options, const GpuOptions& gpu);

}  // namespace nautilus::gpu
