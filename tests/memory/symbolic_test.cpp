// Plans that the search finds at some sizes, with sizes left open: one memory program, right at
// every value of them.
#include "autosched/open_sizes.h"
#include "tests/memory/lower_helpers.h"

namespace nautilus::memory {
namespace {

struct OpenCase {
  const char* kernel;
  poly::Sizes sizes;              // of the search
  std::vector<std::string> open;  // of these
  std::vector<std::vector<int64_t>> at;
};
void PrintTo(const OpenCase& c, std::ostream* os) {
  *os << c.kernel;
  for (const std::string& n : c.open) *os << " " << n;
}

poly::Buffers inputs_at(const poly::Program& p, const poly::Sizes& sizes) {
  std::mt19937_64 rng(5);
  std::normal_distribution<double> normal;
  poly::Buffers in;
  for (const poly::Tensor& t : p.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    int64_t n = 1;
    for (const isl::pw_aff& e : t.extents)
      n *= poly::to_int(poly::substitute_params(e, sizes).max_val());
    for (auto& b = in [t.name]; n > 0; --n)
      b.push_back(is_float(t.type) ? round_to_type(normal(rng), t.type) : double(rng() % 4));
  }
  return in;
}

class SymbolicCorpus : public testing::TestWithParam<OpenCase> {};

// Of the best plans at least one can leave these sizes open; each that can is right.
TEST_P(SymbolicCorpus, OneProgramIsRightAtEverySize) {
  const OpenCase& c = GetParam();
  const auto [plans, open] = open_plans(c.kernel, c.sizes, c.open, 3, 40);
  int lowered = 0;
  std::string refused;
  for (const sched::Plan& plan : plans) {
    auto s = sched::with_open_sizes(plan, open);
    if (!s) {
      refused += s.error().text() + "\n";
      continue;
    }
    auto t = lower::lower(*s, {true, tile::Numerics::Reassociate});
    if (!t) {
      refused += t.error().text() + "\n";
      continue;
    }
    const tile::Module tiles = tile::rewrite(*t, {});
    auto bad = tile::verify(tiles);
    ASSERT_FALSE(bad) << bad->text() << tile::print(tiles);
    auto m = lower(tiles, {});
    if (!m) {
      refused += m.error().text() + "\n";
      continue;
    }
    ++lowered;
    const std::string text = print(*m);
    auto back = parse(text);
    ASSERT_TRUE(back) << back.error().text() << "\n" << text;
    EXPECT_EQ(print(*back), text);
    for (const auto& values : c.at) {
      poly::Sizes sizes = c.sizes;
      for (size_t k = 0; k < c.open.size(); ++k) sizes[c.open[k]] = values.at(k);
      SCOPED_TRACE(poly::sizes_text(sizes));
      const poly::Buffers in = inputs_at(*open, sizes);
      poly::InterpretOptions rounding;
      rounding.round_stores = true;
      auto want = poly::interpret(*open, sizes, in, rounding);
      ASSERT_TRUE(want) << want.error().text();
      auto between = tile::interpret(tiles, sizes, in);
      ASSERT_TRUE(between) << between.error().text() << "\n" << tile::print(tiles);
      expect_outputs(tiles, *want, *between, 1e-2);
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << tile::print(tiles);
      auto got = interpret(*back, sizes, in);
      ASSERT_TRUE(got) << got.error().text() << "\n" << text;
      ASSERT_TRUE(got->faults.empty()) << fault_text(*got) << text;
      expect_outputs(tiles, *between, got->outputs, 2e-3);
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << text;
    }
  }
  EXPECT_GT(lowered, 0) << refused;
}

INSTANTIATE_TEST_SUITE_P(Products, SymbolicCorpus,
                         testing::Values(OpenCase{"matmul",
                                                  {{"N", 256}, {"M", 256}, {"K", 256}},
                                                  {"N", "M", "K"},
                                                  {{1, 1, 1},
                                                   {7, 5, 3},
                                                   {15, 16, 17},
                                                   {64, 64, 64},
                                                   {65, 33, 40},
                                                   {0, 4, 4},
                                                   {4, 0, 4},
                                                   {17, 19, 0}}},
                                         OpenCase{"matmul_bias_gelu",
                                                  {{"N", 40}, {"M", 24}, {"K", 48}},
                                                  {"N"},
                                                  {{0}, {1}, {7}, {15}, {16}, {17}, {41}}}));

const std::vector<std::vector<int64_t>> kLengths{{1, 1, 1, 1},   {1, 2, 7, 7},   {1, 1, 15, 33},
                                                 {2, 1, 16, 16}, {1, 1, 17, 13}, {1, 2, 40, 41},
                                                 {1, 1, 0, 5},   {1, 1, 5, 0},   {0, 1, 3, 3}};

INSTANTIATE_TEST_SUITE_P(
    Attention, SymbolicCorpus,
    testing::Values(OpenCase{"attention_causal",
                             {{"B", 1}, {"H", 2}, {"N", 256}, {"M", 256}, {"D", 32}},
                             {"B", "H", "N", "M"},
                             kLengths},
                    OpenCase{"attention_global",
                             {{"B", 1}, {"H", 2}, {"N", 256}, {"M", 256}, {"D", 32}},
                             {"B", "H", "N", "M"},
                             kLengths}));

INSTANTIATE_TEST_SUITE_P(
    Rows, SymbolicCorpus,
    testing::Values(
        OpenCase{"softmax", {{"N", 64}, {"M", 96}}, {"N"}, {{0}, {1}, {7}, {31}, {64}, {65}}},
        OpenCase{"rmsnorm", {{"N", 64}, {"D", 256}}, {"N"}, {{0}, {1}, {7}, {33}}}));

}  // namespace
}  // namespace nautilus::memory
