// hopper_product for sm_90a.
#include <cuda_fp16.h>
#include <stdint.h>

#pragma nv_diag_suppress 177  // helpers that a kernel does not need
#define DEVICE static __device__ __forceinline__

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
template <int id, int threads>
DEVICE void named_sync() { asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory"); }
// A CUtensorMap, made on the host.
struct alignas(64) TensorMap {
  char bytes[128];
};
// A phase ends when `count` have arrived and the bytes expected have come.
DEVICE void mbarrier_init(uint32_t barrier, uint32_t count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory"); }
// Makes them known to the copy engine.
DEVICE void mbarrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void mbarrier_arrive(uint32_t barrier, uint32_t count = 1) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(count) : "memory"); }
// An arrival that announces bytes.
DEVICE void mbarrier_expect(uint32_t barrier, uint32_t bytes) { asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory"); }
// Until the phase of this parity has ended; of a fresh barrier that of parity 1 has.
DEVICE void mbarrier_wait(uint32_t barrier, uint32_t parity) {
  uint32_t done;
  do asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
  while (!done);
}
DEVICE void bulk_load_2d(uint32_t to, const TensorMap* m, uint32_t barrier, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(to), "l"(m), "r"(barrier), "r"(c0), "r"(c1) : "memory");
}
DEVICE void bulk_store_2d(const TensorMap* m, uint32_t from, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(m), "r"(from), "r"(c0), "r"(c1) : "memory");
}
DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int pending>
DEVICE void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory"); }
// Writes to shared memory before it are seen by the copy engine and the matrix unit after it.
DEVICE void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
template <int registers>
DEVICE void more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers)); }
template <int registers>
DEVICE void fewer_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers)); }
// `n` 8x8 matrices of 16-bit elements: lane i gives the address of row i % 8 of matrix i / 8.
template <int n, bool transposed, class T>
DEVICE void store_matrix(uint32_t at, const T* x) {
  if constexpr (n == 4 && transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])), "r"(word(x[2])), "r"(word(x[3])) : "memory");
  else if constexpr (n == 4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])), "r"(word(x[2])), "r"(word(x[3])) : "memory");
  else if constexpr (n == 2 && transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])) : "memory");
  else if constexpr (n == 2)
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(at), "r"(word(x[0])), "r"(word(x[1])) : "memory");
  else if constexpr (transposed)
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(at), "r"(word(x[0])) : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(word(x[0])) : "memory");
}
// A tile in shared memory for wgmma: bytes between its panels and between groups of eight rows; swizzle
// 0: none, 1: 128, 2: 64, 3: 32 bytes. A sixteenth of the bytes added to it moves its start.
template <int swizzle, int panel_stride, int group_stride>
DEVICE uint64_t matrix_descriptor(uint32_t at) {
  return uint64_t((at & 0x3ffff) >> 4) | uint64_t(panel_stride >> 4 & 0x3fff) << 16 | uint64_t(group_stride >> 4 & 0x3fff) << 32 | uint64_t(swizzle) << 62;
}
DEVICE void mma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void mma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
DEVICE void mma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory"); }
// Accumulators are read after this point, not before.
template <int n>
DEVICE void pin(float (&x)[n]) {
#pragma unroll
  for (int r = 0; r < n; ++r) asm volatile("" : "+f"(x[r])::"memory");
}
// c[64, 128] += a b, one batch of the matrix unit's asynchronous products.
DEVICE void wgmma_m64n128_f16(float* c, uint64_t a, uint64_t b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]), "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]), "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]), "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]), "+f"(c[32]), "+f"(c[33]), "+f"(c[34]), "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]), "+f"(c[40]), "+f"(c[41]), "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]), "+f"(c[48]), "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]), "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]), "+f"(c[63])
      : "l"(a), "l"(b)
      : "memory");
}

