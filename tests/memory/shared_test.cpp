// Swizzles, vector widths and bank conflicts.
#include <gtest/gtest.h>

#include <set>

#include "random_maps.h"

namespace nautilus::memory {
namespace {

// Address bits 4.. XOR address bits 7..: the modes of the hardware, written out.
TEST(Swizzle, IsTheHardwares) {
  for (int mode : {0, 1, 2, 3})
    for (int bytes : {1, 2, 4}) {
      const int cols = (16 << mode) / bytes;
      const Linear l = swizzled({{"i", 32}}, {{"k", cols}}, bytes, mode);
      for (int i = 0; i < 32; ++i)
        for (int k = 0; k < cols; ++k) {
          const int plain = (i * cols + k) * bytes;
          const int address = plain ^ ((plain >> 7 & ((1 << mode) - 1)) << 4);
          const auto at = l.apply({{"offset", address / bytes}});
          ASSERT_EQ(at.at("i"), i);
          ASSERT_EQ(at.at("k"), k);
        }
      EXPECT_EQ(hardware_swizzle({l, {}}, bytes, "k"), mode) << bytes;
    }
}

TEST(Swizzle, HardwareModesOnly) {
  // Rows of 256 bytes: free of conflicts but no mode of the hardware; as two panels they are.
  const Linear rows = swizzled({{"i", 64}}, {{"k", 128}}, 2, 3);
  EXPECT_EQ(hardware_swizzle({rows, {}}, 2, "k"), std::nullopt);
  const Placement panels{swizzled({{"i", 64}}, {{"k", 64}}, 2, 3), {{"k", 2}}};
  EXPECT_EQ(hardware_swizzle(panels, 2, "k"), 3);
  EXPECT_EQ(panels.extent("k"), 128);
  EXPECT_EQ(hardware_swizzle(panels, 2, "i"), std::nullopt);
  EXPECT_EQ(hardware_swizzle({swizzled({{"i", 64}}, {{"k", 64}}, 2, 2), {}}, 2, "k"), std::nullopt);
  EXPECT_EQ(hardware_swizzle({swizzled({{"i", 64}}, {{"k", 64}}, 2, 0), {}}, 2, "k"), 0);
  // Grouped rows: still dense.
  EXPECT_EQ(hardware_swizzle({swizzled({{"g", 4}, {"i", 16}}, {{"k", 64}}, 2, 3), {}}, 2, "k"), 3);
  // Less than 16 bytes a row.
  EXPECT_EQ(hardware_swizzle({swizzled({{"i", 64}}, {{"k", 4}}, 2, 0), {}}, 2, "k"), std::nullopt);
}

Linear a_tile() { return operand_a(Shape::M16N8K16, {{"i", 16}}, {{"k", 64}}); }

TEST(BankConflicts, LdmatrixRows) {
  const auto access = matrix_access(a_tile(), 2, false);
  ASSERT_TRUE(access);
  // 16 bytes a lane: four phases of eight rows. Without swizzle the eight rows of 128 bytes start
  // in one bank.
  for (auto [swizzle, passes] : {std::pair{3, 4}, {2, 8}, {1, 16}, {0, 32}}) {
    const Linear tile = swizzled({{"i", 64}}, {{"k", 64}}, 2, swizzle);
    ASSERT_EQ(vector_bits(*access, tile, 2), 3);
    EXPECT_EQ(bank_passes(*access, tile, 2, 3), passes) << "swizzle " << swizzle;
  }
  // Rows of 32 elements: eight of them are four lines of 128 bytes, mode 2 suffices.
  EXPECT_EQ(bank_passes(*access, swizzled({{"i", 64}}, {{"k", 32}}, 2, 2), 2, 3), 4);
  EXPECT_EQ(bank_passes(*access, swizzled({{"i", 64}}, {{"k", 32}}, 2, 0), 2, 3), 16);
  // Rows of 128 elements.
  EXPECT_EQ(bank_passes(*access, swizzled({{"i", 64}}, {{"k", 128}}, 2, 3), 2, 3), 4);
}

TEST(BankConflicts, LdmatrixTransposed) {
  // The second operand of P V: V lies with rows j (contracted) and columns d.
  const Linear b = operand_b(Shape::M16N8K16, {{"d", 64}}, {{"j", 16}});
  const Linear tile = swizzled({{"j", 64}}, {{"d", 64}}, 2, 3);
  const auto plain = matrix_access(b, 2, false), transposed = matrix_access(b, 2, true);
  ASSERT_TRUE(plain && transposed);
  EXPECT_EQ(vector_bits(*plain, tile, 2), 0);
  EXPECT_EQ(vector_bits(*transposed, tile, 2), 3);
  EXPECT_EQ(bank_passes(*transposed, tile, 2, 3), 4);
  EXPECT_FALSE(matrix_access(b, 4, true));
  EXPECT_FALSE(matrix_access(*parse_linear("register: k=1; lane: k=2"), 2, false));
}

// ldmatrix as the PTX ISA has it: lane l addresses row l % 8 of matrix l / 8, and then lane l holds
// of matrix q the elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4; .trans: of that column.
TEST(BankConflicts, MatrixAccessIsLdmatrix) {
  for (bool transposed : {false, true}) {
    const Linear frag = transposed ? operand_b(Shape::M16N8K16, {{"d", 16}}, {{"j", 16}})
                                   : operand_a(Shape::M16N8K16, {{"i", 16}}, {{"k", 16}});
    const auto access = matrix_access(frag, 2, transposed);
    ASSERT_TRUE(access);
    for (int q = 0; q < 4; ++q)
      for (int lane = 0; lane < 32; ++lane)
        for (int e = 0; e < 2; ++e) {
          const int row = transposed ? 2 * (lane % 4) + e : lane / 4;
          const int col = transposed ? lane / 4 : 2 * (lane % 4) + e;
          EXPECT_EQ(frag.apply({{"register", 2 * q + e}, {"lane", lane}}),
                    access->apply({{"register", col}, {"lane", 8 * q + row}}));
        }
  }
}

TEST(VectorWidth, IsReadOffTheMatrix) {
  const Linear rows = swizzled({{"i", 32}}, {{"k", 64}}, 2, 3);
  EXPECT_EQ(vector_bits(blocked({{"k", 64}, {"i", 32}}, 3, 5, 2), rows, 2), 3);
  EXPECT_EQ(vector_bits(blocked({{"k", 64}, {"i", 32}}, 2, 5, 2), rows, 2), 2);
  EXPECT_EQ(vector_bits(blocked({{"k", 64}, {"i", 32}}, 0, 5, 2), rows, 2), 0);
  EXPECT_EQ(vector_bits(blocked({{"i", 32}, {"k", 64}}, 3, 5, 2), rows, 2), 0);
  // At most 16 bytes.
  EXPECT_EQ(vector_bits(blocked({{"k", 64}}, 5, 1, 0), Linear::identity("offset", "k", 6), 4), 2);
  // Axes that the tile lacks do not matter.
  EXPECT_EQ(vector_bits(blocked({{"k", 64}, {"h", 4}}, 3, 3, 2), rows, 2), 3);
  // A swizzle below 16 bytes leaves the lanes of odd rows elements 0..1 and 2..3 exchanged.
  EXPECT_EQ(vector_bits(blocked({{"k", 8}, {"i", 2}}, 3, 1, 0),
                        *parse_linear("offset: k=1 k=2 k=4 i=1+k=2"), 2),
            1);
}

// Distinct words a bank, counted lane by lane, phase by phase.
int count_passes(const Linear& fragment, const Linear& shared, int bytes, int vector) {
  const auto where = shared.inverse();
  const int per_lane = bytes << vector, phases = std::max(1, per_lane / 4), group = 32 / phases;
  int passes = 0;
  for (int phase = 0; phase < phases; ++phase) {
    std::map<int64_t, std::set<int64_t>> words;
    for (int lane = phase * group; lane < (phase + 1) * group; ++lane) {
      const int64_t first = where->apply(fragment.apply({{"lane", lane}})).at("offset");
      for (int64_t e = 0; e < 1 << vector; ++e) {
        const int64_t address = (first ^ e) * bytes;
        for (int64_t a = address; a < address + bytes; a += 4) words[a / 4 % 32].insert(a / 4);
      }
    }
    size_t most = 0;
    for (const auto& [bank, w] : words) most = std::max(most, w.size());
    passes += int(most);
  }
  return passes;
}

TEST(BankConflicts, EqualToACountOfBanks) {
  std::set<int> seen;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const int bytes = 1 << below(rng, 4),
              vector = below(rng, 5 - std::countr_zero(unsigned(bytes)));
    Linear shared;
    do shared = random_map(rng, {{"offset", 10}}, {{"i", 5}, {"j", 5}});
    while (!shared.injective());
    const Linear lanes = random_map(rng, {{"register", 2}, {"lane", 5}}, {{"i", 5}, {"j", 5}});
    const int passes = bank_passes(lanes, shared, bytes, vector);
    EXPECT_EQ(passes, count_passes(lanes, shared, bytes, vector)) << bytes << " " << vector;
    seen.insert(passes);
  }
  EXPECT_GE(seen.size(), 4u);
  EXPECT_EQ(bank_passes(*parse_linear("register:; lane: k=1 k=2 k=4 k=8 k=16"),
                        Linear::identity("offset", "k", 5), 4, 0),
            1);
  EXPECT_EQ(bank_passes(*parse_linear("register:; lane: 0 0 0 0 0 -> k: 32"),
                        Linear::identity("offset", "k", 5), 4, 0),
            1);
}

}  // namespace
}  // namespace nautilus::memory
