#include "compiler/backend/cpu/prelude.h"

namespace nautilus::cpu {
namespace {

// Sources: exp2 after Muller, "Elementary Functions", 2016 (argument reduction to [-1/2, 1/2],
// scaling in two steps so that subnormal results are right); log, tanh, erf are the polynomial
// forms published by N. Juffa (minimax, single precision with fused operations).
const char* kScalar =
    R"cpp(typedef unsigned char u8;
          typedef signed char i8;
          typedef unsigned short u16;
          typedef unsigned int u32;
#define INLINE static inline __attribute__((always_inline))

          INLINE u32 bits(float x) { return __builtin_bit_cast(u32, x); }
          INLINE float from_bits(u32 x) { return __builtin_bit_cast(float, x); }
          INLINE float n_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
          INLINE double n_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#define INF __builtin_inff()

          // 2^n * (1 + f) by polynomial; hi + lo is the argument, |lo| tiny.
          INLINE float exp2_parts(float x, float lo) {
#pragma clang fp reassociate(off)
            x = x > 129.0f ? 129.0f : x;
            x = x < -151.0f ? -151.0f : x;
            const float shifted = x + 0x1.8p23f;  // nearest integer in the low bits
            const float f = (x - (shifted - 0x1.8p23f)) + lo;
            float p = 0x1.417a9cp-13f;
            p = n_fma(p, f, 0x1.5f0948p-10f);
            p = n_fma(p, f, 0x1.3b2dd2p-7f);
            p = n_fma(p, f, 0x1.c6af7ap-5f);
            p = n_fma(p, f, 0x1.ebfbdcp-3f);
            p = n_fma(p, f, 0x1.62e430p-1f);
            p = n_fma(p, f, 1.0f);
            const u32 n = bits(shifted) - 0x4b400000u;
            const u32 half = (u32)((int)n >> 1);
            return p * from_bits((half + 127u) << 23) * from_bits((n - half + 127u) << 23);
          }
          INLINE float n_exp2(float x) { return exp2_parts(x, 0.0f); }
          INLINE float n_exp(float x) {
#pragma clang fp reassociate(off)
            const float L = 0x1.715476p+0f, l = 0x1.4ae0bep-26f;  // log2(e) = L + l
            const float hi = x * L;
            float lo = n_fma(x, l, n_fma(x, L, -hi));
            lo = __builtin_fabsf(hi) < 200.0f ? lo : 0.0f;  // infinities
            return exp2_parts(hi, lo);
          }
          // log(1 + m) for m in [-1/3, 1/3] and the exponent of a positive number; a = 2^e * (1 +
          // m).
          INLINE float log_parts(float a, float& e) {
#pragma clang fp reassociate(off)
            const bool tiny = a < 0x1p-126f;
            a = tiny ? a * 0x1p23f : a;
            const u32 shift = (bits(a) - 0x3f2aaaabu) & 0xff800000u;
            e = (float)(int)shift * 0x1p-23f + (tiny ? -23.0f : 0.0f);
            const float m = from_bits(bits(a) - shift) - 1.0f;
            const float s = m * m;
            float r = -0.130310059f, t = 0.140869141f;
            r = n_fma(r, s, -0.121483512f);
            t = n_fma(t, s, 0.139814854f);
            r = n_fma(r, s, -0.166846126f);
            t = n_fma(t, s, 0.200120345f);
            r = n_fma(r, s, -0.249996200f);
            r = n_fma(t, m, r);
            r = n_fma(r, m, 0.333331972f);
            r = n_fma(r, m, -0.500000000f);
            return n_fma(r, s, m);
          }
          INLINE float log_special(float a, float r) {
            r = a < INF ? r : a;  // inf, NaN
            r = a == 0.0f ? -INF : r;
            return a < 0.0f ? __builtin_nanf("") : r;
          }
          INLINE float n_log(float a) {
#pragma clang fp reassociate(off)
            float e;
            const float m = log_parts(a, e);
            return log_special(a, n_fma(e, 0x1.62e430p-1f, m));
          }
          INLINE float n_log2(float a) {
#pragma clang fp reassociate(off)
            float e;
            const float m = log_parts(a, e);
            const float hi = m * 0x1.715476p+0f;
            const float lo = n_fma(m, 0x1.4ae0bep-26f, n_fma(m, 0x1.715476p+0f, -hi));
            return log_special(a, (e + hi) + lo);
          }
          INLINE float n_tanh(float a) {
#pragma clang fp reassociate(off)
            const float t = __builtin_fabsf(a);
            float big = 1.0f - 2.0f / (n_exp(2.0f * t) + 1.0f);
            big = __builtin_copysignf(big, a);
            const float s = a * a;
            float p = 1.57394409e-2f;
            p = n_fma(p, s, -5.23025580e-2f);
            p = n_fma(p, s, 1.33152470e-1f);
            p = n_fma(p, s, -3.33327681e-1f);
            p = p * s;
            const float small = n_fma(p, a, a);
            return t >= 0.599609375f ? big : small;
          }
          INLINE float n_erf(float a) {
#pragma clang fp reassociate(off)
            const float t0 = __builtin_fabsf(a);
            const float t = t0 > 4.0f ? 4.0f : t0;  // erf(4) rounds to 1
            const float s = t * t;
            float r = n_fma(-1.72853470e-5f, t, 3.83197126e-4f);
            const float u = n_fma(-3.88396438e-3f, t, 2.42546219e-2f);
            r = n_fma(r, s, u);
            r = n_fma(r, t, -1.06777877e-1f);
            r = n_fma(r, t, -6.34846687e-1f);
            r = n_fma(r, t, -1.28717512e-1f);
            r = n_fma(r, t, -t);
            const float big = __builtin_copysignf(1.0f - n_exp(r), a);
            float q = -5.96761703e-4f;
            q = n_fma(q, s, 4.99119423e-3f);
            q = n_fma(q, s, -2.67681349e-2f);
            q = n_fma(q, s, 1.12819925e-1f);
            q = n_fma(q, s, -3.76125336e-1f);
            q = n_fma(q, s, 1.28379166e-1f);
            const float small = n_fma(q, a, a);
            return t0 > 0.921875f ? big : small;
          }
          INLINE float n_sqrt(float x) { return __builtin_sqrtf(x); }
          INLINE float n_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
          INLINE float n_recip(float x) { return 1.0f / x; }
          INLINE float n_sigmoid(float x) { return 1.0f / (1.0f + n_exp(-x)); }
          INLINE float n_floor(float x) { return __builtin_floorf(x); }
          INLINE float n_abs(float x) { return __builtin_fabsf(x); }
          INLINE float n_pow(float x, float y) { return __builtin_powf(x, y); }
          INLINE float n_max(float a, float b) {
            return a > b ? a : b != b ? a : b;
          }  // the number if one is NaN
          INLINE float n_min(float a, float b) { return a < b ? a : b != b ? a : b; }

