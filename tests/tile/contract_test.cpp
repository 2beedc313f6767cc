// Contraction of block-local buffers: what stays of them, and that the program computes the same.
#include "compiler/lower/contract.h"

#include <gtest/gtest.h>

#include "compiler/tile/ir.h"

namespace nautilus {
namespace {

// Twice X through a buffer whose rows are indexed as given; 5 blocks of 8 rows.
tile::Module doubled(const std::string& written, const std::string& read) {
  const auto m = tile::parse(R"(module twice {
  tensor X: f32[40, 12] input global
  tensor Y: f32[40, 12] output global
  kernel twice_0 {
    grid b < 5
    buffer S: f32[40, 12] temp shared
    values 3
    for r in [0, 8) step 1 {
      %0: f32[j: 12] = load X[8*b + r, j]
      store S[)" + written + R"(, j] = %0
      barrier
    }
    for q in [0, 8) step 1 {
      %1: f32[j: 12] = load S[)" +
                             read + R"(, j]
      %2: f32[j: 12] = add %1, %1
      store Y[8*b + q, j] = %2
    }
  }
}
)");
  EXPECT_TRUE(m) << m.error().text();
  return *m;
}

std::vector<double> result(const tile::Module& m) {
  poly::Buffers in;
  for (int k = 0; k < 480; ++k) in["X"].push_back(k);
  const auto out = tile::interpret(m, {}, in);
  EXPECT_TRUE(out) << out.error().text();
  return out ? out->at("Y") : std::vector<double>{};
}

std::vector<int64_t> extents(const tile::Module& m) {
  std::vector<int64_t> out;
  for (const IndexExpr& e : m.kernels[0].shared[0].extents) out.push_back(e.constant());
  return out;
}

TEST(Contraction, RowsOfABlockAreKept) {
  tile::Module m = doubled("8*b + r", "8*b + q");
  const std::vector<double> before = result(m);
  lower::contract_buffers(m.kernels[0]);
  EXPECT_EQ(extents(m), (std::vector<int64_t>{8, 12}));
  EXPECT_FALSE(tile::verify(m));
  EXPECT_EQ(result(m), before);
}

TEST(Contraction, RowsThatDoNotBeginAtZero) {
  tile::Module m = doubled("8*b + r", "8*b + q");
  tile::Module shifted = doubled("r + 20", "q + 20");
  const std::vector<double> before = result(m);
  lower::contract_buffers(shifted.kernels[0]);
  EXPECT_EQ(extents(shifted), (std::vector<int64_t>{8, 12}));
  EXPECT_EQ(result(shifted), before);
}

TEST(Contraction, AccessesThatMoveDifferentlyKeepTheBuffer) {
  tile::Module m = doubled("8*b + r", "39 - 8*b - q");
  lower::contract_buffers(m.kernels[0]);
  EXPECT_EQ(extents(m), (std::vector<int64_t>{40, 12}));
}

}  // namespace
}  // namespace nautilus
