#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "polyhedral/footprint.h"

namespace nautilus::poly {
namespace {

struct Case {
  const char* set;
  Sizes sizes;
  int64_t count;
};

TEST(CountPoints, Table) {
  ContextPtr ctx = make_context();
  const Case cases[] = {
      {"{ S[] }", {}, 1},
      {"{ S[] : false }", {}, 0},
      {"[N] -> { S[i] : 0 <= i < N }", {{"N", 0}}, 0},
      {"[N] -> { S[i] : 0 <= i < N }", {{"N", 7}}, 7},
      {"[N] -> { S[i, j] : 0 <= i < N and 0 <= j <= i }", {{"N", 4096}}, 4096LL * 4097 / 2},
      {"[N, M] -> { S[i, j] : 0 <= i < N and 0 <= j < M and j <= i + M - N }",
       {{"N", 5}, {"M", 3}},
       6},
      {"[B, H, N, M, D] -> { S[b,h,i,j,d] : 0<=b<B and 0<=h<H and 0<=i<N and 0<=j<M and 0<=d<D and "
       "j <= i }",
       {{"B", 2}, {"H", 32}, {"N", 4096}, {"M", 4096}, {"D", 128}},
       2LL * 32 * 128 * (4096LL * 4097 / 2)},
      {"{ S[i, j] : 0 <= i < 10 and 2j = i }", {}, 5},
      {"{ S[i, j] : 0 <= i < 100 and 2i = 3j }", {}, 34},
      {"{ S[i] : 0 <= i < 100 and i mod 7 = 3 }", {}, 14},
      {"{ S[i] : exists a, b : i = 3a + 5b and 0 <= a <= 10 and 0 <= b <= 10 }", {}, 73},
      {"{ S[t, u] : exists i, j : 0 <= i < 100 and 0 <= j <= i and t = floor(i/16) and u = "
       "floor(j/16) }",
       {},
       28},
      {"{ S[i] : 0 <= i < 10 or 5 <= i < 15 }", {}, 15},
      {"{ S[i, j] : 0 <= i < 8 and 0 <= j < 8 and i + j <= 9 and i - j >= -3 }", {}, 40},
  };
  for (const Case& c : cases) {
    auto n = count_points(isl::set(ctx->get(), c.set), c.sizes);
    ASSERT_TRUE(n) << c.set << ": " << n.error().why;
    EXPECT_EQ(*n, c.count) << c.set;
  }
}

TEST(CountPoints, Refusals) {
  ContextPtr ctx = make_context();
  auto open = count_points(isl::set(ctx->get(), "{ S[i, j] : i >= 0 and 0 <= j < 3 }"), {});
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().why.find("unbounded in i"), std::string::npos) << open.error().why;
  auto size = count_points(isl::set(ctx->get(), "[N] -> { S[i] : 0 <= i < N }"), {});
  ASSERT_FALSE(size);
  EXPECT_NE(size.error().why.find("N is not bound"), std::string::npos);
  auto many = count_points(
      isl::set(ctx->get(), "{ S[i, j, k] : 0 <= i, j, k < 1000 and i + j + k <= 1500 }"), {}, 1000);
  ASSERT_FALSE(many);
  EXPECT_NE(many.error().why.find("1000 steps"), std::string::npos);
}

TEST(CountPoints, AgreesWithEnumeration) {
  const unsigned seed = 12345;
  std::mt19937 rng(seed);
  auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng); };
  ContextPtr ctx = make_context();
  for (int trial = 0; trial < 150; ++trial) {
    const int dims = pick(1, 3);
    std::string text = "{ S[";
    for (int d = 0; d < dims; ++d) text += (d ? ", x" : "x") + std::to_string(d);
    text += "] : exists e";
    text += " : 0 <= e <= " + std::to_string(pick(0, 4));
    for (int d = 0; d < dims; ++d)
      text += " and " + std::to_string(pick(-3, 0)) + " <= x" + std::to_string(d) + " < " +
              std::to_string(pick(1, 8));
    for (int c = pick(0, 3); c > 0; --c) {
      text += " and ";
      for (int d = 0; d < dims; ++d)
        text += std::to_string(pick(-3, 3)) + "*x" + std::to_string(d) + " + ";
      if (pick(0, 1)) text += std::to_string(pick(-3, 3)) + "*e + ";
      if (pick(0, 2) == 0)
        text += "floor((x0 + " + std::to_string(pick(0, 3)) + ")/" + std::to_string(pick(2, 4)) +
                ") + ";
      text += std::to_string(pick(-4, 6)) + (pick(0, 3) ? " >= 0" : " = 0");
    }
    text += " }";
    isl::set s(ctx->get(), text);
    int64_t expected = 0;
    s.foreach_point([&](isl::point) { ++expected; });
    auto n = count_points(s, {});
    ASSERT_TRUE(n) << "seed " << seed << " " << text << ": " << n.error().why;
    EXPECT_EQ(*n, expected) << "seed " << seed << " " << text;
  }
}

TEST(CountPoints, CausalIsFast) {
  ContextPtr ctx = make_context();
  isl::set s(
      ctx->get(),
      "[N] -> { S[b, i, j, d] : 0 <= b < 8 and 0 <= i < N and 0 <= j <= i and 0 <= d < 128 }");
  const auto start = std::chrono::steady_clock::now();
  auto n = count_points(s, {{"N", 4096}});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(n);
  EXPECT_LT(took.count(), 0.1);
}

}  // namespace
}  // namespace nautilus::poly
