#include <ctime>

#include "tests/tile/lower_check.h"

namespace nautilus {
namespace {
using namespace testing_lower;

const std::vector<std::string> kC{"S_C"};

TEST(Lower, InitialSchedules) {
  ContextPtr ctx = make_context();
  for (int64_t n : {0, 1, 3, 7}) {
    SCOPED_TRACE(n);
    expect_same(initial_schedule(fixed(programs::attention(ctx), {{"H", 2}, {"N", n}, {"D", 3}})));
    expect_same(
        initial_schedule(fixed(programs::attention(ctx, false), {{"H", 1}, {"N", n}, {"D", 2}})));
    expect_same(initial_schedule(fixed(programs::matmul(ctx), {{"M", n}, {"N", 3}, {"K", 5}})));
    expect_same(initial_schedule(fixed(programs::matmul(ctx), {{"M", 4}, {"N", 3}, {"K", n}})));
    expect_same(initial_schedule(fixed(programs::two_pointwise(ctx), {{"N", n}})));
  }
}

TEST(Lower, TiledMatmulAtAwkwardSizes) {
  ContextPtr ctx = make_context();
  for (int64_t n : {0, 1, 3, 4, 5, 7, 8})
    for (Mapping outer : {Mapping::Serial, Mapping::Grid}) {
      SCOPED_TRACE(n);
      ProgramPtr p = fixed(programs::matmul(ctx), {{"M", n}, {"N", 5}, {"K", n + 1}});
      Tree t(p);
      NodePtr tile =
          t.band({t.member("i1", kC, "i", Mapping::Tile), t.member("j1", kC, "j", Mapping::Tile),
                  t.member("k1", kC, "k", Mapping::Tile)},
                 t.leaf());
      expect_same(t.done(t.band(
          {t.member("i0", kC, "floor(i/4)", outer, 4), t.member("j0", kC, "floor(j/4)", outer, 4),
           t.member("k0", kC, "floor(k/4)", Mapping::Serial, 4)},
          tile)));
    }
}

TEST(Lower, ReductionLoopOutside) {
  ContextPtr ctx = make_context();
  ProgramPtr p = fixed(programs::matmul(ctx), {{"M", 5}, {"N", 3}, {"K", 6}});
  Tree t(p);
  expect_same(t.done(
      t.band({t.member("k", kC, "k"), t.member("i", kC, "i"), t.member("j", kC, "-j")}, t.leaf())));
  Tree u(p);
  NodePtr tile = u.band(
      {u.member("i1", kC, "i", Mapping::Tile), u.member("j1", kC, "j", Mapping::Tile)}, u.leaf());
  expect_same(u.done(u.band(
      {u.member("k", kC, "k"), u.member("i0", kC, "floor(i/2)", Mapping::Serial, 2)}, tile)));
  Tree v(p);  // skewed: no loop determines the element
  expect_same(v.done(v.band(
      {v.member("a", kC, "i + k"), v.member("b", kC, "k"), v.member("j", kC, "j")}, v.leaf())));
}

TEST(Lower, RecurrenceInPlace) {
  ContextPtr ctx = make_context();
  ProgramPtr p = fixed(programs::recurrence(ctx), {{"N", 6}});
  expect_same(initial_schedule(p));
  Tree t(p);
  const std::vector<std::string> a{"S_A"};
  expect_same(t.done(t.band({t.member("w", a, "2*i + j"), t.member("i", a, "i")}, t.leaf())));
}

TEST(Lower, FlashAttention) {
  ContextPtr ctx = make_context();
  struct Case {
    int64_t n, ti, tj;
  };
  for (bool causal : {true, false})
    for (const Case& c : {Case{0, 4, 4},
                          {1, 4, 4},
                          {3, 4, 4},
                          {4, 4, 4},
                          {5, 4, 4},
                          {7, 4, 2},
                          {11, 4, 2},
                          {8, 2, 4},
                          {13, 3, 5}}) {
      SCOPED_TRACE(std::to_string(c.n) + " " + std::to_string(c.ti) + " " + std::to_string(c.tj) +
                   (causal ? " causal" : ""));
      expect_same(flash_with_repairs(
          fixed(programs::attention(ctx, causal), {{"H", 2}, {"N", c.n}, {"D", 3}}), c.ti, c.tj));
    }
}

TEST(Lower, FlashAttentionCarriesEachAccumulatorOnce) {
  ContextPtr ctx = make_context();
  auto m = lowered(flash_with_repairs(
      fixed(programs::attention(ctx), {{"H", 2}, {"N", 4096}, {"D", 64}}), 64, 32));
  ASSERT_TRUE(m);
  ASSERT_EQ(m->kernels.size(), 1u) << tile::print(*m);
  int loops = 0;
  for (const tile::Instr& i : m->kernels[0].body.body) {
    if (i.code != tile::Code::For) continue;
    ++loops;
    EXPECT_EQ(i.results.size(), 3u) << tile::print(*m);
  }
  EXPECT_EQ(loops, 2);
}

TEST(Lower, WithoutItsRepairFusionIsWrong) {
  ContextPtr ctx = make_context();
  Schedule s = flash(fixed(programs::attention(ctx), {{"H", 1}, {"N", 8}, {"D", 2}}), 4, 2);
  auto m = lowered(s);
  ASSERT_TRUE(m);
  const Buffers in = random_inputs(*s.program, 1);
  auto want = interpret(*s.program, sizes_of(*s.program), in);
  auto got = tile::interpret(*m, {}, in);
  ASSERT_TRUE(want && got);
  double worst = 0;
  for (size_t k = 0; k < want->at("O").size(); ++k)
    worst = std::max(worst, std::abs(want->at("O")[k] - got->at("O")[k]));
  EXPECT_GT(worst, 1e-3);
}

TEST(Lower, AttentionIsQuick) {
  ContextPtr ctx = make_context();
  Schedule s = flash_with_repairs(
      fixed(programs::attention(ctx), {{"H", 2}, {"N", 4096}, {"D", 64}}), 64, 32);
  const std::clock_t start = std::clock();
  for (int k = 0; k < 5; ++k) ASSERT_TRUE(lower::lower(s));
  const double each = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / 5;
  RecordProperty("milliseconds", static_cast<int>(each * 1e3));
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(each, 2);
#else
  EXPECT_LT(each, 0.2);
#endif
}

// Rows without columns split the loops that a register tensor lives in: its value is made in one
// copy of the loop over e, beside the other statements that need columns, and read in another.
TEST(Lower, RegisterTensorAcrossSplitLoops) {
  programs::Builder b(make_context(), "late", {"N", "M", "E"},
                      "[N, M, E] -> { : N >= 0 and M >= 0 and E >= 0 }");
  using programs::over;
  using programs::rd;
  const std::string ij = "0 <= i < N and 0 <= j < M and j <= i + M - N";
  b.tensor("X", TensorKind::Input, {"N", "M"}).tensor("V", TensorKind::Input, {"M", "E"});
  b.tensor("P", TensorKind::Temp, {"N", "M"}).tensor("Oa", TensorKind::Temp, {"N", "E"});
  b.tensor("O", TensorKind::Output, {"N", "E"});
  b.statement("P", "i,j", ij, "i,j", {{"X", "i,j"}}, rd(0) * rd(0));
  b.statement("Oa", "i,j,e", ij + " and 0 <= e < E", "i,e", {{"P", "i,j"}, {"V", "j,e"}},
              rd(0) * rd(1), over(ReduceOp::Sum, {1}));
  b.statement("O", "i,e", "0 <= i < N and 0 <= e < E", "i,e", {{"Oa", "i,e"}},
              rd(0) * Expr::constant(2));
  const ProgramPtr p = fixed(b.done(), {{"N", 7}, {"M", 3}, {"E", 4}});
  Tree t(p);
  const std::vector<std::string> all{"S_P", "S_Oa", "S_O"}, second{"S_Oa", "S_O"};
  const auto tiles_of_j = [&](const std::string& name, const std::string& stmt, NodePtr child) {
    return t.filter(
        {stmt},
        t.band({t.member(name, std::vector<std::string>{stmt}, "floor(j/4)", Mapping::Serial, 4)},
               child->children[0]));
  };
  NodePtr values = tiles_of_j("j0", "S_P", t.tile("S_P", {{"j1", "j"}}));
  NodePtr product = tiles_of_j("j0_O", "S_Oa", t.tile("S_Oa", {{"e1", "e"}, {"j1_O", "j"}}));
  NodePtr tree = t.band(
      {t.member("i0", all, "i", Mapping::Grid)},
      t.sequence(
          {values,
           t.filter(second, t.band({t.member("e0", second, "floor(e/4)", Mapping::Serial, 4)},
                                   t.sequence({product, t.tile("S_O", {{"e1_O", "e"}})})))}));
  const Schedule s = t.done(tree, {{"Oa", Scope::Register}, {"P", Scope::Shared}});
  auto loops = generate_loops(s, {true});
  ASSERT_TRUE(loops);
  const std::string text = to_text(*loops);  // the premise: two copies of e0
  const size_t first = text.find("e0 = 0");
  ASSERT_NE(text.find("e0 = 0", first + 1), std::string::npos) << text;
  expect_same(s);
}

}  // namespace
}  // namespace nautilus
