// The job that a parent hands to its worker: descriptors 3 (job), 4 (tensors), 5 (report).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compiler/tile/ir.h"

namespace nautilus::runtime {

// Inputs and outputs lie one after the other in the shared memory; temporaries are the worker's
// own.
struct JobTensor {
  std::string name;
  Type type = Type::F32;
  int64_t elements = 0;
  bool output = false, temporary = false;
  uint64_t offset = 0;
};
struct WorkerJob {
  std::string source, entry, numerics;
  std::vector<JobTensor> tensors;  // in the module's order
  uint64_t bytes = 0;              // of the shared memory
  int threads = 0, repeats = 3;
  double seconds = 60;  // repeats stop early to stay within it
};
nlohmann::json to_json(const WorkerJob& job);
WorkerJob job_from_json(const nlohmann::json& j);

}  // namespace nautilus::runtime
