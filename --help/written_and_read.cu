// written_and_read for sm_80.
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

// A tensor in global memory that one warp writes and both read, twice; each stores half of what it
// read.
// Grid: N blocks of 64 threads, 0 bytes of shared memory.
// Layout both: register: d=1; lane: d=2 d=4 d=8 d=16 d=32; warp: 0
// Layout halves: register:; lane: d=1 d=2 d=4 d=8 d=16; warp: d=32
extern "C" __global__ void __launch_bounds__(64, 1)
written_and_read(const float* __restrict__ X, float* __restrict__ Y, float* T, int64_t N_size) {
  const int N = int(N_size);
  const int g = int(blockIdx.x);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  const int warp = warp_index;
  const int both_d = lane * 2;
  const int from_lane = (lane >> 1) ^ ((warp & 1) * 16);
  const int from_register = (lane & 1);
  const int halves_d = warp * 32 + lane;
  float X_tile[2];  // f32[d: 64]
  const float* X_at = X + int64_t(g) * 64 + both_d;
  load_global<8>(&X_tile[0], &X_at[0]);
  float* T_at = T + int64_t(g) * 64 + both_d;
  if (warp == 0) {
    store_global<8>(&T_at[0], &X_tile[0]);
  }
  __syncthreads();
  float T_tile[2];  // f32[d: 64]
  load_global<8>(&T_tile[0], &T_at[0]);
  float add_2[2];  // f32[d: 64]
  #pragma unroll
  for (int r = 0; r < 2; ++r) add_2[r] = T_tile[r] + T_tile[r];
  __syncthreads();
  if (warp == 0) {
    store_global<8>(&T_at[0], &add_2[0]);
  }
  __syncthreads();
  float T_tile_2[2];  // f32[d: 64]
  load_global<8>(&T_tile_2[0], &T_at[0]);
  float exchange_4[1];  // f32[d: 64]
  const float moved = __shfl_sync(0xffffffffu, T_tile_2[1], from_lane);
  const float moved_2 = __shfl_sync(0xffffffffu, T_tile_2[0], from_lane);
  exchange_4[0] = from_register == 0 ? moved_2 : moved;
  float* Y_at = Y + int64_t(g) * 64 + halves_d;
  Y_at[0] = exchange_4[0];
}
