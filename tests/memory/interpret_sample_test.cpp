// The sample modules, whose text is what a person reads: clean in many orders, and right against a
// double-precision reference at awkward sizes.
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "tests/memory/interpret_kernels.h"

namespace nautilus::memory {
namespace {

Module sample(const std::string& name) {
  std::ifstream file(std::string(NAUTILUS_SOURCE_DIR) + "/tests/memory/samples/" + name + ".mtile");
  std::stringstream text;
  text << file.rdbuf();
  auto m = parse(text.str(), name);
  if (!m) {
    ADD_FAILURE() << m.error().text();
    return {};
  }
  return *m;
}

TEST(InterpretSamples, AmpereProduct) {
  const Module m = sample("ampere_product");
  for (const poly::Sizes& sizes :
       {poly::Sizes{{"M", 1}, {"N", 1}, {"K8", 1}}, poly::Sizes{{"M", 65}, {"N", 17}, {"K8", 21}},
        poly::Sizes{{"M", 64}, {"N", 128}, {"K8", 16}}}) {
    const auto out = expect_clean(m, sizes, 3);
    expect_product(random_inputs(m, sizes), out.at("C"), sizes, 0.05);
  }
}
TEST(InterpretSamples, HopperProduct) {
  const Module m = sample("hopper_product");
  for (const poly::Sizes& sizes :
       {poly::Sizes{{"M", 1}, {"N8", 1}, {"K8", 1}}, poly::Sizes{{"M", 130}, {"N8", 3}, {"K8", 50}},
        poly::Sizes{{"M", 64}, {"N8", 17}, {"K8", 8}}}) {
    const auto out = expect_clean(m, sizes, 2);
    expect_product(random_inputs(m, sizes), out.at("C"), sizes, 0.05);
  }
}

TEST(InterpretSamples, CausalAttention) {
  const Module m = sample("causal_attention");
  for (const int64_t n : {1, 17, 64, 130}) {
    const int64_t heads = 2, d = 64;
    const poly::Sizes sizes = {{"H", heads}, {"N", n}};
    const poly::Buffers in = random_inputs(m, sizes);
    const auto out = expect_clean(m, sizes, 2);
    const auto &q = in.at("Q"), &k = in.at("K"), &v = in.at("V"), &o = out.at("O");
    ASSERT_EQ(int64_t(o.size()), heads * n * d);
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < n; ++i) {
        std::vector<double> p(size_t(i) + 1), row(size_t(d), 0.0);
        double most = -std::numeric_limits<double>::infinity(), total = 0;
        for (int64_t j = 0; j <= i; ++j) {
          for (int64_t x = 0; x < d; ++x)
            p[size_t(j)] += q[size_t((h * n + i) * d + x)] * k[size_t((h * n + j) * d + x)];
          most = std::max(most, p[size_t(j)] /= 8);
        }
        for (double& x : p) total += x = std::exp(x - most);
        for (int64_t j = 0; j <= i; ++j)
          for (int64_t x = 0; x < d; ++x)
            row[size_t(x)] += p[size_t(j)] / total * v[size_t((h * n + j) * d + x)];
        for (int64_t x = 0; x < d; ++x)
          ASSERT_NEAR(o[size_t((h * n + i) * d + x)], row[size_t(x)], 5e-3) << n << " " << i;
      }
  }
}

}  // namespace
}  // namespace nautilus::memory
