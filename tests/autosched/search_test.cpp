#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "autosched/search.h"
#include "polyhedral/transforms/registry.h"
#include "tests/autosched/programs.h"
#include "tests/autosched/searches.h"

namespace nautilus::sched {
namespace {

using namespace testing_programs;
using namespace testing_searches;

TEST(Search, PointwiseTilesAndVerifies) {
  auto p = pointwise(1 << 20);
  SearchResult r = run(p, options_for());
  check_invariants(r);
  EXPECT_EQ(r.stop_reason, StopReason::Exhausted);
  auto plan = plan_of(p, r, r.best[0]);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_TRUE(poly::verify(plan->schedule).ok);
}

TEST(Search, MatmulIsTiledInAllThreeDims) {
  auto p = matmul(4096, 4096, 4096);
  SearchResult r = run(p, options_for());
  check_invariants(r);
  const SearchNode& best = r.nodes[r.best[0]];
  // Without multicast between blocks the L2 is as busy as the matrix unit.
  EXPECT_TRUE(best.limiter.starts_with("matrix bound") || best.limiter.starts_with("l2 bound"))
      << best.limiter;
  EXPECT_GE(best.knobs.at("tile.i"), 64);
  EXPECT_GE(best.knobs.at("tile.j"), 64);
  EXPECT_LT(best.seconds, 4 * best.lower_bound);
}

TEST(Search, AttentionBecomesOneKernelWithRollingUpdates) {
  auto p = attention(16, 16384, 128);
  SearchOptions o = options_for();
  o.max_plans = 2000;
  SearchResult r = run(p, o);
  check_invariants(r);
  auto plan = plan_of(p, r, r.best[0]);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(kernels_of(plan->schedule), 1) << poly::to_text(plan->schedule);
  EXPECT_GE(plan->schedule.repairs.size(), 2u);
  for (const char* t : {"S_sum", "S", "m", "E", "l", "P", "O_acc"})
    EXPECT_EQ(plan->schedule.scopes[t], poly::Scope::Register) << t << "\n"
                                                               << poly::to_text(plan->schedule);
  poly::Verification v = poly::verify(plan->schedule);
  EXPECT_TRUE(v.ok) << v.verdict.why;
  // The attempt that pure dependence analysis refuses is on record, with its witness.
  bool witness = false;
  for (const SearchNode& n : r.nodes)
    if (n.state == NodeState::Illegal && n.reason.find("must precede") != std::string::npos)
      witness = true;
  EXPECT_TRUE(witness);
  EXPECT_LT(r.first_plan_seconds, 10);
}

TEST(Search, CausalAttentionToo) {
  auto p = attention(4, 2048, 64, true);
  SearchOptions o = options_for();
  o.max_plans = 600;
  SearchResult r = run(p, o);
  check_invariants(r);
  auto plan = plan_of(p, r, r.best[0]);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(kernels_of(plan->schedule), 1) << poly::to_text(plan->schedule);
  EXPECT_GE(plan->schedule.repairs.size(), 2u);
}

// Fusion pays on the CPU as well: what is kept between kernels passes through memory.
TEST(Search, CpuPlanIsFusedAndTiled) {
  auto p = attention(8, 2048, 64, false, "f32");
  SearchOptions o;
  o.machine = *load_machine(NAUTILUS_SOURCE_DIR "/tests/autosched/cpu.json");
  o.seconds = 20;
  o.max_plans = 3000;
  SearchResult r = run(p, o);
  check_invariants(r);
  const SearchNode& best = r.nodes[r.best[0]];
  auto plan = plan_of(p, r, r.best[0]);
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(kernels_of(plan->schedule), 1) << poly::to_text(plan->schedule);
  EXPECT_GE(best.knobs.at("tile.i"), 32);
  for (const SearchNode& n : r.nodes)
    if (n.state == NodeState::Complete && n.steps.empty() && n.parent == 1) {
      EXPECT_GT(n.seconds, 10 * best.seconds);
    }
}

TEST(Search, ReplayGivesTheSameScheduleAsTheScript) {
  auto p = attention(2, 256, 32);
  SearchOptions o = options_for();
  o.max_plans = 200;
  SearchResult r = run(p, o);
  check_invariants(r);
  for (int id : r.best) {
    auto plan = plan_of(p, r, id);
    ASSERT_TRUE(plan) << plan.error().text();
    poly::Replay again = poly::replay(p, plan->script);
    ASSERT_TRUE(again.schedule);
    EXPECT_EQ(poly::canonical_hash(*again.schedule), poly::canonical_hash(plan->schedule));
    EXPECT_TRUE(poly::verify(plan->schedule).ok);
    auto back = plan_from_json(p, plan_to_json(*plan));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->knobs, plan->knobs);
  }
}

// A plan's decisions with other tile sizes: those of the search with its own, and still verified
// with others.
TEST(Search, APlanWithOtherTiles) {
  auto p = attention(16, 4096, 64);
  SearchOptions o = options_for();
  o.max_plans = 60;
  const SearchResult r = run(p, o);
  auto plan = plan_of(p, r, r.best[0]);
  ASSERT_TRUE(plan) << plan.error().text();
  auto same = with_knobs(*plan, p, plan->knobs);
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_EQ(poly::to_text(same->schedule), poly::to_text(plan->schedule));
  Knobs knobs = plan->knobs;
  ASSERT_GT(knobs["tile.i"], 8);
  knobs["tile.i"] /= 2;
  auto other = with_knobs(*plan, p, knobs);
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_NE(poly::to_text(other->schedule), poly::to_text(plan->schedule));
  EXPECT_EQ(other->script.size(), plan->script.size());
  EXPECT_EQ(other->knobs, knobs);
  const poly::Verification v = poly::verify(other->schedule);
  EXPECT_TRUE(v.ok) << v.verdict.why;
}

// Steps come from files, too: what is damaged in them is a refusal.
TEST(Search, DamagedStepsAreRefused) {
  auto p = attention(16, 4096, 64);
  const poly::Schedule s = poly::initial_schedule(p);
  const int band = s.root->children[0]->children[0]->id;
  for (const std::string& params :
       {std::string("{nonsense"), std::string("[1]"), std::string(R"({"node":"x","sizes":[64]})"),
        R"({"node":)" + std::to_string(band) + R"(,"sizes":["a", 64]})",
        R"({"node":)" + std::to_string(band) + R"(,"sizes":{"0":64}})",
        std::string(R"({"node":1e300,"sizes":[64]})"), std::string("{}")}) {
    SearchResult r;
    r.nodes.resize(1);
    r.nodes[0].id = 0;
    r.nodes[0].steps = {{"tile", params}};
    r.nodes[0].knobs = {{"tile.i", 32}};
    const auto plan = plan_of(p, r, 0);
    ASSERT_FALSE(plan) << params;
    EXPECT_FALSE(plan.error().why.empty()) << params;
  }
}

TEST(Search, SameSeedSameResult) {
  auto p = softmax(512, 512);
  for (Strategy s : {Strategy::BestFirst, Strategy::Random, Strategy::Beam}) {
    SearchOptions o = options_for();
    o.strategy = s;
    o.max_plans = 300;
    o.seconds = 0;
    SearchResult a = run(p, o), b = run(p, o);
    expect_same(a, b);
  }
}

TEST(Search, SmallProgramsOfAllKinds) {
  for (auto p : {variance(256, 512), rmsnorm(256, 512), softmax(64, 100), chained(128, 32, 16),
                 attention(1, 128, 16, true)}) {
    SearchOptions o = options_for();
    o.max_plans = 400;
    SearchResult r = run(p, o);
    check_invariants(r);
    auto plan = plan_of(p, r, r.best[0]);
    ASSERT_TRUE(plan) << p->name << plan.error().text();
    EXPECT_TRUE(poly::verify(plan->schedule).ok) << p->name;
  }
}

TEST(Search, FewBlocksAndALongReductionAreCutIntoParts) {
  Naut b("dot", {"N"});
  b.tensor("X", "input", "f32", {"N"})
      .tensor("Y", "input", "f32", {"N"})
      .tensor("s", "output", "f32", {});
  b.statement("s", {{"i", "N"}}, "", {{"X", "i"}, {"Y", "i"}}, "$0 * $1", "sum over 0");
  auto p = b.done({{"N", 1 << 22}});
  SearchResult r = run(p, options_for());
  check_invariants(r);
  auto plan = plan_of(p, r, r.best[0]);
  ASSERT_TRUE(plan) << plan.error().text();
  bool split = false;
  for (const poly::TransformStep& s : plan->script) split |= s.name == "split_k";
  EXPECT_TRUE(split) << poly::to_text(plan->schedule);
  EXPECT_TRUE(poly::verify(plan->schedule).ok);
}

TEST(Search, SizesZeroAndOne) {
  for (int64_t n : {0, 1, 7})
    for (auto p :
         {attention(1, n, 3), softmax(n, 5), softmax(5, n), matmul(n, n, n), pointwise(n)}) {
      SearchOptions o = options_for();
      o.max_plans = 60;
      SearchResult r = run(p, o);
      check_invariants(r);
    }
}

TEST(Search, BudgetsAndStopFlag) {
  auto p = attention(2, 512, 64);
  SearchOptions o = options_for();
  o.seconds = 1e-9;
  SearchResult r = run(p, o);
  EXPECT_EQ(r.stop_reason, StopReason::TimeBudget);
  EXPECT_FALSE(r.best.empty());  // the order as written is always an answer
  o = options_for();
  o.max_nodes = 10;
  r = run(p, o);
  EXPECT_EQ(r.stop_reason, StopReason::NodeBudget);
  EXPECT_LE(r.nodes.size(), 11u);
  o = options_for();
  o.max_plans = 1;
  EXPECT_EQ(run(p, o).stop_reason, StopReason::PlanBudget);
  std::atomic<bool> flag{true};
  o = options_for();
  o.stop = &flag;
  r = run(p, o);
  EXPECT_EQ(r.stop_reason, StopReason::Interrupted);
  for (const SearchNode& n : r.nodes) EXPECT_NE(n.state, NodeState::Open);
}

TEST(Search, EventsTellTheWholeStory) {
  auto p = softmax(512, 512);
  SearchOptions o = options_for();
  o.max_plans = 200;
  std::vector<int> added;
  int best = 0;
  double last = INFINITY;
  auto ops = direct_ops_provider();
  auto r = search(p, o, *ops, [&](const SearchEvent& e) {
    if (e.kind == SearchEvent::Kind::Added) added.push_back(e.node->id);
    if (e.kind == SearchEvent::Kind::Best) {
      ++best;
      EXPECT_LT(e.node->seconds, last);
      last = e.node->seconds;
    }
  });
  ASSERT_TRUE(r);
  EXPECT_EQ(added.size(), r->nodes.size());
  EXPECT_GT(best, 0);
  EXPECT_EQ(last, r->nodes[r->best[0]].seconds);
}

TEST(Search, SessionOfASearchRoundTrips) {
  auto p = softmax(128, 128);
  Session s;
  s.options = options_for();
  s.options.max_plans = 100;
  s.result = run(p, s.options);
  s.program_naut = poly::print_naut(*p);
  nlohmann::json j = session_to_json(s);
  auto back = session_from_json(j);
  ASSERT_TRUE(back) << back.error().text();
  auto program = poly::parse_naut(poly::make_context(), back->program_naut);
  ASSERT_TRUE(program);
  auto plan =
      plan_of(std::make_shared<const poly::Program>(*program), back->result, back->result.best[0]);
  ASSERT_TRUE(plan) << plan.error().text();
}

}  // namespace
}  // namespace nautilus::sched
