#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "tests/polyhedral/loops_run.h"
#include "tests/polyhedral/loops_trees.h"

namespace nautilus::poly {
namespace {
using namespace testing_trees;
namespace programs = testing_programs;

std::vector<int64_t> coordinates(const isl::point& p, unsigned n) {
  std::vector<int64_t> out;
  for (unsigned k = 0; k < n; ++k) out.push_back(to_int(p.multi_val().at(static_cast<int>(k))));
  return out;
}

// Every instance of the domain exactly once.
void expect_covers(const Schedule& s, const Execution& e) {
  std::map<std::string, std::vector<std::vector<int64_t>>> ran;
  for (const auto& [stmt, x] : e.instances) ran[stmt].push_back(x);
  for (const Statement& st : s.program->statements) {
    std::vector<std::vector<int64_t>> expected;
    isl::set d = substitute_params(st.domain.intersect_params(s.program->param_context),
                                   sample_point(s.program->param_context)->params);
    d.foreach_point([&](isl::point p) { expected.push_back(coordinates(p, n_dim(d))); });
    std::sort(expected.begin(), expected.end());
    std::sort(ran[st.name].begin(), ran[st.name].end());
    EXPECT_EQ(ran[st.name], expected) << st.name;
  }
}

// In exactly the order of the tree's flat schedule (only for trees without Tile members).
void expect_order(const Schedule& s, const Execution& e) {
  const Sizes sizes = sample_point(s.program->param_context)->params;
  std::map<std::string, isl::map> flat;
  for (const isl::map& m : maps_of(flat_schedule(s)))
    flat.emplace(tuple_name_in(m), substitute_params(m, sizes));
  std::vector<int64_t> last;
  for (const auto& [stmt, x] : e.instances) {
    isl::set at = isl::set::universe(flat.at(stmt).domain().space());
    for (size_t k = 0; k < x.size(); ++k) at = fix_dim(at, static_cast<unsigned>(k), x[k]);
    auto time = sample_point(at.apply(flat.at(stmt)));
    ASSERT_TRUE(time);
    EXPECT_LT(last, time->dims) << stmt;
    last = time->dims;
  }
}

Execution execute(const Schedule& s, bool ordered, LoopPtr* out = nullptr) {
  auto l = generate_loops(s);
  EXPECT_TRUE(l) << (l ? "" : l.error().text());
  if (!l) return {};
  if (out) *out = *l;
  Execution e = run(*l);
  SCOPED_TRACE(to_text(*l));
  EXPECT_EQ(e.empty, 0) << "empty tiles are visited";
  expect_covers(s, e);
  if (ordered) expect_order(s, e);
  return e;
}

TEST(Loops, InitialOrders) {
  ContextPtr ctx = make_context();
  for (int64_t n : {0, 1, 2, 7}) {
    execute(initial_schedule(fixed(programs::attention(ctx), {{"H", 2}, {"N", n}, {"D", 2}})),
            true);
    execute(initial_schedule(fixed(programs::matmul(ctx), {{"M", n}, {"N", 3}, {"K", n}})), true);
    if (n >= 2) execute(initial_schedule(fixed(programs::recurrence(ctx), {{"N", n}})), true);
  }
}

TEST(Loops, SkewReverseStrideAndShift) {
  ContextPtr ctx = make_context();
  ProgramPtr p = fixed(programs::recurrence(ctx), {{"N", 6}});
  struct Case {
    const char *outer, *inner;
  };
  for (const Case& c : {Case{"2*i + j", "j"},
                        {"-j", "i"},
                        {"3*i", "j"},
                        {"i + j", "i - j"},
                        {"floor(i/4)", "j"},
                        {"floor((i+j)/3)", "i"},
                        {"i mod 4", "j"},
                        {"-floor(-i/2)", "2*j+1"}}) {
    SCOPED_TRACE(std::string(c.outer) + ", " + c.inner);
    Tree t(p);
    auto one = [&](const char* name, const char* text) {
      return t.member(name, std::vector<std::string>{"S_A"}, text);
    };
    Schedule s = t.done(t.band({one("t", c.outer), one("u", c.inner)}, t.leaf()));
    LoopPtr l;
    const bool total = std::string(c.outer).find("i/") == std::string::npos &&
                       std::string(c.outer).find("mod") == std::string::npos &&
                       std::string(c.outer).find("j)/") == std::string::npos;
    execute(s, total, &l);
  }
}

TEST(Loops, FusedWithGuardsAndShift) {
  ContextPtr ctx = make_context();
  for (int64_t n : {0, 1, 5}) {
    ProgramPtr p = fixed(programs::two_pointwise(ctx, "i-2"), {{"N", n}});
    Tree t(p);
    NodePtr body = t.sequence({t.filter({"S_B"}, t.leaf()), t.filter({"S_C"}, t.leaf())});
    execute(
        t.done(t.band({t.member("f", {{"S_B", "i"}, {"S_C", "i - 2"}}, Mapping::Serial)}, body)),
        true);
    Tree u(p);  // both statements at one leaf, the second at even times only
    execute(
        u.done(u.band({u.member("f", {{"S_B", "i"}, {"S_C", "2*i"}}, Mapping::Serial)}, u.leaf())),
        false);
  }
}

TEST(Loops, TiledMatmulAtAwkwardSizes) {
  ContextPtr ctx = make_context();
  for (int64_t n : {1, 3, 4, 5, 7, 8, 11})
    for (Mapping outer : {Mapping::Serial, Mapping::Grid}) {
      ProgramPtr p = fixed(programs::matmul(ctx), {{"M", n}, {"N", 5}, {"K", n + 1}});
      Tree t(p);
      const std::vector<std::string> c{"S_C"};
      NodePtr tile =
          t.band({t.member("i1", c, "i", Mapping::Tile), t.member("j1", c, "j", Mapping::Tile),
                  t.member("k1", c, "k", Mapping::Tile)},
                 t.leaf());
      NodePtr loops = t.band(
          {t.member("i0", c, "floor(i/4)", outer, 4), t.member("j0", c, "floor(j/4)", outer, 4),
           t.member("k0", c, "floor(k/4)", Mapping::Serial, 4)},
          tile);
      Execution e = execute(t.done(loops), false);
      EXPECT_EQ(e.full, (n / 4) * 1 * ((n + 1) / 4)) << n;
    }
}

TEST(Loops, CausalTilesAreFullPartialOrNeverVisited) {
  ContextPtr ctx = make_context();
  struct Case {
    int64_t n, ti, tj;
    int full, partial;  // of S_P
  };
  for (const Case& c : {Case{8, 4, 2, 2, 4},
                        {8, 2, 4, 2, 4},
                        {16, 4, 4, 6, 4},
                        {5, 4, 4, 0, 3},
                        {7, 8, 8, 0, 1},
                        {1, 4, 4, 0, 1}}) {
    Schedule s =
        flash(fixed(programs::attention(ctx), {{"H", 2}, {"N", c.n}, {"D", 3}}), c.ti, c.tj);
    auto l = generate_loops(s);
    ASSERT_TRUE(l) << l.error().text();
    SCOPED_TRACE(to_text(*l));
    Execution e = run(*l);
    expect_covers(s, e);
    EXPECT_EQ(e.empty, 0);
    const int o_tiles = static_cast<int>(2 * ((c.n + c.ti - 1) / c.ti)),
              o_full = static_cast<int>(2 * (c.n / c.ti));
    EXPECT_EQ(e.full, 2 * 6 * c.full + o_full);
    EXPECT_EQ(e.partial, 2 * 6 * c.partial + o_tiles - o_full);
  }
}

TEST(Loops, CausalMaskIsOneConditionAfterSimplification) {
  ContextPtr ctx = make_context();
  Schedule s = flash(fixed(programs::attention(ctx), {{"H", 1}, {"N", 4096}, {"D", 64}}), 64, 32);
  auto l = generate_loops(s);
  ASSERT_TRUE(l);
  const std::string text = to_text(*l);
  EXPECT_NE(text.find("for j0 in 0 .. 2*i0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("for j0 in 2*i0 .. 2*i0 + 2\n"), std::string::npos) << text;
  EXPECT_NE(
      text.find("S_P[h0, 64*i0 + i1_P:64, 32*j0 + j1_P:32] where 32*j0 + j1_P <= 64*i0 + i1_P\n"),
      std::string::npos)
      << text;
}

// A triangle and a prefix: a tile is full where one of the two holds it, or both together do.
TEST(Loops, TilesInsideAUnionAreFull) {
  ContextPtr ctx = make_context();
  programs::Builder b(ctx, "prefix", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("X", TensorKind::Input, {"N"}).tensor("O", TensorKind::Output, {"N"});
  b.statement("O", "i,j", "0 <= i < N and 0 <= j < N and (j <= i or j < 32)", "i", {{"X", "j"}},
              programs::rd(0), programs::over(ReduceOp::Sum, {1}));
  ProgramPtr p = fixed(b.done(), {{"N", 64}});
  Tree t(p);
  const std::vector<std::string> o{"S_O"};
  NodePtr tile = t.band(
      {t.member("i1", o, "i", Mapping::Tile), t.member("j1", o, "j", Mapping::Tile)}, t.leaf());
  NodePtr loops = t.band({t.member("i0", o, "floor(i/16)", Mapping::Grid, 16),
                          t.member("j0", o, "floor(j/8)", Mapping::Serial, 8)},
                         tile);
  LoopPtr l;
  const Execution e = execute(t.done(loops), false, &l);
  ASSERT_TRUE(l);
  // Of rows of 16 and columns of 8: four are within the prefix everywhere; below it rows 2 and 3
  // have two on the diagonal, row 3 two under it.
  EXPECT_EQ(e.partial, 4) << to_text(l);
  EXPECT_EQ(e.full, 4 * 4 + 2) << to_text(l);
}

// Both edges of a window are partial, and the inside is full from the second row of tiles on. What
// comes after it is the same code for the first row, and is there once.
TEST(Loops, BranchesThatAreTheSameAreOne) {
  ContextPtr ctx = make_context();
  programs::Builder b(ctx, "window", {"N"}, "[N] -> { : N >= 0 }");
  b.tensor("X", TensorKind::Input, {"N"}).tensor("O", TensorKind::Output, {"N"});
  b.statement("O", "i,j", "0 <= i < N and 0 <= j <= i and i < j + 64", "i", {{"X", "j"}},
              programs::rd(0), programs::over(ReduceOp::Sum, {1}));
  ProgramPtr p = fixed(b.done(), {{"N", 256}});
  Tree t(p);
  const std::vector<std::string> o{"S_O"};
  NodePtr tile = t.band(
      {t.member("i1", o, "i", Mapping::Tile), t.member("j1", o, "j", Mapping::Tile)}, t.leaf());
  NodePtr loops = t.band({t.member("i0", o, "floor(i/16)", Mapping::Grid, 16),
                          t.member("j0", o, "floor(j/4)", Mapping::Serial, 4)},
                         tile);
  LoopPtr l;
  execute(t.done(loops), false, &l);
  ASSERT_TRUE(l);
  const std::string text = to_text(l);
  EXPECT_EQ(text.find("else"), std::string::npos) << text;
  size_t fors = 0;
  for (size_t at = 0; (at = text.find("for j0", at)) != std::string::npos; ++at) ++fors;
  EXPECT_EQ(fors, 3u) << text;
}

TEST(Loops, WholeDimensionAsTileAndTwoLevels) {
  ContextPtr ctx = make_context();
  ProgramPtr p = fixed(programs::matmul(ctx), {{"M", 13}, {"N", 6}, {"K", 5}});
  Tree t(p);
  const std::vector<std::string> c{"S_C"};
  NodePtr tile =
      t.band({t.member("i2", c, "i", Mapping::Tile), t.member("j1", c, "-j", Mapping::Tile),
              t.member("k1", c, "k + i", Mapping::Tile)},
             t.leaf());
  NodePtr inner = t.band({t.member("i1", c, "floor(i/2)", Mapping::Serial, 2)}, tile);
  LoopPtr l;
  execute(t.done(t.band({t.member("i0", c, "floor(i/8)", Mapping::Grid, 8)}, inner)), false, &l);
  EXPECT_NE(to_text(l).find("S_C[2*i1 + i2:2, 0 + j1:6, 0 + k1:5]"), std::string::npos)
      << to_text(l);
}

TEST(Loops, RefusesATileThatIsNoDimension) {
  ContextPtr ctx = make_context();
  ProgramPtr p = fixed(programs::matmul(ctx), {{"M", 8}, {"N", 8}, {"K", 8}});
  Tree t(p);
  auto l = generate_loops(t.done(
      t.band({t.member("z", std::vector<std::string>{"S_C"}, "i + j", Mapping::Tile)}, t.leaf())));
  ASSERT_FALSE(l);
  EXPECT_NE(l.error().text().find("member z"), std::string::npos) << l.error().text();
  Tree u(programs::matmul(ctx));
  auto m = generate_loops(u.done(
      u.band({u.member("i1", std::vector<std::string>{"S_C"}, "i", Mapping::Tile)}, u.leaf())));
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().text().find("not constant"), std::string::npos) << m.error().text();
}

TEST(Loops, SymbolicSizes) {
  ContextPtr ctx = make_context();
  ProgramPtr p = programs::matmul(ctx);
  Tree t(p);
  const std::vector<std::string> c{"S_C"};
  NodePtr tile =
      t.band({t.member("i1", c, "i", Mapping::Tile), t.member("j1", c, "j", Mapping::Tile),
              t.member("k1", c, "k", Mapping::Tile)},
             t.leaf());
  Schedule s = t.done(t.band({t.member("i0", c, "floor(i/4)", Mapping::Grid, 4),
                              t.member("j0", c, "floor(j/4)", Mapping::Grid, 4),
                              t.member("k0", c, "floor(k/4)", Mapping::Serial, 4)},
                             tile));
  auto l = generate_loops(s);
  ASSERT_TRUE(l) << l.error().text();
  Execution e;
  std::map<std::string, int64_t> env{{"M", 9}, {"N", 4}, {"K", 6}};
  run(*l, env, e);
  EXPECT_EQ(e.instances.size(), 9u * 4 * 6) << to_text(*l);
  EXPECT_EQ(e.empty, 0) << to_text(*l);
  EXPECT_EQ(e.full, 2);
}

TEST(Loops, AttentionIsQuick) {
  ContextPtr ctx = make_context();
  Schedule s = flash(fixed(programs::attention(ctx), {{"H", 2}, {"N", 4096}, {"D", 64}}), 64, 32);
  const std::clock_t start = std::clock();
  for (int k = 0; k < 5; ++k) ASSERT_TRUE(generate_loops(s));
#if defined(__SANITIZE_ADDRESS__)
  constexpr double kLimit = 1;  // seconds
#else
  constexpr double kLimit = 0.1;
#endif
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / 5, kLimit);
}

}  // namespace
}  // namespace nautilus::poly
