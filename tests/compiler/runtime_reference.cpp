// The compiled reference against the instance-by-instance evaluator, and its sampling.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "compiler/runtime/runtime.h"
#include "tests/polyhedral/program_samples.h"

namespace nautilus::runtime {
namespace {

using poly::samples::parsed;

void expect_reference(const poly::Program& p, const poly::Sizes& sizes, int64_t sample) {
  std::string what = p.name + " sample " + std::to_string(sample);
  for (const auto& [n, v] : sizes) what += " " + n + "=" + std::to_string(v);
  SCOPED_TRACE(what);
  const auto in = make_inputs(p, sizes, 5);
  auto want = poly::interpret(poly::restrict_to_demanded(p), sizes, in);
  ASSERT_TRUE(want) << want.error().text();
  auto got = reference(p, sizes, in, sample, 3);
  ASSERT_TRUE(got) << got.error().text();
  for (const poly::Tensor& t : p.tensors) {
    if (t.kind != poly::TensorKind::Output) continue;
    const auto& w = want->at(t.name);
    const auto& g = got->outputs.at(t.name);
    const auto& known = got->known.at(t.name);
    ASSERT_EQ(w.size(), g.size());
    int64_t compared = 0;
    for (size_t k = 0; k < w.size(); ++k) {
      if (!known[k]) {
        EXPECT_TRUE(std::isnan(g[k]));
        continue;
      }
      ++compared;
      if (std::isnan(w[k]) && std::isnan(g[k])) continue;
      ASSERT_TRUE(w[k] == g[k] || std::abs(w[k] - g[k]) <= 1e-11 * (1 + std::abs(w[k])))
          << t.name << "[" << k << "]: " << g[k] << ", not " << w[k];
    }
    if (sample == 0) {
      EXPECT_EQ(size_t(compared), w.size());
    } else if (!w.empty()) {
      EXPECT_GT(compared, 0);
    }
  }
}

TEST(Reference, EqualsTheEvaluator) {
  for (const int64_t sample : {int64_t(0), int64_t(3), int64_t(-1)}) {
    for (const poly::Sizes& s : {poly::Sizes{{"N", 5}, {"M", 7}, {"K", 3}},
                                 {{"N", 1}, {"M", 1}, {"K", 1}},
                                 {{"N", 13}, {"M", 0}, {"K", 4}},
                                 {{"N", 0}, {"M", 2}, {"K", 4}}})
      expect_reference(parsed(poly::samples::kMatmul), s, sample);
    for (const int64_t n : {1, 2, 7, 16})
      expect_reference(parsed(poly::samples::kCausal), {{"N", n}, {"D", 5}}, sample);
    expect_reference(parsed(poly::samples::kSeidel), {{"N", 9}, {"T", 4}}, sample);
    expect_reference(parsed(poly::samples::kPaged), {{"J", 6}, {"P", 5}, {"N", 4}}, sample);
  }
}

TEST(Reference, NamesASizeWithoutValue) {
  const auto p = parsed(poly::samples::kMatmul);
  auto r = reference(p, {{"N", 4}, {"M", 4}}, {}, 0, 1);
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().why.find("K"), std::string::npos) << r.error().text();
}

TEST(Reference, NamesAMissingInput) {
  const auto p = parsed(poly::samples::kMatmul);
  auto r = reference(p, {{"N", 4}, {"M", 4}, {"K", 2}}, {{"A", std::vector<double>(16)}}, 0, 1);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().where, "B");
}

TEST(Inputs, AreDeterministicAndOfTheRightKind) {
  const auto p = parsed(poly::samples::kPaged);
  const poly::Sizes s{{"J", 40}, {"P", 5}, {"N", 4}};
  EXPECT_EQ(make_inputs(p, s, 1), make_inputs(p, s, 1));
  EXPECT_NE(make_inputs(p, s, 1), make_inputs(p, s, 2));
  const auto m = parsed(poly::samples::kMatmul);
  const auto a = make_inputs(m, {{"N", 100}, {"M", 100}, {"K", 1}}, 1, 2.0).at("A");
  double mean = 0, square = 0;
  for (const double v : a) {
    EXPECT_EQ(v, double(float(v)));
    mean += v / 1e4;
    square += v * v / 1e4;
  }
  EXPECT_NEAR(mean, 0, 0.1);
  EXPECT_NEAR(std::sqrt(square), 2, 0.1);
}

// 64 rows of a large causal attention: only what they need is computed.
TEST(Reference, SamplesLargeProblemsQuickly) {
  const char* text = R"(naut 1
program large
sizes H N D
where [H, N, D] -> { : H >= 0 and N >= 0 and D >= 0 }
tensor Q input f32
  extent [H] -> { [(H)] }
  extent [N] -> { [(N)] }
  extent [D] -> { [(D)] }
tensor K input f32
  extent [H] -> { [(H)] }
  extent [N] -> { [(N)] }
  extent [D] -> { [(D)] }
tensor S temp f32
  extent [H] -> { [(H)] }
  extent [N] -> { [(N)] }
  extent [N] -> { [(N)] }
tensor O output f32
  extent [H] -> { [(H)] }
  extent [N] -> { [(N)] }
  extent [D] -> { [(D)] }
statement S_S(h, i, j, d)
  domain [H, N, D] -> { S_S[h, i, j, d] : 0 <= h < H and 0 <= i < N and 0 <= j <= i and 0 <= d < D }
  write S { S_S[h, i, j, d] -> S[h, i, j] }
  read Q { S_S[h, i, j, d] -> Q[h, i, d] }
  read K { S_S[h, i, j, d] -> K[h, j, d] }
  expr $0 * $1
  reduce sum over 3
statement S_O(h, i, e, j)
  domain [H, N, D] -> { S_O[h, i, e, j] : 0 <= h < H and 0 <= i < N and 0 <= e < D and 0 <= j <= i }
  write O { S_O[h, i, e, j] -> O[h, i, e] }
  read S { S_O[h, i, e, j] -> S[h, i, j] }
  read K { S_O[h, i, e, j] -> K[h, j, e] }
  expr $0 * $1
  reduce sum over 3
)";
  const auto p = parsed(text);
  const poly::Sizes s{{"H", 32}, {"N", 4096}, {"D", 128}};
  const auto in = make_inputs(p, s, 1);
  const auto t0 = std::chrono::steady_clock::now();
  auto r = reference(p, s, in, 64, 1);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  ASSERT_TRUE(r) << r.error().text();
  int64_t rows = 0;
  for (const uint8_t k : r->known.at("O")) rows += k;
  EXPECT_EQ(rows, 64 * 128);
  std::printf("64 rows of 32 x 4096 x 128: %.2f s\n", seconds);
  // One element by hand: O[0, 0, e] = (Q[0,0].K[0,0]) K[0,0,e].
  double dot = 0;
  for (int d = 0; d < 128; ++d) dot += in.at("Q")[size_t(d)] * in.at("K")[size_t(d)];
  EXPECT_NEAR(r->outputs.at("O")[3], dot * in.at("K")[3], 1e-9);
}

}  // namespace
}  // namespace nautilus::runtime
