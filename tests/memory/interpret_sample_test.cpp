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

}  // namespace
}  // namespace nautilus::memory
