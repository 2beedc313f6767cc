#include "polyhedral/index_expr.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace nautilus {
namespace {

IndexExpr v(const std::string& n) { return IndexExpr::var(n); }

TEST(IndexExpr, NormalForm) {
  IndexExpr i = v("i"), i0 = v("i0"), j = v("j");
  EXPECT_EQ(to_string(i + i0 * 64 + 3), "64*i0 + i + 3");
  EXPECT_EQ(to_string(i - j), "i - j");
  EXPECT_EQ(to_string(j * -1), "-j");
  EXPECT_EQ(to_string(IndexExpr()), "0");
  EXPECT_TRUE(i + j == j + i);
  EXPECT_TRUE(i - i == IndexExpr(0));
  EXPECT_TRUE((i + j) * 2 - j * 2 == i * 2);
  EXPECT_FALSE(i == j);
  EXPECT_FALSE(i * 2 == i * 3);
  EXPECT_EQ((i * 4 + j).coefficient("i"), 4);
  EXPECT_EQ((i * 4 + j).coefficient("k"), 0);
  EXPECT_EQ(IndexExpr::floordiv(i, 4).coefficient("i"), 0);
}

TEST(IndexExpr, DivisionAndModulo) {
  IndexExpr i = v("i"), j = v("j");
  EXPECT_EQ(to_string(IndexExpr::floordiv(i * 4 + j + 9, 4)), "i + floor((j + 1)/4) + 2");
  EXPECT_EQ(to_string(IndexExpr::floordiv(i * 4 + 2, 8)), "floor(i/2)");
  EXPECT_EQ(to_string(IndexExpr::floordiv(IndexExpr::floordiv(i, 3), 5)), "floor(i/15)");
  EXPECT_EQ(to_string(IndexExpr::floordiv(IndexExpr(-1), 4)), "-1");
  EXPECT_EQ(to_string(IndexExpr::mod(IndexExpr(-1), 4)), "3");
  EXPECT_EQ(to_string(IndexExpr::mod(i * 8 + j, 4)), "mod(j, 4)");
  EXPECT_EQ(to_string(IndexExpr::min(i + 1, i)), "i");
  EXPECT_EQ(to_string(IndexExpr::max(i + 1, i)), "i + 1");
  EXPECT_TRUE(IndexExpr::min(i, j) == IndexExpr::min(j, i));
  EXPECT_THROW(IndexExpr::floordiv(i, 0), std::invalid_argument);
  EXPECT_THROW(IndexExpr::mod(i, -3), std::invalid_argument);
}

TEST(IndexExpr, EvaluateThrowsOnUnboundName) {
  EXPECT_EQ((v("i") * 3 - 1).evaluate({{"i", 5}}), 14);
  EXPECT_THROW(v("i").evaluate({}), std::out_of_range);
}

// A random expression as a value and as a function, built side by side.
struct Random {
  std::mt19937_64 rng;
  std::map<std::string, int64_t> env;
  std::pair<IndexExpr, int64_t> make(int depth) {
    int64_t c = int64_t(rng() % 13) - 6, d = int64_t(rng() % 9) + 1;
    if (depth == 0) {
      if (rng() % 3 == 0) return {IndexExpr(c), c};
      std::string n = std::string(1, "ijk"[rng() % 3]);
      return {v(n), env.at(n)};
    }
    auto [a, x] = make(depth - 1);
    auto [b, y] = make(depth - 1);
    int64_t q = x >= 0 ? x / d : -((-x + d - 1) / d);
    switch (rng() % 7) {
      case 0:
        return {a + b, x + y};
      case 1:
        return {a - b, x - y};
      case 2:
        return {a * c, x * c};
      case 3:
        return {IndexExpr::floordiv(a, d), q};
      case 4:
        return {IndexExpr::mod(a, d), x - q * d};
      case 5:
        return {IndexExpr::min(a, b), std::min(x, y)};
      default:
        return {IndexExpr::max(a, b), std::max(x, y)};
    }
  }
};

TEST(IndexExpr, RandomExpressionsKeepTheirValueAndRoundTrip) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random r{std::mt19937_64(seed), {}};
    for (const char* n : {"i", "j", "k"}) r.env[n] = int64_t(r.rng() % 41) - 20;
    auto [e, value] = r.make(4);
    ASSERT_EQ(e.evaluate(r.env), value) << to_string(e);
    auto back = parse_index(to_string(e));
    ASSERT_TRUE(back) << to_string(e) << ": " << back.error().why;
    ASSERT_TRUE(*back == e) << to_string(e) << " became " << to_string(*back);
    std::map<std::string, IndexExpr> by{{"i", v("j") * 3 - 7}};
    auto env = r.env;
    env["i"] = 3 * env["j"] - 7;
    ASSERT_EQ(e.substitute(by).evaluate(r.env), e.evaluate(env)) << to_string(e);
  }
}

