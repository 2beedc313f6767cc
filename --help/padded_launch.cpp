// Launcher of padded for sm_80. Link with libcuda.
#include "padded.h"

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
const char* const kKernels[] = {"padded"};
const int kShared[] = {1280};

// Kernels of the current context; nullptr and the reason in `words` if there are none.
const Loaded* kernels() {
  CUcontext context = nullptr;
  if (cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context) return failed("no CUDA context is current"), nullptr;
  const std::lock_guard<std::mutex> lock(guard);
  if (auto it = loaded.find(context); it != loaded.end()) return &it->second;
  if (image.empty()) return failed("padded_load was not called"), nullptr;
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

extern "C" int padded_load(const void* cubin, size_t bytes) {
  const std::lock_guard<std::mutex> lock(guard);
  image.assign(static_cast<const char*>(cubin), bytes);
  return 0;
}

extern "C" const char* padded_error(void) { return words.c_str(); }

extern "C" int padded_launch(const void* X, const void* G, const void* W, void* Y, void* S, int64_t N, void* stream) {
  if (N < 0 || N > 2147418112) return failed("size N is negative, or 2^31 - 2^16 or more");
  if (N > 2147418112) return failed("extent N of X is 2^31 - 2^16 or more");
  if (reinterpret_cast<uintptr_t>(X) % 16) return failed("X is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(G) % 16) return failed("G is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(W) % 16) return failed("W is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(Y) % 16) return failed("Y is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(S) % 16) return failed("S is not aligned to 16 bytes");
  const Loaded* l = kernels();
  if (!l) return 1;
  {
    const int64_t grid = blocks({floor_div((N + INT64_C(7)), 8)});
    if (grid < 0) return failed("padded: more than 2^31 - 1 blocks");
    if (grid) {
      const void* arguments[] = {&X, &G, &W, &Y, &S, &N, nullptr};
      if (CUresult r = cuLaunchKernel(l->kernels[0], unsigned(grid), 1, 1, 128, 1, 1, 1280, static_cast<CUstream>(stream), const_cast<void**>(arguments), nullptr)) return failed("padded", r);
    }
  }
  return 0;
}