          INLINE double n_exp(double x) { return __builtin_exp(x); }
          INLINE double n_exp2(double x) { return __builtin_exp2(x); }
          INLINE double n_log(double x) { return __builtin_log(x); }
          INLINE double n_log2(double x) { return __builtin_log2(x); }
          INLINE double n_tanh(double x) { return __builtin_tanh(x); }
          INLINE double n_erf(double x) { return __builtin_erf(x); }
          INLINE double n_sqrt(double x) { return __builtin_sqrt(x); }
          INLINE double n_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
          INLINE double n_recip(double x) { return 1.0 / x; }
          INLINE double n_sigmoid(double x) { return 1.0 / (1.0 + __builtin_exp(-x)); }
          INLINE double n_floor(double x) { return __builtin_floor(x); }
          INLINE double n_abs(double x) { return __builtin_fabs(x); }
          INLINE double n_pow(double x, double y) { return __builtin_pow(x, y); }
          INLINE double n_max(double a, double b) { return a > b ? a : b != b ? a : b; }
          INLINE double n_min(double a, double b) { return a < b ? a : b != b ? a : b; }

          INLINE int n_abs(int x) { return x < 0 ? (int)(0u - (u32)x) : x; }
          INLINE int n_neg(int x) { return (int)(0u - (u32)x); }
          INLINE int n_add(int a, int b) { return (int)((u32)a + (u32)b); }
          INLINE int n_sub(int a, int b) { return (int)((u32)a - (u32)b); }
          INLINE int n_mul(int a, int b) { return (int)((u32)a * (u32)b); }
          INLINE int n_max(int a, int b) { return a > b ? a : b; }
          INLINE int n_min(int a, int b) { return a < b ? a : b; }
          INLINE int n_floor(int x) { return x; }

