// Lowering of tile programs written out here: what comes out, and that it runs right.
#include "tests/memory/lower_helpers.h"

namespace nautilus::memory {
namespace {

LowerOptions knobs(std::map<std::string, int64_t> k) {
  LowerOptions o;
  o.knobs = std::move(k);
  return o;
}
// C = A B in tiles of 64 x 64 x 64.
const char* const kProduct = R"(module product {
  tensor A: f16[128, 256] input global
  tensor B: f16[256, 64] input global
  tensor C: f16[128, 64] output global
  kernel product {
    grid i0 < 2
    values 8
    %0: f32 = const 0
    %6: f32[i: 64, j: 64] = for k0 in [0, 4) step 1 carry (%1: f32[i: 64, j: 64] = %0) {
      %2: f16[i: 64, k: 64] = load A[64*i0 + i, 64*k0 + k]
      %3: f16[j: 64, k: 64] = load B[64*k0 + k, j]
      %4: f32[i: 64, j: 64] = dot %2, %3 over (k)
      %5: f32[i: 64, j: 64] = add %1, %4
      yield %5
    }
    %7: f16[i: 64, j: 64] = cast %6
    store C[64*i0 + i, j] = %7
  }
}
)";

TEST(Lower, ProductInARing) {
  for (int64_t stages : {1, 2, 3, 4}) {
    SCOPED_TRACE(stages);
    const tile::Module t = tile_module(kProduct);
    auto r = expect_same(t, knobs({{"stages", stages}}), 4);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->counts.at("bank_passes"), r->counts.at("bank_passes_at_best"));
    auto m = lower(t, knobs({{"stages", stages}}));
    ASSERT_TRUE(m);
    for (const SharedBuffer& b : m->kernels[0].buffers) EXPECT_EQ(b.slots, stages) << b.name;
    // One barrier an iteration in a ring; a buffer of one slot needs one before its copy as well.
    EXPECT_EQ(count(*m, Code::BlockSync), stages == 1 ? 2 : 1);
    // Every fragment comes by ldmatrix, every copy in 16 bytes.
    EXPECT_EQ(count(*m, [](const Instr& i) { return i.code == Code::LoadShared && !i.matrix; }), 0);
    EXPECT_EQ(count(*m, [](const Instr& i) { return i.code == Code::CopyAsync && i.vector != 16; }),
              0);
    EXPECT_GT(count(*m, Code::Mma), 0);
  }
}

// Attention of one head, written as a loop over keys with a running maximum.
const char* const kAttentionText = R"(module attention {
  tensor Q: f16[64, 32] input global
  tensor K: f16[96, 32] input global
  tensor V: f16[96, 32] input global
  tensor O: f16[64, 32] output global
  kernel attention {
    values 27
    %0: f32 = const 0
    %1: f32 = const -inf
    %2: f16[d: 32, i: 64] = load Q[i, d]
    %15: f32[i: 64], %16: f32[i: 64], %17: f32[e: 32, i: 64] = for j0 in [0, 3) step 1 carry (%3: f32[i: 64] = %1, %4: f32[i: 64] = %0, %5: f32[e: 32, i: 64] = %0) {
      %6: f16[d: 32, j: 32] = load K[32*j0 + j, d]
      %7: f32[i: 64, j: 32] = dot %2, %6 over (d)
      %8: f32[i: 64] = reduce max %7 over (j)
      %9: f32[i: 64] = max %3, %8
      %10: f32[i: 64, j: 32] = sub %7, %9
      %11: f32[i: 64, j: 32] = exp %10
      %12: f16[i: 64, j: 32] = cast %11
      %13: f32[i: 64] = sub %3, %9
      %14: f32[i: 64] = exp %13
      %18: f32[i: 64] = mul %4, %14
      %19: f32[i: 64] = reduce sum %11 over (j)
      %20: f32[i: 64] = add %18, %19
      %21: f16[e: 32, j: 32] = load V[32*j0 + j, e]
      %22: f32[e: 32, i: 64] = mul %5, %14
      %23: f32[e: 32, i: 64] = dot %12, %21 over (j)
      %24: f32[e: 32, i: 64] = add %23, %22
      yield %9, %20, %24
    }
    %25: f32[e: 32, i: 64] = div %17, %16
    %26: f16[e: 32, i: 64] = cast %25
    store O[i, e] = %26
  }
}
)";

