// Rewriting what schedules with rolling updates lower to: attention with weights normalized before
// the product, so that its loop divides and corrects by two carried values.
#include "compiler/tile/rewrite.h"

#include "tests/polyhedral/transform_helpers.h"
#include "tests/tile/lower_check.h"

namespace nautilus {
namespace {
using namespace testing_lower;
using nlohmann::json;
using programs::over;
using programs::rd;
using programs::Session;

ProgramPtr normalized_attention(bool causal) {
  const std::string hij =
      std::string("0 <= h < H and 0 <= i < N and 0 <= j < N") + (causal ? " and j <= i" : "");
  const std::string hid = "0 <= h < H and 0 <= i < N and 0 <= d < D";
  programs::Builder b(make_context(), "attention", {"H", "N", "D"},
                      "[H, N, D] -> { : H >= 0 and N >= 0 and D >= 0 }");
  for (const char* t : {"Q", "K", "V"}) b.tensor(t, TensorKind::Input, {"H", "N", "D"});
  for (const char* t : {"S_sum", "S", "E", "P"}) b.tensor(t, TensorKind::Temp, {"H", "N", "N"});
  b.tensor("m", TensorKind::Temp, {"H", "N"}).tensor("l", TensorKind::Temp, {"H", "N"});
  b.tensor("Oa", TensorKind::Temp, {"H", "N", "D"})
      .tensor("O", TensorKind::Output, {"H", "N", "D"});
  b.statement("S_sum", "h,i,j,d", hij + " and 0 <= d < D", "h,i,j",
              {{"Q", "h,i,d"}, {"K", "h,j,d"}}, rd(0) * rd(1), over(ReduceOp::Sum, {3}));
  b.statement("S", "h,i,j", hij, "h,i,j", {{"S_sum", "h,i,j"}}, rd(0) * Expr::constant(0.3));
  b.statement("m", "h,i,j", hij, "h,i", {{"S", "h,i,j"}}, rd(0), over(ReduceOp::Max, {2}));
  b.statement("E", "h,i,j", hij, "h,i,j", {{"S", "h,i,j"}, {"m", "h,i"}}, exp(rd(0) - rd(1)));
  b.statement("l", "h,i,j", hij, "h,i", {{"E", "h,i,j"}}, rd(0), over(ReduceOp::Sum, {2}));
  b.statement("P", "h,i,j", hij, "h,i,j", {{"E", "h,i,j"}, {"l", "h,i"}}, rd(0) / rd(1));
  b.statement("Oa", "h,i,j,d", hij + " and 0 <= d < D", "h,i,d", {{"P", "h,i,j"}, {"V", "h,j,d"}},
              rd(0) * rd(1), over(ReduceOp::Sum, {2}));
  b.statement("O", "h,i,d", hid, "h,i,d", {{"Oa", "h,i,d"}}, rd(0) * Expr::constant(2));
  return b.done();
}

Schedule rolled(bool causal, const Sizes& sizes) {
  Session t(normalized_attention(causal));
  for (const char* s : {"S_m", "S_E", "S_l", "S_P", "S_Oa"}) {
    json tiles = json::array({-1, 4, 4});
    if (find(t.s, t.band(s))->members.size() == 4) tiles.push_back(0);
    t.must("tile", {{"node", t.band(s)}, {"sizes", tiles}});
  }
  t.must("rolling_update", {{"node", t.root()}, {"first", 2}, {"last", 6}, {"depth", 3}});
  for (const char* s : {"S_m", "S_E", "S_l", "S_P", "S_Oa"})
    t.must("map", {{"node", t.band(s)}, {"member", "*"}, {"mapping", "tile"}});
  Program p = *t.s.program;
  p.param_context = fix_params(p.param_context, sizes);
  Schedule out = t.s;
  out.program = std::make_shared<const Program>(p);
  for (const char* r : {"m", "E", "l", "P"}) out.scopes[r] = Scope::Register;
  return out;
}

bool in_a_carrying_loop(const tile::Region& r, Op op, bool inside = false) {
  for (const tile::Instr& i : r.body) {
    if (inside && i.code == tile::Code::Map && i.op == op) return true;
    for (const tile::Region& n : i.regions)
      if (in_a_carrying_loop(n, op, inside || (i.code == tile::Code::For && !i.results.empty())))
        return true;
  }
  return false;
}

TEST(RewriteLowered, DivisionLeavesTheLoop) {
  for (bool causal : {false, true})
    for (int64_t n : {1, 7, 16}) {
      const Sizes sizes{{"H", 2}, {"N", n}, {"D", 3}};
      const Schedule s = rolled(causal, sizes);
      auto m = lowered(s);
      ASSERT_TRUE(m);
      tile::RewriteReport report;
      const tile::Module w = tile::rewrite(*m, {}, &report);
      Program original = *normalized_attention(causal);
      original.param_context = s.program->param_context;
      const Buffers in = random_inputs(original, 5);
      tile::InterpretOptions exact;
      exact.round_values = false;
      auto a = tile::interpret(*m, {}, in, exact), b = tile::interpret(w, {}, in, exact);
      ASSERT_TRUE(a && b) << tile::print(w);
      auto want = interpret(original, sizes, in);
      ASSERT_TRUE(want);
      for (size_t k = 0; k < a->at("O").size(); ++k) {
        ASSERT_NEAR(a->at("O")[k], b->at("O")[k], 1e-12) << tile::print(w);
        ASSERT_NEAR(want->at("O")[k], b->at("O")[k], 1e-9) << tile::print(w);
      }
      tile::RewriteOptions strict;
      strict.numerics = tile::Numerics::Strict;
      auto x = tile::interpret(*m, {}, in), y = tile::interpret(tile::rewrite(*m, strict), {}, in);
      ASSERT_TRUE(x && y);
      EXPECT_EQ(x->at("O"), y->at("O"));
      for (const tile::Kernel& k : w.kernels) {
        EXPECT_FALSE(in_a_carrying_loop(k.body, Op::Div)) << tile::print(w);
        EXPECT_FALSE(in_a_carrying_loop(k.body, Op::Recip)) << tile::print(w);
      }
      if (std::getenv("SHOW") && n == 16)
        std::printf("%s\n%s\n", tile::print(*m).c_str(), tile::print(w).c_str());
    }
}

}  // namespace
}  // namespace nautilus
