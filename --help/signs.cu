// signs for sm_80.
#include <stdint.h>

#pragma nv_diag_suppress 177  // helpers that a kernel does not need
#define DEVICE static __device__ __forceinline__

// Registers as words and back.
DEVICE uint32_t word(uint32_t x) { return x; }
DEVICE uint32_t word(float x) { return __float_as_uint(x); }
DEVICE uint32_t word(int x) { return uint32_t(x); }
DEVICE void put(uint32_t& x, uint32_t w) { x = w; }
DEVICE void put(float& x, uint32_t w) { x = __uint_as_float(w); }
DEVICE void put(int& x, uint32_t w) { x = int(w); }
DEVICE void put(double& x, uint32_t low, uint32_t high) { x = __hiloint2double(int(high), int(low)); }
DEVICE uint32_t low_word(double x) { return uint32_t(__double2loint(x)); }
DEVICE uint32_t high_word(double x) { return uint32_t(__double2hiint(x)); }
// `bytes` bytes from global memory to consecutive registers, and back.
template <int bytes, class T>
DEVICE void load_global(T* x, const void* p) {
  if constexpr (sizeof(T) == 8) {
    const uint4 v = *static_cast<const uint4*>(p);
    put(x[0], v.x, v.y), put(x[1], v.z, v.w);
  } else if constexpr (bytes == 16) {
    const uint4 v = *static_cast<const uint4*>(p);
    put(x[0], v.x), put(x[1], v.y), put(x[2], v.z), put(x[3], v.w);
  } else if constexpr (bytes == 8) {
    const uint2 v = *static_cast<const uint2*>(p);
    put(x[0], v.x), put(x[1], v.y);
  } else {
    put(x[0], *static_cast<const uint32_t*>(p));
  }
}
template <int bytes, class T>
DEVICE void store_global(void* p, const T* x) {
  if constexpr (sizeof(T) == 8)
    *static_cast<uint4*>(p) = make_uint4(low_word(x[0]), high_word(x[0]), low_word(x[1]), high_word(x[1]));
  else if constexpr (bytes == 16)
    *static_cast<uint4*>(p) = make_uint4(word(x[0]), word(x[1]), word(x[2]), word(x[3]));
  else if constexpr (bytes == 8)
    *static_cast<uint2*>(p) = make_uint2(word(x[0]), word(x[1]));
  else
    *static_cast<uint32_t*>(p) = word(x[0]);
}
DEVICE uint8_t load_shared8(uint32_t at) {
  uint32_t v;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
  return uint8_t(v);
}
DEVICE void store_shared8(uint32_t at, uint32_t v) { asm volatile("st.shared.u8 [%0], %1;" ::"r"(at), "r"(v) : "memory"); }
DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Rows are counted in bytes of a shared buffer and in a condition where they are less than
// columns.
// Grid: floor((N + 31)/32) blocks of 128 threads, 32 bytes of shared memory.
// Layout t: register: j=1 j=2 j=4; lane: j=8 j=16 i=1 i=2 i=4; warp: i=8 i=16
// Layout row: register:; lane: 0 0 i=1 i=2 i=4; warp: i=8 i=16
// Layout bytes: offset: i=1 i=2 i=4 i=8 i=16
extern "C" __global__ void __launch_bounds__(128, 1)
signs(const float* __restrict__ X, float* __restrict__ Y, int64_t N_size) {
  const int N = int(N_size);
  const int g = int(blockIdx.x);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t shared_base = shared_address(shared);
  const uint32_t flags = shared_base;  // bool[i: 32]
  const int warp = warp_index;
  const uint32_t flags_thread = warp * 8 + (lane >> 2);
  const int t_i = warp * 8 + (lane >> 2);
  const int t_j = (lane & 3) * 8;
  const int64_t X_thread = int64_t(t_i) * 32 + t_j;
  const uint32_t flags_at = flags + flags_thread;
  if ((lane & 3) == 0) {
    store_shared8(flags_at, true);
  }
  __syncthreads();
  bool flags_tile[1];  // bool[i: 32]
  flags_tile[0] = (load_shared8(flags_at) != 0);
  float X_tile[8];  // f32[i: 32, j: 32]
  const float* X_at = X + int64_t(32 * g) * 32 + X_thread;
  const int i_last = N - 32 * g - 1;
  #pragma unroll
  for (int r = 0; r < 8; ++r) X_tile[r] = 0.0f;
  #pragma unroll
  for (int n = 0; n < 2; ++n) {
    if (t_i <= i_last) {
      load_global<16>(&X_tile[n * 4], &X_at[n * 4]);
    }
  }
  float select_4[8];  // f32[i: 32, j: 32]
  #pragma unroll
  for (int r = 0; r < 8; ++r) select_4[r] = flags_tile[0] ? X_tile[r] : (-1.0f);
  float mask_5[8];  // f32[i: 32, j: 32]
  #pragma unroll
  for (int r = 0; r < 8; ++r) mask_5[r] = (t_i - (t_j + r)) >= 0 ? select_4[r] : -1.0f;
  float* Y_at = Y + int64_t(32 * g) * 32 + X_thread;
  #pragma unroll
  for (int n = 0; n < 2; ++n) {
    if (t_i <= i_last) store_global<16>(&Y_at[n * 4], &mask_5[n * 4]);
  }
}
