// Runs candidates and compares them with the double-precision reference.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compiler/tile/ir.h"
#include "compiler/tile/rewrite.h"

namespace nautilus::runtime {

// Deterministic inputs from a seed: normal values for floats (scaled by `scale`), small
// non-negative integers below the gathered tensor's extent for index tensors, {0,1} for bool.
poly::Buffers make_inputs(const poly::Program& p, const poly::Sizes& sizes, uint64_t seed,
                          double scale = 1.0);

// The reference: the program in its original order, in double precision, compiled by the JIT
// (independent of schedules, tile IR and rewriting); with `sample` > 0 only that many output rows,
// chosen by seed, are computed, from the exact set of instances they need. Unsampled elements are
// NaN-tagged by `known` = 0.
struct Reference {
  poly::Buffers outputs;
  std::map<std::string, std::vector<uint8_t>> known;
};
Expected<Reference> reference(const poly::Program& p, const poly::Sizes& sizes,
                              const poly::Buffers& inputs, int64_t sample, uint64_t seed);

struct RunOptions {
  int threads = 0;      // 0: all cores
  double seconds = 60;  // wall limit of the child process
  uint64_t memory_bytes = 8ull << 30;
  int repeats = 3;      // timed runs after one warm-up; the median is reported
  int64_t sample = -1;  // reference rows: -1 = choose (all when small)
  uint64_t seed = 1;
  double scale = 1.0;
  tile::Numerics numerics = tile::Numerics::Reassociate;
  double tolerance = 0;  // 0: derived from the output type and reduction length
};
struct RunResult {
  bool passed = false;
  double max_error = 0, rms_error = 0;  // absolute, against the reference
  double baseline_max_error = 0,
         baseline_rms_error = 0;  // straightforward evaluation in the same types
  double seconds = 0;             // median of the timed runs
  double compile_seconds = 0, reference_seconds = 0;
  int64_t compared = 0;  // elements compared
  std::string failure;  // "" | "timeout after 60 s" | "killed by SIGSEGV" | "memory limit" | "wrong
                        // result: ..."
  std::vector<std::string> worst;  // up to 5 worst elements in words
  std::string suggest;  // of a wrong result: which assumption of the numerics may not hold; else ""
};
// Compiles and runs in a child process (re-executing this program with a hidden verb `__worker`); a
// crash, a hang or memory exhaustion is a result, never the end of the caller.
Expected<RunResult> run_cpu(const poly::Program& p, const poly::Sizes& sizes, const tile::Module& m,
                            const RunOptions& options);
int worker_main(int argc, char** argv);  // the child's side; main() calls it for `__worker`
nlohmann::json to_json(const RunResult& r);

}  // namespace nautilus::runtime
