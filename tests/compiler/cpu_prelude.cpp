// The prelude's functions against double precision, and its conversions against round_to_type, bit
// by bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "compiler/backend/cpu/jit.h"
#include "compiler/backend/cpu/prelude.h"
#include "compiler/runtime/formats.h"

namespace nautilus::cpu {
namespace {

std::shared_ptr<Library> library(const std::string& functions) {
  auto l = load(prelude_scalar() + functions);
  if (!l) {
    ADD_FAILURE() << l.error().text();
    return nullptr;
  }
  return *l;
}

struct Function {
  const char* name;
  double (*exact)(double);
  double low, high;
  double ulps;
};
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }

const Function kFunctions[] = {
    {"exp", std::exp, -104, 88.7, 1},   {"exp", std::exp, -1, 1, 1},
    {"exp2", std::exp2, -150, 128, 1},  {"log", std::log, 0, 1e3, 1},
    {"log", std::log, 0, 1e-38, 1},     {"log", std::log, 0.9, 1.1, 1},
    {"log2", std::log2, 0, 4, 2},       {"log2", std::log2, 0.9, 1.1, 2},
    {"tanh", std::tanh, -10, 10, 2},    {"tanh", std::tanh, -0.6, 0.6, 2},
    {"erf", std::erf, -5, 5, 2},        {"erf", std::erf, -1, 1, 2},
    {"sigmoid", sigmoid, -80, 80, 2.5}, {"rsqrt", rsqrt, 1e-3, 1e5, 1.5}};

TEST(CpuPrelude, FunctionsAreAccurate) {
  std::string text;
  for (const char* f : {"exp", "exp2", "log", "log2", "tanh", "erf", "sigmoid", "rsqrt"})
    text += std::string("extern \"C\" void v_") + f +
            "(const float* __restrict a, float* __restrict b, long n) {\n#pragma clang fp "
            "reassociate(on) contract(fast)\n"
            "for (long i = 0; i < n; ++i) b[i] = n_" +
            f + "(a[i]); }\n";
  auto l = library(text);
  ASSERT_TRUE(l);
  const long n = 200'003;
  std::vector<float> a(n), b(n);
  for (const Function& f : kFunctions) {
    for (long i = 0; i < n; ++i)
      a[size_t(i)] = float(f.low + (f.high - f.low) * (double(i) + 0.5) / double(n));
    auto fn = reinterpret_cast<void (*)(const float*, float*, long)>(
        l->symbol(std::string("v_") + f.name));
    fn(a.data(), b.data(), n);
    double worst = 0;
    float at = 0;
    for (size_t i = 0; i < size_t(n); ++i) {
      const double e = f.exact(double(a[i]));
      int exponent;
      std::frexp(e, &exponent);
      const double u = std::abs(double(b[i]) - e) / std::ldexp(1.0, std::max(exponent - 24, -149));
      if (!(u <= worst)) worst = u, at = a[i];
    }
    EXPECT_LE(worst, f.ulps) << f.name << " at " << at;
    const float special[] = {INFINITY, -INFINITY, NAN, 0.0f, 1e38f, -1e38f};
    float out[6];
    fn(special, out, 6);
    for (int k = 0; k < 6; ++k) {
      const float want = float(f.exact(double(special[k])));
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(out[k])) << f.name << "(" << special[k] << ") = " << out[k];
      else if (std::isinf(want))
        EXPECT_EQ(out[k], want) << f.name << "(" << special[k] << ")";
      else
        EXPECT_NEAR(out[k], want, 2e-7 * std::abs(want)) << f.name << "(" << special[k] << ")";
    }
  }
}

