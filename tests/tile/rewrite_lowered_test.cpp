// Rewriting what schedules with rolling updates lower to: attention with weights normalized before
// the product, so that its loop divides and corrects by two carried values.
#include "tests/tile/rolled.h"

namespace nautilus {
namespace {
using namespace testing_rolled;

// How often loops that carry values do this with values of at least this rank, an iteration.
int in_carrying_loops(const tile::Kernel& k, const tile::Region& r, Op op, size_t rank,
                      bool inside = false) {
  int n = 0;
  for (const tile::Instr& i : r.body) {
    n += inside && i.code == tile::Code::Map && i.op == op &&
         k.types.at(i.results[0]).axes.size() >= rank;
    for (const tile::Region& x : i.regions)
      n += in_carrying_loops(k, x, op, rank,
                             inside || (i.code == tile::Code::For && !i.results.empty()));
  }
  return n;
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
        EXPECT_EQ(in_carrying_loops(k, k.body, Op::Div, 0), 0) << tile::print(w);
        EXPECT_EQ(in_carrying_loops(k, k.body, Op::Recip, 0), 0) << tile::print(w);
        // Choices are made by rows (the maximum at rest), never for the tile or the accumulator.
        EXPECT_EQ(in_carrying_loops(k, k.body, Op::Select, 2), 0) << tile::print(w);
      }
    }
}

}  // namespace
}  // namespace nautilus
