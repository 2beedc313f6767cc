// Branches on data compiled: lazily corrected rolling updates against the interpreter and the
// program's own evaluation, and their storage.
#include "cpu_helpers.h"
#include "tests/tile/rolled.h"

namespace nautilus::cpu {
namespace {

using namespace testing_rolled;

testing_rolled::Rolled lazy(testing_rolled::Rolled r) {
  const poly::DependenceSet deps = *poly::dependences(*r.schedule.program);
  std::set<poly::NodeId> bands;
  for (const poly::Repair& x : r.schedule.repairs) bands.insert(x.band);
  for (poly::NodeId band : bands) {
    const poly::Outcome o = poly::apply(r.schedule, deps, "lazy_reference", {{"node", band}});
    EXPECT_TRUE(o.accepted()) << (o.refusal ? o.refusal->text() : o.verdict.why);
    if (o.schedule) r.schedule = *o.schedule;
  }
  return r;
}

void expect_compiled(const testing_rolled::Rolled& r, const poly::Buffers& in, double tolerance,
                     const std::string& what) {
  auto want = poly::interpret(*r.original, sizes_of(*r.original), in);
  ASSERT_TRUE(want) << want.error().text();
  for (tile::Numerics n : {tile::Numerics::Strict, tile::Numerics::Reassociate}) {
    auto m = lower::lower(r.schedule, {true, n});
    ASSERT_TRUE(m) << m.error().text();
    tile::RewriteOptions o;
    o.numerics = n;
    const tile::Module w = tile::rewrite(*m, o);
    Ready ready(w, in, n);
    ready.run();
    expect_close(*want, ready.outputs(), tolerance, what + tile::print(w) + ready.source);
  }
}

TEST(CpuLazy, AttentionIsAsDefined) {
  for (const char* mask : {"", "j <= i - 5"})
    for (double sharp : {1.0, 100.0}) {
      const auto r =
          lazy(rolled_attention(mask, {{"H", 2}, {"N", 37}, {"M", 53}, {"D", 20}}, 16, 16));
      poly::Buffers in = testing_lower::random_inputs(*r.original, 5);
      for (double& q : in.at("Q")) q *= sharp;
      expect_compiled(r, in, 1e-4, std::string(mask) + " x" + std::to_string(sharp) + "\n");
    }
}

TEST(CpuLazy, LogSumExpIsAsDefined) {
  for (const char* mask : {"", "j <= i"})
    for (double sharp : {1.0, 100.0, 1e4}) {
      const auto r = lazy(rolled_logsumexp(mask, {{"N", 37}, {"M", 101}}, 16, 16));
      poly::Buffers in = testing_lower::random_inputs(*r.original, 5);
      for (double& x : in.at("X")) x *= sharp;
      for (size_t k = 0; k < in.at("X").size(); ++k)  // all of a row but its first column, at times
        if (k % 101 > 0 && k % 3 == 0) in.at("X")[k] = -std::numeric_limits<double>::infinity();
      expect_compiled(r, in, 1e-4, std::string(mask) + " x" + std::to_string(sharp) + "\n");
    }
}

// The accumulator of rows x D is corrected where it lies: the branch copies no array.
TEST(CpuLazy, CorrectionsHappenInPlace) {
  const auto r = lazy(rolled_attention("", {{"H", 1}, {"N", 64}, {"M", 256}, {"D", 48}}, 32, 32));
  auto m = lower::lower(r.schedule);
  ASSERT_TRUE(m) << m.error().text();
  auto text = emit(tile::rewrite(*m, {}), {});
  ASSERT_TRUE(text) << text.error().text();
  size_t arrays = 0;  // of 32 x 48 floats
  for (size_t at = text->find("[1536]"); at != std::string::npos; at = text->find("[1536]", at + 1))
    ++arrays;
  EXPECT_EQ(arrays, 1u) << *text;
}

// Values hidden by the mask are absent from the rows that do not see them, compiled too.
TEST(CpuAbsent, StrictNumericsMaskTheTerms) {
  const auto r = rolled_attention("j <= i", {{"H", 1}, {"N", 21}, {"M", 21}, {"D", 5}}, 8, 8);
  poly::Buffers in = testing_lower::random_inputs(*r.original, 5);
  for (size_t d = 0; d < 5; ++d) in.at("V")[9 * 5 + d] = std::nan("");
  auto want = poly::interpret(*r.original, sizes_of(*r.original), in);
  ASSERT_TRUE(want);
  auto m = lower::lower(r.schedule, {true, tile::Numerics::Strict});
  ASSERT_TRUE(m) << m.error().text();
  tile::RewriteOptions strict;
  strict.numerics = tile::Numerics::Strict;
  const tile::Module w = tile::rewrite(*m, strict);
  Ready ready(w, in, tile::Numerics::Strict);
  ready.run();
  expect_close(*want, ready.outputs(), 1e-4, tile::print(w));
  for (size_t i = 0; i < 21; ++i) EXPECT_EQ(std::isnan(want->at("O")[i * 5]), i >= 9) << i;
}

}  // namespace
}  // namespace nautilus::cpu
