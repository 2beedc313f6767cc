// Wide factors of products that are rounded, and those that are not.
#include "compiler/tile/narrow.h"

#include <gtest/gtest.h>

namespace nautilus::tile {
namespace {

// A product of `factor` (made by the lines before it, f32[i: 16, j: 16]) and V, in a kernel that
// has S = Q K^T in %1.
std::string program(const std::string& lines, int factor, const std::string& v = "f16") {
  return "module m {\n  tensor Q: f32[16, 16] input global\n  tensor V: " + v +
         "[16, 16] input global\n  tensor O: f32[16, 16] output global\n  kernel k {\n"
         "    values 90\n"
         "    %0: " +
         v +
         "[e: 16, j: 16] = load V[j, e]\n"
         "    %1: f32[i: 16, j: 16] = load Q[i, j]\n" +
         "    %2: f32 = const -inf\n    %3: f32 = const 0\n    %4: f32 = const 1.5\n"
         "    %5: f32[i: 16] = reduce max %1 over (j)\n" +
         lines + "    %80: f32[e: 16, i: 16] = dot %" + std::to_string(factor) +
         ", %0 over (j)\n    store O[i, e] = %80\n  }\n}\n";
}

// Element types of the operands of the product.
std::pair<Type, Type> rounded(const std::string& text, Numerics numerics = Numerics::Reassociate) {
  auto m = parse(text);
  EXPECT_TRUE(m) << m.error().text() << "\n" << text;
  if (!m) return {};
  EXPECT_FALSE(verify(*m)) << verify(*m)->text();
  const Module out = narrow_factors(*m, numerics);
  EXPECT_FALSE(verify(out)) << verify(out)->text() << "\n" << print(out);
  for (const Instr& i : out.kernels[0].body.body)
    if (i.code == Code::Dot)
      return {out.kernels[0].types.at(i.operands[0]).elem,
              out.kernels[0].types.at(i.operands[1]).elem};
  ADD_FAILURE() << print(out);
  return {};
}
using Types = std::pair<Type, Type>;
const Types kRounded{Type::F16, Type::F16}, kKept{Type::F32, Type::F16};

const std::string kExp =
    "    %6: f32[i: 16, j: 16] = sub %1, %5\n    %7: f32[i: 16, j: 16] = exp2 %6\n";

TEST(Narrow, ExponentialBelowItsMaximum) {
  EXPECT_EQ(rounded(program(kExp, 7)), kRounded);
  EXPECT_EQ(rounded(program(kExp, 7), Numerics::Strict), kKept);
  EXPECT_EQ(rounded(program(kExp, 7, "bf16")), (Types{Type::BF16, Type::BF16}));
}

TEST(Narrow, WhatHasNoBoundIsKept) {
  EXPECT_EQ(rounded(program("", 1)), kKept);
  EXPECT_EQ(rounded(program("", 1, "bf16")), (Types{Type::BF16, Type::BF16})) << "it has the range";
  // A maximum of something else, a minimum, an exponential of the value itself.
  EXPECT_EQ(rounded(program("    %6: f32[i: 16] = reduce min %1 over (j)\n"
                            "    %7: f32[i: 16, j: 16] = sub %1, %6\n"
                            "    %8: f32[i: 16, j: 16] = exp2 %7\n",
                            8)),
            kKept);
  EXPECT_EQ(rounded(program("    %6: f32[i: 16, j: 16] = exp2 %1\n", 6)), kKept);
  EXPECT_EQ(rounded(program("    %6: f32[i: 16, j: 16] = mul %1, %1\n"
                            "    %7: f32[i: 16, j: 16] = sub %6, %5\n"
                            "    %8: f32[i: 16, j: 16] = exp2 %7\n",
                            8)),
            kKept);
}

// Scales on both sides must be the same; a larger one leaves what grows with the value.
TEST(Narrow, ScalesAreCompared) {
  const auto with = [](const char* scale) {
    return program(std::string("    %6: f32 = const ") + scale +
                       "\n    %7: f32[i: 16, j: 16] = mul %1, %4\n"
                       "    %8: f32[i: 16] = mul %5, %6\n"
                       "    %9: f32[i: 16, j: 16] = sub %7, %8\n"
                       "    %10: f32[i: 16, j: 16] = exp2 %9\n",
                   10);
  };
  EXPECT_EQ(rounded(with("1.5")), kRounded);
  EXPECT_EQ(rounded(with("1.4")), kKept);
  EXPECT_EQ(rounded(with("-1.5")), kKept);
}

// The mask of the factor must let no more through than the maximum saw.
TEST(Narrow, MasksMustMatch) {
  const auto with = [](const char* seen, const char* kept) {
    return program(std::string("    %6: f32[i: 16, j: 16] = mask %1, %2 where (") + seen +
                       ")\n    %7: f32[i: 16] = reduce max %6 over (j)\n"
                       "    %8: f32[i: 16, j: 16] = sub %1, %7\n"
                       "    %9: f32[i: 16, j: 16] = exp2 %8\n"
                       "    %10: f32[i: 16, j: 16] = mask %9, %3 where (" +
                       kept + ")\n",
                   10);
  };
  EXPECT_EQ(rounded(with("j <= i", "j <= i")), kRounded);
  EXPECT_EQ(rounded(with("j <= i", "j <= i and 2 <= j")), kRounded);
  EXPECT_EQ(rounded(with("j <= i and 2 <= j", "j <= i")), kKept);
  EXPECT_EQ(rounded(with("j <= i", "j <= i + 1")), kKept);
  EXPECT_EQ(rounded(with("j <= i or j <= 3", "j <= i or j <= 3")), kRounded);
  EXPECT_EQ(rounded(with("j <= i or j <= 3", "j <= i or j <= 4")), kKept);
  // Rows that the maximum did not see are rows of the product: what comes of them is not kept.
  EXPECT_EQ(rounded(with("i <= 9", "j <= 12")), kRounded);
  EXPECT_EQ(rounded(with("j <= 9", "i <= 12")), kKept);
}

// A reference that moves only where a lane asks for it is near the maximum in every lane.
TEST(Narrow, LazyReferences) {
  const auto with = [](const std::string& far, const std::string& reference) {
    return program(
        "    %6: f32[i: 16] = load Q[i, 0]\n    %7: f32[i: 16] = max %6, %5\n"
        "    %8: bool[i: 16] = eq %6, %7\n    %9: f32[i: 16] = sub %6, %7\n"
        "    %10: f32[i: 16] = abs %9\n    %11: f32 = const " +
            far +
            "\n    %12: bool[i: 16] = le %10, %11\n    %13: bool[i: 16] = or %8, %12\n"
            "    %14: bool[i: 16] = not %13\n    %15: bool = reduce any %14 over (i)\n"
            "    %16: f32[i: 16] = if %15 {\n      yield %7\n    } else {\n      yield " +
            reference +
            "\n    }\n    %17: f32[i: 16, j: 16] = sub %1, %16\n"
            "    %18: f32[i: 16, j: 16] = exp2 %17\n",
        18);
  };
  EXPECT_EQ(rounded(with("8", "%6")), kRounded);
  EXPECT_EQ(rounded(with("15.9", "%6")), kRounded);
  EXPECT_EQ(rounded(with("16", "%6")), kKept) << "2^16 is no f16";
  EXPECT_EQ(rounded(with("8", "%3")), kKept) << "another value than the one that was compared";
}

TEST(Narrow, ReferenceOfMinusInfinity) {
  const auto with = [](const char* guarded) {
    return program(std::string("    %6: bool[i: 16] = eq %2, ") + guarded +
                       "\n    %7: f32[i: 16] = select %6, %3, %5\n"
                       "    %8: f32[i: 16, j: 16] = sub %1, %7\n"
                       "    %9: f32[i: 16, j: 16] = exp2 %8\n",
                   9);
  };
  EXPECT_EQ(rounded(with("%5")), kRounded);
  EXPECT_EQ(rounded(with("%70").insert(with("%70").find("    %6: bool"),
                                       "    %70: f32[i: 16] = load Q[i, 1]\n")),
            kKept);
}

// Rounding is all that changes.
TEST(Narrow, ValuesOfDotsAreTheSameUpToRounding) {
  auto m = parse(program(kExp, 7));
  ASSERT_TRUE(m);
  poly::Buffers in;
  for (int k = 0; k < 256; ++k) {
    in["Q"].push_back(std::sin(k * 0.7) * 3);
    in["V"].push_back(k % 7 - 3);
  }
  auto wide = interpret(*m, {}, in), narrow = interpret(narrow_factors(*m, Numerics::Fast), {}, in);
  ASSERT_TRUE(wide && narrow);
  double most = 0;
  for (size_t k = 0; k < 256; ++k)
    most = std::max(most, std::abs(wide->at("O")[k] - narrow->at("O")[k]));
  EXPECT_GT(most, 0);
  EXPECT_LT(most, 16 * 3 * 0x1p-11);
}

}  // namespace
}  // namespace nautilus::tile
