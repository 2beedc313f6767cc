#include "autosched/probe_kernels.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#define NAUTILUS_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#else
#define NAUTILUS_CLONES
#endif

namespace nautilus::sched::probe {
namespace {
typedef float V __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t I __attribute__((vector_size(64), aligned(4), may_alias));
}  // namespace

NAUTILUS_CLONES float fma_rounds(long rounds) {
  V a[16];
  for (int i = 0; i < 16; ++i) a[i] = V{} + static_cast<float>(i);
  V m = V{} + 0.999f, c = V{} + 1e-3f;
  for (long r = 0; r < rounds; ++r) {
    asm volatile("" : "+m"(c));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) a[i] = a[i] * m + c;
  }
  V s = V{};
  for (int i = 0; i < 16; ++i) s += a[i];
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
    I bits = (reinterpret_cast<I&>(t) << 23) + reinterpret_cast<I&>(p);
    *reinterpret_cast<V*>(y + i) = reinterpret_cast<V&>(bits);
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
