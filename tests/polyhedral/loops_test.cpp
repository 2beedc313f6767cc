#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "tests/polyhedral/loops_trees.h"

namespace nautilus::poly {
namespace {
using namespace testing_trees;
namespace programs = testing_programs;

TEST(Loops, Look) {
  ContextPtr ctx = make_context();
  for (int n : {4096, 100, 7}) {
    ProgramPtr p = bound(programs::attention(ctx), {{"H", 2}, {"N", n}, {"D", 64}});
    Schedule s = flash(p, 64, 32);
    for (int k = 0; k < 2; ++k) {
      const auto start = std::chrono::steady_clock::now();
      auto l = generate_loops(s);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      std::cerr << took.count() * 1e3 << " ms\n";
      if (k == 0) std::cerr << (l ? to_text(*l) : l.error().text());
    }
  }
  ProgramPtr p = bound(programs::attention(ctx), {{"H", 2}, {"N", 7}, {"D", 4}});
  auto l = generate_loops(initial_schedule(p));
  std::cerr << (l ? to_text(*l) : l.error().text());
}

}  // namespace
}  // namespace nautilus::poly
