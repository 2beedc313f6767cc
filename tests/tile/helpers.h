// Shared by the tile tests: modules from text, random inputs, comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "compiler/tile/ir.h"

namespace nautilus::tile {

// Parses and verifies; a failure fails the test and gives an empty module.
inline Module module_of(const std::string& text) {
  auto m = parse(text);
  if (!m) {
    ADD_FAILURE() << m.error().text() << "\n" << text;
    return {};
  }
  if (auto r = verify(*m)) ADD_FAILURE() << r->text() << "\n" << text;
  return *m;
}

inline int64_t elements(const TensorDecl& t, const poly::Sizes& sizes) {
  int64_t n = 1;
  for (const IndexExpr& e : t.extents) n *= e.evaluate(sizes);
  return n;
}

// Normal values for floats, small non-negative integers otherwise.
inline poly::Buffers random_inputs(const Module& m, uint64_t seed, const poly::Sizes& sizes = {}) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  poly::Buffers in;
  for (const TensorDecl& t : m.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    auto& b = in[t.name];
    for (int64_t n = elements(t, sizes); n > 0; --n)
      b.push_back(is_float(t.type) ? round_to_type(normal(rng), t.type) : double(rng() % 4));
  }
  return in;
}

inline poly::Buffers outputs(const Module& m, const poly::Buffers& in, bool round = true,
                             const poly::Sizes& sizes = {}) {
  InterpretOptions o;
  o.round_values = round;
  auto r = interpret(m, sizes, in, o);
  if (!r) {
    ADD_FAILURE() << r.error().text() << "\n" << print(m);
    return {};
  }
  return *r;
}

// Equal up to `tolerance` times the larger of 1 and the magnitude; NaN equals NaN, infinities must
// agree.
inline void expect_close(const poly::Buffers& a, const poly::Buffers& b, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (const auto& [name, x] : a) {
    const auto& y = b.at(name);
    ASSERT_EQ(x.size(), y.size()) << what;
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i]) && std::isnan(y[i])) continue;
      if (x[i] == y[i]) continue;
      ASSERT_LE(std::abs(x[i] - y[i]), tolerance * std::max(1.0, std::abs(x[i])))
          << what << ": " << name << "[" << i << "]: " << x[i] << " and " << y[i];
    }
  }
}

}  // namespace nautilus::tile
