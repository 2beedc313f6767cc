// Launcher of types for sm_80. Link with libcuda.
#include "types.h"

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
const char* const kKernels[] = {"types_casts"};
const int kShared[] = {0};

// Kernels of the current context; nullptr and the reason in `words` if there are none.
const Loaded* kernels() {
  CUcontext context = nullptr;
  if (cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context) return failed("no CUDA context is current"), nullptr;
  const std::lock_guard<std::mutex> lock(guard);
  if (auto it = loaded.find(context); it != loaded.end()) return &it->second;
  if (image.empty()) return failed("types_load was not called"), nullptr;
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

extern "C" int types_load(const void* cubin, size_t bytes) {
  const std::lock_guard<std::mutex> lock(guard);
  image.assign(static_cast<const char*>(cubin), bytes);
  return 0;
}

extern "C" const char* types_error(void) { return words.c_str(); }

extern "C" int types_launch(const void* X, const void* H, const void* I, void* T_f16, void* T_bf16, void* T_e4m3, void* T_e5m2, void* T_i8, void* T_i32, void* T_f64, void* T_bool, void* Back, void* Whole, void* Pick, void* Exp, int64_t N, void* stream) {
  if (N < 0 || N > 2147418112) return failed("size N is negative, or 2^31 - 2^16 or more");
  if (N > 2147418112) return failed("extent N of X is 2^31 - 2^16 or more");
  if (reinterpret_cast<uintptr_t>(X) % 16) return failed("X is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(H) % 16) return failed("H is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(I) % 16) return failed("I is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(T_f16) % 16) return failed("T_f16 is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(T_bf16) % 16) return failed("T_bf16 is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(T_e4m3) % 16) return failed("T_e4m3 is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(T_e5m2) % 16) return failed("T_e5m2 is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(T_i8) % 16) return failed("T_i8 is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(T_i32) % 16) return failed("T_i32 is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(T_f64) % 16) return failed("T_f64 is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(T_bool) % 16) return failed("T_bool is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(Back) % 16) return failed("Back is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(Whole) % 16) return failed("Whole is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(Pick) % 16) return failed("Pick is not aligned to 16 bytes");
  if (reinterpret_cast<uintptr_t>(Exp) % 16) return failed("Exp is not aligned to 16 bytes");
  const Loaded* l = kernels();
  if (!l) return 1;
  {
    const int64_t grid = blocks({floor_div((N + INT64_C(7)), 8)});
    if (grid < 0) return failed("types_casts: more than 2^31 - 1 blocks");
    if (grid) {
      const void* arguments[] = {&X, &H, &I, &T_f16, &T_bf16, &T_e4m3, &T_e5m2, &T_i8, &T_i32, &T_f64, &T_bool, &Back, &Whole, &Pick, &Exp, &N, nullptr};
      if (CUresult r = cuLaunchKernel(l->kernels[0], unsigned(grid), 1, 1, 128, 1, 1, 0, static_cast<CUstream>(stream), const_cast<void**>(arguments), nullptr)) return failed("types_casts", r);
    }
  }
  return 0;
}
