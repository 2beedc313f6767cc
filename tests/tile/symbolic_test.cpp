// Sizes that stay symbolic: one tile program, right at every value of them.
#include "polyhedral/leaf_geometry.h"
#include "tests/tile/lower_check.h"

namespace nautilus {
namespace {
using namespace testing_lower;

const std::vector<std::string> kProduct{"S_C"};

// The schedule of a program without (all) sizes is lowered once; the tile program runs at each of
// `all` as the program's own interpretation does.
void expect_same_at(const Schedule& s, const std::vector<Sizes>& all) {
  auto m = lowered(s);
  if (!m) return;
  auto back = tile::parse(tile::print(*m));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(tile::print(*back), tile::print(*m));
  for (Sizes sizes : all) {
    for (const auto& [name, value] : bound_sizes(*s.program)) sizes[name] = value;
    SCOPED_TRACE(sizes_text(sizes));
    const Buffers inputs = random_inputs(*s.program, sizes, 7);
    auto expected = interpret(*s.program, sizes, inputs);
    ASSERT_TRUE(expected) << expected.error().text();
    auto got = tile::interpret(*back, sizes, inputs);
    ASSERT_TRUE(got) << got.error().text() << "\n" << tile::print(*m);
    expect_close(*expected, *got, 1e-4, to_text(s) + tile::print(*m));
    if (testing::Test::HasFatalFailure()) return;
  }
}

std::vector<Sizes> every(const std::vector<std::string>& names,
                         const std::vector<std::vector<int64_t>>& values) {
  std::vector<Sizes> out;
  for (const auto& row : values) {
    out.emplace_back();
    for (size_t k = 0; k < names.size(); ++k) out.back()[names[k]] = row.at(k);
  }
  return out;
}

Schedule tiled_matmul(const ProgramPtr& p, Mapping outer) {
  Tree t(p);
  NodePtr tile = t.band(
      {t.member("i1", kProduct, "i", Mapping::Tile), t.member("j1", kProduct, "j", Mapping::Tile),
       t.member("k1", kProduct, "k", Mapping::Tile)},
      t.leaf());
  return t.done(t.band({t.member("i0", kProduct, "floor(i/4)", outer, 4),
                        t.member("j0", kProduct, "floor(j/4)", outer, 4),
                        t.member("k0", kProduct, "floor(k/4)", Mapping::Serial, 4)},
                       tile));
}

const std::vector<std::vector<int64_t>> kAwkward{{0, 0, 0},   {1, 1, 1},  {3, 4, 5}, {4, 4, 4},
                                                 {5, 3, 0},   {0, 5, 7},  {7, 0, 1}, {8, 5, 12},
                                                 {7, 11, 13}, {16, 1, 9}, {2, 8, 3}};

TEST(Symbolic, TiledMatmul) {
  ContextPtr ctx = make_context();
  for (Mapping outer : {Mapping::Serial, Mapping::Grid})
    expect_same_at(tiled_matmul(programs::matmul(ctx), outer), every({"M", "N", "K"}, kAwkward));
}

TEST(Symbolic, SomeSizesBound) {
  ContextPtr ctx = make_context();
  for (int64_t k : {0, 3, 8}) {
    SCOPED_TRACE(k);
    expect_same_at(tiled_matmul(fixed(programs::matmul(ctx), {{"K", k}}), Mapping::Grid),
                   every({"M", "N"}, kAwkward));
  }
}

TEST(Symbolic, InitialSchedules) {
  ContextPtr ctx = make_context();
  expect_same_at(initial_schedule(programs::matmul(ctx)), every({"M", "N", "K"}, kAwkward));
  expect_same_at(initial_schedule(programs::two_pointwise(ctx)), every({"N"}, kAwkward));
  expect_same_at(initial_schedule(programs::attention(ctx)),
                 every({"H", "N", "D"}, {{2, 5, 3}, {0, 1, 1}, {1, 0, 2}, {1, 7, 0}}));
}

// The accumulator stays in memory: every element starts from the identity.
TEST(Symbolic, ReductionLoopOutside) {
  ContextPtr ctx = make_context();
  Tree t(programs::matmul(ctx));
  expect_same_at(t.done(t.band({t.member("k", kProduct, "k"), t.member("i", kProduct, "i"),
                                t.member("j", kProduct, "-j")},
                               t.leaf())),
                 every({"M", "N", "K"}, kAwkward));
}

TEST(Symbolic, FlashAttention) {
  ContextPtr ctx = make_context();
  for (bool causal : {true, false})
    for (const auto& [ti, tj] : std::vector<std::pair<int64_t, int64_t>>{{4, 4}, {4, 2}, {3, 5}}) {
      SCOPED_TRACE(std::to_string(ti) + " " + std::to_string(tj) + (causal ? " causal" : ""));
      expect_same_at(
          flash_with_repairs(fixed(programs::attention(ctx, causal), {{"D", 3}}), ti, tj),
          every({"H", "N"}, {{2, 0}, {0, 5}, {1, 1}, {2, 3}, {1, 4}, {2, 5}, {1, 8}, {1, 13}}));
    }
}

// An axis inside one tile has an extent that no size decides.
TEST(Symbolic, AnAxisInsideOneTileIsRefused) {
  ContextPtr ctx = make_context();
  Tree t(programs::matmul(ctx));
  NodePtr tile = t.band({t.member("j1", kProduct, "j", Mapping::Tile)}, t.leaf());
  const Schedule s = t.done(t.band({t.member("i0", kProduct, "i", Mapping::Grid),
                                    t.member("k0", kProduct, "k", Mapping::Serial)},
                                   tile));
  auto m = lower::lower(s);
  ASSERT_FALSE(m);
  const std::string text = m.error().text();
  EXPECT_NE(text.find("the extent of j in statement S_C is not constant"), std::string::npos)
      << text;
  EXPECT_NE(text.find("tile this dimension"), std::string::npos) << text;
}

// Facts of the program: a multiple leaves no partial tile, and goes along with the module.
TEST(Symbolic, MultiplesAreKept) {
  ContextPtr ctx = make_context();
  ProgramPtr p = programs::matmul(ctx);
  Program q = *p;
  q.param_context = q.param_context.intersect(
      isl::set(ctx->get(), "[M, N, K] -> { : M mod 8 = 0 and N mod 4 = 0 and K mod 12 = 0 }"));
  const Schedule s = tiled_matmul(std::make_shared<const Program>(q), Mapping::Grid);
  auto m = lowered(s);
  ASSERT_TRUE(m);
  EXPECT_EQ(m->multiples, (std::map<std::string, int64_t>{{"K", 4}, {"M", 8}, {"N", 4}}));
  const std::string text = tile::print(*m);
  const std::string product = text.substr(text.find("kernel matmul_1"));
  EXPECT_EQ(product.find("1 <= mod("), std::string::npos) << text;
  EXPECT_EQ(product.find("load A[4*i0 + i1, 4*k0 + k1] where"), std::string::npos) << text;
  EXPECT_NE(text.find("multiple K of 4"), std::string::npos) << text;
  expect_same_at(s, every({"M", "N", "K"}, {{8, 4, 12}, {0, 4, 0}, {16, 8, 24}, {8, 0, 12}}));
  const Sizes odd{{"M", 8}, {"N", 5}, {"K", 12}};
  auto refused = tile::interpret(*m, odd, random_inputs(q, odd, 1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("N is 5, no multiple of 4"), std::string::npos);
}

// A load leaves a loop that may not run where its place in an open grid, or a branch around the
// loop, says that it is in bounds.
TEST(Symbolic, LoadsOfAnOpenGridLeaveLoops) {
  const auto in_loop = [](const std::string& place, const std::string& condition) {
    const auto m = tile::parse(R"(module m {
  sizes B
  tensor X: f32[B, 8] input global
  tensor Y: f32[B, 8] output global
  kernel k {
    grid b < B
    grid r < 4
    values 8
    if ()" + condition + R"() {
      %0: f32 = const 0
      %1: f32[i: 8] = for n in [0, r) step 1 carry (%2: f32[i: 8] = %0) {
        %3: f32[i: 8] = load X[)" +
                               place + R"(, i]
        %4: f32[i: 8] = add %2, %3
        yield %4
      }
      store Y[b, i] = %1
      yield
    } else {
      yield
    }
  }
}
)");
    EXPECT_TRUE(m) << m.error().text();
    if (!m) return true;
    const std::string out = tile::print(tile::rewrite(*m, {}));
    return out.find("load X") > out.find("= for n");
  };
  EXPECT_FALSE(in_loop("b", "r <= 3"));
  EXPECT_TRUE(in_loop("b + 1", "r <= 3")) << "the last block has no such row";
  EXPECT_FALSE(in_loop("b + 1", "b <= B - 2"));
  EXPECT_FALSE(in_loop("b + 1", "b <= B - 3"));
  EXPECT_TRUE(in_loop("b + 2", "b <= B - 2"));
}

// A size as a number.
TEST(Symbolic, SizeInAnExpression) {
  programs::Builder b(make_context(), "scaled", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("A", TensorKind::Input, {"N"}).tensor("C", TensorKind::Output, {"N"});
  b.statement("C", "i", "0 <= i < N", "i", {{"A", "i"}}, programs::rd(0) * Expr::param("N"));
  const ProgramPtr p = b.done();
  expect_same_at(initial_schedule(p), every({"N"}, {{0}, {1}, {7}}));
  Tree t(p);
  expect_same_at(t.done(t.band({t.member("i0", kProduct, "floor(i/4)", Mapping::Grid, 4)},
                               t.band({t.member("i1", kProduct, "i", Mapping::Tile)}, t.leaf()))),
                 every({"N"}, {{0}, {1}, {4}, {7}, {8}}));
}

}  // namespace
}  // namespace nautilus
