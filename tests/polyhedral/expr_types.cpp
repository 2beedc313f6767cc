// Types and exact rounding: every value of the small formats, every tie, the limits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "polyhedral/expr.h"

using namespace nautilus;

namespace {

struct Format {
  Type type;
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;  // false: only all-ones is NaN (OCP e4m3)
};
const Format kFormats[] = {{Type::E4M3, 4, 3, 7, false},
                           {Type::E5M2, 5, 2, 15, true},
                           {Type::F16, 5, 10, 15, true},
                           {Type::BF16, 8, 7, 127, true}};

// Decodes a bit pattern by the definition of the format.
double decode(const Format& f, unsigned bits) {
  const unsigned m = bits & ((1u << f.mantissa_bits) - 1);
  const unsigned e = (bits >> f.mantissa_bits) & ((1u << f.exponent_bits) - 1);
  const unsigned all = (1u << f.exponent_bits) - 1;
  if (e == all) {
    if (f.has_infinity) return m ? NAN : INFINITY;
    if (m == (1u << f.mantissa_bits) - 1) return NAN;
  }
  const double frac = std::ldexp(double(m), -f.mantissa_bits);
  return e == 0 ? std::ldexp(frac, 1 - f.bias) : std::ldexp(1 + frac, int(e) - f.bias);
}

}  // namespace

TEST(ExprTypes, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(Type::F64); ++i)
    EXPECT_EQ(type_from_name(type_name(Type(i))), Type(i));
  for (int i = 0; i <= static_cast<int>(Op::Select); ++i)
    EXPECT_EQ(op_from_name(op_name(Op(i))), Op(i));
  EXPECT_FALSE(type_from_name("f8"));
  EXPECT_EQ(op_arity(Op::Select), 3);
  EXPECT_EQ(op_arity(Op::Cast), 1);
  EXPECT_EQ(op_arity(Op::Read), 0);
}

TEST(ExprTypes, ArithmeticType) {
  EXPECT_EQ(arithmetic_type(Type::F16, Type::F16), Type::F32);
  EXPECT_EQ(arithmetic_type(Type::F64, Type::I32), Type::F64);
  EXPECT_EQ(arithmetic_type(Type::I8, Type::I32), Type::I32);
  EXPECT_EQ(arithmetic_type(Type::E4M3, Type::I8), Type::F32);
  const Expr n = Expr::param("N"), x = Expr::read(0, Type::F16);
  EXPECT_EQ((n + n)->type, Type::I32);
  EXPECT_EQ((Expr::constant(1, Type::I32) / n)->type, Type::F32);
  EXPECT_EQ((x + x)->type, Type::F32);
  EXPECT_EQ(Expr::make(Op::Lt, {x, x})->type, Type::Bool);
  EXPECT_EQ(Expr::make(Op::Sqrt, {n})->type, Type::F32);
}

// Every finite value of a format rounds to itself, every midpoint to the even neighbour, and just
// beside a midpoint to the nearer one.
TEST(ExprTypes, RoundsToNearestEven) {
  for (const Format& f : kFormats) {
    const unsigned count = 1u << (f.exponent_bits + f.mantissa_bits);
    for (unsigned b = 0; b + 1 < count; ++b) {
      const double lo = decode(f, b), hi = decode(f, b + 1);
      if (!std::isfinite(lo)) continue;
      ASSERT_EQ(round_to_type(lo, f.type), lo) << type_name(f.type) << " " << b;
      ASSERT_EQ(round_to_type(-lo, f.type), -lo);
      if (!std::isfinite(hi)) continue;
      const double mid = lo + (hi - lo) / 2;
      ASSERT_EQ(round_to_type(mid, f.type), b % 2 == 0 ? lo : hi) << type_name(f.type) << " " << b;
      ASSERT_EQ(round_to_type(std::nextafter(mid, 0), f.type), lo);
      ASSERT_EQ(round_to_type(std::nextafter(mid, INFINITY), f.type), hi);
      ASSERT_EQ(round_to_type(-mid, f.type), b % 2 == 0 ? -lo : -hi);
    }
  }
}

TEST(ExprTypes, LimitsAndSpecials) {
  EXPECT_EQ(round_to_type(464, Type::E4M3), 448);
  EXPECT_TRUE(std::isnan(round_to_type(464.0001, Type::E4M3)));
  EXPECT_TRUE(std::isnan(round_to_type(INFINITY, Type::E4M3)));
  EXPECT_TRUE(std::isnan(round_to_type(-500, Type::E4M3)));
  EXPECT_EQ(round_to_type(61439.9, Type::E5M2), 57344);
  EXPECT_EQ(round_to_type(61440, Type::E5M2), INFINITY);
  EXPECT_EQ(round_to_type(65519.9, Type::F16), 65504);
  EXPECT_EQ(round_to_type(65520, Type::F16), INFINITY);
  EXPECT_EQ(round_to_type(-65520, Type::F16), -INFINITY);
  EXPECT_EQ(round_to_type(3.5e38, Type::BF16), INFINITY);
  EXPECT_EQ(round_to_type(1e-8, Type::F16), 0);
  EXPECT_EQ(round_to_type(0x1p-24, Type::F16), 0x1p-24);
  EXPECT_EQ(round_to_type(0x1p-25, Type::F16), 0);
  EXPECT_EQ(round_to_type(0x1.8p-25, Type::F16), 0x1p-24);
  EXPECT_TRUE(std::signbit(round_to_type(-0.0, Type::F16)));
  EXPECT_TRUE(std::isnan(round_to_type(NAN, Type::F16)));
  EXPECT_EQ(round_to_type(2.9, Type::I32), 2);
  EXPECT_EQ(round_to_type(-2.9, Type::I32), -2);
  EXPECT_EQ(round_to_type(1e20, Type::I32), 2147483647);
  EXPECT_EQ(round_to_type(-1e20, Type::I8), -128);
  EXPECT_EQ(round_to_type(NAN, Type::I32), 0);
  EXPECT_EQ(round_to_type(0.25, Type::Bool), 1);
}

// f32 rounding is the hardware's.
TEST(ExprTypes, F32AgreesWithHardware) {
  const uint64_t seed = 7;
  std::mt19937_64 rng(seed);
  for (int i = 0; i < 200000; ++i) {
    const double v = std::bit_cast<double>(rng());
    const double w = i % 2 ? v : std::ldexp(double(rng() >> 11), int(rng() % 320) - 230);
    if (std::isnan(w)) continue;
    ASSERT_EQ(round_to_type(w, Type::F32), double(float(w))) << "seed " << seed << " value " << w;
  }
}
