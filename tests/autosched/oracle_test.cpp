// Oracles of the search: every plan there is, and bounds that no completion falls below.
#include <gtest/gtest.h>

#include "autosched/cost/evaluate.h"
#include "tests/autosched/programs.h"
#include "tests/autosched/searches.h"
#include "tests/polyhedral/random_program.h"

namespace nautilus::sched {
namespace {

using namespace testing_programs;
using namespace testing_searches;

Machine test_cpu() { return *load_machine(NAUTILUS_SOURCE_DIR "/tests/autosched/cpu.json"); }

// Branch and bound cuts nothing that would have been best: the same cost as enumerating all plans,
// with few values a knob so that all of them can be.
TEST(Oracle, BestFirstFindsWhatExhaustiveFinds) {
  for (const Machine& machine : {options_for().machine, test_cpu()})
    for (auto p : {matmul(512, 512, 512), variance(256, 512), rmsnorm(256, 512), softmax(256, 512),
                   chained(512, 64, 64)}) {
      SearchOptions o = options_for();
      o.machine = machine;
      o.seconds = 0;
      o.max_plans = o.max_nodes = 0;
      o.knobs = {{16, 128}, {2}};
      o.strategy = Strategy::Exhaustive;
      const SearchResult all = run(p, o);
      check_invariants(all);
      EXPECT_EQ(all.stop_reason, StopReason::Exhausted) << p->name;
      EXPECT_EQ(count_state(all, NodeState::Bounded), 0);
      o.strategy = Strategy::BestFirst;
      for (int top : {1, 10}) {
        o.top = top;
        const SearchResult some = run(p, o);
        check_invariants(some);
        ASSERT_LE(some.best.size(), all.best.size());
        // Every one of the best that are asked for, not the first alone.
        for (size_t k = 0; k < some.best.size() && k < static_cast<size_t>(top); ++k)
          EXPECT_EQ(all.nodes[all.best[k]].seconds, some.nodes[some.best[k]].seconds)
              << p->name << " on " << machine.id << ", plan " << k << " of " << top;
        EXPECT_LE(some.plans_costed, all.plans_costed);
      }
      std::printf("%-9s on %-4s: %zu nodes, %d plans in all\n", p->name.c_str(), machine.id.c_str(),
                  all.nodes.size(), all.plans_costed);
    }
}

// What a partial plan promises holds for every completion that a search without cuts finds.
void expect_admissible(const SearchResult& r, const std::string& what) {
  int complete = 0;
  for (const SearchNode& n : r.nodes) {
    EXPECT_NE(n.state, NodeState::Bounded);
    if (n.state != NodeState::Complete) continue;
    ++complete;
    for (int id = n.parent; id >= 0; id = r.nodes[id].parent)
      ASSERT_LE(r.nodes[id].lower_bound, n.seconds * (1 + 1e-9))
          << what << "\nbound of \"" << r.nodes[id].decision << "\" against \""
          << r.nodes[n.parent].decision << "\" / " << n.decision;
  }
  EXPECT_GT(complete, 0) << what;
}

TEST(Bounds, NeverAboveACompletion) {
  const unsigned seed = 20261129;
  poly::random_programs::Random r(seed);
  int programs = 0;
  for (int k = 0; k < 40; ++k) {
    poly::random_programs::Generator g(r);
    const std::string text = k % 2 ? g.text() : g.chain();
    auto parsed = poly::parse_naut(poly::make_context(), text, "random.naut");
    ASSERT_TRUE(parsed) << parsed.error().text();
    const std::vector<int64_t> extents{1, 7, 64, 300, 1024};
    const poly::Sizes sizes{{"N", poly::random_programs::pick(r, extents)},
                            {"M", poly::random_programs::pick(r, extents)}};
    auto bound = poly::bind_sizes(*parsed, sizes);
    if (!bound) continue;
    ++programs;
    const auto p = std::make_shared<const poly::Program>(*std::move(bound));
    SearchOptions o = options_for();
    if (k % 3 == 0) o.machine = test_cpu();
    o.seconds = 0;
    o.strategy = Strategy::Random;
    o.seed = static_cast<uint64_t>(k) + 1;
    o.top = 1'000'000;  // nothing is cut
    o.max_plans = 60;
    o.max_nodes = 400;
    o.knobs = {{16, 256}, {1, 3}};
    expect_admissible(run(p, o), "seed " + std::to_string(seed) + ", program " + std::to_string(k) +
                                     ", N = " + std::to_string(sizes.at("N")) +
                                     ", M = " + std::to_string(sizes.at("M")) + "\n" + text);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(programs, 30);
}

TEST(Bounds, NeverAboveACompletionOfAttention) {
  for (bool causal : {false, true}) {
    const auto p = attention(4, 2048, 64, causal);
    SearchOptions o = options_for();
    o.seconds = 0;
    o.strategy = Strategy::Random;
    o.top = 1'000'000;
    o.max_plans = 400;
    o.knobs = {{16, 64, 256}, {1, 2}};
    expect_admissible(run(p, o), causal ? "causal" : "full");
  }
}

// What was recorded while searching is what the plan costs when it is built from scratch.
TEST(Costs, OfTheBestPlansHoldForTheirSchedules) {
  for (auto p : {matmul(512, 512, 512), softmax(300, 1000), attention(2, 512, 64)}) {
    SearchOptions o = options_for();
    o.seconds = 0;
    o.max_plans = 200;
    const SearchResult r = run(p, o);
    int one = 0;
    for (int id : r.best) {
      auto plan = plan_of(p, r, id);
      ASSERT_TRUE(plan) << plan.error().text();
      if (plan->schedule.root->children.size() != 1) continue;  // stages are a kernel's own
      auto profiled = profile(*plan, o.machine, {});
      ASSERT_TRUE(profiled) << profiled.error().text();
      EXPECT_NEAR(cost(*profiled, o.machine).seconds / r.nodes[id].seconds, 1, 1e-9)
          << p->name << " " << r.nodes[id].decision << "\n"
          << poly::to_text(plan->schedule);
      ++one;
    }
    EXPECT_GT(one, 0) << p->name;
  }
}

}  // namespace
}  // namespace nautilus::sched
