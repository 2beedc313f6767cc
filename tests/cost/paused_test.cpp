// A search that is cut short anywhere, with real lowering and rewriting, finds what one in one go
// finds.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "autosched/exploration.h"
#include "compiler/profile/profile.h"
#include "tests/cost/corpus_programs.h"

namespace nautilus::sched {
namespace {

struct Case {
  const char* kernel;
  poly::Sizes sizes;
  int plans, cuts;  // cuts: searches that are cut short at other moments
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.kernel; }

class Paused : public testing::TestWithParam<Case> {};

TEST_P(Paused, AnywhereItIsTheSameSearch) {
  const auto program = corpus_programs::program(GetParam().kernel, GetParam().sizes);
  SearchOptions o;
  o.machine = *load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json");
  o.seconds = 0;
  o.max_plans = 0;
  const Budget budget{0, 0, GetParam().plans};
  o.max_nodes = 0;
  const auto search = [&](std::atomic<bool>* stop, OpsProvider& ops) {
    o.stop = stop;
    auto e = Exploration::start(program, o, ops);
    EXPECT_TRUE(e) << e.error().text();
    return *std::move(e);
  };
  auto ops = profile::tile_ops_provider(tile::Numerics::Reassociate);
  const auto whole = search(nullptr, *ops);
  whole->run(budget);
  whole->close();
  const SearchResult& a = whole->result();
  const char* many = std::getenv("NAUTILUS_TEST_CUTS");
  for (int seed = 1; seed <= (many ? std::atoi(many) : GetParam().cuts); ++seed) {
    std::mt19937 r(seed);
    std::atomic<bool> stop{false};
    auto own = profile::tile_ops_provider(tile::Numerics::Reassociate);
    const auto pieces = search(&stop, *own);
    int cuts = 0;
    const auto over = [&] {
      return pieces->exhausted() ||
             (budget.plans > 0 && pieces->result().plans_costed >= budget.plans);
    };
    while (!over()) {
      // Longer as it goes on: what is cut begins again.
      std::thread later([&, wait = r() % (30'000 + 3'000 * cuts)] {
        std::this_thread::sleep_for(std::chrono::microseconds(wait));
        stop = true;
      });
      r() % 3 ? pieces->run(budget) : pieces->step();
      later.join();
      stop = false;
      if (r() % 3 == 0) pieces->close();  // answers with what there is
      ++cuts;
    }
    const SearchResult& b = pieces->result();
    // A step takes a whole decision, however many plans that costs: the other goes as far.
    if (budget.plans > 0 && a.plans_costed != b.plans_costed)
      (a.plans_costed < b.plans_costed ? whole : pieces)
          ->run({0, 0, std::max(a.plans_costed, b.plans_costed)});
    whole->close();
    pieces->close();
    ASSERT_EQ(a.nodes.size(), b.nodes.size()) << "seed " << seed << ", " << cuts << " cuts, plans "
                                              << a.plans_costed << " and " << b.plans_costed;
    for (size_t k = 0; k < a.nodes.size(); ++k) {
      ASSERT_EQ(a.nodes[k].parent, b.nodes[k].parent) << k;
      ASSERT_EQ(a.nodes[k].decision, b.nodes[k].decision) << k;
      ASSERT_EQ(a.nodes[k].state, b.nodes[k].state) << k;
      ASSERT_EQ(a.nodes[k].seconds, b.nodes[k].seconds) << k << " " << a.nodes[k].decision;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, Paused,
    testing::Values(
        Case{"softmax", {{"N", 64}, {"M", 64}}, 0, 3},
        Case{"attention_causal", {{"B", 1}, {"H", 2}, {"N", 256}, {"M", 256}, {"D", 64}}, 150, 1}),
    [](const auto& info) { return std::string(info.param.kernel); });

}  // namespace
}  // namespace nautilus::sched
