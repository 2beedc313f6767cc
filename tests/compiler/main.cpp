// Like gtest_main, and this executable is its own worker for run_cpu.
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/runtime/runtime.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "__worker") == 0)
    return nautilus::runtime::worker_main(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
