// Schedules that the transforms make with rolling updates, lowered and run.
#include <cmath>
#include <functional>
#include <limits>

#include "compiler/tile/rewrite.h"
#include "tests/polyhedral/transform_helpers.h"
#include "tests/tile/lower_check.h"

namespace nautilus {
namespace {
using namespace testing_lower;
using nlohmann::json;
using programs::Session;

// The schedule at these sizes, with the temporaries named in registers.
Schedule at(const Schedule& from, const Sizes& sizes, const std::vector<std::string>& registers) {
  Schedule s = from;
  Program p = *s.program;
  p.param_context = fix_params(p.param_context, sizes);
  s.program = std::make_shared<const Program>(p);
  for (const std::string& t : registers) s.scopes[t] = Scope::Register;
  return s;
}

// The transformed schedule lowered, against the program it started from.
void expect_result(const Session& t, const Sizes& sizes, const std::vector<std::string>& registers,
                   double tolerance = 1e-4, const std::function<void(Buffers&)>& change = {}) {
  const Schedule s = at(t.s, sizes, registers);
  auto m = lowered(s);
  ASSERT_TRUE(m) << to_text(s);
  Program original = *t.program;
  original.param_context = s.program->param_context;
  Buffers in = random_inputs(original, 11);
  if (change) change(in);
  auto want = interpret(original, sizes, in);
  ASSERT_TRUE(want) << want.error().text();
  auto got = tile::interpret(*m, {}, in);
  ASSERT_TRUE(got) << got.error().text() << tile::print(*m);
  for (const auto& [name, values] : *want)
    for (size_t k = 0; k < values.size(); ++k) {
      const double have = got->at(name)[k];
      ASSERT_TRUE(values[k] == have || (std::isnan(values[k]) && std::isnan(have)) ||
                  std::abs(values[k] - have) <= tolerance * (1 + std::abs(values[k])))
          << name << "[" << k << "] expected " << values[k] << " got " << have << "\n"
          << to_text(s) << tile::print(*m);
    }
}

// m, P, l and Oa over tiles of i and j in one loop nest; h and i0 outside, the rest as tiles.
Session tiled_attention(bool causal, int64_t ti, int64_t tj) {
  Session t(programs::attention(make_context(), causal));
  for (const char* s : {"S_m", "S_P", "S_l", "S_Oa"}) {
    const size_t n = find(t.s, t.band(s))->members.size();
    json sizes = json::array({-1, ti, tj});
    if (n == 4) sizes.push_back(0);
    t.must("tile", {{"node", t.band(s)}, {"sizes", sizes}});
  }
  t.must("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 5}, {"depth", 3}});
  for (const char* s : {"S_m", "S_P", "S_l", "S_Oa"})
    t.must("map", {{"node", t.band(s)}, {"member", "*"}, {"mapping", "tile"}});
  return t;
}

TEST(LowerRolling, TiledAttention) {
  for (bool causal : {true, false})
    for (int64_t n : {0, 1, 7}) {
      Session t = tiled_attention(causal, 4, 2);
      SCOPED_TRACE(n);
      expect_result(t, {{"H", 2}, {"N", n}, {"D", 2}}, {"m", "P"});
    }
}

// A first tile of keys whose scores are all -inf: the maximum is still -inf there, and its terms
// are 0.
TEST(LowerRolling, FirstTileOfMinusInfinity) {
  Session t = tiled_attention(false, 4, 2);
  const Sizes sizes{{"H", 2}, {"N", 7}, {"D", 2}};
  expect_result(t, sizes, {"m", "P"}, 1e-4, [](Buffers& in) {
    for (double& q : in.at("Q")) q = 0.5 + std::abs(q);
    auto& k = in.at("K");
    for (size_t h = 0; h < 2; ++h)
      for (size_t x = 0; x < 4; ++x) k[h * 14 + x] = -std::numeric_limits<double>::infinity();
  });
}

TEST(LowerRolling, RegistersDoNotCrossKernels) {
  auto m = lower::lower(
      at(tiled_attention(true, 4, 2).s, {{"H", 2}, {"N", 7}, {"D", 2}}, {"m", "P", "l"}));
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().text().find("written in another"), std::string::npos) << m.error().text();
}

TEST(LowerRolling, ScalarLoops) {
  Session t(programs::attention(make_context()));
  t.must("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 5}, {"depth", 3}});
  auto m = lower::lower(at(t.s, {{"H", 2}, {"N", 6}, {"D", 2}}, {"m", "P"}));
  EXPECT_FALSE(m) << "a row of Oa does not fit into one scalar";
  t.must("map", {{"node", t.band("S_Oa", "d")}, {"member", "*"}, {"mapping", "tile"}});
  for (int64_t n : {1, 6}) expect_result(t, {{"H", 2}, {"N", n}, {"D", 2}}, {"m", "P"});
}

TEST(LowerRolling, WithoutRegistersIsRefusedInWords) {
  Session t(programs::attention(make_context()));
  for (const char* s : {"S_m", "S_P", "S_l", "S_Oa"}) {
    const size_t n = find(t.s, t.band(s))->members.size();
    json sizes = json::array({0, 4, 2});
    if (n == 4) sizes.push_back(0);
    t.must("tile", {{"node", t.band(s)}, {"sizes", sizes}});
  }
  t.must("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 5}, {"depth", 2}});
  auto m = lower::lower(at(t.s, {{"H", 2}, {"N", 7}, {"D", 2}}, {}));
  ASSERT_FALSE(m) << tile::print(*m);
  EXPECT_NE(m.error().text().find("register"), std::string::npos) << m.error().text();
}

// A family of three accumulators: sum of squares about a running mean.
TEST(LowerRolling, VarianceInOnePass) {
  programs::Builder b(make_context(), "variance", {"M", "N"}, "[M, N] -> { : M >= 0 and N >= 0 }");
  const char* ij = "0 <= i < M and 0 <= j < N";
  b.tensor("x", TensorKind::Input, {"M", "N"});
  for (const char* t : {"s", "mean", "v"}) b.tensor(t, TensorKind::Temp, {"M"});
  b.tensor("var", TensorKind::Output, {"M"});
  using programs::rd;
  b.statement("s", "i,j", ij, "i", {{"x", "i,j"}}, rd(0), programs::over(ReduceOp::Sum, {1}));
  b.statement("mean", "i", "0 <= i < M", "i", {{"s", "i"}}, rd(0) / Expr::param("N"));
  b.statement("v", "i,j", ij, "i", {{"x", "i,j"}, {"mean", "i"}}, (rd(0) - rd(1)) * (rd(0) - rd(1)),
              programs::over(ReduceOp::Sum, {1}));
  b.statement("var", "i", "0 <= i < M", "i", {{"v", "i"}}, rd(0) / Expr::param("N"));
  ProgramPtr p = b.done();
  Session t(p);
  t.must("rolling_update", {{"node", t.root()}, {"first", 0}, {"last", 2}, {"depth", 2}});
  std::vector<std::string> registers;
  for (const Tensor& x : t.s.program->tensors)
    if (x.kind == TensorKind::Temp && x.name != "v") registers.push_back(x.name);
  for (int64_t n : {1, 2, 7}) expect_result(t, {{"M", 3}, {"N", n}}, registers, 1e-3);
}

// What lies outside a mask is absent, whatever it holds: through lowering and rewriting.
void expect_absent(const Session& t, const Sizes& sizes, const std::vector<std::string>& registers,
                   const std::function<void(Buffers&, double)>& put,
                   tile::Numerics numerics = tile::Numerics::Reassociate) {
  const Schedule s = at(t.s, sizes, registers);
  auto m = lower::lower(s, {true, numerics});
  ASSERT_TRUE(m) << m.error().text() << to_text(s);
  tile::RewriteOptions options;
  options.numerics = numerics;
  Program original = *t.program;
  original.param_context = s.program->param_context;
  for (double bad : {std::nan(""), std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity()}) {
    Buffers in = random_inputs(original, 11);
    put(in, bad);
    auto want = interpret(original, sizes, in);
    ASSERT_TRUE(want) << want.error().text();
    for (const tile::Module& x : {*m, tile::rewrite(*m, options)}) {
      auto got = tile::interpret(x, {}, in);
      ASSERT_TRUE(got) << got.error().text() << tile::print(x);
      for (const auto& [name, values] : *want)
        for (size_t k = 0; k < values.size(); ++k) {
          if (!std::isfinite(values[k])) continue;
          ASSERT_NEAR(values[k], got->at(name)[k], 1e-4 * (1 + std::abs(values[k])))
              << bad << " " << name << "[" << k << "]\n"
              << tile::print(x);
        }
    }
  }
}

// Keys that the last row alone sees.
TEST(LowerRolling, WhatACausalMaskHidesIsAbsent) {
  expect_absent(tiled_attention(true, 4, 2), {{"H", 2}, {"N", 7}, {"D", 2}}, {"m", "P"},
                [](Buffers& in, double bad) {
                  for (size_t h : {0, 1})
                    for (size_t d : {0, 1}) in.at("K")[(h * 7 + 6) * 2 + d] = bad;
                });
}

// A row of values that the later rows alone see: absent for the others, where strict numerics mask
// the terms. Else the weight is 0 there, and the program says what it assumes.
TEST(LowerRolling, ValuesThatAMaskHides) {
  const Sizes sizes{{"H", 2}, {"N", 7}, {"D", 2}};
  for (size_t row : {1, 3, 6})
    expect_absent(
        tiled_attention(true, 4, 2), sizes, {"m", "P"},
        [&](Buffers& in, double bad) {
          for (size_t h : {0, 1})
            for (size_t d : {0, 1}) in.at("V")[(h * 7 + row) * 2 + d] = bad;
        },
        tile::Numerics::Strict);
  const Schedule causal = at(tiled_attention(true, 4, 2).s, sizes, {"m", "P"});
  const auto assumes = lower::lower(causal, {true, tile::Numerics::Reassociate}),
             strict = lower::lower(causal, {true, tile::Numerics::Strict});
  ASSERT_TRUE(assumes && strict);
  ASSERT_EQ(assumes->notes.size(), 1u);
  EXPECT_NE(assumes->notes[0].find("Oa assumes finite operands of masked terms: V is"),
            std::string::npos)
      << assumes->notes[0];
  EXPECT_EQ(tile::rewrite(*assumes, {}).notes, assumes->notes);
  EXPECT_TRUE(strict->notes.empty());
  // Without a mask, or with one that both factors see, nothing is assumed.
  const auto full = lower::lower(at(tiled_attention(false, 4, 2).s, sizes, {"m", "P"}));
  ASSERT_TRUE(full);
  EXPECT_TRUE(full->notes.empty()) << full->notes[0];
}

// Rows of X and columns of W after the first M: in the tensors, outside the sum.
TEST(LowerRolling, WhatLiesBeyondALengthIsAbsent) {
  programs::Builder b(make_context(), "ragged", {"I", "M", "N", "D"},
                      "[I, M, N, D] -> { : I >= 0 and 0 <= M <= N and D >= 0 }");
  using programs::rd;
  b.tensor("X", TensorKind::Input, {"I", "N"})
      .tensor("W", TensorKind::Input, {"N", "D"})
      .tensor("O", TensorKind::Output, {"I", "D"});
  b.statement("O", "i,j,d", "0 <= i < I and 0 <= j < M and 0 <= d < D", "i,d",
              {{"X", "i,j"}, {"W", "j,d"}}, rd(0) * rd(1), programs::over(ReduceOp::Sum, {1}));
  for (int x : {0, 1, 2}) {
    Session t(b.done());
    t.must("tile", {{"node", t.band("S_O")}, {"sizes", {4, 4, 4}}});
    t.must("map", {{"node", t.band("S_O")}, {"member", "*"}, {"mapping", "tile"}});
    expect_absent(t, {{"I", 5}, {"M", 6}, {"N", 9}, {"D", 3}}, {}, [&](Buffers& in, double bad) {
      for (size_t j = 6; j < 9; ++j) {
        for (size_t i = 0; i < 5 && x != 1; ++i) in.at("X")[i * 9 + j] = bad;
        for (size_t d = 0; d < 3 && x != 0; ++d) in.at("W")[j * 3 + d] = bad;
      }
    });
  }
}

// Values after the length that the data gives: absent where numerics are strict, else assumed
// finite.
TEST(LowerRolling, WhatLiesBeyondALengthInDataIsAbsent) {
  const auto program = parse_naut(make_context(), R"(naut 1
program padded
sizes I N D
where [I, N, D] -> { : I >= 0 and N >= 0 and D >= 0 }
tensor X input f32
  extent [I, N, D] -> { [(I)] }
  extent [I, N, D] -> { [(N)] }
tensor W input f32
  extent [I, N, D] -> { [(N)] }
  extent [I, N, D] -> { [(D)] }
tensor length input i32
  extent [I, N, D] -> { [(1)] }
tensor O output f32
  extent [I, N, D] -> { [(I)] }
  extent [I, N, D] -> { [(D)] }
statement S_O(i, j, d)
  domain [I, N, D] -> { S_O[i, j, d] : 0 <= i < I and 0 <= j < N and 0 <= d < D }
  write O { S_O[i, j, d] -> O[i, d] }
  read X { S_O[i, j, d] -> X[i, j] }
  read W { S_O[i, j, d] -> W[j, d] }
  read length { S_O[i, j, d] -> length[0] }
  index { S_O[i, j, d] -> [(j)] }
  guard #0 < $2:i32
  expr $0 * $1
  reduce sum over 1
)",
                                  "padded.naut");
  ASSERT_TRUE(program) << program.error().text();
  Session t(std::make_shared<const Program>(*program));
  t.must("tile", {{"node", t.band("S_O")}, {"sizes", {4, 4, 4}}});
  t.must("map", {{"node", t.band("S_O")}, {"member", "*"}, {"mapping", "tile"}});
  const Sizes sizes{{"I", 5}, {"N", 9}, {"D", 3}};
  auto pad = [](bool x, bool w) {
    return [x, w](Buffers& in, double bad) {
      in.at("length")[0] = 6;
      for (size_t j = 6; j < 9; ++j) {
        for (size_t i = 0; i < 5 && x; ++i) in.at("X")[i * 9 + j] = bad;
        for (size_t d = 0; d < 3 && w; ++d) in.at("W")[j * 3 + d] = bad;
      }
    };
  };
  expect_absent(t, sizes, {}, pad(true, false));
  expect_absent(t, sizes, {}, pad(true, true), tile::Numerics::Strict);
  const Schedule s = at(t.s, sizes, {});
  const auto usual = lower::lower(s, {true, tile::Numerics::Reassociate}),
             strict = lower::lower(s, {true, tile::Numerics::Strict});
  ASSERT_TRUE(usual && strict);
  EXPECT_TRUE(strict->notes.empty());
  ASSERT_EQ(usual->notes.size(), 1u);
  EXPECT_NE(usual->notes[0].find("O assumes finite operands of masked terms: W is"),
            std::string::npos)
      << usual->notes[0];
}

}  // namespace
}  // namespace nautilus
