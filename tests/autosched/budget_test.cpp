// Budgets of a search: what is cut is no verdict, what is answered is always a plan, and only the
// end of time may make two searches differ.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "autosched/search.h"
#include "polyhedral/deadline.h"
#include "tests/autosched/programs.h"
#include "tests/autosched/searches.h"

namespace nautilus::sched {
namespace {

using namespace testing_programs;
using namespace testing_searches;

// Takes time over each structure: as long as there is any, or a moment.
class Slow final : public OpsProvider {
 public:
  explicit Slow(bool endless) : endless_(endless) {}
  Expected<StructureOps> structure_ops(const poly::Schedule& s) override {
    ++asked;
    using namespace std::chrono;
    const auto limit = steady_clock::now() + (endless_ ? seconds(60) : milliseconds(3));
    while (!poly::out_of_time() && steady_clock::now() < limit)
      std::this_thread::sleep_for(milliseconds(1));
    cut |= poly::out_of_time();
    return ops_->structure_ops(s);
  }
  int asked = 0;
  bool cut = false;

 private:
  bool endless_;
  std::unique_ptr<OpsProvider> ops_ = direct_ops_provider();
};

void expect_written_order(const SearchResult& r, const poly::ProgramPtr& p) {
  check_invariants(r);
  ASSERT_EQ(r.best.size(), 1u);
  EXPECT_NE(r.note.find("the program's own order"), std::string::npos) << r.note;
  auto plan = plan_of(p, r, r.best[0]);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_TRUE(plan->script.empty());
  EXPECT_EQ(poly::canonical_hash(plan->schedule), poly::canonical_hash(poly::initial_schedule(p)));
}

TEST(Budget, WithoutTimeTheProgramsOwnOrderIsTheAnswer) {
  for (auto p : {attention(2, 512, 64), attention(1, 64, 16, true), softmax(7, 5),
                 long_chain(55, 256, 256)}) {
    SearchOptions o = options_for();
    o.seconds = 1e-9;
    SearchResult r = run(p, o);
    EXPECT_EQ(r.stop_reason, StopReason::TimeBudget);
    expect_written_order(r, p);
    EXPECT_LT(r.nodes.size(), 5u);
  }
}

// Rewriting that would take a minute a structure ends with the search.
TEST(Budget, AStepThatWouldOverrunIsCut) {
  auto p = attention(2, 512, 64);
  SearchOptions o = options_for();
  o.seconds = 0.3;
  Slow slow(true);
  auto r = search(p, o, slow);
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_TRUE(slow.cut);
  EXPECT_EQ(slow.asked, 1);
  EXPECT_EQ(r->stop_reason, StopReason::TimeBudget);
  expect_written_order(*r, p);
}

TEST(Budget, TheStopFlagCutsAStepToo) {
  auto p = attention(2, 512, 64);
  SearchOptions o = options_for();
  o.seconds = 0;
  std::atomic<bool> stop{false};
  o.stop = &stop;
  std::thread presses([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
  });
  Slow slow(true);
  auto r = search(p, o, slow);
  presses.join();
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_TRUE(slow.cut);
  EXPECT_EQ(r->stop_reason, StopReason::Interrupted);
  expect_written_order(*r, p);
}

// Sixty statements, budgets in plans and nodes: every one of them ends with a plan.
TEST(Budget, SixtyStatementsWithinPlansAndNodes) {
  auto p = long_chain(55, 256, 256);
  for (int plans : {1, 30}) {
    SearchOptions o = options_for();
    o.seconds = 0;
    o.max_plans = plans;
    o.max_nodes = 400;
    SearchResult r = run(p, o);
    check_invariants(r);
    EXPECT_TRUE(r.stop_reason == StopReason::PlanBudget || r.stop_reason == StopReason::NodeBudget);
    EXPECT_LE(r.plans_costed, plans + 1);
    EXPECT_EQ(count_state(r, NodeState::Open), 0);
  }
}

// A hundred thousandth of the operations that a step may take: nothing is legal for lack of them.
TEST(Budget, RunningOutOfIslOperationsIsUnknownNotLegal) {
  auto p = attention(2, 512, 64);
  for (unsigned long quota : {200ul, 3000ul, 20000ul}) {
    SearchOptions o = options_for();
    o.seconds = 0;
    o.max_plans = 200;
    o.max_nodes = 300;
    o.isl_quota = quota;
    auto ops = direct_ops_provider();
    auto r = search(p, o, *ops);
    if (!r) {
      EXPECT_FALSE(r.error().why.empty());
      continue;
    }
    check_invariants(*r);
    for (const SearchNode& n : r->nodes)
      if (n.state == NodeState::Complete) {
        auto plan = plan_of(p, *r, n.id);
        ASSERT_TRUE(plan) << plan.error().text();
        EXPECT_TRUE(poly::verify(plan->schedule).ok) << n.decision;
      }
  }
}

// The same seed and plans give the same nodes on any machine: here one that takes its time over
// each structure, with a time budget that does not run out and without one.
TEST(Determinism, TheSpeedOfTheMachineDoesNotMatter) {
  for (auto p : {softmax(512, 512), attention(2, 512, 64, true)})
    for (Strategy s : {Strategy::BestFirst, Strategy::Random, Strategy::Beam}) {
      if (s != Strategy::BestFirst && p->name == "attention") continue;  // for the time it takes
      SearchOptions o = options_for();
      o.strategy = s;
      o.max_plans = 150;
      o.seconds = 0;
      SearchResult fast = run(p, o);
      o.seconds = 3600;
      Slow slow(false);
      auto again = search(p, o, slow);
      ASSERT_TRUE(again) << again.error().text();
      expect_same(fast, *again);
      EXPECT_EQ(fast.stop_reason, again->stop_reason);
    }
}

// Where time does end a search, its nodes are the first ones of a longer search.
TEST(Determinism, AnInterruptedSearchIsTheBeginningOfALongerOne) {
  auto p = attention(2, 512, 64);
  SearchOptions o = options_for();
  o.seconds = 0;
  o.max_plans = 300;
  SearchResult whole = run(p, o);
  for (size_t after : {5u, 60u, 200u}) {
    std::atomic<bool> stop{false};
    o.stop = &stop;
    auto ops = direct_ops_provider();
    auto part = search(p, o, *ops, [&](const SearchEvent& e) {
      if (e.kind == SearchEvent::Kind::Added && static_cast<size_t>(e.node->id) == after)
        stop = true;
    });
    ASSERT_TRUE(part) << part.error().text();
    check_invariants(*part);
    ASSERT_LE(part->nodes.size(), whole.nodes.size());
    // The answer that needs no search may have been added at the end.
    for (size_t i = 0; i <= after; ++i) {
      EXPECT_EQ(part->nodes[i].decision, whole.nodes[i].decision) << i;
      EXPECT_EQ(part->nodes[i].parent, whole.nodes[i].parent) << i;
      if (part->nodes[i].state == NodeState::Complete) {
        EXPECT_EQ(part->nodes[i].seconds, whole.nodes[i].seconds) << i;
      }
    }
  }
}

}  // namespace
}  // namespace nautilus::sched