          // Truncation to integers: NaN gives 0, values beyond the range its end.
          INLINE int to_i32(double v) {
            v = v != v ? 0.0 : v;
            v = v < -2147483648.0 ? -2147483648.0 : v;
            return (int)(v > 2147483647.0 ? 2147483647.0 : v);
          }
          INLINE int to_i32(float v) {
            const bool high = v >= 2147483648.0f;
            v = v != v || high ? 0.0f : v;
            v = v < -2147483648.0f ? -2147483648.0f : v;
            return high ? 2147483647 : (int)v;
          }
          INLINE int to_i32(int v) { return v; }
          template <class T>
          INLINE int to_i8(T v) {
            const int i = to_i32(v);
            return i < -128 ? -128 : i > 127 ? 127 : i;
          }
          template <class T>
          INLINE int to_bool(T v) {
            return v != 0;
          }

          // Narrow floats: encode rounds to nearest even; decode is exact.
          INLINE u16 encode_f16(float v) { return __builtin_bit_cast(u16, (_Float16)v); }
          INLINE u16 encode_f16(double v) { return __builtin_bit_cast(u16, (_Float16)v); }
          INLINE float decode_f16(u16 v) { return (float)__builtin_bit_cast(_Float16, v); }
          INLINE u16 encode_bf16(float v) {
            const u32 u = bits(v);
            const u32 rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
            return (u16)(v != v ? (u >> 16) | 0x40u : rounded);
          }
          INLINE float decode_bf16(u16 v) { return from_bits((u32)v << 16); }
          INLINE u8 encode_e4m3(float v) {
#pragma clang fp reassociate(off)
            const u32 sign = (bits(v) >> 24) & 0x80u, u = bits(v) & 0x7fffffffu;
            const u32 small = bits(from_bits(u) + 0x1p14f) - bits(0x1p14f);  // below 2^-6: steps of
                                                                             // 2^-9
            u32 r = ((u + 0x7ffffu + ((u >> 20) & 1u)) >> 20) - (120u << 3);
            r = u < 0x3c800000u ? small : r;
            r = u > 0x43e80000u ? 0x7fu : r;  // beyond 464, inf, NaN: NaN
            return (u8)(sign | r);
          }
          INLINE float decode_e4m3(u8 v) {
            const u32 m = v & 0x7fu, sign = (u32)(v & 0x80u) << 24;
            const float normal = from_bits((m << 20) + (120u << 23));
            const float small = (float)(int)m * 0x1p-9f;
            float r = m < 8u ? small : normal;
            r = m == 0x7fu ? __builtin_nanf("") : r;
            return from_bits(bits(r) | sign);
          }
          INLINE u8 encode_e5m2(float v) {
#pragma clang fp reassociate(off)
            const u32 sign = (bits(v) >> 24) & 0x80u, u = bits(v) & 0x7fffffffu;
            const u32 small = bits(from_bits(u) + 0x1p7f) - bits(0x1p7f);  // below 2^-14: steps of
                                                                           // 2^-16
            u32 r = ((u + 0xfffffu + ((u >> 21) & 1u)) >> 21) - (112u << 2);
            r = u < 0x38800000u ? small : r;
            r = r > 0x7cu || u >= 0x7f800000u ? 0x7cu : r;
            r = u > 0x7f800000u ? 0x7fu : r;
            return (u8)(sign | r);
          }
          INLINE float decode_e5m2(u8 v) { return decode_f16((u16)((u32)v << 8)); }
          INLINE float round_f16(float v) { return decode_f16(encode_f16(v)); }
          INLINE float round_bf16(float v) { return decode_bf16(encode_bf16(v)); }
          INLINE float round_e4m3(float v) { return decode_e4m3(encode_e4m3(v)); }
          INLINE float round_e5m2(float v) { return decode_e5m2(encode_e5m2(v)); }

          // Division of integers toward minus infinity.
          INLINE long floord(long a, long d) { return a >= 0 ? a / d : -((d - 1 - a) / d); }
          INLINE long minl(long a, long b) { return a < b ? a : b; }
          INLINE long maxl(long a, long b) { return a > b ? a : b; }

          extern "C" void nautilus_parallel_for(long n, int threads, long scratch_bytes,
                                                void (*body)(void*, long, char*), void* context);
)cpp";

const char* kDot = R"cpp(
#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define VECTOR_ROWS 4
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#define VECTOR_ROWS 2
#else
#define VECTOR_BYTES 16
#define VECTOR_ROWS 2
#endif
#define UNROLL _Pragma("clang loop unroll(full)")

