// Rolling updates at the edges: sizes around the tile, rows without terms through deferred
// division, infinities and large logits.
#include <limits>

#include "tests/tile/rolled.h"

namespace nautilus {
namespace {
using namespace testing_rolled;

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int64_t kTile = 8;
const std::vector<int64_t> kSizes{0, 1, 7, 8, 9, 13, 17};

void scale_all(Buffers& in, const std::string& tensor, double by) {
  for (double& x : in.at(tensor)) x *= by;
}

TEST(RolledEdges, SizesAroundTheTile) {
  for (const char* mask : {"", "j <= i", "j <= i + M - N"})
    for (int64_t n : kSizes)
      for (int64_t m : {n, int64_t{0}, int64_t{5}, int64_t{20}}) {
        const Sizes sizes{{"H", 1}, {"N", n}, {"M", m}, {"D", 3}};
        const Rolled r = rolled_attention(mask, sizes, kTile, kTile);
        expect_as_defined(
            r, random_inputs(*r.original, 3), 1e-4,
            std::string(mask) + " N=" + std::to_string(n) + " M=" + std::to_string(m) + "\n");
      }
}

TEST(RolledEdges, LogSumExpOfFewOrNoColumns) {
  for (const char* mask : {"", "j <= i", "j <= i - 3"})
    for (int64_t n : kSizes)
      for (int64_t m : kSizes) {
        const Rolled r = rolled_logsumexp(mask, {{"N", n}, {"M", m}}, kTile, kTile);
        expect_as_defined(
            r, random_inputs(*r.original, 3), 1e-4,
            std::string(mask) + " N=" + std::to_string(n) + " M=" + std::to_string(m) + "\n");
      }
}

// Rows without a term: the denominator ends at 0, and the value is the identity by definition.
TEST(RolledEdges, RowsWithoutTermsThroughDeferredDivision) {
  for (const char* mask : {"j <= i - 3", "j <= i - 9", "i <= 4 and j <= i - 2"}) {
    const Sizes sizes{{"H", 2}, {"N", 13}, {"M", 11}, {"D", 3}};
    const Rolled r = rolled_attention(mask, sizes, 4, 2);
    auto m = lowered(r.schedule);
    ASSERT_TRUE(m);
    tile::RewriteReport report;
    const tile::Module w = tile::rewrite(*m, {}, &report);
    EXPECT_TRUE(
        std::any_of(report.applied.begin(), report.applied.end(),
                    [](const std::string& a) { return a.starts_with("change-carried-variable"); }))
        << mask << "\n"
        << tile::print(w);
    const Buffers in = random_inputs(*r.original, 3);
    expect_as_defined(r, in, 1e-4, mask);
    auto want = interpret(*r.original, sizes, in);
    ASSERT_TRUE(want);
    for (double x : want->at("O")) EXPECT_FALSE(std::isnan(x));
    EXPECT_EQ(want->at("O")[0], 0);
  }
}

TEST(RolledEdges, LargeLogits) {
  for (const char* mask : {"", "j <= i"}) {
    const Rolled r = rolled_attention(mask, {{"H", 1}, {"N", 13}, {"M", 13}, {"D", 3}}, 4, 4);
    for (double by : {1e4, 1e8, 1e18}) {
      Buffers in = random_inputs(*r.original, 3);
      scale_all(in, "Q", by);
      expect_as_defined(r, in, 1e-4, std::string(mask) + " " + std::to_string(by));
    }
  }
  const Rolled r = rolled_logsumexp("", {{"N", 9}, {"M", 17}}, 4, 4);
  Buffers in = random_inputs(*r.original, 3);
  scale_all(in, "X", 1e4);
  expect_as_defined(r, in, 1e-4);
}

// Scores of -inf are terms of 0 as long as the row has a finite one; a row of nothing else is NaN
// by its own definition (-inf - -inf), which running values need not repeat.
TEST(RolledEdges, InfiniteScores) {
  for (const char* mask : {"", "j <= i"})
    for (size_t first : {0, 1, 5, 12}) {
      const Rolled r = rolled_logsumexp(mask, {{"N", 13}, {"M", 13}}, 4, 4);
      Buffers in = random_inputs(*r.original, 3);
      // Columns from `first` on, but for the first column: one finite score stays in each row.
      for (size_t i = 0; i < 13; ++i)
        for (size_t j = std::max<size_t>(first, 1); j < 13; ++j)
          in.at("X")[i * 13 + j] = -kInfinite;
      expect_as_defined(r, in, 1e-4, std::string(mask) + " from " + std::to_string(first));
      // The other end: all but the last visible one, so that the first tiles hold -inf only.
      in = random_inputs(*r.original, 3);
      for (size_t i = 0; i < 13; ++i)
        for (size_t j = 0; j < (*mask ? i : 12); ++j) in.at("X")[i * 13 + j] = -kInfinite;
      expect_as_defined(r, in, 1e-4, std::string(mask) + " up to the last");
    }
  // Through the product: keys of -inf against positive queries.
  for (size_t finite : {0, 6, 12}) {
    const Rolled r = rolled_attention("", {{"H", 1}, {"N", 5}, {"M", 13}, {"D", 2}}, 4, 4);
    Buffers in = random_inputs(*r.original, 3);
    for (double& q : in.at("Q")) q = 0.5 + std::abs(q);
    for (size_t j = 0; j < 13; ++j)
      if (j != finite) in.at("K")[j * 2] = -kInfinite;
    expect_as_defined(r, in, 1e-4, "finite column " + std::to_string(finite));
  }
}

// +inf in a row makes its result NaN by definition; the other rows are untouched.
TEST(RolledEdges, AnInfiniteRowStaysAlone) {
  const Sizes sizes{{"N", 9}, {"M", 11}};
  const Rolled r = rolled_logsumexp("", sizes, 4, 4);
  Buffers in = random_inputs(*r.original, 3);
  in.at("X")[4 * 11 + 7] = kInfinite;
  auto want = interpret(*r.original, sizes, in);
  ASSERT_TRUE(want);
  EXPECT_TRUE(std::isnan(want->at("Y")[4]));
  expect_as_defined(r, in, 1e-4);
}

}  // namespace
}  // namespace nautilus
