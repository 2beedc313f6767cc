// Like gtest_main, and this executable is its own worker for run_gpu.
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/runtime/gpu/worker.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "__gpu_worker") == 0) return nautilus::gpu::worker_main();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
