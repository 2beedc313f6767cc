// A job's kernels and tensors on the device; given back when the object goes.
#pragma once

#include <deque>

#include "compiler/runtime/gpu/driver.h"
#include "compiler/runtime/gpu/job.h"

namespace nautilus::gpu {

// What a call of the driver answered, in words. Thrown by Session, caught by execute().
struct DeviceError {
  std::string text;
};

class Session {
 public:
  // Both outlive the session. Tensors: pointers into allocations of their own, with bands of a
  // pattern around them if the job asks for it.
  Session(const Driver& d, const Job& job) : d_(d), job_(job) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Loads the cubin and finds the kernels; what the device says of each goes to `kernels`.
  void load(const std::string& cubin, std::vector<KernelFacts>& kernels);
  // Allocates the tensors; inputs come from `shared`, everything else starts with all bits set.
  void allocate(const char* shared);
  // Zeroes what must be zero and launches the kernels in order; `each`: waits after every kernel,
  // so that its fault is reported as its own.
  void launch(bool each);
  void copy_out(char* shared);             // the outputs
  bool outputs_equal(const char* shared);  // bit by bit
  void check_bands();                      // throws, naming a tensor beside which was written
  DevicePointer scratch(uint64_t bytes);
  void fill(DevicePointer p, unsigned char value, uint64_t bytes);
  double timed(int runs);  // seconds of as many runs of all kernels, by events
  void synchronize(const std::string& asked);

 private:
  struct Kernel {
    Handle function = nullptr;
    std::vector<void*> parameters;
  };
  struct alignas(64) TensorMapBits {
    unsigned char bits[128];
  };
  const Driver& d_;
  const Job& job_;
  int device_ = 0;
  Handle context_ = nullptr, module_ = nullptr;
  std::vector<Kernel> kernels_;
  std::vector<Handle> events_;
  std::vector<DevicePointer> allocations_;
  // Parameters point to elements of these: addresses must stay.
  std::deque<DevicePointer> tensors_;
  std::vector<int64_t> sizes_;
  std::deque<TensorMapBits> maps_;

  void check(int error, const std::string& asked) const;
  Handle find_kernel(const JobLaunch& l, std::vector<KernelFacts>& kernels);
  void* encode(const JobMap& m);
};

}  // namespace nautilus::gpu
