// causal_attention for sm_80.
#include <cuda_fp16.h>
#include <stdint.h>

#pragma nv_diag_suppress 177  // helpers that a kernel does not need
#define DEVICE static __device__ __forceinline__

// 2^x to 2 ulp; results below 2^-126 are 0.
DEVICE float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// a / b to 2 ulp, without a call.
DEVICE float divide(float a, float b) {
  float q;
  asm("div.full.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
  return q;
}
DEVICE uint32_t pack_f16(float a, float b) {
  uint32_t w;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(b), "f"(a));
  return w;
}
DEVICE uint32_t pack_f16(double a, double b) { return __half_as_ushort(__double2half(a)) | uint32_t(__half_as_ushort(__double2half(b))) << 16; }
DEVICE uint32_t pack_f16(int a, int b) { return __half_as_ushort(__int2half_rn(a)) | uint32_t(__half_as_ushort(__int2half_rn(b))) << 16; }
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
DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
// Global to shared memory without registers; bytes beyond `from` become 0.
template <int bytes>
DEVICE void copy_async(uint32_t to, const void* p, int from = bytes) {
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(p), "r"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(p), "n"(bytes), "r"(from) : "memory");
}
DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory"); }
// `n` 8x8 matrices of 16-bit elements: lane i gives the address of row i % 8 of matrix i / 8.
template <int n, bool transposed, class T>
DEVICE void load_matrix(T* x, uint32_t at) {
  uint32_t v[4];
  if constexpr (n == 4 && transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
  else if constexpr (n == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(at) : "memory");
  else if constexpr (n == 2 && transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at) : "memory");
  else if constexpr (n == 2)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at) : "memory");
  else if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(v[0]) : "r"(at) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v[0]) : "r"(at) : "memory");
