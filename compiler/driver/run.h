// The verb `run`, on the CPU (run.cpp) and on the GPU (run_gpu.cpp).
#pragma once

#include "compiler/driver/choosing.h"
#include "compiler/driver/story.h"
#include "compiler/lower/lower.h"
#include "compiler/runtime/gpu/run.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::driver {

struct RunFlags {
  std::string on = "cpu", print, print_after, target;
  ChoiceFlags choice;
  runtime::RunOptions run;
  gpu::GpuOptions gpu;
  double memory_gb = 0;  // 0: the default of where it runs
  bool against_original = false, no_check = false;
  size_t tries = 0;  // 0: see most_choices
  std::vector<std::string> symbolic;
  RunFlags() { run.repeats = 0; }  // likewise
};

int run_on_gpu(const Input& in, SearchFlags f, RunFlags flags);

void print_result(const std::string& what, const runtime::RunResult& r);
int answer_of(const runtime::RunResult& r);  // exit status

}  // namespace nautilus::driver
