#include "compiler/runtime/gpu/session.h"

#include <algorithm>
#include <cstring>

namespace nautilus::gpu {
namespace {

// CUfunction_attribute.
constexpr int kStaticShared = 1, kLocal = 3, kRegisters = 4, kMaxDynamicShared = 8;
constexpr int64_t kPlainShared = 48 << 10;  // dynamic shared memory that needs no permission
constexpr uint64_t kBand = 1024;            // bytes before and after a tensor
constexpr unsigned char kPattern = 0xa5, kPoison = 0xff;
constexpr int kPromoteTo128 = 2;  // CU_TENSOR_MAP_L2_PROMOTION_L2_128B

uint64_t bytes_of(const JobTensor& t) {
  return static_cast<uint64_t>(t.elements) * static_cast<uint64_t>(type_bytes(t.type));
}

}  // namespace

Session::~Session() {
  for (const Handle e : events_) d_().EventDestroy(e);
  for (const DevicePointer p : allocations_) d_().MemFree(p);
  if (module_) d_().ModuleUnload(module_);
  if (context_) d_().DevicePrimaryCtxRelease(device_);
}

void Session::check(int error, const std::string& asked) const {
  if (error != 0) throw DeviceError{asked + ": " + d_.error_text(error)};
}

void Session::load(const std::string& cubin, std::vector<KernelFacts>& kernels) {
  check(d_().DeviceGet(&device_, 0), "use device 0");
  check(d_().DevicePrimaryCtxRetain(&context_, device_), "make a context");
  check(d_().CtxSetCurrent(context_), "use the context");
  check(d_().ModuleLoadData(&module_, cubin.data()), "load code for " + job_.target);
  for (const JobLaunch& l : job_.launches) kernels_.push_back({find_kernel(l, kernels), {}});
}

// Finds a kernel, lets it have its shared memory, and asks what the device makes of it.
Handle Session::find_kernel(const JobLaunch& l, std::vector<KernelFacts>& kernels) {
  Handle f = nullptr;
  const std::string ask = "ask about kernel " + l.kernel;
  check(d_().ModuleGetFunction(&f, module_, l.kernel.c_str()), "find kernel " + l.kernel);
  if (l.shared_bytes > kPlainShared)
    check(d_().FuncSetAttribute(f, kMaxDynamicShared, static_cast<int>(l.shared_bytes)),
          "kernel " + l.kernel + ": " + std::to_string(l.shared_bytes) + " bytes of shared memory");
  KernelFacts facts{l.kernel, 0, 0, 0, 0};
  int local = 0, shared = 0;
  check(d_().FuncGetAttribute(&facts.registers, kRegisters, f), ask);
  check(d_().FuncGetAttribute(&local, kLocal, f), ask);
  check(d_().FuncGetAttribute(&shared, kStaticShared, f), ask);
  check(d_().OccupancyMaxActiveBlocksPerMultiprocessor(&facts.blocks_per_unit, f, l.threads,
                                                       static_cast<size_t>(l.shared_bytes)),
        ask);
  facts.local_bytes = local;
  facts.static_shared_bytes = shared;
  kernels.push_back(facts);
  return f;
}

void Session::allocate(const char* shared) {
  size_t free = 0, total = 0;
  check(d_().MemGetInfo(&free, &total), "ask for the free memory");
  if (device_bytes(job_) > free)
    throw DeviceError{"memory limit: the tensors take " + std::to_string(device_bytes(job_)) +
                      " bytes, " + std::to_string(free) + " are free on the device"};
  for (const JobTensor& t : job_.tensors) {
    const uint64_t n = bytes_of(t), band = job_.guard ? kBand : 0;
    const DevicePointer p = scratch(std::max<uint64_t>(1, n + 2 * band));
    tensors_.push_back(p + band);
    if (band > 0) {
      fill(p, kPattern, band);
      fill(p + band + n, kPattern, band);
    }
    if (n == 0) continue;
    if (t.role == Role::Input)
      check(d_().MemcpyHtoD(p + band, shared + t.offset, n), "copy " + t.name + " in");
    else
      fill(p + band, kPoison, n);
  }
  sizes_ = job_.sizes;
  for (size_t k = 0; k < job_.launches.size(); ++k) {
    std::vector<void*>& parameters = kernels_[k].parameters;
    for (DevicePointer& p : tensors_) parameters.push_back(&p);
    for (int64_t& v : sizes_) parameters.push_back(&v);
    for (const JobMap& m : job_.launches[k].maps) parameters.push_back(encode(m));
  }
}

void* Session::encode(const JobMap& m) {
  TensorMapBits& map = maps_.emplace_back();
  if (!d_().TensorMapEncodeTiled)
    throw DeviceError{"the driver makes no tensor maps (CUDA 12 or newer does)"};
  std::vector<uint64_t> extents(m.extents.begin(), m.extents.end()),
      strides(m.strides.begin(), m.strides.end());
  const std::vector<uint32_t> box(m.box.begin(), m.box.end()), ones(m.box.size(), 1);
  // An empty tensor has no map; no copy reads one.
  if (std::find(extents.begin(), extents.end(), 0u) != extents.end()) return &map;
  check(d_().TensorMapEncodeTiled(
            &map, cuda::tensor_map_type(m.elem), static_cast<unsigned>(extents.size()),
            reinterpret_cast<void*>(tensors_[static_cast<size_t>(m.tensor)]), extents.data(),
            strides.data(), box.data(), ones.data(), 0, m.swizzle, kPromoteTo128, 0),
        "make the tensor map of " + job_.tensors[static_cast<size_t>(m.tensor)].name);
  return &map;
}

void Session::launch(bool each) {
  for (size_t k = 0; k < job_.tensors.size(); ++k)
    if (job_.tensors[k].zeroed && job_.tensors[k].elements > 0)
      fill(tensors_[k], 0, bytes_of(job_.tensors[k]));
  for (size_t k = 0; k < job_.launches.size(); ++k) {
    const JobLaunch& l = job_.launches[k];
    if (l.grid == 0) continue;
    check(d_().LaunchKernel(kernels_[k].function, static_cast<unsigned>(l.grid), 1, 1,
                            static_cast<unsigned>(l.threads), 1, 1,
                            static_cast<unsigned>(l.shared_bytes), nullptr,
                            kernels_[k].parameters.data(), nullptr),
          "kernel " + l.kernel);
    if (each) synchronize("kernel " + l.kernel);
  }
}

void Session::copy_out(char* shared) {
  for (size_t k = 0; k < job_.tensors.size(); ++k)
    if (const JobTensor& t = job_.tensors[k]; t.role == Role::Output && t.elements > 0)
      check(d_().MemcpyDtoH(shared + t.offset, tensors_[k], bytes_of(t)),
            "copy " + t.name + " back");
}

bool Session::outputs_equal(const char* shared) {
  std::string now;
  for (size_t k = 0; k < job_.tensors.size(); ++k) {
    const JobTensor& t = job_.tensors[k];
    if (t.role != Role::Output || t.elements == 0) continue;
    now.resize(bytes_of(t));
    check(d_().MemcpyDtoH(now.data(), tensors_[k], now.size()), "copy " + t.name + " back");
    if (std::memcmp(now.data(), shared + t.offset, now.size()) != 0) return false;
  }
  return true;
}

void Session::check_bands() {
  if (!job_.guard) return;
  unsigned char band[kBand];
  for (size_t k = 0; k < job_.tensors.size(); ++k) {
    const JobTensor& t = job_.tensors[k];
    for (const bool after : {false, true}) {
      const DevicePointer p = after ? tensors_[k] + bytes_of(t) : tensors_[k] - kBand;
      check(d_().MemcpyDtoH(band, p, kBand), "look at the memory around " + t.name);
      if (std::any_of(band, band + kBand, [](unsigned char c) { return c != kPattern; }))
        throw DeviceError{std::string("out of bounds: memory just ") +
                          (after ? "after" : "before") + " tensor " + t.name + " was written to"};
    }
  }
}

DevicePointer Session::scratch(uint64_t bytes) {
  DevicePointer p = 0;
  check(d_().MemAlloc(&p, bytes),
        "memory limit: allocate " + std::to_string(bytes) + " bytes on the device");
  allocations_.push_back(p);
  return p;
}

void Session::fill(DevicePointer p, unsigned char value, uint64_t bytes) {
  check(d_().MemsetD8Async(p, value, bytes, nullptr), "fill device memory");
}

double Session::timed(int runs) {
  while (events_.size() < 2) {
    Handle e = nullptr;
    check(d_().EventCreate(&e, 0), "make an event");
    events_.push_back(e);
  }
  check(d_().EventRecord(events_[0], nullptr), "record an event");
  for (int k = 0; k < runs; ++k) launch(false);
  check(d_().EventRecord(events_[1], nullptr), "record an event");
  check(d_().EventSynchronize(events_[1]), "run the kernels again");
  float ms = 0;
  check(d_().EventElapsedTime(&ms, events_[0], events_[1]), "read the time");
  return static_cast<double>(ms) * 1e-3;
}

void Session::synchronize(const std::string& asked) { check(d_().CtxSynchronize(), asked); }

}  // namespace nautilus::gpu