#pragma unroll
  for (int m = 0; m < n; ++m) put(x[m], v[m]);
}
// c[16, 8] += a[16, 16] b[16, 8]: a thread holds 4, 4 and 2 registers of them.
DEVICE void mma_f16(float* c, const uint32_t* a, const uint32_t* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Causal attention, head size 64: four warps of 16 rows each, key tiles of 64 double-buffered by
// cp.async, softmax in base 2 on the accumulator, which is the next operand as it lies. Any H and
// N.
// Grid: H x floor((N + 63)/64) blocks of 128 threads, 40960 bytes of shared memory.
// Layout acc: register: j=1 i=8 j=8 j=16 j=32; lane: j=2 j=4 i=1 i=2 i=4; warp: i=16 i=32
// Layout out: register: d=1 i=8 d=8 d=16 d=32; lane: d=2 d=4 i=1 i=2 i=4; warp: i=16 i=32
// Layout row: register: i=8; lane: 0 0 i=1 i=2 i=4; warp: i=16 i=32
// Layout k: register: d=1 d=8 d=16 d=32 j=8 j=16 j=32; lane: d=2 d=4 j=1 j=2 j=4; warp: 0 0
// Layout v: register: j=1 j=8 j=16 j=32 d=8 d=16 d=32; lane: j=2 j=4 d=1 d=2 d=4; warp: 0 0
// Layout queries: offset: d=1 d=2 d=4 d=8 d=16 d=32 d=8+i=1 d=16+i=2 d=32+i=4 i=8 i=16 i=32
// Layout keys: offset: d=1 d=2 d=4 d=8 d=16 d=32 d=8+j=1 d=16+j=2 d=32+j=4 j=8 j=16 j=32
extern "C" __global__ void __launch_bounds__(128, 2)
causal_attention_attention(const half* __restrict__ Q, const half* __restrict__ K,
    const half* __restrict__ V, half* __restrict__ O, int64_t H_size, int64_t N_size) {
  const int H = int(H_size);
  const int N = int(N_size);
  const int i0 = int(blockIdx.x % unsigned(((N + 63) >> 6)));
  const unsigned block = blockIdx.x / unsigned(((N + 63) >> 6));
  const int h = int(block);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t shared_base = shared_address(shared);
  const uint32_t Qs = shared_base;  // f16[d: 64, i: 64]
  const uint32_t Ks = shared_base + 8192;  // f16[d: 64, j: 64], 2 slots
  const uint32_t Vs = shared_base + 24576;  // f16[d: 64, j: 64], 2 slots
  const int warp = warp_index;
  const int thread_index = int(threadIdx.x);
  const int64_t Q_stride0 = int64_t(64) * N;
  const int Qs_i = warp * 4 + (lane >> 3);
  const int Qs_d = (((lane & 7) * 8) ^ (lane & 24)) ^ ((warp & 1) * 32);
  const int64_t Q_thread = int64_t(Qs_i) * 64 + Qs_d;
  const uint32_t Qs_thread = warp * 2048 + (((lane & 7) * 144) ^ ((lane >> 3 & 1) * 1024) ^ (lane & 16));
  const uint32_t Ks_thread = ((lane & 7) * 144) ^ ((lane >> 3) * 16);
  const int acc_i = warp * 16 + (lane >> 2);
  const int acc_j = (lane & 3) * 2;
  const uint32_t Vs_thread = (lane & 7) * 144 + (lane >> 3) * 1024;
  const int64_t O_thread = int64_t(acc_i) * 64 + acc_j;
  const int i_last = N - 64 * i0 - 1;
  const half* Q_at = Q + int64_t(h) * Q_stride0 + int64_t(64 * i0) * 64 + Q_thread;
  const uint32_t Qs_to = Qs + thread_index * 16;
  #pragma unroll
  for (int n = 0; n < 4; ++n) {
    copy_async<16>(Qs_to + n * 2048, &Q_at[n * 1024], (Qs_i + n * 16 <= i_last) ? 16 : 0);
  }
  copy_commit();
  const int j_last = N - 1;
  const half* K_at = K + int64_t(h) * Q_stride0 + Q_thread;
  const uint32_t Ks_to = Ks + thread_index * 16;
  #pragma unroll
  for (int n = 0; n < 4; ++n) {
    copy_async<16>(Ks_to + n * 2048, &K_at[n * 1024], (Qs_i + n * 16 <= j_last) ? 16 : 0);
  }
  const half* V_at = V + int64_t(h) * Q_stride0 + Q_thread;
  const uint32_t Vs_to = Vs + thread_index * 16;
  #pragma unroll
  for (int n = 0; n < 4; ++n) {
    copy_async<16>(Vs_to + n * 2048, &V_at[n * 1024], (Qs_i + n * 16 <= j_last) ? 16 : 0);
  }
  copy_commit();
  copy_wait<1>();
  __syncthreads();
  uint32_t Qs_tile[16];  // f16[d: 64, i: 64]
  #pragma unroll
  for (int n = 0; n < 4; ++n) load_matrix<4, false>(&Qs_tile[n * 4], Qs + (Qs_thread ^ (n * 32)));
  // log2(e) / sqrt(64) (0.18033688f)
  float O_tile[32];  // f32[d: 64, i: 64]
  float carried6[2];  // f32[i: 64]
  float add_26[2];  // f32[i: 64]
  #pragma unroll
  for (int r = 0; r < 32; ++r) O_tile[r] = 0.0f;
  #pragma unroll
  for (int r = 0; r < 2; ++r) carried6[r] = -INFINITY;
  #pragma unroll
  for (int r = 0; r < 2; ++r) add_26[r] = 0.0f;
  #pragma unroll 1
  for (int t = 0; t < i0 + 1; ++t) {
    // Tile t is here, and all warps are done with tile t - 1, whose slot tile t + 1 takes.
    copy_wait<0>();
    __syncthreads();
    if ((i0 - t - 1) >= 0) {
      const uint32_t Ks_slot = Ks + ((t + 1) & 1) * 8192;
      const int j_last_2 = N - 64 * t - 65;
      const half* K_at_2 = K + int64_t(h) * Q_stride0 + int64_t(64 * t + 64) * 64 + Q_thread;
      const uint32_t Ks_to_2 = Ks_slot + thread_index * 16;
      #pragma unroll
      for (int n = 0; n < 4; ++n) {
        copy_async<16>(Ks_to_2 + n * 2048, &K_at_2[n * 1024], (Qs_i + n * 16 <= j_last_2) ? 16 : 0);
      }
      const uint32_t Vs_slot = Vs + ((t + 1) & 1) * 8192;
      const half* V_at_2 = V + int64_t(h) * Q_stride0 + int64_t(64 * t + 64) * 64 + Q_thread;
      const uint32_t Vs_to_2 = Vs_slot + thread_index * 16;
      #pragma unroll
      for (int n = 0; n < 4; ++n) {
        copy_async<16>(Vs_to_2 + n * 2048, &V_at_2[n * 1024], (Qs_i + n * 16 <= j_last_2) ? 16 : 0);
      }
    }
    copy_commit();
    float S_tile[32];  // f32[i: 64, j: 64]
    #pragma unroll
    for (int r = 0; r < 32; ++r) S_tile[r] = 0.0f;
    const uint32_t Ks_slot_2 = Ks + (t & 1) * 8192;
    #pragma unroll
    for (int k_part = 0; k_part < 2; ++k_part) {
      uint32_t Ks_part[32];
      #pragma unroll
      for (int n = 0; n < 8; ++n)
        load_matrix<4, false>(&Ks_part[n * 4], Ks_slot_2 + ((Ks_thread ^ (k_part * 64)) + n * 1024));
      #pragma unroll
      for (int g = 0; g < 16; ++g)
        mma_f16(&S_tile[g % 8 * 4], &Qs_tile[k_part * 8 + (g >> 3) * 4], &Ks_part[(g & 7) * 4 + (g >> 3) * 2]);
    }
    float mul_15[32];  // f32[i: 64, j: 64]
    #pragma unroll
    for (int r = 0; r < 32; ++r) mul_15[r] = S_tile[r] * 0.18033688f;
    // Only the tile on the diagonal has keys after its queries.
    if ((i0 - t) == 0) {
      #pragma unroll
      for (int r = 0; r < 32; ++r)
        mul_15[r] = (acc_i + (r >> 1 & 1) * 8 - (acc_j + (r & 1) + (r >> 2) * 8)) >= 0 ? mul_15[r] : -INFINITY;
    }
    float max_18[2];  // f32[i: 64]
    #pragma unroll
    for (int q = 0; q < 2; ++q) {
      max_18[q] = fmaxf(fmaxf(mul_15[q * 2], mul_15[q * 2 + 1]), fmaxf(mul_15[q * 2 + 4], mul_15[q * 2 + 5]));
      max_18[q] = fmaxf(max_18[q], fmaxf(fmaxf(mul_15[q * 2 + 8], mul_15[q * 2 + 9]), fmaxf(mul_15[q * 2 + 12], mul_15[q * 2 + 13])));
      max_18[q] = fmaxf(max_18[q], fmaxf(fmaxf(mul_15[q * 2 + 16], mul_15[q * 2 + 17]), fmaxf(mul_15[q * 2 + 20], mul_15[q * 2 + 21])));
      max_18[q] = fmaxf(max_18[q], fmaxf(fmaxf(mul_15[q * 2 + 24], mul_15[q * 2 + 25]), fmaxf(mul_15[q * 2 + 28], mul_15[q * 2 + 29])));
      max_18[q] = fmaxf(max_18[q], __shfl_xor_sync(0xffffffffu, max_18[q], 1));
      max_18[q] = fmaxf(max_18[q], __shfl_xor_sync(0xffffffffu, max_18[q], 2));
    }
    float max_19[2];  // f32[i: 64]
    #pragma unroll
    for (int r = 0; r < 2; ++r) max_19[r] = fmaxf(carried6[r], max_18[r]);
    float sub_20[32];  // f32[i: 64, j: 64]
    #pragma unroll
    for (int r = 0; r < 32; ++r) sub_20[r] = mul_15[r] - max_19[(r >> 1 & 1)];
    float exp2_21[32];  // f32[i: 64, j: 64]
    #pragma unroll
    for (int r = 0; r < 32; ++r) exp2_21[r] = exp2_approx(sub_20[r]);
    float sub_22[2];  // f32[i: 64]
    #pragma unroll
    for (int r = 0; r < 2; ++r) sub_22[r] = carried6[r] - max_19[r];
    float exp2_23[2];  // f32[i: 64]
    #pragma unroll
    for (int r = 0; r < 2; ++r) exp2_23[r] = exp2_approx(sub_22[r]);
    float sum_24[2];  // f32[i: 64]
    #pragma unroll
    for (int q = 0; q < 2; ++q) {
      sum_24[q] = (exp2_21[q * 2] + exp2_21[q * 2 + 1]) + (exp2_21[q * 2 + 4] + exp2_21[q * 2 + 5]);
      sum_24[q] = sum_24[q] + ((exp2_21[q * 2 + 8] + exp2_21[q * 2 + 9]) + (exp2_21[q * 2 + 12] + exp2_21[q * 2 + 13]));
      sum_24[q] = sum_24[q] + ((exp2_21[q * 2 + 16] + exp2_21[q * 2 + 17]) + (exp2_21[q * 2 + 20] + exp2_21[q * 2 + 21]));
      sum_24[q] = sum_24[q] + ((exp2_21[q * 2 + 24] + exp2_21[q * 2 + 25]) + (exp2_21[q * 2 + 28] + exp2_21[q * 2 + 29]));
      sum_24[q] = sum_24[q] + __shfl_xor_sync(0xffffffffu, sum_24[q], 1);
      sum_24[q] = sum_24[q] + __shfl_xor_sync(0xffffffffu, sum_24[q], 2);
    }
    float mul_25[2];  // f32[i: 64]
    #pragma unroll
    for (int r = 0; r < 2; ++r) mul_25[r] = add_26[r] * exp2_23[r];
    #pragma unroll
    for (int r = 0; r < 2; ++r) add_26[r] = mul_25[r] + sum_24[r];
    #pragma unroll
    for (int r = 0; r < 32; ++r) O_tile[r] = O_tile[r] * exp2_23[(r >> 1 & 1)];
    uint32_t f16_28[16];  // f16[i: 64, j: 64]
    #pragma unroll
    for (int p = 0; p < 16; ++p) f16_28[p] = pack_f16(exp2_21[p * 2], exp2_21[p * 2 + 1]);
    const uint32_t Vs_slot_2 = Vs + (t & 1) * 8192;
    #pragma unroll
    for (int k_part_2 = 0; k_part_2 < 2; ++k_part_2) {
      uint32_t Vs_part[32];
      #pragma unroll
      for (int n = 0; n < 8; ++n)
        load_matrix<4, true>(&Vs_part[n * 4], Vs_slot_2 + ((Vs_thread ^ (n * 16)) + k_part_2 * 4096));
      #pragma unroll
      for (int g = 0; g < 16; ++g)
        mma_f16(&O_tile[g % 8 * 4], &f16_28[k_part_2 * 8 + (g >> 3) * 4], &Vs_part[(g & 7) * 4 + (g >> 3) * 2]);
    }
    #pragma unroll
    for (int r = 0; r < 2; ++r) carried6[r] = max_19[r];
  }
  copy_wait<0>();
  float div_31[32];  // f32[d: 64, i: 64]
  #pragma unroll
  for (int r = 0; r < 32; ++r) div_31[r] = divide(O_tile[r], add_26[(r >> 1 & 1)]);
  uint32_t f16_32[16];  // f16[d: 64, i: 64]
  #pragma unroll
  for (int p = 0; p < 16; ++p) f16_32[p] = pack_f16(div_31[p * 2], div_31[p * 2 + 1]);
  half* O_at = O + int64_t(h) * Q_stride0 + int64_t(64 * i0) * 64 + O_thread;
  #pragma unroll
  for (int n = 0; n < 16; ++n) {
    if (acc_i + (n & 1) * 8 <= i_last) store_global<4>(&O_at[(n & 1) * 512 + (n >> 1) * 8], &f16_32[n]);
  }
}
