// Stale references as a choice of the search, through plans and their files.
#include <nlohmann/json.hpp>

#include "autosched/search.h"
#include "autosched/search/lazy.h"
#include "tests/autosched/programs.h"

namespace nautilus::sched {
namespace {

using namespace testing_programs;

int lazy_repairs(const poly::Schedule& s) {
  return static_cast<int>(std::count_if(s.repairs.begin(), s.repairs.end(),
                                        [](const poly::Repair& r) { return r.lazy; }));
}

struct Found {
  poly::ProgramPtr program;
  SearchResult result;
};
Found search_attention(const std::string& machine) {
  Found f{attention(8, 4096, 128), {}};
  SearchOptions o;
  o.machine =
      *load_machine(std::string(NAUTILUS_SOURCE_DIR "/corpus/machines/") + machine + ".json");
  o.seconds = 0;
  o.max_plans = 2500;
  auto ops = direct_ops_provider();
  auto r = search(f.program, o, *ops);
  EXPECT_TRUE(r) << r.error().text();
  if (r) f.result = *std::move(r);
  return f;
}

// Plans with the knob replay to lazy repairs, are verified, and survive their file.
TEST(LazyKnob, SurvivesReplayAndFile) {
  const Found f = search_attention("h200");
  int with = 0;
  for (const SearchNode& n : f.result.nodes) {
    if (n.state != NodeState::Complete || !n.knobs.contains(kLazyKnob)) continue;
    EXPECT_EQ(n.knobs.at(kLazyKnob), 1);
    if (++with > 2) continue;
    auto plan = plan_of(f.program, f.result, n.id);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_GE(lazy_repairs(plan->schedule), 2);
    EXPECT_EQ(plan->script.back().name, "lazy_reference");
    const poly::Verification v = poly::verify(plan->schedule);
    EXPECT_TRUE(v.ok) << v.verdict.why;
    const nlohmann::json j = nlohmann::json::parse(plan_to_json(*plan).dump());
    EXPECT_EQ(j["knobs"]["lazy"], 1);
    auto back = plan_from_json(f.program, j);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(poly::canonical_hash(back->schedule), poly::canonical_hash(plan->schedule));
    EXPECT_EQ(lazy_repairs(back->schedule), lazy_repairs(plan->schedule));
    // The same plan without it is another schedule, and costs more.
    const SearchNode& structure = f.result.nodes[n.parent];
    Knobs eager = n.knobs;
    eager.erase(kLazyKnob);
    for (const SearchNode& e : f.result.nodes)
      if (e.parent == structure.id && e.knobs == eager) {
        EXPECT_GE(e.seconds, n.seconds);
        auto other = plan_of(f.program, f.result, e.id);
        ASSERT_TRUE(other);
        EXPECT_EQ(lazy_repairs(other->schedule), 0);
        EXPECT_NE(poly::canonical_hash(other->schedule), poly::canonical_hash(plan->schedule));
      }
  }
  EXPECT_GT(with, 0);
}

// Where nothing is repaired there is nothing to choose, and a plan that says otherwise is refused.
TEST(LazyKnob, NeedsRepairs) {
  auto p = pointwise(1 << 16);
  EXPECT_FALSE(with_lazy_references(poly::initial_schedule(p)));
  SearchOptions o;
  o.machine = *load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json");
  o.seconds = 0;
  o.max_plans = 50;
  auto ops = direct_ops_provider();
  auto r = search(p, o, *ops);
  ASSERT_TRUE(r);
  for (SearchNode& n : r->nodes) {
    EXPECT_FALSE(n.knobs.contains(kLazyKnob));
    if (n.state == NodeState::Complete) n.knobs[kLazyKnob] = 1;
  }
  auto plan = plan_of(p, *r, r->best.at(0));
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().text().find("stale"), std::string::npos);
}

}  // namespace
}  // namespace nautilus::sched
