// Fragments against the tables of the PTX ISA, written out as formulas there and here.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "compiler/memory/f2.h"
#include "random_maps.h"

namespace nautilus::memory {
namespace {

using Formula =
    std::function<std::pair<int64_t, int64_t>(int reg, int lane, int warp)>;  // row, col

void expect_fragment(const Linear& l, int registers, int warps, const std::string& row,
                     const std::string& col, const Formula& formula) {
  ASSERT_EQ(1 << l.in_bits("register"), registers);
  ASSERT_EQ(l.in_bits("lane"), 5);
  ASSERT_EQ(1 << l.in_bits("warp"), warps);
  for (int w = 0; w < warps; ++w)
    for (int t = 0; t < 32; ++t)
      for (int r = 0; r < registers; ++r) {
        const auto at = l.apply({{"register", r}, {"lane", t}, {"warp", w}});
        const auto [i, j] = formula(r, t, w);
        ASSERT_EQ(at.at(row), i) << "register " << r << " lane " << t << " warp " << w;
        ASSERT_EQ(at.at(col), j) << "register " << r << " lane " << t << " warp " << w;
      }
  EXPECT_TRUE(l.injective());
  EXPECT_TRUE(l.surjective());
}

TEST(Fragments, M16N8K16) {
  expect_fragment(operand_a(Shape::M16N8K16, {{"i", 16}}, {{"k", 16}}), 8, 1, "i", "k",
                  [](int r, int lane, int) {
                    const int group = lane / 4, thread = lane % 4;
                    const int row = r < 2 || (4 <= r && r < 6) ? group : group + 8;
                    return std::pair<int64_t, int64_t>{row,
                                                       thread * 2 + (r & 1) + (r >= 4 ? 8 : 0)};
                  });
  expect_fragment(operand_b(Shape::M16N8K16, {{"j", 8}}, {{"k", 16}}), 4, 1, "k", "j",
                  [](int r, int lane, int) {
                    const int group = lane / 4, thread = lane % 4;
                    return std::pair<int64_t, int64_t>{thread * 2 + (r & 1) + (r >= 2 ? 8 : 0),
                                                       group};
                  });
  expect_fragment(accumulator(Shape::M16N8K16, {{"i", 16}}, {{"j", 8}}), 4, 1, "i", "j",
                  [](int r, int lane, int) {
                    const int group = lane / 4, thread = lane % 4;
                    return std::pair<int64_t, int64_t>{r < 2 ? group : group + 8,
                                                       thread * 2 + (r & 1)};
                  });
}

TEST(Fragments, M16N8K8) {
  expect_fragment(operand_a(Shape::M16N8K8, {{"i", 16}}, {{"k", 8}}), 4, 1, "i", "k",
                  [](int r, int lane, int) {
                    const int group = lane / 4, thread = lane % 4;
                    return std::pair<int64_t, int64_t>{r == 0 || r == 2 ? group : group + 8,
                                                       r < 2 ? thread : thread + 4};
                  });
  expect_fragment(operand_b(Shape::M16N8K8, {{"j", 8}}, {{"k", 8}}), 2, 1, "k", "j",
                  [](int r, int lane, int) {
                    const int group = lane / 4, thread = lane % 4;
                    return std::pair<int64_t, int64_t>{r == 0 ? thread : thread + 4, group};
                  });
  expect_fragment(accumulator(Shape::M16N8K8, {{"i", 16}}, {{"j", 8}}), 4, 1, "i", "j",
                  [](int r, int lane, int) {
                    return std::pair<int64_t, int64_t>{r < 2 ? lane / 4 : lane / 4 + 8,
                                                       lane % 4 * 2 + (r & 1)};
                  });
}

TEST(Fragments, WgmmaAccumulatorAndOperand) {
  for (int n : {8, 64, 256})
    expect_fragment(accumulator(Shape::M64NxK16, {{"i", 64}}, {{"j", n}}), n / 2, 4, "i", "j",
                    [](int r, int lane, int warp) {
                      return std::pair<int64_t, int64_t>{16 * warp + lane / 4 + 8 * (r / 2 % 2),
                                                         8 * (r / 4) + 2 * (lane % 4) + r % 2};
                    });
  expect_fragment(operand_a(Shape::M64NxK16, {{"i", 64}}, {{"k", 16}}), 8, 4, "i", "k",
                  [](int r, int lane, int warp) {
                    return std::pair<int64_t, int64_t>{16 * warp + lane / 4 + 8 * (r / 2 % 2),
                                                       2 * (lane % 4) + r % 2 + 8 * (r / 4)};
                  });
  expect_fragment(operand_a(Shape::M64NxK8, {{"i", 64}}, {{"k", 8}}), 4, 4, "i", "k",
                  [](int r, int lane, int warp) {
                    return std::pair<int64_t, int64_t>{16 * warp + lane / 4 + 8 * (r % 2),
                                                       lane % 4 + 4 * (r / 2)};
                  });
  EXPECT_THROW((void)operand_b(Shape::M64NxK16, {{"j", 8}}, {{"k", 16}}), std::invalid_argument);
}

TEST(Fragments, RowsOverSeveralAxes) {
  const Linear l = accumulator(Shape::M16N8K16, {{"g", 4}, {"i", 4}}, {{"j", 8}});
  for (int lane = 0; lane < 32; ++lane)
    for (int r = 0; r < 4; ++r) {
      const auto at = l.apply({{"register", r}, {"lane", lane}});
      const int row = lane / 4 + (r >= 2 ? 8 : 0);
      EXPECT_EQ(at.at("g"), row % 4);
      EXPECT_EQ(at.at("i"), row / 4);
    }
  EXPECT_THROW((void)accumulator(Shape::M16N8K16, {{"i", 8}}, {{"j", 8}}), std::invalid_argument);
  EXPECT_THROW((void)accumulator(Shape::M16N8K16, {{"i", 24}}, {{"j", 8}}), std::invalid_argument);
}

// Several instructions: the bits above one instruction are further registers.
TEST(Fragments, TilesOfInstructions) {
  const Linear l = operand_a(Shape::M16N8K16, {{"i", 32}}, {{"k", 64}});
  EXPECT_EQ(to_string(l),
            "register: k=1 i=8 k=8 k=16 k=32 i=16; lane: k=2 k=4 i=1 i=2 i=4 -> i: 32, k: 64");
  const Linear b = operand_b(Shape::M16N8K16, {{"j", 16}}, {{"k", 32}});
  EXPECT_EQ(to_string(b), "register: k=1 k=8 k=16 j=8; lane: k=2 k=4 j=1 j=2 j=4");
  const Linear c = accumulator(Shape::M16N8K16, {{"i", 16}}, {{"j", 8}}) *
                   Linear::identity("register", "j", 2) * Linear::identity("warp", "i", 2);
  EXPECT_EQ(
      to_string(c),
      "register: j=1 i=8 j=8 j=16; lane: j=2 j=4 i=1 i=2 i=4; warp: i=16 i=32 -> i: 64, j: 32");
}

TEST(Fragments, Blocked) {
  EXPECT_EQ(to_string(blocked({{"d", 64}, {"i", 32}}, 3, 5, 2)),
            "register: d=1 d=2 d=4 i=16; lane: d=8 d=16 d=32 i=1 i=2; warp: i=4 i=8");
  EXPECT_EQ(to_string(blocked({{"d", 8}}, 0, 5, 1)), "register:; lane: d=1 d=2 d=4 0 0; warp: 0");
}

Placement fragment(Linear l) { return {std::move(l), {}}; }

// The accumulator of scores, narrowed to 16 bits, is the first operand of the next product as it
// lies: rows i, columns j, whatever the number of columns.
TEST(Exchange, AccumulatorIsTheNextOperand) {
  for (int n : {16, 32, 64, 128}) {
    const auto acc = fragment(accumulator(Shape::M16N8K16, {{"i", 16}}, {{"j", n}}));
    const auto a = fragment(operand_a(Shape::M16N8K16, {{"i", 16}}, {{"j", n}}));
    EXPECT_EQ(exchange(acc, a), Exchange::None) << n;
    const auto wide = fragment(accumulator(Shape::M64NxK16, {{"i", 64}}, {{"j", n}}));
    EXPECT_EQ(exchange(wide, fragment(operand_a(Shape::M64NxK16, {{"i", 64}}, {{"j", n}}))),
              Exchange::None)
        << n;
  }
  // tf32: columns threadID * 2 + {0, 1} against threadID, threadID + 4.
  EXPECT_EQ(exchange(fragment(accumulator(Shape::M16N8K8, {{"i", 16}}, {{"j", 8}})),
                     fragment(operand_a(Shape::M16N8K8, {{"i", 16}}, {{"j", 8}}))),
            Exchange::Shuffle);
  // As a second operand the accumulator lies transposed, with rows as columns of lanes.
  EXPECT_EQ(exchange(fragment(accumulator(Shape::M16N8K16, {{"i", 16}}, {{"j", 16}})),
                     fragment(operand_b(Shape::M16N8K16, {{"i", 16}}, {{"j", 16}}))),
            Exchange::Registers);
}

TEST(Exchange, FindsTheNearestPlace) {
  auto p = [](const char* text) { return *parse_placement(text); };
  const Placement a = p("register: j=1 j=2; lane: i=1 i=2 i=4 i=8 i=16; warp: i=32");
  EXPECT_EQ(exchange(a, a), Exchange::None);
  EXPECT_EQ(
      exchange(a, p("register: j=2 j=1; lane: i=1 i=2 i=4 i=8 i=16; warp: i=32 -> j: 4, i: 64")),
      Exchange::Registers);
  EXPECT_EQ(exchange(a, p("register: j=1; lane: i=1 i=2 i=4 i=8 j=2; warp: i=32 -> j: 4, i: 64")),
            Exchange::Shuffle);
  EXPECT_EQ(
      exchange(a, p("register: j=1 j=2; lane: i=1 i=2 i=4 i=8 i=32; warp: i=16 -> j: 4, i: 64")),
      Exchange::Shared);
  // Every warp has a copy: a part of it is there.
  EXPECT_EQ(exchange(p("register: i=1 i=2; lane: 0 0 0 0 0"),
                     p("register: i=1; lane: 0 0 0 0 0; warp: i=2")),
            Exchange::Registers);
  EXPECT_EQ(exchange(p("register: i=1; lane: 0 0 0 0 0; warp: i=2"),
                     p("register: i=1 i=2; lane: 0 0 0 0 0")),
            Exchange::Shared);
  // Blocks of different size, repeated: the same elements in the same lanes, in another order.
  EXPECT_EQ(exchange(p("repeat (d: 6) register: d=1; lane: i=1 i=2 i=4 i=8 i=16"),
                     p("repeat (d: 3) register: d=1 d=2; lane: i=1 i=2 i=4 i=8 i=16")),
            Exchange::Registers);
  EXPECT_EQ(
      exchange(p("repeat (d: 6) register: d=1; lane: i=1 i=2 i=4 i=8 i=16"),
               p("repeat (d: 3) register: d=1 i=1; lane: d=2 i=2 i=4 i=8 i=16 -> d: 4, i: 32")),
      Exchange::Shuffle);
}

// A rule is found wherever there is one, also where the first threads hold nothing.
TEST(Exchange, AffineRulesPassOverWhatDoesNotMatter) {
  for (const std::vector<int>& f : {std::vector<int>{5, 4, 7, 6},
                                    {-1, 3, 2, 1},
                                    {-1, -1, -1, 9},
                                    {-1, -1, -1, -1},
                                    {0, -1, 3, 7, -1, -1, 6, -1}}) {
    const auto a = affine(f);
    ASSERT_TRUE(a);
    for (size_t t = 0; t < f.size(); ++t) {
      uint64_t v = a->base;
      for (size_t b = 0; b < a->images.size(); ++b)
        if (t >> b & 1) v ^= a->images[b];
      if (f[t] < 0) continue;
      EXPECT_EQ(v, uint64_t(f[t])) << t;
    }
  }
  EXPECT_FALSE(affine({0, 1, 2, 4}));
  EXPECT_FALSE(affine({-1, 1, 2, 3, 1, 1, 1, 1}));
}

TEST(Exchange, CountsTheRegistersThatLanesPickFrom) {
  const auto acc = fragment(accumulator(Shape::M16N8K16, {{"i", 16}}, {{"j", 64}}));
  EXPECT_EQ(sources_a_register(acc, fragment(operand_a(Shape::M16N8K16, {{"i", 16}}, {{"j", 64}}))),
            1);
  EXPECT_EQ(sources_a_register(fragment(accumulator(Shape::M16N8K8, {{"i", 16}}, {{"j", 8}})),
                               fragment(operand_a(Shape::M16N8K8, {{"i", 16}}, {{"j", 8}}))),
            2);
  // A lane's own row to one element of each of the 32 rows: every lane picks another register.
  auto p = [](const char* text) { return *parse_placement(text); };
  const Placement rows = p("register: j=1 j=2 j=4 j=8 j=16; lane: i=1 i=2 i=4 i=8 i=16");
  const Placement columns = p("register: i=1 i=2 i=4 i=8 i=16; lane: j=1 j=2 j=4 j=8 j=16");
  EXPECT_EQ(exchange(rows, columns), Exchange::Shuffle);
  EXPECT_EQ(sources_a_register(rows, columns), 32);
  EXPECT_EQ(sources_a_register(rows, rows), 1);
}

// exchange() against its definition, on random placements of the same axes.
TEST(Exchange, AgreesWithEnumeration) {
  std::map<Exchange, int> seen;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    auto random_place = [&](const Linear* like) {
      for (;;) {
        // Mostly a few bits changed, so that all answers occur.
        Linear l =
            random_map(rng, {{"register", 3}, {"lane", 5}, {"warp", 1}}, {{"i", 5}, {"j", 3}});
        if (like) {
          auto bits = std::vector<std::vector<uint32_t>>{};
          const int from = below(rng, 9);
          int k = 0;
          for (const Bits& d : l.in())
            for (int b = 0; b < d.bits; ++b, ++k) {
              const Linear& src = k < from ? *like : below(rng, 2) ? *like : l;
              bits.push_back({src.image(d.name, b, "i"), src.image(d.name, b, "j")});
            }
          l = *Linear::make(l.in(), l.out(), bits);
        }
        if (l.surjective()) return Placement{l, {}};
      }
    };
    const Placement from = random_place(nullptr), to = random_place(&from.map);
    bool none = true, registers = true, shuffle = true;
    using Point = std::map<std::string, int64_t>;
    std::vector<Point> held;
    std::set<Point> of_lane[64], of_warp[2];
    for (int w = 0; w < 2; ++w)
      for (int lane = 0; lane < 32; ++lane)
        for (int r = 0; r < 8; ++r) {
          held.push_back(from.at(r, lane, w));
          of_lane[32 * w + lane].insert(held.back());
          of_warp[w].insert(held.back());
        }
    for (int w = 0; w < 2; ++w)
      for (int lane = 0; lane < 32; ++lane)
        for (int r = 0; r < 8; ++r) {
          const auto want = to.at(r, lane, w);
          none = none && held[size_t((32 * w + lane) * 8 + r)] == want;
          registers = registers && of_lane[32 * w + lane].count(want);
          shuffle = shuffle && of_warp[w].count(want);
        }
    const Exchange expected = none        ? Exchange::None
                              : registers ? Exchange::Registers
                              : shuffle   ? Exchange::Shuffle
                                          : Exchange::Shared;
    EXPECT_EQ(exchange(from, to), expected) << to_string(from) << "\n" << to_string(to);
    ++seen[expected];
  }
  for (Exchange e : {Exchange::None, Exchange::Registers, Exchange::Shuffle, Exchange::Shared})
    EXPECT_GT(seen[e], 3) << int(e);
}

TEST(Placements, RepeatsExtendAxes) {
  const Placement p =
      *parse_placement("repeat (d: 3, e: 2) register: d=1 d=2; lane: i=1 i=2 i=4 i=8 i=16");
  EXPECT_EQ(p.extent("d"), 12);
  EXPECT_EQ(p.block("d"), 4);
  EXPECT_EQ(p.extent("e"), 2);
  EXPECT_EQ(p.extent("i"), 32);
  EXPECT_EQ(p.registers(), 24);
  EXPECT_EQ(p.axes(), (std::vector<std::string>{"d", "e", "i"}));
  // Register 4*(2*rd + re) + r.
  EXPECT_EQ(p.at(4 * (2 * 2 + 1) + 3, 5),
            (std::map<std::string, int64_t>{{"d", 11}, {"e", 1}, {"i", 5}}));
  const Placement s = *parse_placement("repeat (k: 2) offset: k=1 k=2 i=1");
  EXPECT_EQ(s.elements(), 16);
  EXPECT_EQ(s.at(8 + 6), (std::map<std::string, int64_t>{{"k", 6}, {"i", 1}}));
}

// Registers that become copies go; lanes and warps keep theirs.
TEST(Placements, WithoutAnAxis) {
  const Placement acc{accumulator(Shape::M16N8K16, {{"i", 16}}, {{"j", 32}}), {}};
  EXPECT_EQ(to_string(without(acc, {"j"})), "register: i=8; lane: 0 0 i=1 i=2 i=4");
  EXPECT_EQ(to_string(without(acc, {"i"})), "register: j=1 j=8 j=16; lane: j=2 j=4 0 0 0");
  EXPECT_EQ(without(acc, {"i", "j"}), Placement{});
  const Placement repeated =
      *parse_placement("repeat (j: 3, i: 2) register: j=1; lane: i=1 0 0 0 0");
  EXPECT_EQ(to_string(without(repeated, {"j"})), "repeat (i: 2) register:; lane: i=1 0 0 0 0");
  EXPECT_TRUE(alike(*parse_placement("register: i=1; lane: 0 0 0 0 0; warp: 0"),
                    *parse_placement("register: i=1; lane:")));
  EXPECT_FALSE(alike(*parse_placement("register: i=1; lane: i=2 0 0 0 0"),
                     *parse_placement("register: i=1; lane: 0 i=2 0 0 0")));
}

}  // namespace
}  // namespace nautilus::memory