TEST(CpuPrelude, MaxAndMinTakeTheNumber) {
  auto l = library(
      "extern \"C\" float mx(float a, float b) { return n_max(a, b); }\nextern \"C\" float "
      "mn(float a, float b) { return n_min(a, b); }\n");
  ASSERT_TRUE(l);
  auto mx = reinterpret_cast<float (*)(float, float)>(l->symbol("mx")),
       mn = reinterpret_cast<float (*)(float, float)>(l->symbol("mn"));
  for (float a : {1.0f, -INFINITY, INFINITY, NAN, 0.0f})
    for (float b : {2.0f, -INFINITY, NAN, -3.0f}) {
      const float x = mx(a, b), y = mn(a, b), wx = std::fmax(a, b), wy = std::fmin(a, b);
      EXPECT_TRUE(x == wx || (std::isnan(x) && std::isnan(wx))) << a << " " << b;
      EXPECT_TRUE(y == wy || (std::isnan(y) && std::isnan(wy))) << a << " " << b;
    }
}

TEST(CpuPrelude, NarrowFormatsRoundExactly) {
  std::string text;
  for (const char* t : {"f16", "bf16", "e4m3", "e5m2"})
    text += std::string("extern \"C\" void r_") + t +
            "(const float* __restrict a, float* __restrict b, long n) { for (long i = 0; i < n; "
            "++i) b[i] = round_" +
            t + "(a[i]); }\n";
  auto l = library(text);
  ASSERT_TRUE(l);
  std::mt19937 rng(7);
  std::vector<float> a{0.0f,   -0.0f, INFINITY, -INFINITY,  NAN,      448,        464,
                       464.1f, 480,   57344,    61439,      61440,    65504,      65519,
                       65520,  1e-8f, 0x1p-10f, 0x1.8p-10f, 0x1p-17f, 0x1.8p-17f, 3.39e38f};
  for (int k = 0; k < 200'000; ++k) a.push_back(std::bit_cast<float>(uint32_t(rng())));
  std::uniform_real_distribution<float> small(-2, 2);
  for (int k = 0; k < 100'000; ++k)
    a.push_back(small(rng) * std::ldexp(1.0f, int(rng() % 40) - 24));
  for (Type t : {Type::F16, Type::BF16, Type::E4M3, Type::E5M2}) {
    std::vector<float> b(a.size());
    reinterpret_cast<void (*)(const float*, float*, long)>(
        l->symbol("r_" + std::string(type_name(t))))(a.data(), b.data(), long(a.size()));
    for (size_t i = 0; i < a.size(); ++i) {
      const double want = round_to_type(double(a[i]), t);
      ASSERT_TRUE(double(b[i]) == want || (std::isnan(want) && std::isnan(b[i])))
          << type_name(t) << " of " << a[i] << ": " << b[i] << ", not " << want;
    }
  }
}

TEST(Formats, EncodeAndDecodeAreInverseOnValues) {
  for (Type t : {Type::F64, Type::F32, Type::F16, Type::BF16, Type::E4M3, Type::E5M2, Type::I32,
                 Type::I8, Type::Bool}) {
    std::mt19937_64 rng(3);
    std::normal_distribution<double> normal;
    std::vector<double> v{0, 1, -1, 2, 1e30, -1e30};
    for (int k = 0; k < 1000; ++k) v.push_back(normal(rng) * std::ldexp(1.0, int(rng() % 30) - 15));
    std::vector<char> bytes(v.size() * size_t(type_bytes(t)));
    std::vector<double> back(v.size());
    runtime::encode(t, v.data(), v.size(), bytes.data());
    runtime::decode(t, bytes.data(), v.size(), back.data());
    for (size_t i = 0; i < v.size(); ++i) {
      const double want = round_to_type(v[i], t);
      ASSERT_TRUE(back[i] == want || (std::isnan(want) && std::isnan(back[i])))
          << type_name(t) << " of " << v[i] << ": " << back[i];
    }
  }
}

TEST(Jit, RefusalsCarryDiagnostics) {
  auto l = load("int f( { return 1; }");
  ASSERT_FALSE(l);
  EXPECT_NE(l.error().why.find("error"), std::string::npos) << l.error().why;
  auto good = load("extern \"C\" int f() { return 42; }");
  ASSERT_TRUE(good);
  EXPECT_EQ((*good)->symbol("absent"), nullptr);
  EXPECT_EQ(reinterpret_cast<int (*)()>((*good)->symbol("f"))(), 42);
}

}  // namespace
}  // namespace nautilus::cpu
