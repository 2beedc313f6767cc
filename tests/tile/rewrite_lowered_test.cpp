// Rewriting what schedules with rolling updates lower to: attention with weights normalized before
// the product, so that its loop divides and corrects by two carried values.
#include "tests/tile/rolled.h"

namespace nautilus {
namespace {
using namespace testing_rolled;

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
      const Sizes sizes{{"H", 2}, {"N", n}, {"M", n}, {"D", 3}};
      const Rolled r = rolled_attention(causal ? "j <= i" : "", sizes, 4, 4);
      auto m = lowered(r.schedule);
      ASSERT_TRUE(m);
      tile::RewriteReport report;
      const tile::Module w = tile::rewrite(*m, {}, &report);
      const Buffers in = random_inputs(*r.original, 5);
      tile::InterpretOptions exact;
      exact.round_values = false;
      auto a = tile::interpret(*m, {}, in, exact), b = tile::interpret(w, {}, in, exact);
      ASSERT_TRUE(a && b) << tile::print(w);
      auto want = interpret(*r.original, sizes, in);
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
    }
}

}  // namespace
}  // namespace nautilus