// The accumulator of the first product is the operand of the second as it lies; rows stay inside a
// warp.
TEST(Lower, ChainedProductsStayInRegisters) {
  const tile::Module t = tile_module(kAttentionText);
  for (int64_t stages : {1, 2, 3}) {
    SCOPED_TRACE(stages);
    auto r = expect_same(t, knobs({{"stages", stages}}), 3);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->counts.at("bank_passes"), r->counts.at("bank_passes_at_best"));
    auto m = lower(t, knobs({{"stages", stages}}));
    ASSERT_TRUE(m);
    EXPECT_EQ(m->kernels[0].roles[0].warps, 4);
    EXPECT_EQ(count(*m, Code::StoreShared), 0);
    EXPECT_EQ(count(*m, Code::Exchange), 0);
  }
}

int most_sources(const Kernel& k, const Region& r) {
  int most = 0;
  for (const Instr& i : r.body) {
    if (i.code == Code::Exchange)
      most = std::max(
          most, sources_a_register(k.types.at(i.operands[0]).place, k.types.at(i.results[0]).place)
                    .value_or(1000));
    for (const Region& inner : i.regions) most = std::max(most, most_sources(k, inner));
  }
  return most;
}

// What is computed from a load lies as it was loaded, and a product wants it otherwise: through
// shared memory, not by a shuffle for each of the registers that lanes would pick from.
TEST(Lower, ComputedFactorsAreNotShuffledFromManyRegisters) {
  std::string text = kAttentionText;
  text.replace(text.find("dot %12, %21"), 12, "dot %12, %31");
  text.replace(text.find("load V[32*j0 + j, e]"), 20,
               "load V[32*j0 + j, e]\n      %27: f16 = const 0\n      %28: i32[j: 32] = iota 32*j0 "
               "+ j\n      %29: i32 = const 90\n"
               "      %30: bool[j: 32] = lt %28, %29\n"
               "      %31: f16[e: 32, j: 32] = select %30, %21, %27");
  text.replace(text.find("values 27"), 9, "values 32");
  const tile::Module t = tile_module(text);
  ASSERT_TRUE(expect_same(t));
  auto m = lower(t, {});
  ASSERT_TRUE(m);
  EXPECT_LE(most_sources(m->kernels[0], m->kernels[0].roles[0].body), 4);
}

// A factor that is f32 goes in two parts, and loses nothing that matters.
TEST(Lower, WideFactorIsSplit) {
  std::string text = kAttentionText;
  text.replace(text.find("dot %12"), 7, "dot %11");
  const tile::Module t = tile_module(text);
  ASSERT_TRUE(expect_same(t));
}

TEST(Lower, RowOverWarpsIsReducedInTwoSteps) {
  const tile::Module t = tile_module(R"(module row {
  tensor X: f32[3, 4096] input global
  tensor Y: f32[3, 4096] output global
  tensor M: f32[3] output global
  kernel row {
    grid i < 3
    values 4
    %0: f32[j: 4096] = load X[i, j]
    %1: f32 = reduce max %0 over (j)
    %2: f32[j: 4096] = sub %0, %1
    store Y[i, j] = %2
    store M[i] = %1
  }
}
)");
  auto m = lower(t);
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_GT(m->kernels[0].roles[0].warps, 1);
  EXPECT_EQ(count(*m, Code::StoreShared), 1);  // the warps' maxima
  expect_same(t, {}, 3);
}

TEST(Lower, ContractedAxisIsPaddedWithZeros) {
  const tile::Module t = tile_module(R"(module padded {
  tensor A: f16[20, 17] input global
  tensor B: f16[17, 24] input global
  tensor C: f32[20, 24] output global
  kernel padded {
    values 3
    %0: f16[i: 20, k: 17] = load A[i, k]
    %1: f16[j: 24, k: 17] = load B[k, j]
    %2: f32[i: 20, j: 24] = dot %0, %1 over (k)
    store C[i, j] = %2
  }
}
)");
  auto m = lower(t);
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_GT(count(*m, Code::Mma), 0);
  expect_same(t);
}

TEST(Lower, PlainF32ProductByLanesOrAsTf32) {
  const tile::Module t = tile_module(R"(module plain {
  tensor A: f32[64, 64] input global
  tensor B: f32[64, 64] input global
  tensor C: f32[64, 64] output global
  kernel plain {
    values 3
    %0: f32[i: 64, k: 64] = load A[i, k]
    %1: f32[j: 64, k: 64] = load B[j, k]
    %2: f32[i: 64, j: 64] = dot %0, %1 over (k)
    store C[i, j] = %2
  }
}
)");
  auto lanes = lower(t);
  ASSERT_TRUE(lanes) << lanes.error().text();
  EXPECT_EQ(count(*lanes, Code::Mma), 0);
  expect_same(t, {}, 2, 1e-5);
  LowerOptions fast;
  fast.tf32 = true;
  auto matrix = lower(t, fast);
  ASSERT_TRUE(matrix) << matrix.error().text();
  EXPECT_GT(count(*matrix, Code::Mma), 0);
  expect_same(t, fast, 1, 1e-2);
}

