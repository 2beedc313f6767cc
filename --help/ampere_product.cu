// ampere_product for sm_80.
#include <cuda_fp16.h>
#include <stdint.h>

#pragma nv_diag_suppress 177  // helpers that a kernel does not need
#define DEVICE static __device__ __forceinline__

DEVICE uint16_t bits16_at(const uint32_t* x, int r) { return uint16_t(x[r / 2] >> r % 2 * 16); }
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

// C = A B^T in tiles of 64 x 64: four warps of 32 x 32, steps of 32 along k in a ring of three
// slots filled by cp.async. Any M and N; K a multiple of 8 (16-byte copies).
// Grid: floor((M + 63)/64) x floor((N + 63)/64) blocks of 128 threads, 24576 bytes of shared memory.
// Layout acc: register: j=1 i=8 j=8 j=16 i=16; lane: j=2 j=4 i=1 i=2 i=4; warp: i=32 j=32
// Layout a: register: k=1 i=8 k=8 k=16 i=16; lane: k=2 k=4 i=1 i=2 i=4; warp: i=32 0
// Layout b: register: k=1 k=8 k=16 j=8 j=16; lane: k=2 k=4 j=1 j=2 j=4; warp: 0 j=32
// Layout rows: offset: k=1 k=2 k=4 k=8 k=16 i=1 k=8+i=2 k=16+i=4 i=8 i=16 i=32
// Layout cols: offset: k=1 k=2 k=4 k=8 k=16 j=1 k=8+j=2 k=16+j=4 j=8 j=16 j=32
extern "C" __global__ void __launch_bounds__(128, 2)
ampere_product_product(const half* __restrict__ A, const half* __restrict__ B, half* __restrict__ C,
    int64_t M_size, int64_t N_size, int64_t K8_size) {
  const int M = int(M_size);
  const int N = int(N_size);
  const int K8 = int(K8_size);
  const int j0 = int(blockIdx.x % unsigned(((N + 63) >> 6)));
  const unsigned block = blockIdx.x / unsigned(((N + 63) >> 6));
  const int i0 = int(block);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t shared_base = shared_address(shared);
  const uint32_t As = shared_base;  // f16[i: 64, k: 32], 3 slots
  const uint32_t Bs = shared_base + 12288;  // f16[j: 64, k: 32], 3 slots
  const int warp = warp_index;
  const int thread_index = int(threadIdx.x);
  const int64_t A_stride0 = int64_t(8 * K8);
  const int As_i = warp * 8 + (lane >> 2);
  const int As_k = ((lane & 3) * 8) ^ (lane & 24);
  const int64_t A_thread = int64_t(As_i) * A_stride0 + As_k;
  const uint32_t As_thread = (warp & 1) * 2048 + (((lane & 1) * 64) ^ ((lane >> 1 & 3) * 144) ^ ((lane >> 3 & 1) * 512) ^ (lane & 16));
  const uint32_t Bs_thread = (warp >> 1) * 2048 + (((lane & 1) * 64) ^ ((lane >> 1 & 3) * 144) ^ ((lane >> 3) * 16));
  const int64_t C_stride0 = int64_t(N);
  const int acc_i = (warp & 1) * 32 + (lane >> 2);
  const int acc_j = (warp >> 1) * 32 + (lane & 3) * 2;
  const int64_t C_thread = int64_t(acc_i) * C_stride0 + acc_j;
  // The first two tiles of the ring.
  #pragma unroll
  for (int p_2 = 0; p_2 < 2; ++p_2) {
    const uint32_t As_slot = As + p_2 * 4096;
    const int i_last = M - 64 * i0 - 1;
    const int k_last = 8 * K8 - 32 * p_2 - 1;
    const half* A_at = A + int64_t(64 * i0) * A_stride0 + 32 * p_2 + A_thread;
    const uint32_t As_to = As_slot + thread_index * 16;
    #pragma unroll
    for (int n = 0; n < 2; ++n) {
      copy_async<16>(As_to + n * 2048, &A_at[(n * 32) * A_stride0], (As_i + n * 32 <= i_last && As_k <= k_last) ? 16 : 0);
    }
    const uint32_t Bs_slot = Bs + p_2 * 4096;
    const int j_last = N - 64 * j0 - 1;
    const half* B_at = B + int64_t(64 * j0) * A_stride0 + 32 * p_2 + A_thread;
    const uint32_t Bs_to = Bs_slot + thread_index * 16;
    #pragma unroll
    for (int n = 0; n < 2; ++n) {
      copy_async<16>(Bs_to + n * 2048, &B_at[(n * 32) * A_stride0], (As_i + n * 32 <= j_last && As_k <= k_last) ? 16 : 0);
    }
    copy_commit();
  }
  float C_tile[32];  // f32[i: 64, j: 64]
  #pragma unroll
  for (int r = 0; r < 32; ++r) C_tile[r] = 0.0f;
  #pragma unroll 1
  for (int t = 0; t < ((K8 + 3) >> 2); ++t) {
    // Tile t is here, and all warps are done with tile t - 1, whose slot tile t + 2 takes.
    copy_wait<1>();
    __syncthreads();
    if ((8 * K8 - 32 * t - 65) >= 0) {
      const uint32_t As_slot_2 = As + int(unsigned(t + 2) % 3u) * 4096;
      const int i_last_2 = M - 64 * i0 - 1;
      const int k_last_2 = 8 * K8 - 32 * t - 65;
      const half* A_at_2 = A + int64_t(64 * i0) * A_stride0 + 32 * t + 64 + A_thread;
      const uint32_t As_to_2 = As_slot_2 + thread_index * 16;
      #pragma unroll
      for (int n = 0; n < 2; ++n) {
        copy_async<16>(As_to_2 + n * 2048, &A_at_2[(n * 32) * A_stride0], (As_i + n * 32 <= i_last_2 && As_k <= k_last_2) ? 16 : 0);
      }
      const uint32_t Bs_slot_2 = Bs + int(unsigned(t + 2) % 3u) * 4096;
      const int j_last_2 = N - 64 * j0 - 1;
      const half* B_at_2 = B + int64_t(64 * j0) * A_stride0 + 32 * t + 64 + A_thread;
      const uint32_t Bs_to_2 = Bs_slot_2 + thread_index * 16;
      #pragma unroll
      for (int n = 0; n < 2; ++n) {
        copy_async<16>(Bs_to_2 + n * 2048, &B_at_2[(n * 32) * A_stride0], (As_i + n * 32 <= j_last_2 && As_k <= k_last_2) ? 16 : 0);
      }
    }
    copy_commit();
    const uint32_t As_slot_3 = As + int(unsigned(t) % 3u) * 4096;
    const uint32_t Bs_slot_3 = Bs + int(unsigned(t) % 3u) * 4096;
    const uint32_t Bs_at = Bs_slot_3 + Bs_thread;
    {
      uint32_t As_part[16];
      #pragma unroll
      for (int n = 0; n < 4; ++n)
        load_matrix<4, false>(&As_part[n * 4], As_slot_3 + ((As_thread ^ ((n & 1) * 32)) + (n >> 1) * 1024));
      uint32_t Bs_part[16];
      #pragma unroll
      for (int n = 0; n < 4; ++n) load_matrix<4, false>(&Bs_part[n * 4], Bs_at + n * 512);
      #pragma unroll
      for (int g = 0; g < 16; ++g)
        mma_f16(&C_tile[g % 8 * 4], &As_part[(g >> 2 & 1) * 8 + (g >> 3) * 4], &Bs_part[(g & 3) * 4 + (g >> 3) * 2]);
    }
  }
  copy_wait<0>();
  uint32_t f16_6[16];  // f16[i: 64, j: 64]
  #pragma unroll
  for (int p = 0; p < 16; ++p) f16_6[p] = pack_f16(C_tile[p * 2], C_tile[p * 2 + 1]);
  half* C_at = C + int64_t(64 * i0) * C_stride0 + 64 * j0 + C_thread;
  const int i_last_3 = M - 64 * i0 - 1;
  const int j_last_3 = N - 64 * j0 - 1;
  #pragma unroll
  for (int r = 0; r < 32; ++r)
    if (acc_i + (r >> 1 & 1) * 8 + (r & 16) <= i_last_3 && acc_j + (r & 1) + (r >> 2 & 3) * 8 <= j_last_3) reinterpret_cast<uint16_t&>(C_at[(r & 1) + (r >> 2 & 3) * 8 + ((r >> 1 & 1) * 8 + (r & 16)) * C_stride0]) = bits16_at(f16_6, r);
}
