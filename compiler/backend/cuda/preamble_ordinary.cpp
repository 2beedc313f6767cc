// Helpers for every target: packing, vectors, shared memory by 32-bit address, cp.async, ldmatrix,
// mma.sync.
#include "compiler/backend/cuda/preamble_texts.h"

namespace nautilus::cuda {

const std::vector<Helper>& ordinary_helpers() {
  static const std::vector<Helper> all{
      {"header_f16", "cuda_fp16.h", {}, ""},
      {"header_bf16", "cuda_bf16.h", {}, ""},
      {"header_fp8", "cuda_fp8.h", {}, ""},
      {"floor_div", "", {}, R"(DEVICE int floor_div(int a, int d) { return a / d - (a % d < 0); }
)"},
      {"floor_mod",
       "",
       {},
       R"(DEVICE int floor_mod(int a, int d) { return a % d + (a % d < 0 ? d : 0); }
)"},
      {"exp2_approx", "", {}, R"(// 2^x to 2 ulp; results below 2^-126 are 0.
DEVICE float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)"},
      {"divide", "", {}, R"(// a / b to 2 ulp, without a call.
DEVICE float divide(float a, float b) {
  float q;
  asm("div.full.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
  return q;
}
)"},
      {"tanh_quick",
       "",
       {"exp2_approx"},
       R"(// To 8 ulp, without a branch: a series near 0, else 1 - 2 / (1 + exp(2 |x|)).
DEVICE float tanh_quick(float x) {
  const float a = fabsf(x), s = a * a;
  const float series = fmaf(fmaf(fmaf(fmaf(-8.8632357e-3f, s, 2.1869489e-2f), s, -5.3968254e-2f), s, 1.3333334e-1f), s, -3.3333334e-1f);
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(1.0f + exp2_approx(a * 2.8853901f)));
  return copysignf(a < 0.4f ? fmaf(a * s, series, a) : fmaf(-2.0f, r, 1.0f), x);
}
)"},
      {"sqrt_approx", "", {}, R"(DEVICE float sqrt_approx(float x) {
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
)"},
      {"f16_at",
       "cuda_fp16.h",
       {},
       R"(// Elements of tiles that are packed into words, the lowest first.
DEVICE float f16_at(const uint32_t* x, int r) { return __half2float(__ushort_as_half(uint16_t(x[r / 2] >> r % 2 * 16))); }
)"},
      {"bf16_at",
       "",
       {},
       R"(DEVICE float bf16_at(const uint32_t* x, int r) { return __uint_as_float(r % 2 ? x[r / 2] & 0xffff0000u : x[r / 2] << 16); }
)"},
      {"i8_at",
       "",
       {},
       R"(DEVICE int i8_at(const uint32_t* x, int r) { return int8_t(x[r / 4] >> r % 4 * 8); }
)"},
      {"e4m3_at", "cuda_fp8.h", {}, R"(DEVICE float e4m3_at(const uint32_t* x, int r) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(uint8_t(x[r / 4] >> r % 4 * 8), __NV_E4M3)));
}
)"},
      {"e5m2_at", "cuda_fp8.h", {}, R"(DEVICE float e5m2_at(const uint32_t* x, int r) {
  return __half2float(__half(__nv_cvt_fp8_to_halfraw(uint8_t(x[r / 4] >> r % 4 * 8), __NV_E5M2)));
}
)"},
      {"bits16_at",
       "",
       {},
       R"(DEVICE uint16_t bits16_at(const uint32_t* x, int r) { return uint16_t(x[r / 2] >> r % 2 * 16); }
)"},
      {"bits8_at",
       "",
       {},
       R"(DEVICE uint8_t bits8_at(const uint32_t* x, int r) { return uint8_t(x[r / 4] >> r % 4 * 8); }
)"},
      {"pack16",
       "",
       {},
       R"(DEVICE uint32_t pack16(uint32_t a, uint32_t b) { return (a & 0xffffu) | b << 16; }
)"},
      {"pack8", "", {}, R"(DEVICE uint32_t pack8(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return (a & 0xffu) | (b & 0xffu) << 8 | (c & 0xffu) << 16 | d << 24;
}
)"},
      {"pack_f16", "cuda_fp16.h", {}, R"(DEVICE uint32_t pack_f16(float a, float b) {
  uint32_t w;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(b), "f"(a));
  return w;
}
DEVICE uint32_t pack_f16(double a, double b) { return __half_as_ushort(__double2half(a)) | uint32_t(__half_as_ushort(__double2half(b))) << 16; }
DEVICE uint32_t pack_f16(int a, int b) { return __half_as_ushort(__int2half_rn(a)) | uint32_t(__half_as_ushort(__int2half_rn(b))) << 16; }
)"},
      {"pack_bf16", "cuda_bf16.h", {}, R"(DEVICE uint32_t pack_bf16(float a, float b) {
  uint32_t w;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(w) : "f"(b), "f"(a));
  return w;
}
DEVICE uint32_t pack_bf16(double a, double b) { return __bfloat16_as_ushort(__double2bfloat16(a)) | uint32_t(__bfloat16_as_ushort(__double2bfloat16(b))) << 16; }
DEVICE uint32_t pack_bf16(int a, int b) { return __bfloat16_as_ushort(__int2bfloat16_rn(a)) | uint32_t(__bfloat16_as_ushort(__int2bfloat16_rn(b))) << 16; }
)"},
      {"pack_i8", "", {"pack8"}, R"(// Toward zero, saturating.
DEVICE int to_i8(int x) { return min(max(x, -128), 127); }
DEVICE int to_i8(float x) { return to_i8(__float2int_rz(x)); }
DEVICE int to_i8(double x) { return to_i8(__double2int_rz(x)); }
template <class T>
DEVICE uint32_t pack_i8(T a, T b, T c, T d) { return pack8(to_i8(a), to_i8(b), to_i8(c), to_i8(d)); }
)"},
      {"pack_e4m3", "cuda_fp8.h", {"pack8"}, R"(// To nearest; beyond the largest value: NaN.
DEVICE uint32_t to_e4m3(float x) { return __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E4M3); }
DEVICE uint32_t to_e4m3(double x) { return __nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E4M3); }
DEVICE uint32_t to_e4m3(int x) { return to_e4m3(double(x)); }
template <class T>
DEVICE uint32_t pack_e4m3(T a, T b, T c, T d) { return pack8(to_e4m3(a), to_e4m3(b), to_e4m3(c), to_e4m3(d)); }
)"},
      {"pack_e5m2",
       "cuda_fp8.h",
       {"pack8"},
       R"(DEVICE uint32_t to_e5m2(float x) { return __nv_cvt_float_to_fp8(x, __NV_NOSAT, __NV_E5M2); }
DEVICE uint32_t to_e5m2(double x) { return __nv_cvt_double_to_fp8(x, __NV_NOSAT, __NV_E5M2); }
DEVICE uint32_t to_e5m2(int x) { return to_e5m2(double(x)); }
template <class T>
DEVICE uint32_t pack_e5m2(T a, T b, T c, T d) { return pack8(to_e5m2(a), to_e5m2(b), to_e5m2(c), to_e5m2(d)); }
)"},
      {"set16",
       "",
       {},
       R"(DEVICE void set16(uint32_t* x, int r, uint32_t bits) { x[r / 2] = (x[r / 2] & ~(0xffffu << r % 2 * 16)) | bits << r % 2 * 16; }
)"},
      {"set8",
       "",
       {},
       R"(DEVICE void set8(uint32_t* x, int r, uint32_t bits) { x[r / 4] = (x[r / 4] & ~(0xffu << r % 4 * 8)) | bits << r % 4 * 8; }
)"},
      {"word", "", {}, R"(// Registers as words and back.
DEVICE uint32_t word(uint32_t x) { return x; }
DEVICE uint32_t word(float x) { return __float_as_uint(x); }
DEVICE uint32_t word(int x) { return uint32_t(x); }
DEVICE void put(uint32_t& x, uint32_t w) { x = w; }
DEVICE void put(float& x, uint32_t w) { x = __uint_as_float(w); }
DEVICE void put(int& x, uint32_t w) { x = int(w); }
DEVICE void put(double& x, uint32_t low, uint32_t high) { x = __hiloint2double(int(high), int(low)); }
DEVICE uint32_t low_word(double x) { return uint32_t(__double2loint(x)); }
DEVICE uint32_t high_word(double x) { return uint32_t(__double2hiint(x)); }
)"},
      {"load_global",
       "",
       {"word"},
       R"(// `bytes` bytes from global memory to consecutive registers, and back.
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
)"},
      {"store_global", "", {"word"}, R"(template <int bytes, class T>
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
)"},
      {"load_shared",
       "",
       {"word"},
       R"(// `bytes` bytes from shared memory to consecutive registers, and back.
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
)"},
      {"store_shared", "", {"word"}, R"(template <int bytes, class T>
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
)"},
      {"load_shared16", "", {}, R"(DEVICE uint16_t load_shared16(uint32_t at) {
  uint16_t v;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(at) : "memory");
  return v;
}
)"},
      {"load_shared8", "", {}, R"(DEVICE uint8_t load_shared8(uint32_t at) {
  uint32_t v;
  asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
  return uint8_t(v);
}
)"},
      {"store_shared16",
       "",
       {},
       R"(DEVICE void store_shared16(uint32_t at, uint16_t v) { asm volatile("st.shared.u16 [%0], %1;" ::"r"(at), "h"(v) : "memory"); }
)"},
      {"store_shared8",
       "",
       {},
       R"(DEVICE void store_shared8(uint32_t at, uint32_t v) { asm volatile("st.shared.u8 [%0], %1;" ::"r"(at), "r"(v) : "memory"); }
)"},
      {"shared_address",
       "",
       {},
       R"(DEVICE uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
)"},
      {"copy_async",
       "",
       {},
       R"(// Global to shared memory without registers; bytes beyond `from` become 0.
template <int bytes>
DEVICE void copy_async(uint32_t to, const void* p, int from = bytes) {
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(p), "r"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(p), "n"(bytes), "r"(from) : "memory");
}
)"},
      {"copy_commit",
       "",
       {},
       R"(DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
)"},
      {"copy_wait", "", {}, R"(template <int pending>
DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory"); }
)"},
      {"block_sync",
       "",
       {},
       R"(DEVICE void block_sync() { asm volatile("bar.sync 0;" ::: "memory"); }
)"},
      {"named_sync", "", {}, R"(template <int id, int threads>
DEVICE void named_sync() { asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory"); }
)"},
      {"named_arrive", "", {}, R"(template <int id, int threads>
DEVICE void named_arrive() { asm volatile("bar.arrive %0, %1;" ::"n"(id), "n"(threads) : "memory"); }
)"},
      {"load_matrix",
       "",
       {"word"},
       R"(// `n` 8x8 matrices of 16-bit elements: lane i gives the address of row i % 8 of matrix i / 8.
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
)"},
      {"mma_f16",
       "",
       {},
       R"(// c[16, 8] += a[16, 16] b[16, 8]: a thread holds 4, 4 and 2 registers of them.
DEVICE void mma_f16(float* c, const uint32_t* a, const uint32_t* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
)"},
      {"mma_bf16", "", {}, R"(DEVICE void mma_bf16(float* c, const uint32_t* a, const uint32_t* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
)"},
      {"mma_tf32", "", {}, R"(// c[16, 8] += a[16, 8] b[8, 8] of f32 rounded to tf32.
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
)"},
  };
  return all;
}

}  // namespace nautilus::cuda
