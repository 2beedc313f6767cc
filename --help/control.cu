// control for sm_80.
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

// Masks, branches on data, parts of tiles, loops whose values change places, a reduction of the
// user's.
// Grid: floor((N + 7)/8) blocks of 128 threads, 0 bytes of shared memory.
// Layout t: register: d=1 d=2; lane: d=4 d=8 d=16 d=32 r=1; warp: r=2 r=4
// Layout half: register: d=1 d=2; lane: d=4 d=8 d=16 0 r=1; warp: r=2 r=4
// Layout row: register:; lane: 0 0 0 0 r=1; warp: r=2 r=4
// Layout wide: register: d=32 d=1 d=2; lane: d=4 d=8 d=16 0 r=1; warp: r=2 r=4
extern "C" __global__ void __launch_bounds__(128, 2)
control(const float* __restrict__ X, const int32_t* __restrict__ P, float* __restrict__ Y,
    float* __restrict__ Z, float* __restrict__ U, int32_t* __restrict__ Count,
    float* __restrict__ Last, int64_t N_size) {
  const int N = int(N_size);
  const int g = int(blockIdx.x);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  const int warp = warp_index;
  const int t_r = warp * 2 + (lane >> 4);
  const int t_d = (lane & 15) * 4;
  const int64_t X_thread = int64_t(t_r) * 64 + t_d;
  const int from_lane = (lane & 7) + (lane & 16);
  const int from_lane_2 = 8 ^ ((lane & 7) + (lane & 16));
  const int half_d = (lane & 7) * 4;
  const int64_t U_thread = int64_t(t_r) * 32 + half_d;
  const int tile_d = lane * 2;
  float X_tile[4];  // f32[d: 64, r: 8]
  const float* X_at = X + int64_t(8 * g) * 64 + X_thread;
  const int r_last = N - 8 * g - 1;
  #pragma unroll
  for (int r = 0; r < 4; ++r) X_tile[r] = 0.0f;
  if (t_r <= r_last) {
    load_global<16>(&X_tile[0], &X_at[0]);
  }
  // Two ranges of columns, one of them from the diagonal on.
  float mask_2[4];  // f32[d: 64, r: 8]
  #pragma unroll
  for (int r = 0; r < 4; ++r)
    mask_2[r] = ((t_d + r - 8 * g - t_r) >= 0 || t_d + r <= 2) ? X_tile[r] : -1.0f;
  int P_tile[1];  // i32[r: 8]
  const int32_t* P_at = P + 8 * g + t_r;
  P_tile[0] = (t_r <= r_last) ? P_at[0] : 0;
  bool lt_5[1];  // bool[r: 8]
  lt_5[0] = 2 < P_tile[0];
  // Only warps with a row of class 3.
  bool any = false;
  any = any || lt_5[0];
  if (__any_sync(0xffffffffu, any)) {
    #pragma unroll
    for (int r = 0; r < 4; ++r) mask_2[r] = mask_2[r] * mask_2[r];
  }
  #pragma unroll
  for (int s = 0; s < 3; ++s) {
    float add_12[4];  // f32[d: 64, r: 8]
    #pragma unroll
    for (int r = 0; r < 4; ++r) add_12[r] = mask_2[r] + X_tile[r];
    #pragma unroll
    for (int r = 0; r < 4; ++r) mask_2[r] = X_tile[r];
    #pragma unroll
    for (int r = 0; r < 4; ++r) X_tile[r] = add_12[r];
  }
  float* Y_at = Y + int64_t(8 * g) * 64 + X_thread;
  if (t_r <= r_last) store_global<16>(&Y_at[0], &X_tile[0]);
  float user_13[1];  // f32[r: 8]
  const auto combine = [](float a, float b) { return fmaxf(a, b); };
  user_13[0] = combine(combine(mask_2[0], mask_2[1]), combine(mask_2[2], mask_2[3]));
  user_13[0] = combine(user_13[0], __shfl_xor_sync(0xffffffffu, user_13[0], 1));
  user_13[0] = combine(user_13[0], __shfl_xor_sync(0xffffffffu, user_13[0], 2));
  user_13[0] = combine(user_13[0], __shfl_xor_sync(0xffffffffu, user_13[0], 4));
  user_13[0] = combine(user_13[0], __shfl_xor_sync(0xffffffffu, user_13[0], 8));
  float* Z_at = Z + 8 * g + t_r;
  if ((lane & 15) == 0) {
    if (t_r <= r_last) Z_at[0] = user_13[0];
  }
  float exchange_14[8];  // f32[d: 64, r: 8]
  exchange_14[0] = __shfl_sync(0xffffffffu, X_tile[0], from_lane);
  exchange_14[1] = __shfl_sync(0xffffffffu, X_tile[0], from_lane_2);
  exchange_14[2] = __shfl_sync(0xffffffffu, X_tile[1], from_lane);
  exchange_14[3] = __shfl_sync(0xffffffffu, X_tile[1], from_lane_2);
  exchange_14[4] = __shfl_sync(0xffffffffu, X_tile[2], from_lane);
  exchange_14[5] = __shfl_sync(0xffffffffu, X_tile[2], from_lane_2);
  exchange_14[6] = __shfl_sync(0xffffffffu, X_tile[3], from_lane);
  exchange_14[7] = __shfl_sync(0xffffffffu, X_tile[3], from_lane_2);
  float slice_15[4];  // f32[d: 32, r: 8]
  #pragma unroll
  for (int p = 0; p < 4; ++p) slice_15[p] = exchange_14[p * 2 + 1];
  float* U_at = U + int64_t(8 * g) * 32 + U_thread;
  if ((lane & 8) == 0) {
    if (t_r <= r_last) store_global<16>(&U_at[0], &slice_15[0]);
  }
  if (warp == 0) {
    int atomic_add_17;
    atomic_add_17 = (lane == 0) ? atomicAdd(&Count[0], 1) : 0;
    atomic_add_17 = __shfl_sync(0xffffffffu, atomic_add_17, lane & 0);
    int iota_18;
    iota_18 = ((N + 7) >> 3) - 1;
    bool eq_19;
    eq_19 = atomic_add_17 == iota_18;
    bool any_2 = false;
    any_2 = any_2 || eq_19;
    if (__any_sync(0xffffffffu, any_2)) {
      int iota_20[2];  // i32[d: 64]
      #pragma unroll
      for (int r = 0; r < 2; ++r) iota_20[r] = tile_d + r;
      float f32_21[2];  // f32[d: 64]
      #pragma unroll
      for (int r = 0; r < 2; ++r) f32_21[r] = float(iota_20[r]);
      float* Last_at = Last + tile_d;
      store_global<8>(&Last_at[0], &f32_21[0]);
    }
  }
}
