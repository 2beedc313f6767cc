#include "autosched/probe_kernels.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#define NAUTILUS_CLONES                                                        \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), \
                 optimize("O3", "fp-contract=fast")))
#else
#define NAUTILUS_CLONES
#endif

namespace nautilus::sched::probe {
namespace {
typedef float V __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t I __attribute__((vector_size(64), aligned(4), may_alias));
}  // namespace

NAUTILUS_CLONES float fma_rounds(long rounds) {
  const V z{};
  V a0 = z, a1 = z + 1, a2 = z + 2, a3 = z + 3, a4 = z + 4, a5 = z + 5, a6 = z + 6, a7 = z + 7;
  V a8 = z + 8, a9 = z + 9, b0 = z + 10, b1 = z + 11, b2 = z + 12, b3 = z + 13, b4 = z + 14,
    b5 = z + 15;
  V m = V{} + 0.999f;
  float step = 1e-3f;
  for (long r = 0; r < rounds; ++r) {
    asm volatile("" : "+m"(step));
    V c = V{} + step;
    a0 = a0 * m + c, a1 = a1 * m + c, a2 = a2 * m + c, a3 = a3 * m + c;
    a4 = a4 * m + c, a5 = a5 * m + c, a6 = a6 * m + c, a7 = a7 * m + c;
    a8 = a8 * m + c, a9 = a9 * m + c, b0 = b0 * m + c, b1 = b1 * m + c;
    b2 = b2 * m + c, b3 = b3 * m + c, b4 = b4 * m + c, b5 = b5 * m + c;
  }
  V s = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b0 + b1 + b2 + b3 + b4 + b5;
  float out = 0;
  for (int i = 0; i < 16; ++i) out += s[i];
  return out;
}

NAUTILUS_CLONES float exp_many(const float* x, float* y, size_t n) {
  for (size_t i = 0; i + 16 <= n; i += 16) {
    V v = *reinterpret_cast<const V*>(x + i);
    V t = v + 12582912.0f;
    V f = v - (t - 12582912.0f);
    V p = V{} + 1.33e-3f;
    p = p * f + 9.61e-3f;
    p = p * f + 5.55e-2f;
    p = p * f + 0.2402265f;
    p = p * f + 0.6931472f;
    p = p * f + 1.0f;
    I bits = ((I)t << 23) + (I)p;
    *reinterpret_cast<V*>(y + i) = (V)bits;
  }
  return n ? y[n / 2] : 0.0f;
}

NAUTILUS_CLONES float divide_many(const float* x, float* y, size_t n) {
  for (size_t i = 0; i + 16 <= n; i += 16)
    *reinterpret_cast<V*>(y + i) = (V{} + 3.0f) / *reinterpret_cast<const V*>(x + i);
  return n ? y[n / 2] : 0.0f;
}

NAUTILUS_CLONES float convert_many(const float* x, float* y, size_t n) {
  for (size_t i = 0; i + 16 <= n; i += 16) {
    const I whole = __builtin_convertvector(*reinterpret_cast<const V*>(x + i), I);
    *reinterpret_cast<V*>(y + i) = __builtin_convertvector(whole, V);
  }
  return n ? y[n / 2] : 0.0f;
}

NAUTILUS_CLONES float compare_many(const float* x, float* y, size_t n) {
  const V half = V{} + 0.5f;
  for (size_t i = 0; i + 16 <= n; i += 16) {
    const V v = *reinterpret_cast<const V*>(x + i);
    *reinterpret_cast<V*>(y + i) = v > half ? v : half;
  }
  return n ? y[n / 2] : 0.0f;
}

NAUTILUS_CLONES float read_many(const float* x, size_t n) {
  V s0{}, s1{}, s2{}, s3{}, s4{}, s5{}, s6{}, s7{};
  for (size_t i = 0; i + 128 <= n; i += 128) {
    const V* p = reinterpret_cast<const V*>(x + i);
    s0 += p[0];
    s1 += p[1];
    s2 += p[2];
    s3 += p[3];
    s4 += p[4];
    s5 += p[5];
    s6 += p[6];
    s7 += p[7];
  }
  V s = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;
  float out = 0;
  for (int i = 0; i < 16; ++i) out += s[i];
  return out;
}

}  // namespace nautilus::sched::probe