// C = A B^T in tiles of 128 x 128: a producer warp keeps a ring of four slots of 64 along k full
// by bulk tensor copies, two warpgroups multiply with one batch of wgmma in flight. Any M; N and K
// multiples of 8 (rows of tensor maps).
// Grid: floor((M + 127)/128) x floor((N8 + 15)/16) blocks of 384 threads, 163904 bytes of shared memory.
// Layout acc: register: j=1 i=8 j=8 j=16 j=32 j=64; lane: j=2 j=4 i=1 i=2 i=4; warp: i=16 i=32 i=64
// Layout rows: offset: k=1 k=2 k=4 k=8 k=16 k=32 k=8+i=1 k=16+i=2 k=32+i=4 i=8 i=16 i=32 i=64
// Layout cols: offset: k=1 k=2 k=4 k=8 k=16 k=32 k=8+j=1 k=16+j=2 k=32+j=4 j=8 j=16 j=32 j=64
// Layout panels: repeat (j: 2) offset: j=1 j=2 j=4 j=8 j=16 j=32 j=8+i=1 j=16+i=2 j=32+i=4 i=8 i=16 i=32 i=64
extern "C" __global__ void __launch_bounds__(384, 1)
hopper_product_product(const half* __restrict__ A, const half* __restrict__ B, half* __restrict__ C,
    int64_t M_size, int64_t N8_size, int64_t K8_size, const __grid_constant__ TensorMap C_map,
    const __grid_constant__ TensorMap A_map, const __grid_constant__ TensorMap B_map) {
  const int M = int(M_size);
  const int N8 = int(N8_size);
  const int K8 = int(K8_size);
  const int j0 = int(blockIdx.x % unsigned(((N8 + 15) >> 4)));
  const unsigned block = blockIdx.x / unsigned(((N8 + 15) >> 4));
  const int i0 = int(block);
  const int lane = threadIdx.x % 32;
  const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t shared_base = shared_address(shared);
  const uint32_t As = shared_base;  // f16[i: 128, k: 64], 4 slots
  const uint32_t Bs = shared_base + 65536;  // f16[j: 128, k: 64], 4 slots
  const uint32_t Cs = shared_base + 131072;  // f16[i: 128, j: 128]
  const uint32_t full = shared_base + 163840;  // mbarriers, 4 slots
  const uint32_t empty = shared_base + 163872;  // mbarriers, 4 slots
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);
    mbarrier_init(full + 8, 1);
    mbarrier_init(full + 16, 1);
    mbarrier_init(full + 24, 1);
    mbarrier_init(empty, 8);
    mbarrier_init(empty + 8, 8);
    mbarrier_init(empty + 16, 8);
    mbarrier_init(empty + 24, 8);
    mbarrier_init_fence();
  }
  __syncthreads();
  if (warp_index < 8) {  // consumer: warps 0 to 7
    const int warp = warp_index;
    const uint32_t As_thread = (warp >> 2) * 8192;
    const uint32_t Cs_thread = warp * 2048 + (((lane & 7) * 144) ^ ((lane >> 3 & 1) * 1024) ^ (lane & 16));
    more_registers<232>();
    float C_tile[64];  // f32[i: 128, j: 128]
    #pragma unroll
    for (int r = 0; r < 64; ++r) C_tile[r] = 0.0f;
    #pragma unroll 1
    for (int t = 0; t < ((K8 + 7) >> 3); ++t) {
      mbarrier_wait(full + 8 * (t & 3), ((t >> 2) & 1));
      mma_fence();
      const uint32_t Bs_slot = Bs + (t & 3) * 16384;
      const uint64_t Bs_matrix = matrix_descriptor<1, 16, 1024>(Bs_slot);
      const uint32_t As_slot = As + (t & 3) * 16384;
      const uint32_t As_at = As_slot + As_thread;
      const uint64_t As_matrix = matrix_descriptor<1, 16, 1024>(As_at);
      #pragma unroll
      for (int k_part = 0; k_part < 4; ++k_part) {
        wgmma_m64n128_f16(&C_tile[0], As_matrix + k_part * 2, Bs_matrix + k_part * 2);
      }
      mma_commit();
      // The product of tile t - 1 is done: its slot may be filled again.
      mma_wait<1>();
      if ((t - 1) >= 0) {
        if (lane == 0) mbarrier_arrive(empty + 8 * ((t + 3) & 3));
      }
    }
    mma_wait<0>();
    pin(C_tile);
    uint32_t f16_5[32];  // f16[i: 128, j: 128]
    #pragma unroll
    for (int p = 0; p < 32; ++p) f16_5[p] = pack_f16(C_tile[p * 2], C_tile[p * 2 + 1]);
    #pragma unroll
    for (int n = 0; n < 8; ++n)
      store_matrix<4, false>(Cs + ((Cs_thread ^ ((n & 3) * 32)) + (n >> 2) * 16384), &f16_5[n * 4]);
    proxy_fence();
    named_sync<1, 256>();  // consumers
    if (warp == 0) {
      if (warp == 0 && lane == 0) {
        bulk_store_2d(&C_map, Cs, 128 * j0, 128 * i0);
        bulk_store_2d(&C_map, Cs + 16384, 128 * j0 + 64, 128 * i0);
      }
      bulk_commit();
      bulk_wait_read<0>();
    }
  } else {  // producer: warps 8 to 11
    const int warp = warp_index - 8;
    fewer_registers<40>();
    if (warp == 0) {
      #pragma unroll 1
      for (int t_2 = 0; t_2 < ((K8 + 7) >> 3); ++t_2) {
        // A fresh barrier lets parity 1 pass: the first four slots are empty.
        mbarrier_wait(empty + 8 * (t_2 & 3), (((t_2 >> 2) + 1) & 1));
        if (warp == 0 && lane == 0) mbarrier_expect(full + 8 * (t_2 & 3), 32768);
        const uint32_t As_slot_2 = As + (t_2 & 3) * 16384;
        if (warp == 0 && lane == 0) {
          bulk_load_2d(As_slot_2, &A_map, full + 8 * (t_2 & 3), 64 * t_2, 128 * i0);
        }
        const uint32_t Bs_slot_2 = Bs + (t_2 & 3) * 16384;
        if (warp == 0 && lane == 0) {
          bulk_load_2d(Bs_slot_2, &B_map, full + 8 * (t_2 & 3), 64 * t_2, 128 * j0);
        }
      }
    }
  }
}
