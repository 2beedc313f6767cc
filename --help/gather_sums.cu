// gather_sums for sm_80.
#include <stdint.h>

#pragma nv_diag_suppress 177  // helpers that a kernel does not need
#define DEVICE static __device__ __forceinline__

// a / b to 2 ulp, without a call.
DEVICE float divide(float a, float b) {
  float q;
  asm("div.full.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
  return q;
}
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
// `bytes` bytes from shared memory to consecutive registers, and back.
template <int bytes, class T>
DEVICE void load_shared(T* x, uint32_t at) {
  if constexpr (sizeof(T) == 8) {
    double v[2] = {};
    if constexpr (bytes == 16)
      asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(v[0]), "=d"(v[1]) : "r"(at) : "memory");
    else
      asm volatile("ld.shared.f64 %0, [%1];" : "=d"(v[0]) : "r"(at) : "memory");
    for (int n = 0; n < bytes / 8; ++n) x[n] = v[n];
  } else {
    uint32_t v[4] = {};
    if constexpr (bytes == 16)
      asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
    else if constexpr (bytes == 8)
      asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at) : "memory");
    else
      asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v[0]) : "r"(at) : "memory");
#pragma unroll
    for (int n = 0; n < bytes / 4; ++n) put(x[n], v[n]);
  }
}
template <int bytes, class T>
DEVICE void store_shared(uint32_t at, const T* x) {
  if constexpr (sizeof(T) == 8) {
    if constexpr (bytes == 16)
      asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(at), "d"(x[0]), "d"(x[1]) : "memory");
    else
      asm volatile("st.shared.f64 [%0], %1;" ::"r"(at), "d"(x[0]) : "memory");
  } else if constexpr (bytes == 16) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])), "r"(word(x[2])), "r"(word(x[3])) : "memory");
  } else if constexpr (bytes == 8) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])) : "memory");
  } else {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(word(x[0])) : "memory");
  }
}
DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Y(r, d) = E[X[r], d] W[d] / (1 + r); S[d] sums it over rows by atomics, T[r] over columns; U[r]
// = 2 T[r] goes through shared memory inside each warp. Any R.
// Grid: floor((R + 31)/32) blocks of 64 threads, 8576 bytes of shared memory.
// Layout rows: register: d=1 d=2 r=2 r=4 r=8; lane: d=4 d=8 d=16 d=32 r=1; warp: r=16
// Layout row: register: r=2 r=4 r=8; lane: 0 0 0 0 r=1; warp: r=16
// Layout col: register: d=1 d=2; lane: d=4 d=8 d=16 d=32 0; warp: 0
// Layout lanes: register:; lane: r=1 r=2 r=4 r=8 0; warp: r=16
// Layout cols: register: r=1 r=2 r=4 r=8 r=16; lane: d=1 d=2 d=4 d=8 d=16; warp: d=32
extern "C" __global__ void __launch_bounds__(64, 1)
gather_sums_sums(const int32_t* __restrict__ X, const float* __restrict__ E,
    const float* __restrict__ W, float* __restrict__ S, float* __restrict__ T,
    float* __restrict__ U, int64_t R_size, int64_t V_size) {
  const int R = int(R_size);
  const int V = int(V_size);
  const int g = int(blockIdx.x);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t shared_base = shared_address(shared);
  const uint32_t Ys = shared_base;  // f32[d: 64, r: 32]
  const uint32_t Ws = shared_base + 8192;  // f32[d: 64]
  const uint32_t Us = shared_base + 8448;  // f32[r: 32]
  const int warp = warp_index;
  const int thread_index = int(threadIdx.x);
  const int Ws_d = warp * 32 + lane;
  const int row_r = warp * 16 + (lane >> 4);
  const int rows_d = (lane & 15) * 4;
  const uint32_t Ws_thread = (lane & 15) * 16;
  const int from_lane = (lane & 1) * 17 + (lane & 14);
  const int from_register = (lane >> 1 & 7);
  const int tile_q = warp * 16 + (lane & 15);
  const uint32_t Us_thread = warp * 64 + (lane >> 4) * 4;
  const uint32_t Us_thread_2 = warp * 64 + (lane & 15) * 4;
  const uint32_t Ys_thread = warp * 4096 + lane * 16;
  const uint32_t Ys_thread_2 = warp * 128 + lane * 4;
  const float* W_at = W + Ws_d;
  const uint32_t Ws_to = Ws + thread_index * 4;
  uint32_t part[1];
  load_global<4>(part, W_at);
  store_shared<4>(Ws_to, part);
  int X_tile[8];  // i32[r: 32]
  const int32_t* X_at = X + 32 * g + row_r;
  const int r_last = R - 32 * g - 1;
  #pragma unroll
  for (int r = 0; r < 8; ++r) X_tile[r] = (row_r + r * 2 <= r_last) ? X_at[r * 2] : 0;
  float E_tile[32];  // f32[d: 64, r: 32]
  const float* E_at = E + rows_d;
  #pragma unroll
  for (int r = 0; r < 32; ++r) E_tile[r] = 0.0f;
  #pragma unroll
  for (int n = 0; n < 8; ++n) {
    if (row_r + n * 2 <= r_last) {
      load_global<16>(&E_tile[n * 4], &E_at[int64_t(X_tile[n]) * 64]);
    }
  }
  int iota_2[8];  // i32[r: 32]
  #pragma unroll
  for (int r = 0; r < 8; ++r) iota_2[r] = 32 * g + row_r + r * 2 + 1;
  float f32_3[8];  // f32[r: 32]
  #pragma unroll
  for (int r = 0; r < 8; ++r) f32_3[r] = float(iota_2[r]);
  float recip_4[8];  // f32[r: 32]
  #pragma unroll
  for (int r = 0; r < 8; ++r) recip_4[r] = divide(1.0f, f32_3[r]);
  __syncthreads();
  float Ws_tile[4];  // f32[d: 64]
  const uint32_t Ws_at = Ws + Ws_thread;
  load_shared<16>(&Ws_tile[0], Ws_at);
  float mul_6[32];  // f32[d: 64, r: 32]
  #pragma unroll
  for (int r = 0; r < 32; ++r) mul_6[r] = E_tile[r] * recip_4[(r >> 2)];
  float Y_mul[32];  // f32[d: 64, r: 32]
  #pragma unroll
  for (int r = 0; r < 32; ++r) Y_mul[r] = mul_6[r] * Ws_tile[(r & 3)];
  // Sums of rows: registers, then lanes.
  float T_tile[8];  // f32[r: 32]
  #pragma unroll
  for (int q = 0; q < 8; ++q) {
    T_tile[q] = (Y_mul[q * 4] + Y_mul[q * 4 + 1]) + (Y_mul[q * 4 + 2] + Y_mul[q * 4 + 3]);
    T_tile[q] = T_tile[q] + __shfl_xor_sync(0xffffffffu, T_tile[q], 1);
    T_tile[q] = T_tile[q] + __shfl_xor_sync(0xffffffffu, T_tile[q], 2);
    T_tile[q] = T_tile[q] + __shfl_xor_sync(0xffffffffu, T_tile[q], 4);
    T_tile[q] = T_tile[q] + __shfl_xor_sync(0xffffffffu, T_tile[q], 8);
  }
  float exchange_9[1];  // f32[r: 32]
  const float moved = __shfl_sync(0xffffffffu, T_tile[7], from_lane);
  const float moved_2 = __shfl_sync(0xffffffffu, T_tile[6], from_lane);
  const float moved_3 = __shfl_sync(0xffffffffu, T_tile[5], from_lane);
  const float moved_4 = __shfl_sync(0xffffffffu, T_tile[4], from_lane);
  const float moved_5 = __shfl_sync(0xffffffffu, T_tile[3], from_lane);
  const float moved_6 = __shfl_sync(0xffffffffu, T_tile[2], from_lane);
  const float moved_7 = __shfl_sync(0xffffffffu, T_tile[1], from_lane);
  const float moved_8 = __shfl_sync(0xffffffffu, T_tile[0], from_lane);
  exchange_9[0] = from_register == 0 ? moved_8 : (from_register == 1 ? moved_7 : (from_register == 2 ? moved_6 : (from_register == 3 ? moved_5 : (from_register == 4 ? moved_4 : (from_register == 5 ? moved_3 : (from_register == 6 ? moved_2 : moved))))));
  float* T_at = T + 32 * g + tile_q;
  if ((lane & 16) == 0) {
    if (tile_q <= r_last) T_at[0] = exchange_9[0];
  }
  // Each warp reads only what it wrote.
  float add_11[8];  // f32[r: 32]
  #pragma unroll
  for (int r = 0; r < 8; ++r) add_11[r] = T_tile[r] + T_tile[r];
  const uint32_t Us_at = Us + Us_thread;
  if ((lane & 15) == 0) {
    #pragma unroll
    for (int n = 0; n < 8; ++n) store_shared<4>(Us_at + n * 8, &add_11[n]);
  }
  __syncwarp();
  float Us_tile[1];  // f32[r: 32]
  const uint32_t Us_at_2 = Us + Us_thread_2;
  load_shared<4>(&Us_tile[0], Us_at_2);
  float* U_at = U + 32 * g + tile_q;
  if ((lane & 16) == 0) {
    if (tile_q <= r_last) U_at[0] = Us_tile[0];
  }
  // Sums of columns: rows are spread over the warps, so through shared memory.
  const uint32_t Ys_at = Ys + Ys_thread;
  #pragma unroll
  for (int n = 0; n < 8; ++n) store_shared<16>(Ys_at + n * 512, &Y_mul[n * 4]);
  __syncthreads();
  float Ys_tile[32];  // f32[d: 64, r: 32]
  const uint32_t Ys_at_2 = Ys + Ys_thread_2;
  #pragma unroll
  for (int n = 0; n < 32; ++n) load_shared<4>(&Ys_tile[n], Ys_at_2 + n * 256);
  float mask_15[32];  // f32[d: 64, r: 32]
  #pragma unroll
  for (int r = 0; r < 32; ++r) mask_15[r] = r <= r_last ? Ys_tile[r] : 0.0f;
  float S_tile[1];  // f32[d: 64]
  S_tile[0] = (mask_15[0] + mask_15[1]) + (mask_15[2] + mask_15[3]);
  #pragma unroll
  for (int n = 0; n < 7; ++n)
    S_tile[0] = S_tile[0] + ((mask_15[n * 4 + 4] + mask_15[n * 4 + 5]) + (mask_15[n * 4 + 6] + mask_15[n * 4 + 7]));
  float* S_at = S + Ws_d;
  atomicAdd(&S_at[0], S_tile[0]);
}
