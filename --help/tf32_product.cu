// tf32_product for sm_80.
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
// c[16, 8] += a[16, 8] b[8, 8] of f32 rounded to tf32.
DEVICE uint32_t to_tf32(float x) {
  uint32_t w;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(w) : "f"(x));
  return w;
}
DEVICE void mma_tf32(float* c, const float* a, const float* b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(to_tf32(a[0])), "r"(to_tf32(a[1])), "r"(to_tf32(a[2])), "r"(to_tf32(a[3])), "r"(to_tf32(b[0])), "r"(to_tf32(b[1])));
}

// f32 on the matrix unit, rounded to tf32.
// Grid: floor((N + 31)/32) blocks of 64 threads, 12288 bytes of shared memory.
// Layout acc: register: j=1 i=8 j=8 j=16 j=32; lane: j=2 j=4 i=1 i=2 i=4; warp: i=16
// Layout a: register: i=8 k=4 k=8 k=16; lane: k=1 k=2 i=1 i=2 i=4; warp: i=16
// Layout b: register: k=4 k=8 k=16 j=8 j=16 j=32; lane: k=1 k=2 j=1 j=2 j=4; warp: 0
extern "C" __global__ void __launch_bounds__(64, 1)
tf32_product_product(const float* __restrict__ A, const float* __restrict__ B,
    float* __restrict__ C, int64_t N_size) {
  const int N = int(N_size);
  const int g = int(blockIdx.x);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t shared_base = shared_address(shared);
  const uint32_t As = shared_base;  // f32[i: 32, k: 32]
  const uint32_t Bs = shared_base + 4096;  // f32[j: 64, k: 32]
  const int warp = warp_index;
  const int thread_index = int(threadIdx.x);
  const int As_i = warp * 4 + (lane >> 3);
  const int As_k = (((lane & 7) * 4) ^ ((lane >> 3) * 4)) ^ (warp * 16);
  const int64_t A_thread = int64_t(As_i) * 32 + As_k;
  const int B_thread = As_i * 32 + As_k;
  const uint32_t As_thread = warp * 2048 + (((lane & 7) * 144) ^ ((lane >> 3 & 1) * 1024) ^ (lane & 16));
  const uint32_t Bs_thread = ((lane & 7) * 144) ^ ((lane >> 3) * 16);
  const int acc_i = warp * 16 + (lane >> 2);
  const int acc_j = (lane & 3) * 2;
  const int64_t C_thread = int64_t(acc_i) * 64 + acc_j;
  const int i_last = N - 32 * g - 1;
  const float* A_at = A + int64_t(32 * g) * 32 + A_thread;
  const uint32_t As_to = As + thread_index * 16;
  #pragma unroll
  for (int n = 0; n < 4; ++n) {
    copy_async<16>(As_to + n * 1024, &A_at[n * 256], (As_i + n * 8 <= i_last) ? 16 : 0);
  }
  const float* B_at = B + B_thread;
  const uint32_t Bs_to = Bs + thread_index * 16;
  #pragma unroll
  for (int n = 0; n < 8; ++n) {
    copy_async<16>(Bs_to + n * 1024, &B_at[n * 256]);
  }
  copy_commit();
  copy_wait<0>();
  __syncthreads();
  float C_tile[32];  // f32[i: 32, j: 64]
  #pragma unroll
  for (int r = 0; r < 32; ++r) C_tile[r] = 0.0f;
  #pragma unroll
  for (int k_part = 0; k_part < 2; ++k_part) {
    float As_part[8];
    #pragma unroll
    for (int n = 0; n < 2; ++n)
      load_matrix<4, false>(&As_part[n * 4], As + (As_thread ^ (k_part * 64 + n * 32)));
    float Bs_part[32];
    #pragma unroll
    for (int n = 0; n < 8; ++n)
      load_matrix<4, false>(&Bs_part[n * 4], Bs + ((Bs_thread ^ (k_part * 64)) + n * 1024));
    #pragma unroll
    for (int g = 0; g < 16; ++g)
      mma_tf32(&C_tile[g % 8 * 4], &As_part[(g >> 3) * 4], &Bs_part[(g & 7) * 4 + (g >> 3) * 2]);
  }
  float* C_at = C + int64_t(32 * g) * 64 + C_thread;
  #pragma unroll
  for (int n = 0; n < 16; ++n) {
    if (acc_i + (n & 1) * 8 <= i_last) store_global<8>(&C_at[(n & 1) * 512 + (n >> 1) * 8], &C_tile[n * 2]);
  }
}