TEST(IndexExpr, OddNamesRoundTrip) {
  for (const char* n : {"S_sum.j", "i'", "min", "a b", "x`y\\", "", "0"}) {
    auto back = parse_index(to_string(v(n) * 2 + 1));
    ASSERT_TRUE(back) << n;
    EXPECT_TRUE(*back == v(n) * 2 + 1) << n;
  }
}

TEST(IndexExpr, MalformedTextIsRefused) {
  for (const char* t :
       {"", "i +", "i*j", "floor(i/0)", "floor(i/-2)", "floor(i)", "mod(i)", "min(i)", "(i", "i)",
        "99999999999999999999", "`abc", "and", "i $ j", "mod(i, j)", "\xff"}) {
    auto e = parse_index(t);
    EXPECT_FALSE(e) << t;
    if (!e) {
      EXPECT_FALSE(e.error().why.empty());
    }
  }
  EXPECT_FALSE(parse_index(std::string(100000, '(')));
  EXPECT_FALSE(parse_index(std::string(100000, '-')));
}

TEST(Cond, TextAndEvaluation) {
  IndexExpr i = v("i"), j = v("j");
  Cond c{{{{i - j + 3, false}, {j, false}}, {{j - 7, true}}}};
  EXPECT_EQ(to_string(c), "j <= i + 3 and 0 <= j or 7 = j");
  EXPECT_TRUE(c.evaluate({{"i", 0}, {"j", 3}}));
  EXPECT_FALSE(c.evaluate({{"i", 0}, {"j", 4}}));
  EXPECT_TRUE(c.evaluate({{"i", 0}, {"j", 7}}));
  auto back = parse_cond(to_string(c));
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == c);
  auto chain = parse_cond("0 <= j < 5");
  ASSERT_TRUE(chain);
  EXPECT_TRUE(chain->evaluate({{"j", 4}}));
  EXPECT_FALSE(chain->evaluate({{"j", 5}}));
}

TEST(Cond, TrueAndFalse) {
  EXPECT_TRUE(Cond::always().is_always());
  EXPECT_FALSE(Cond{}.is_always());
  EXPECT_EQ(to_string(Cond::always()), "true");
  EXPECT_EQ(to_string(Cond{}), "false");
  EXPECT_TRUE(*parse_cond("true") == Cond::always());
  EXPECT_TRUE(*parse_cond("false") == Cond{});
  EXPECT_TRUE((Cond{{{{IndexExpr(3), false}}}}).is_always());
  EXPECT_FALSE((Cond{{{{IndexExpr(3), true}}}}).is_always());
  EXPECT_FALSE((Cond{{{{IndexExpr(-1), false}}}}).is_always());
  EXPECT_TRUE((Cond{{{{v("i"), false}}}}).substitute({{"i", 2}}).is_always());
}

TEST(Cond, MalformedTextIsRefused) {
  for (const char* t : {"", "i", "i <=", "i <= j and", "or", "i < j < ", "not i", "i == "})
    EXPECT_FALSE(parse_cond(t)) << t;
}

}  // namespace
}  // namespace nautilus
