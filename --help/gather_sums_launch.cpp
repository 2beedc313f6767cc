// Launcher of gather_sums for sm_80. Link with libcuda.
#include "gather_sums.h"

#include <cuda.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

thread_local std::string words;

int failed(const std::string& what) {
  words = what;
  return 1;
}
int failed(const char* what, CUresult r) {
  const char* name = nullptr;
  cuGetErrorName(r, &name);
  return failed(std::string(what) + ": " + (name ? name : "an unknown error"));
}
int64_t floor_div(int64_t a, int64_t d) { return a / d - (a % d != 0 && a < 0); }
// Blocks of a grid; -1: too many for one.
int64_t blocks(std::initializer_list<int64_t> extents) {
  int64_t n = 1;
  for (int64_t e : extents)
    if (e <= 0) n = 0;
  for (int64_t e : extents)
    if (n && __builtin_mul_overflow(n, e, &n)) return -1;
  return n > 2147483647 ? -1 : n;
}

// A context's module, loaded when it is first needed.
struct Loaded {
  CUmodule module = nullptr;
  std::vector<CUfunction> kernels;
};
std::mutex guard;
std::map<CUcontext, Loaded> loaded;
std::string image;
const char* const kKernels[] = {"gather_sums_sums"};
const int kShared[] = {8576};

// Kernels of the current context; nullptr and the reason in `words` if there are none.
const Loaded* kernels() {
  CUcontext context = nullptr;
  if (cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context) return failed("no CUDA context is current"), nullptr;
  const std::lock_guard<std::mutex> lock(guard);
  if (auto it = loaded.find(context); it != loaded.end()) return &it->second;
  if (image.empty()) return failed("gather_sums_load was not called"), nullptr;
  Loaded l;
  if (CUresult r = cuModuleLoadData(&l.module, image.data())) return failed("loading the kernels", r), nullptr;
  for (size_t n = 0; n < sizeof kKernels / sizeof *kKernels; ++n) {
    CUfunction f = nullptr;
    if (CUresult r = cuModuleGetFunction(&f, l.module, kKernels[n])) return failed(kKernels[n], r), nullptr;
    if (kShared[n] > 49152)
      if (CUresult r = cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kShared[n])) return failed(kKernels[n], r), nullptr;
    l.kernels.push_back(f);
  }
  return &(loaded[context] = std::move(l));
}

}  // namespace

extern "C" int gather_sums_load(const void* cubin, size_t bytes) {
  const std::lock_guard<std::mutex> lock(guard);
  image.assign(static_cast<const char*>(cubin), bytes);
  return 0;
}

extern "C" const char* gather_sums_error(void) { return words.c_str(); }

extern "C" int gather_sums_launch(const void* X, const void* E, const void* W, void* S, void* T, void* U, int64_t R, int64_t V, void* stream) {
  if (R < 0 || R > 2147418112) return failed("size R is negative, or 2^31 - 2^16 or more");
  if (V < 0 || V > 2147418112) return failed("size V is negative, or 2^31 - 2^16 or more");
  if (R > 2147418112) return failed("extent R of X is 2^31 - 2^16 or more");
  if (reinterpret_cast<uintptr_t>(X) % 16) return failed("X is not aligned to 16 bytes");
  if (V > 2147418112) return failed("extent V of E is 2^31 - 2^16 or more");
  if (reinterpret_cast<uintptr_t>(E) % 16) return failed("E is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(W) % 16) return failed("W is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(S) % 16) return failed("S is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(T) % 16) return failed("T is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(U) % 16) return failed("U is not aligned to 16 bytes");
  const Loaded* l = kernels();
  if (!l) return 1;
  if (const size_t bytes = size_t(4 * INT64_C(64)))
    if (CUresult r = cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(S), 0, bytes, static_cast<CUstream>(stream))) return failed("clearing S", r);
  {
    const int64_t grid = blocks({floor_div((R + INT64_C(31)), 32)});
    if (grid < 0) return failed("gather_sums_sums: more than 2^31 - 1 blocks");
    if (grid) {
      const void* arguments[] = {&X, &E, &W, &S, &T, &U, &R, &V, nullptr};
      if (CUresult r = cuLaunchKernel(l->kernels[0], unsigned(grid), 1, 1, 64, 1, 1, 8576, static_cast<CUstream>(stream), const_cast<void**>(arguments), nullptr)) return failed("gather_sums_sums", r);
    }
  }
  return 0;
}