// A warp takes the branch by what it holds itself.
TEST(Lower, BranchOnData) {
  const tile::Module t = tile_module(R"(module guarded {
  tensor X: f32[64, 32] input global
  tensor Y: f32[64, 32] output global
  kernel guarded {
    values 8
    %0: f32[i: 64, j: 32] = load X[i, j]
    %1: f32 = const 0
    %2: f32[i: 64] = reduce max %0 over (j)
    %3: bool[i: 64] = lt %1, %2
    %4: bool = reduce any %3 over (i)
    %7: f32[i: 64, j: 32] = if %4 {
      %5: f32[i: 64] = max %2, %1
      %6: f32[i: 64, j: 32] = sub %0, %5
      yield %6
    } else {
      yield %0
    }
    store Y[i, j] = %7
  }
}
)");
  auto m = lower(t);
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(count(*m, [](const Instr& i) { return i.code == Code::If && !i.operands.empty(); }), 1);
  expect_same(t, {}, 2);
}

// One warp stores what all hold; what it waits for, all wait for before they part.
TEST(Lower, BarriersStandBeforeWarpsPart) {
  const tile::Module t = tile_module(R"(module passing {
  tensor X: f32[3, 256] input global
  tensor T: f32[3] temp global
  tensor Y: f32[3, 256] output global
  kernel passing {
    grid g < 3
    values 7
    %0: f32[d: 256] = load X[g, d]
    %1: f32 = reduce sum %0 over (d)
    store T[g] = %1
    %2: f32 = load T[g]
    %3: f32 = mul %2, %2
    store T[g] = %3
    %4: f32 = load T[g]
    %5: f32[d: 256] = mul %0, %4
    %6: f32[d: 256] = add %5, %2
    store Y[g, d] = %6
  }
}
)");
  expect_same(t, knobs({{"warps", 4}}), 8);
}

TEST(Lower, LongSumOfProductsIsALoopOverPieces) {
  const tile::Module t = tile_module(R"(module gathered {
  tensor P: f32[8, 256] input global
  tensor V: f16[256, 64] input global
  tensor O: f32[8, 64] output global
  kernel gathered {
    values 4
    %0: f32[i: 8, j: 256] = load P[i, j]
    %1: f16[e: 64, j: 256] = load V[j, e]
    %2: f32[e: 64, i: 8, j: 256] = mul %0, %1
    %3: f32[e: 64, i: 8] = reduce sum %2 over (j)
    store O[i, e] = %3
  }
}
)");
  auto m = lower(t);
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(count(*m, Code::For), 1);
  expect_same(t, {}, 1, 1e-5);
}

TEST(Lower, SharedBufferKeepsWhatABlockTouches) {
  const tile::Module t = tile_module(R"(module kept {
  tensor X: f32[512, 64] input global
  tensor Y: f32[512, 64] output global
  kernel kept {
    grid i0 < 64
    buffer S: f32[512, 64] temp shared
    values 3
    %0: f32[i: 8, j: 64] = load X[8*i0 + i, j]
    store S[8*i0 + i, j] = %0
    barrier
    %1: f32[i: 8, j: 64] = load S[8*i0 + i, -j + 63]
    %2: f32[i: 8, j: 64] = add %0, %1
    store Y[8*i0 + i, j] = %2
  }
}
)");
  auto m = lower(t);
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_LE(m->kernels[0].shared_bytes(), 8 * 64 * 4);
  EXPECT_EQ(count(*m, Code::BlockSync), 1);
  expect_same(t, {}, 3);
}

TEST(Lower, TilesBeyondAllRegistersAreRefused) {
  const tile::Module t = tile_module(R"(module huge {
  tensor X: f32[512, 512] input global
  tensor Y: f32[512, 512] output global
  kernel huge {
    values 2
    %0: f32[i: 512, j: 512] = load X[i, j]
    %1: f32[i: 512, j: 512] = exp %0
    store Y[i, j] = %1
  }
}
)");
  auto m = lower(t);
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().why.find("registers a thread"), std::string::npos) << m.error().text();
  EXPECT_NE(m.error().suggest.find("smaller tiles"), std::string::npos);
}

TEST(Lower, PassesAreShown) {
  std::vector<std::string> seen;
  LowerOptions o;
  o.after = [&](const std::string& pass, const Module& m) {
    EXPECT_EQ(m.kernels.size(), 1u);
    seen.push_back(pass);
  };
  ASSERT_TRUE(lower(tile_module(kProduct), o));
  EXPECT_EQ(seen, (std::vector<std::string>{"placement", "pipelining", "synchronization"}));
}

}  // namespace
}  // namespace nautilus::memory
