// three_warps for sm_80.
#include <cuda_bf16.h>
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
DEVICE void mma_bf16(float* c, const uint32_t* a, const uint32_t* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// 96 columns as three blocks of 32, and three warps of 16 rows, each with a tile of its own.
// Grid: floor((N + 47)/48) blocks of 96 threads, 3072 bytes of shared memory.
// Layout acc: repeat (j: 3) register: j=1 i=8 j=8 j=16; lane: j=2 j=4 i=1 i=2 i=4
// Layout a: register: k=1 i=8 k=8; lane: k=2 k=4 i=1 i=2 i=4
// Layout b: repeat (j: 3) register: k=1 k=8 j=8 j=16; lane: k=2 k=4 j=1 j=2 j=4
extern "C" __global__ void __launch_bounds__(96, 1)
three_warps_product(const __nv_bfloat16* __restrict__ A, const __nv_bfloat16* __restrict__ B,
    float* __restrict__ C, int64_t N_size) {
  const int N = int(N_size);
  const int g = int(blockIdx.x);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t shared_base = shared_address(shared);
  const uint32_t Bs = shared_base;  // bf16[j: 96, k: 16]
  const int warp = warp_index;
  const int thread_index = int(threadIdx.x);
  const int a_i = (lane >> 2);
  const int a_k = (lane & 3) * 2;
  const int64_t A_thread = int64_t(a_i) * 16 + a_k;
  const uint32_t Bs_thread = (lane & 7) * 32 + (lane >> 3 & 1) * 16 + (lane >> 4) * 256;
  const int64_t C_thread = int64_t(a_i) * 96 + a_k;
  for (int chunk = thread_index; chunk < 192; chunk += 96) {
    const int Bs_j = ((chunk & 63) >> 1) + (chunk / 64) % 3 * 32;
    const int Bs_k = ((chunk & 63) & 1) * 8;
    uint32_t part[4];
    load_global<16>(part, &B[Bs_j * 16 + Bs_k]);
    store_shared<16>(Bs + chunk * 16, part);
  }
  uint32_t A_tile[4];  // bf16[i: 16, k: 16]
  const __nv_bfloat16* A_at = A + int64_t(48 * g + 16 * warp) * 16 + A_thread;
  const int i_last = N - 48 * g - 16 * warp - 1;
  #pragma unroll
  for (int r = 0; r < 4; ++r) A_tile[r] = 0;
  #pragma unroll
  for (int n = 0; n < 4; ++n) {
    if (a_i + (n & 1) * 8 <= i_last) {
      load_global<4>(&A_tile[n], &A_at[(n & 1) * 128 + (n >> 1) * 8]);
    }
  }
  __syncthreads();
  float C_tile[48];  // f32[i: 16, j: 96]
  #pragma unroll
  for (int r = 0; r < 48; ++r) C_tile[r] = 0.0f;
  const uint32_t Bs_at = Bs + Bs_thread;
  {
    uint32_t Bs_part[24];
    #pragma unroll
    for (int n = 0; n < 6; ++n) load_matrix<4, false>(&Bs_part[n * 4], Bs_at + n * 512);
    #pragma unroll
    for (int g = 0; g < 12; ++g) mma_bf16(&C_tile[g * 4], &A_tile[0], &Bs_part[g * 2]);
  }
  float* C_at = C + int64_t(48 * g + 16 * warp) * 96 + C_thread;
  #pragma unroll
  for (int n = 0; n < 24; ++n) {
    if (a_i + (((n % 12) % 6) % 2) * 8 <= i_last) store_global<8>(&C_at[(((n % 12) % 6) % 2) * 768 + (((n % 12) % 6) / 2) * 8 + ((n % 12) / 6) * 24 + (n / 12) * 48], &C_tile[n * 2]);
  }
}
