#include "compiler/runtime/gpu/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>

namespace nautilus::gpu {
namespace {

Refusal missing(const std::string& why, const std::string& suggest) {
  return Refusal{"use the GPU", "CUDA driver", why, suggest};
}

// The first of the names that the library has, into `slot`; else the name is added to `absent`.
template <class F>
void bind(void* library, F*& slot, std::initializer_list<const char*> names, std::string& absent) {
  for (const char* name : names)
    if (void* p = dlsym(library, name)) {
      slot = reinterpret_cast<F*>(p);
      return;
    }
  absent += (absent.empty() ? "" : ", ") + std::string(*names.begin());
}

// Fills the table; answers the names that the library lacks. Suffixes: the ABI of 64-bit sizes
// (_v2); plain names of the same functions are older ones.
std::string bind_all(void* l, Api& a) {
  std::string absent;
  bind(l, a.Init, {"cuInit"}, absent);
  bind(l, a.DriverGetVersion, {"cuDriverGetVersion"}, absent);
  bind(l, a.DeviceGetCount, {"cuDeviceGetCount"}, absent);
  bind(l, a.DeviceGet, {"cuDeviceGet"}, absent);
  bind(l, a.DeviceGetName, {"cuDeviceGetName"}, absent);
  bind(l, a.DeviceGetAttribute, {"cuDeviceGetAttribute"}, absent);
  bind(l, a.DevicePrimaryCtxRetain, {"cuDevicePrimaryCtxRetain"}, absent);
  bind(l, a.DevicePrimaryCtxRelease, {"cuDevicePrimaryCtxRelease_v2"}, absent);
  bind(l, a.CtxSetCurrent, {"cuCtxSetCurrent"}, absent);
  bind(l, a.CtxSynchronize, {"cuCtxSynchronize"}, absent);
  bind(l, a.ModuleLoadData, {"cuModuleLoadData"}, absent);
  bind(l, a.ModuleUnload, {"cuModuleUnload"}, absent);
  bind(l, a.ModuleGetFunction, {"cuModuleGetFunction"}, absent);
  bind(l, a.FuncSetAttribute, {"cuFuncSetAttribute"}, absent);
  bind(l, a.FuncGetAttribute, {"cuFuncGetAttribute"}, absent);
  bind(l, a.OccupancyMaxActiveBlocksPerMultiprocessor,
       {"cuOccupancyMaxActiveBlocksPerMultiprocessor"}, absent);
  bind(l, a.MemGetInfo, {"cuMemGetInfo_v2"}, absent);
  bind(l, a.MemAlloc, {"cuMemAlloc_v2"}, absent);
  bind(l, a.MemFree, {"cuMemFree_v2"}, absent);
  bind(l, a.MemcpyHtoD, {"cuMemcpyHtoD_v2"}, absent);
  bind(l, a.MemcpyDtoH, {"cuMemcpyDtoH_v2"}, absent);
  bind(l, a.MemsetD8Async, {"cuMemsetD8Async"}, absent);
  bind(l, a.LaunchKernel, {"cuLaunchKernel"}, absent);
  bind(l, a.EventCreate, {"cuEventCreate"}, absent);
  bind(l, a.EventDestroy, {"cuEventDestroy_v2"}, absent);
  bind(l, a.EventRecord, {"cuEventRecord"}, absent);
  bind(l, a.EventSynchronize, {"cuEventSynchronize"}, absent);
  bind(l, a.EventElapsedTime, {"cuEventElapsedTime", "cuEventElapsedTime_v2"}, absent);
  bind(l, a.GetErrorName, {"cuGetErrorName"}, absent);
  bind(l, a.GetErrorString, {"cuGetErrorString"}, absent);
  std::string optional;
  bind(l, a.TensorMapEncodeTiled, {"cuTensorMapEncodeTiled"}, optional);
  return absent;
}

// CUdevice_attribute.
enum Attribute {
  kL2CacheSize = 38,
  kMultiprocessorCount = 16,
  kMaxThreadsPerMultiprocessor = 39,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
  kMaxSharedPerBlockOptin = 97,
};
constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

}  // namespace

Expected<std::shared_ptr<const Driver>> Driver::open(const std::string& library) {
  std::string name = library;
  if (const char* e = std::getenv("NAUTILUS_LIBCUDA"); name.empty() && e) name = e;
  if (name.empty()) name = "libcuda.so.1";
  std::shared_ptr<Driver> d(new Driver);
  d->library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!d->library_) {
    const char* why = dlerror();
    return missing(
        "the CUDA driver library " + name + " cannot be loaded (" + (why ? why : "no reason") + ")",
        "install the NVIDIA driver, or run --on cpu");
  }
  const std::string absent = bind_all(d->library_, d->api_);
  if (!absent.empty())
    return missing(name + " lacks " + absent, "an NVIDIA driver of CUDA 12 or newer");
  int e = d->api_.Init(0);
  if (e == 0) e = d->api_.DriverGetVersion(&d->version_);
  if (e == 0) e = d->api_.DeviceGetCount(&d->devices_);
  if (e == kNoDevice || (e == 0 && d->devices_ == 0))
    return missing("the CUDA driver is there, but no GPU is visible to it",
                   "check nvidia-smi and CUDA_VISIBLE_DEVICES, or run --on cpu");
  if (e != 0)
    return missing("the CUDA driver does not start: " + d->error_text(e),
                   "check nvidia-smi, or run --on cpu");
  return std::shared_ptr<const Driver>(d);
}

Driver::~Driver() {
  if (library_) dlclose(library_);
}

std::string Driver::error_text(int error) const {
  const char *name = nullptr, *text = nullptr;
  api_.GetErrorName(error, &name);
  api_.GetErrorString(error, &text);
  return (name ? std::string(name) : "CUDA error " + std::to_string(error)) +
         (text ? ": " + std::string(text) : "");
}

Expected<DeviceInfo> device_info(const Driver& d, int ordinal) {
  DeviceInfo info;
  int device = 0, major = 0, minor = 0, shared = 0, l2 = 0;
  char name[256] = "";
  const auto get = [&](int attribute, int& value) {
    return d().DeviceGetAttribute(&value, attribute, device);
  };
  int e = d().DeviceGet(&device, ordinal);
  if (e == 0) e = d().DeviceGetName(name, sizeof name - 1, device);
  if (e == 0) e = get(kCapabilityMajor, major);
  if (e == 0) e = get(kCapabilityMinor, minor);
  if (e == 0) e = get(kMultiprocessorCount, info.multiprocessors);
  if (e == 0) e = get(kMaxThreadsPerMultiprocessor, info.threads_per_unit);
  if (e == 0) e = get(kMaxSharedPerBlockOptin, shared);
  if (e == 0) e = get(kL2CacheSize, l2);
  if (e != 0)
    return Refusal{"use the GPU", "device " + std::to_string(ordinal), d.error_text(e),
                   "check nvidia-smi"};
  info.name = name;
  info.capability = 10 * major + minor;
  info.shared_per_block = shared;
  info.l2_bytes = l2;
  return info;
}

std::string target_of(const DeviceInfo& d) {
  return "sm_" + std::to_string(d.capability) + (d.capability == 90 ? "a" : "");
}

}  // namespace nautilus::gpu
