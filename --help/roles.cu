// roles for sm_80.
#include <cuda_fp16.h>
#include <stdint.h>

#pragma nv_diag_suppress 177  // helpers that a kernel does not need
#define DEVICE static __device__ __forceinline__

DEVICE uint16_t bits16_at(const uint32_t* x, int r) { return uint16_t(x[r / 2] >> r % 2 * 16); }
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
template <int id, int threads>
DEVICE void named_sync() { asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory"); }
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

// A warp fetches tiles of 16 rows, another writes them transposed; named barriers hand the slots
// over.
// Grid: 1 blocks of 64 threads, 4096 bytes of shared memory.
// Layout out: register: r=1 d=8 r=8 d=16 d=32; lane: r=2 r=4 d=1 d=2 d=4
extern "C" __global__ void __launch_bounds__(64, 1)
roles_transpose(const half* __restrict__ X, half* __restrict__ Y, int64_t N_size) {
  const int N = int(N_size);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t shared_base = shared_address(shared);
  const uint32_t Xs = shared_base;  // f16[d: 64, r: 16], 2 slots
  if (warp_index < 1) {  // reader: warps 0 to 0
    const int Xs_r = (lane >> 3);
    const int64_t X_thread = int64_t(Xs_r) * 64;
    const int Xs_d = ((lane & 7) * 8) ^ (lane & 24);
    #pragma unroll 1
    for (int t = 0; t < ((N + 15) >> 4); ++t) {
      const uint32_t Xs_slot = Xs + (t & 1) * 2048;
      const int r_last = N - 16 * t - 1;
      const half* X_at = X + int64_t(16 * t) * 64 + X_thread;
      const uint32_t Xs_to = Xs_slot + lane * 16;
      #pragma unroll
      for (int n = 0; n < 4; ++n) {
        copy_async<16>(Xs_to + n * 512, &X_at[n * 256 + (Xs_d ^ ((n & 1) * 32))], (Xs_r + n * 4 <= r_last) ? 16 : 0);
      }
      copy_commit();
      copy_wait<0>();
      __syncwarp();
      named_sync<1, 64>();  // full
      named_sync<2, 64>();  // empty
    }
  } else {  // writer: warps 1 to 1
    const uint32_t Xs_thread = ((lane & 7) * 144) ^ ((lane >> 3 & 1) * 16) ^ ((lane >> 4) * 1024);
    const int64_t Y_stride0 = int64_t(N);
    const int out_d = (lane >> 2);
    const int out_r = (lane & 3) * 2;
    const int64_t Y_thread = int64_t(out_d) * Y_stride0 + out_r;
    #pragma unroll 1
    for (int t_2 = 0; t_2 < ((N + 15) >> 4); ++t_2) {
      named_sync<1, 64>();  // full
      uint32_t Xs_tile[16];  // f16[d: 64, r: 16]
      const uint32_t Xs_slot_2 = Xs + (t_2 & 1) * 2048;
      #pragma unroll
      for (int n = 0; n < 4; ++n)
        load_matrix<4, true>(&Xs_tile[n * 4], Xs_slot_2 + (Xs_thread ^ (n * 32)));
      half* Y_at = Y + 16 * t_2 + Y_thread;
      const int r_last_2 = N - 16 * t_2 - 1;
      #pragma unroll
      for (int r = 0; r < 32; ++r)
        if (out_r + (r & 1) + (r >> 2 & 1) * 8 <= r_last_2) reinterpret_cast<uint16_t&>(Y_at[(r & 1) + (r >> 2 & 1) * 8 + ((r >> 1 & 1) * 8 + (r >> 3) * 16) * Y_stride0]) = bits16_at(Xs_tile, r);
      named_sync<2, 64>();  // empty
    }
  }
}