  // c[m][n] (+)= sum_k a[m][k] * b[k][n] for MR rows and NV vectors of L lanes, held in registers
  // over k.
  template <class T, int MR, int NV, int L, bool ZERO, long K, long AM, long AK, long BK, long CM>
  INLINE void dot_block(const T* a, const T* b, T* c) {
    typedef T V __attribute__((ext_vector_type(L)));
    typedef V U __attribute__((aligned(sizeof(T))));
    V acc[MR][NV];
    UNROLL for (int m = 0; m < MR; ++m) UNROLL for (int n = 0; n < NV; ++n) acc[m][n] =
        ZERO ? V(0) : (V) * (const U*)(c + m * CM + n * L);
    for (long k = 0; k < K; ++k) {
      V row[NV];
      UNROLL for (int n = 0; n < NV; ++n) row[n] = *(const U*)(b + k * BK + n * L);
      UNROLL for (int m = 0; m < MR; ++m) {
        const V one = (V)(a[m * AM + k * AK]);
        UNROLL for (int n = 0; n < NV; ++n) acc[m][n] = MULTIPLY_ADD(one, row[n], acc[m][n]);
      }
    }
    UNROLL for (int m = 0; m < MR; ++m) UNROLL for (int n = 0; n < NV; ++n) *
        (U*)(c + m * CM + n * L) = acc[m][n];
  }
  // One panel of NV*L columns, all M rows: MR at a time, then what remains.
  template <class T, int NV, int L, bool ZERO, long M, long K, long AM, long AK, long BK, long CM>
  INLINE void dot_panel(const T* a, const T* b, T* c) {
    constexpr int MR = NV >= 4 ? (M % 6 == 0 ? 6 : 4) : NV == 3 ? 6 : NV == 2 ? 8 : 12;
    long m = 0;
    for (; m + MR <= M; m += MR)
      dot_block<T, MR, NV, L, ZERO, K, AM, AK, BK, CM>(a + m * AM, b, c + m * CM);
    if constexpr (M % MR != 0)
      dot_block<T, M % MR, NV, L, ZERO, K, AM, AK, BK, CM>(a + m * AM, b, c + m * CM);
  }
  // Columns that do not fill a vector: narrower vectors, down to one lane.
  template <class T, int L, bool ZERO, long M, long N, long K, long AM, long AK, long BK, long CM>
  INLINE void dot_tail(const T* a, const T* b, T* c) {
    if constexpr (N >= L) {
      dot_panel<T, 1, L, ZERO, M, K, AM, AK, BK, CM>(a, b, c);
      dot_tail<T, L, ZERO, M, N - L, K, AM, AK, BK, CM>(a, b + L, c + L);
    } else if constexpr (N > 0) {
      dot_tail<T, L / 2, ZERO, M, N, K, AM, AK, BK, CM>(a, b, c);
    }
  }
  // c (+)= a b: M x N x K, element strides AM, AK of a, BK of b, CM of c; the columns of b and c
  // are contiguous.
  template <class T, long M, long N, long K, long AM, long AK, long BK, long CM, bool ZERO>
  static __attribute__((noinline)) void dot(const T* a, const T* b, T* c) {
    constexpr int L = VECTOR_BYTES / sizeof(T);
    long n = 0;
    for (; n + VECTOR_ROWS * L <= N; n += VECTOR_ROWS * L)
      dot_panel<T, VECTOR_ROWS, L, ZERO, M, K, AM, AK, BK, CM>(a, b + n, c + n);
    constexpr long rest = N % (VECTOR_ROWS * L) / L;
    if constexpr (rest > 0) {
      dot_panel<T, rest, L, ZERO, M, K, AM, AK, BK, CM>(a, b + n, c + n);
      n += rest * L;
    }
    if constexpr (N % L != 0) dot_tail<T, L / 2, ZERO, M, N % L, K, AM, AK, BK, CM>(a, b + n, c + n);
  }
)cpp";

}  // namespace

const std::string& prelude_scalar() {
  static const std::string text = kScalar;
  return text;
}
const std::string& prelude_dot() {
  static const std::string text = kDot;
  return text;
}

}  // namespace nautilus::cpu
