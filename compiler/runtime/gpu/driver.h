// The CUDA driver, loaded when it is first needed: own declarations of the few entry points used
// here, no CUDA header and no link, so programs start on machines without one. Source of names,
// signatures and numbers: CUDA Driver API reference 13.0 (its ABI is stable across versions).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "polyhedral/expected.h"

namespace nautilus::gpu {

// What the driver keeps behind a pointer.
using Handle = void*;
using DevicePointer = unsigned long long;

// One member an entry point; the names are the driver's without "cu".
struct Api {
  int (*Init)(unsigned flags);
  int (*DriverGetVersion)(int* version);
  int (*DeviceGetCount)(int* count);
  int (*DeviceGet)(int* device, int ordinal);
  int (*DeviceGetName)(char* name, int length, int device);
  int (*DeviceGetAttribute)(int* value, int attribute, int device);
  int (*DevicePrimaryCtxRetain)(Handle* context, int device);
  int (*DevicePrimaryCtxRelease)(int device);
  int (*CtxSetCurrent)(Handle context);
  int (*CtxSynchronize)();
  int (*ModuleLoadData)(Handle* module, const void* image);
  int (*ModuleUnload)(Handle module);
  int (*ModuleGetFunction)(Handle* function, Handle module, const char* name);
  int (*FuncSetAttribute)(Handle function, int attribute, int value);
  int (*FuncGetAttribute)(int* value, int attribute, Handle function);
  int (*OccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, Handle function, int threads,
                                                   size_t shared_bytes);
  int (*MemGetInfo)(size_t* free, size_t* total);
  int (*MemAlloc)(DevicePointer* p, size_t bytes);
  int (*MemFree)(DevicePointer p);
  int (*MemcpyHtoD)(DevicePointer to, const void* from, size_t bytes);
  int (*MemcpyDtoH)(void* to, DevicePointer from, size_t bytes);
  int (*MemsetD8Async)(DevicePointer p, unsigned char value, size_t bytes, Handle stream);
  int (*LaunchKernel)(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                      unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                      Handle stream, void** parameters, void** extra);
  int (*EventCreate)(Handle* event, unsigned flags);
  int (*EventDestroy)(Handle event);
  int (*EventRecord)(Handle event, Handle stream);
  int (*EventSynchronize)(Handle event);
  int (*EventElapsedTime)(float* milliseconds, Handle start, Handle end);
  // Null in a driver before CUDA 12: bulk tensor copies are not there then.
  int (*TensorMapEncodeTiled)(void* map, int type, unsigned rank, void* address,
                              const uint64_t* extents, const uint64_t* strides, const uint32_t* box,
                              const uint32_t* element_strides, int interleave, int swizzle,
                              int promotion, int fill);
  int (*GetErrorName)(int error, const char** name);
  int (*GetErrorString)(int error, const char** text);
};

// The loaded library with its entry points, initialized.
class Driver {
 public:
  // `library`: a path or name; "": $NAUTILUS_LIBCUDA, else libcuda.so.1. Refused, naming what is
  // missing: the library, an entry point of it, or a device.
  static Expected<std::shared_ptr<const Driver>> open(const std::string& library = "");
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  const Api& operator()() const { return api_; }
  int device_count() const { return devices_; }
  int version() const { return version_; }  // of CUDA that the driver supports: 13000 is 13.0
  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string error_text(int error) const;

 private:
  Driver() = default;
  Api api_{};
  void* library_ = nullptr;
  int devices_ = 0, version_ = 0;
};

// What a machine's GPU can hold and how it is called.
struct DeviceInfo {
  std::string name;
  int capability = 0;  // 90 is 9.0
  int multiprocessors = 0, threads_per_unit = 0;
  int64_t shared_per_block = 0;  // the most that a kernel may ask for
  int64_t l2_bytes = 0;
};
Expected<DeviceInfo> device_info(const Driver& d, int ordinal = 0);
// "sm_89" of capability 89: what code must be compiled for to run on it. "sm_90a" of 90: with the
// warpgroup products that later chips do not have.
std::string target_of(const DeviceInfo& d);

}  // namespace nautilus::gpu
