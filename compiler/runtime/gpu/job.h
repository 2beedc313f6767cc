// What a run on the GPU needs, in numbers: made from a cuda::Source at concrete sizes, handed to a
// child process, carried out there or in this process.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compiler/backend/cuda/cuda.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::gpu {

enum class Role : uint8_t { Input, Output, Scratch };
struct JobTensor {
  std::string name;
  Type type = Type::F32;
  int64_t elements = 0;
  Role role = Role::Input;
  uint64_t offset = 0;  // of inputs and outputs in the memory shared with the parent, bytes
  bool zeroed = false;  // zero before the first kernel of every run
};
struct JobMap {  // cuda::TensorMap in numbers
  int tensor = 0;
  Type elem = Type::F16;
  std::vector<int64_t> extents, strides;  // strides: bytes, of dimensions 1...; none if empty
  std::vector<int> box;
  int swizzle = 0;
};
struct JobLaunch {
  std::string kernel;
  int64_t grid = 0;  // blocks, in one dimension; 0: nothing to do
  int threads = 0;
  int64_t shared_bytes = 0;
  std::vector<JobMap> maps;
};
struct Job {
  std::string name, target;
  std::vector<JobTensor> tensors;  // in the order of the kernels' parameters
  std::vector<int64_t> sizes;      // parameters after the tensors
  std::vector<JobLaunch> launches;
  uint64_t bytes = 0;  // of the shared memory
  int repeats = 20;    // timed samples; the median is reported
  bool flush = false;  // overwrite the L2 cache before each timed run
  bool guard = true;   // bands of a pattern around each tensor, checked after the run
  double seconds = 60;
};
// Refused: a size without a value, a grid of more than 2^31 - 1 blocks, a tensor that is too large,
// one whose strides no tensor map can have.
Expected<Job> make_job(const cuda::Source& s, const poly::Sizes& sizes);
nlohmann::json to_json(const Job& j);
Job job_from_json(const nlohmann::json& j);
// Device memory that the job's tensors take.
uint64_t device_bytes(const Job& j);

// What the device says of a kernel that it has loaded.
struct KernelFacts {
  std::string kernel;
  int registers = 0, blocks_per_unit = 0;
  int64_t local_bytes = 0, static_shared_bytes = 0;
};
struct Outcome {
  std::string device;
  std::vector<KernelFacts> kernels;
  double seconds = 0;      // all launches once: the median of the samples
  int samples = 0;         // timed
  bool repeatable = true;  // the last run gave the first one's outputs, bit by bit
  // Words of what went wrong: "" | "memory limit: ..." | "kernel k: CUDA_ERROR_..." | ...
  std::string failure;
};
nlohmann::json to_json(const Outcome& o);
Outcome outcome_from_json(const nlohmann::json& j);

}  // namespace nautilus::gpu
