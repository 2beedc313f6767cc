// The stand-in for the CUDA driver (fake_cuda.cpp), its environment and its log.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/runtime/gpu/driver.h"
#include "compiler/runtime/gpu/job.h"

namespace nautilus::gpu {

// Points the program at the stand-in, with a fresh log; undone at the end.
class FakeCuda : public testing::Test {
 protected:
  FakeCuda() {
    set("NAUTILUS_LIBCUDA", NAUTILUS_FAKE_CUDA);
    set("NAUTILUS_WORKER", NAUTILUS_GPU_WORKER);
    log_ = (std::filesystem::temp_directory_path() /
            ("nautilus-fake-cuda-" + std::to_string(getpid()) + ".log"))
               .string();
    std::filesystem::remove(log_);
    set("FAKE_CUDA_LOG", log_);
  }
  ~FakeCuda() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    std::filesystem::remove(log_);
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  // Lines of the log that begin with `head`.
  std::vector<std::string> log(const std::string& head = "") const {
    std::vector<std::string> out;
    std::ifstream in(log_);
    for (std::string line; std::getline(in, line);)
      if (line.rfind(head, 0) == 0) out.push_back(line);
    return out;
  }

 private:
  std::string log_;
  std::vector<std::string> set_;
};

// Y[N] = 2 X[N] by the kernel of the line `kernel scale_x ...` that a test gives as its "cubin".
inline cuda::Source scaling(int64_t shared_bytes = 1000) {
  cuda::Source s;
  s.name = "scaling";
  s.target = "sm_90";
  s.sizes = {"N"};
  const IndexExpr n = IndexExpr::var("N");
  s.tensors = {
      {"X", Type::F32, poly::TensorKind::Input, poly::Scope::Global, {n}},
      {"Y", Type::F32, poly::TensorKind::Output, poly::Scope::Global, {n}},
      {"T", Type::F32, poly::TensorKind::Temp, poly::Scope::Global, {n * 2}},
  };
  s.launches = {{"scale_x", {IndexExpr::floordiv(n + 31, 32), 2}, 64, shared_bytes, 1, {}}};
  return s;
}
inline constexpr const char* kRight = "kernel scale_x scale 1 0 3 2\n";

}  // namespace nautilus::gpu
