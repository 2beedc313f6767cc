// Lowers a schedule and compares the tile program's results with the program's own interpretation.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/lower/lower.h"
#include "tests/polyhedral/loops_trees.h"

namespace nautilus::testing_lower {

using namespace poly;
using namespace poly::testing_trees;
namespace programs = poly::testing_programs;

inline Sizes sizes_of(const Program& p) {
  auto point = sample_point(p.param_context);
  return point ? point->params : Sizes{};
}

inline Buffers random_inputs(const Program& p, const Sizes& sizes, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal;
  Buffers out;
  for (const Tensor& t : p.tensors) {
    if (t.kind != TensorKind::Input) continue;
    int64_t n = 1;
    for (const isl::pw_aff& e : t.extents) n *= to_int(substitute_params(e, sizes).max_val());
    std::vector<double>& b = out[t.name];
    for (int64_t k = 0; k < n; ++k)
      b.push_back(is_float(t.type) ? round_to_type(normal(rng), t.type)
                                   : static_cast<double>(rng() % 4));
  }
  return out;
}
inline Buffers random_inputs(const Program& p, unsigned seed) {
  return random_inputs(p, sizes_of(p), seed);
}

// Rolling updates of softmax's sum and product: t * exp(m - m'), 1 where m == m'.
inline Schedule flash_with_repairs(const ProgramPtr& p, int64_t ti, int64_t tj) {
  NodeId band = 0;
  Schedule s = flash(p, ti, tj, &band);
  for (const char* t : {"l", "Oa"}) {
    Repair r;
    r.band = band;
    r.targets = {std::string("S_") + t};
    r.target_tensors = {t};
    r.sources = {"S_m"};
    r.source_tensors = {"m"};
    r.via = {"S_P"};
    const Expr m = Expr::var("m"), next = Expr::var("m'");
    r.corrections = {Expr::var("t0") * Expr::make(Op::Select, {Expr::make(Op::Eq, {m, next}),
                                                               Expr::constant(1), exp(m - next)})};
    s.repairs.push_back(r);
  }
  return s;
}

inline std::optional<tile::Module> lowered(const Schedule& s) {
  auto m = lower::lower(s);
  EXPECT_TRUE(m) << (m ? "" : m.error().text());
  if (!m) return {};
  auto bad = tile::verify(*m);
  EXPECT_FALSE(bad) << bad->text() << "\n" << tile::print(*m);
  return std::move(*m);
}

inline void expect_close(const Buffers& expected, const Buffers& got, double tolerance,
                         const std::string& about) {
  for (const auto& [name, want] : expected) {
    ASSERT_TRUE(got.count(name)) << name;
    const auto& have = got.at(name);
    ASSERT_EQ(have.size(), want.size()) << name;
    for (size_t k = 0; k < want.size(); ++k) {
      const bool same = want[k] == have[k] || (std::isnan(want[k]) && std::isnan(have[k])) ||
                        std::abs(want[k] - have[k]) <= tolerance * (1 + std::abs(want[k]));
      ASSERT_TRUE(same) << name << "[" << k << "]: expected " << want[k] << ", got " << have[k]
                        << " " << about;
    }
  }
}

// Runs both and compares outputs; the module's text is shown when they differ.
inline void expect_same(const Schedule& s, double tolerance = 1e-4, unsigned seed = 7) {
  auto m = lowered(s);
  if (!m) return;
  const Buffers inputs = random_inputs(*s.program, seed);
  auto expected = interpret(*s.program, sizes_of(*s.program), inputs);
  ASSERT_TRUE(expected) << expected.error().text();
  auto got = tile::interpret(*m, {}, inputs);
  ASSERT_TRUE(got) << got.error().text() << "\n" << tile::print(*m);
  expect_close(*expected, *got, tolerance,
               "(seed " + std::to_string(seed) + ")\n" + to_text(s) + tile::print(*m));
}

}  // namespace nautilus::testing_lower
