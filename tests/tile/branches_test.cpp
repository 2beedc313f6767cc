// Blocks that part at a branch stay apart.
#include "compiler/lower/branches.h"

#include <gtest/gtest.h>

#include <random>

#include "compiler/lower/range.h"
#include "compiler/tile/ir.h"

namespace nautilus::tile {
namespace {

Module module_of(const std::string& text) {
  auto m = parse(text);
  if (!m) {
    ADD_FAILURE() << m.error().text();
    return {};
  }
  return *m;
}

// Rows of 8 in a tensor of 20: the last block is partial. A carried sum, twice a branch on the
// block, with work of both kinds between and behind.
const char* const kRows = R"(module rows {
  tensor A: f32[20, 16] input global
  tensor B: f32[20] output global
  kernel rows {
    grid i0 < 3
    values 24
    %0: f32 = const 0
    %1: f32 = const 1
    %4: f32[i: 8], %5: f32[i: 8] = if (i0 <= 1) {
      %2: f32[i: 8, j: 16] = load A[8*i0 + i, j]
      %3: f32[i: 8] = reduce sum %2 over (j)
      yield %3, %3
    } else {
      yield %0, %1
    }
    %6: f32[i: 8] = add %4, %1
    %7: f32[k: 8] = rename %5 (i -> k)
    %8: f32 = reduce max %7 over (k)
    %13: f32[i: 8] = if (i0 <= 1) {
      %9: f32[i: 8] = add %6, %4
      yield %9
    } else {
      %10: f32[i: 8, j: 16] = load A[8*i0 + i, j] where (8*i0 + i <= 19)
      %11: f32[i: 8] = reduce sum %10 over (j)
      %12: f32[i: 8] = mul %11, %6
      yield %12
    }
    %14: f32[i: 8] = mask %13, %1 where (8*i0 + i <= 19)
    %15: f32[i: 8] = add %14, %8
    store B[8*i0 + i] = %15 where (8*i0 + i <= 19)
  }
}
)";

poly::Buffers ran(const Module& m) {
  poly::Buffers in;
  std::mt19937 rng(3);
  for (int n = 0; n < 320; ++n) in["A"].push_back(double(rng() % 64) / 8);
  auto out = interpret(m, {}, in);
  if (!out) {
    ADD_FAILURE() << out.error().text() << "\n" << print(m);
    return {};
  }
  return *out;
}
const Instr* branch(const Region& r) {
  for (const Instr& i : r.body)
    if (i.code == Code::If) return &i;
  return nullptr;
}
int count(const Region& r, const std::function<bool(const Instr&)>& which) {
  int n = 0;
  for (const Instr& i : r.body) {
    n += which(i);
    for (const Region& inner : i.regions) n += count(inner, which);
  }
  return n;
}

TEST(Branches, WhatFollowsGoesIntoBothSides) {
  const Module before = module_of(kRows);
  Module after = before;
  lower::part_blocks(after.kernels[0]);
  const auto bad = verify(after);
  ASSERT_FALSE(bad) << bad->text() << print(after);
  EXPECT_EQ(ran(after).at("B"), ran(before).at("B"));
  const Region& body = after.kernels[0].body;
  ASSERT_EQ(body.body.back().code, Code::If) << print(after);
  const Instr& parted = body.body.back();
  EXPECT_TRUE(parted.results.empty());
  for (const Region& side : parted.regions) {
    EXPECT_EQ(branch(side), nullptr) << "a branch whose way is known\n" << print(after);
    EXPECT_EQ(count(side, [](const Instr& i) { return i.code == Code::Store; }), 1);
  }
  // Full blocks have no masks; the others keep theirs.
  const auto masked = [](const Instr& i) { return !i.cond.is_always(); };
  EXPECT_EQ(count(parted.regions[0], masked), 0) << print(after);
  EXPECT_EQ(count(parted.regions[1], masked), 3) << print(after);
}

TEST(Branches, BranchesOnDataAndBranchesAtTheEndStay) {
  std::string text = kRows;
  text.replace(text.find("%13: f32[i: 8] = if (i0 <= 1)"), 29, "%13: f32[i: 8] = if (1 <= i0)");
  Module other = module_of(text);
  const Module whole = other;
  lower::part_blocks(other.kernels[0]);
  EXPECT_EQ(ran(other).at("B"), ran(whole).at("B"));
  EXPECT_FALSE(verify(other)) << print(other);

  Module last = module_of(R"(module last {
  tensor A: f32[16] input global
  tensor B: f32[16] output global
  kernel last {
    grid i0 < 2
    values 2
    if (i0 <= 0) {
      %0: f32[i: 8] = load A[8*i0 + i]
      store B[8*i0 + i] = %0
    } else {
      %1: f32[i: 8] = load A[8*i0 + i]
      store B[8*i0 + i] = %1
    }
  }
}
)");
  const std::string text_before = print(last);
  lower::part_blocks(last.kernels[0]);
  EXPECT_EQ(print(last), text_before);
}

TEST(Branches, ALongKernelStaysAsItIs) {
  std::string text = kRows, more;
  for (int n = 0; n < 400; ++n)
    more += "    %" + std::to_string(24 + n) + ": f32[i: 8] = add %15, %1\n";
  text.insert(text.find("    store B"), more);
  text.replace(text.find("values 24"), 9, "values 424");
  Module m = module_of(text);
  const std::string before = print(m);
  lower::part_blocks(m.kernels[0]);
  EXPECT_EQ(print(m), before);
}

TEST(Ranges, OfASideOfABranch) {
  using lower::Range;
  const IndexExpr v = IndexExpr::var("v");
  const lower::Ranges all{{"v", Range{0, 99}}};
  using Ends = std::pair<int64_t, int64_t>;
  const auto ends = [&](const IndexExpr& e, bool holds, bool equality = false) {
    const Range r = lower::ranges_where(all, Cond{{{{e, equality}}}}, holds).at("v");
    return Ends(*r.lo, *r.hi);
  };
  for (int64_t factor : {1, 3, -2, -7})
    for (int64_t constant : {-50, -1, 0, 1, 20, 300})
      for (const bool holds : {true, false}) {
        int64_t lo = 100, hi = -1;
        for (int64_t n = 0; n < 100; ++n)
          if ((factor * n + constant >= 0) == holds) lo = std::min(lo, n), hi = std::max(hi, n);
        const auto [from, to] = ends(v * factor + IndexExpr(constant), holds);
        if (hi < lo)
          EXPECT_GT(from, to);
        else
          EXPECT_EQ(std::pair(from, to), std::pair(lo, hi)) << factor << " " << constant;
      }
  const auto at = [&](int64_t n, bool holds) { return ends(v - IndexExpr(n), holds, true); };
  EXPECT_EQ(at(7, true), Ends(7, 7));
  EXPECT_EQ(at(7, false), Ends(0, 99));
  EXPECT_EQ(at(0, false), Ends(1, 99));
  EXPECT_EQ(at(99, false), Ends(0, 98));
}

}  // namespace
}  // namespace nautilus::tile
