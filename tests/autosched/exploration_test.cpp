// A search that is left and taken up again, steered, and written down in between.
#include "autosched/exploration.h"

#include <gtest/gtest.h>

#include "tests/autosched/programs.h"
#include "tests/autosched/searches.h"

namespace nautilus::sched {
namespace {

using namespace testing_programs;
using namespace testing_searches;
using nlohmann::json;

SearchOptions limited(Strategy strategy, int plans, int nodes = 100'000) {
  SearchOptions o = options_for();
  o.strategy = strategy;
  o.seconds = 0;
  o.max_plans = plans;
  o.max_nodes = nodes;
  return o;
}

struct Living {
  std::unique_ptr<OpsProvider> ops = direct_ops_provider();
  std::unique_ptr<Exploration> search;
  Living(poly::ProgramPtr p, const SearchOptions& o, SearchResult so_far = {},
         EventSink sink = {}) {
    auto made = Exploration::resume(p, o, std::move(so_far), *ops, std::move(sink));
    EXPECT_TRUE(made) << made.error().text();
    if (made) search = *std::move(made);
  }
  Exploration* operator->() { return search.get(); }
};

void expect_same_search(const SearchResult& whole, const SearchResult& pieces) {
  expect_same(whole, pieces);
  ASSERT_EQ(whole.nodes.size(), pieces.nodes.size());
  for (size_t i = 0; i < whole.nodes.size(); ++i) {
    EXPECT_EQ(whole.nodes[i].parent, pieces.nodes[i].parent) << i;
    EXPECT_EQ(whole.nodes[i].reason, pieces.nodes[i].reason) << i;
    EXPECT_EQ(whole.nodes[i].knobs, pieces.nodes[i].knobs) << i;
    EXPECT_EQ(whole.nodes[i].lower_bound, pieces.nodes[i].lower_bound) << i;
  }
  EXPECT_EQ(whole.plans_costed, pieces.plans_costed);
  EXPECT_EQ(whole.structures_verified, pieces.structures_verified);
  EXPECT_EQ(whole.duplicates, pieces.duplicates);
  EXPECT_EQ(whole.stop_reason, pieces.stop_reason);
}

// Budgets that end in the middle of listing decisions, of costing plans, and between decisions.
TEST(Exploration, InPiecesItIsTheSameSearch) {
  for (auto p : {softmax(512, 512), rmsnorm(256, 512), matmul(256, 512, 128),
                 attention(2, 512, 64, true)})
    for (Strategy s : {Strategy::BestFirst, Strategy::Beam, Strategy::Random,
                       Strategy::Exhaustive}) {
      if (p->name == "attention" && s != Strategy::BestFirst) continue;
      SCOPED_TRACE(p->name + " strategy " + std::to_string(static_cast<int>(s)));
      const SearchOptions o = limited(s, 160, 600);
      const SearchResult whole = run(p, o);
      Living living(p, o);
      for (int k = 1; k < 40; ++k) living->run({0, std::min(o.max_nodes, 13 * k), std::min(o.max_plans, 7 * k), k % 5 ? 0 : 3});
      living->run();
      living->close();
      expect_same_search(whole, living->result());
    }
}

TEST(Exploration, StepByStepItIsTheSameSearch) {
  auto p = softmax(256, 512);
  const SearchOptions o = limited(Strategy::BestFirst, 0, 0);
  const SearchResult whole = run(p, o);
  EXPECT_EQ(whole.stop_reason, StopReason::Exhausted);
  Living living(p, o);
  int steps = 0;
  size_t nodes = living->result().nodes.size();
  for (; !living->exhausted() && steps < 10'000; ++steps) {
    living->step();
    EXPECT_GE(living->result().nodes.size(), nodes);
    nodes = living->result().nodes.size();
    if (steps % 7 == 0) living->close();
  }
  EXPECT_GT(steps, 10);
  living->run();
  living->close();
  expect_same_search(whole, living->result());
}

// Time that ends anywhere: inside isl, inside a verification, among tile sizes.
TEST(Exploration, CutAnywhereItIsTheSameSearch) {
  auto p = attention(2, 256, 32);
  const SearchOptions o = limited(Strategy::BestFirst, 120, 500);
  const SearchResult whole = run(p, o);
  Living living(p, o);
  double seconds = 0;
  for (int k = 0; k < 200 && living->run({seconds += 0.003 + 0.004 * (k % 7), 500, 120}) ==
                                 StopReason::TimeBudget;
       ++k)
    if (k % 3 == 0) living->close();
  living->run();
  living->close();
  expect_same_search(whole, living->result());
}

TEST(Exploration, PausedWithTheFlagItIsTheSameSearch) {
  auto p = softmax(512, 512);
  SearchOptions o = limited(Strategy::BestFirst, 120);
  const SearchResult whole = run(p, o);
  std::atomic<bool> stop{false};
  o.stop = &stop;
  int64_t events = 0;
  Living living(p, o, {}, [&](const SearchEvent&) { stop = stop || ++events % 97 == 0; });
  for (int k = 0; k < 500 && living->run() == StopReason::Interrupted; ++k) stop = false;
  living->close();
  expect_same_search(whole, living->result());
}

// Every node says the same whether it is told in events or read from the result.
TEST(Exploration, EventsAreTheResult) {
  auto p = softmax(512, 512);
  std::vector<SearchNode> told;
  Living living(p, limited(Strategy::BestFirst, 100), {}, [&](const SearchEvent& e) {
    if (!e.node) return;
    if (e.kind == SearchEvent::Kind::Added) told.push_back(*e.node);
    else told[e.node->id] = *e.node;
  });
  for (int plans : {10, 11, 60, 100}) living->run({0, 0, plans});
  ASSERT_EQ(told.size(), living->result().nodes.size());
  for (const SearchNode& n : living->result().nodes) {
    EXPECT_EQ(told[n.id].state, n.state) << n.decision;
    EXPECT_EQ(told[n.id].reason, n.reason);
    EXPECT_EQ(told[n.id].decision, n.decision);
  }
}

Expected<SearchResult> through_a_file(const SearchResult& r, const SearchOptions& o) {
  Session s;
  s.options = o;
  s.result = r;
  auto back = session_from_json(session_to_json(s));
  if (!back) return back.error();
  return back->result;
}

// What a session file has is enough: nothing is lost, nothing is done twice.
TEST(Exploration, GoesOnFromASessionFile) {
  for (auto p : {softmax(512, 512), attention(2, 256, 32)})
    for (int plans : {1, 60}) {
      SCOPED_TRACE(p->name + " after " + std::to_string(plans));
      const SearchOptions o = limited(Strategy::BestFirst, 0, 0);
      SearchOptions before = o;
      before.max_plans = plans;
      auto part = through_a_file(run(p, before), before);
      ASSERT_TRUE(part) << part.error().text();
      const size_t kept = part->nodes.size();
      Living living(p, o, *part);
      EXPECT_FALSE(living->exhausted());
      EXPECT_EQ(living->run({0, 0, 400}) == StopReason::Exhausted, living->exhausted());
      living->close();
      const SearchResult& r = living->result();
      check_invariants(r);
      EXPECT_GT(r.nodes.size(), kept);
      const SearchResult whole = [&] {
        SearchOptions same = o;
        same.max_plans = 400;
        return run(p, same);
      }();
      EXPECT_DOUBLE_EQ(r.nodes[r.best[0]].seconds, whole.nodes[whole.best[0]].seconds);
      // No decision is listed twice below one node.
      std::set<std::pair<int, std::string>> seen;
      for (const SearchNode& n : r.nodes)
        EXPECT_TRUE(seen.emplace(n.parent, n.decision).second) << n.id << " " << n.decision;
      for (int id : r.best) {
        auto plan = plan_of(p, r, id);
        ASSERT_TRUE(plan) << plan.error().text();
        EXPECT_TRUE(poly::verify(plan->schedule).ok);
      }
    }
}

// A crash leaves nodes open, in a file that nobody closed; also one of an older version.
TEST(Exploration, GoesOnAfterACrash) {
  auto p = softmax(512, 512);
  const SearchOptions o = limited(Strategy::BestFirst, 0, 0);
  Living crashed(p, o);
  crashed->run({0, 0, 30});
  SearchResult left = crashed->result();
  EXPECT_GT(count_state(left, NodeState::Open), 0);
  left.best.clear();
  left.pareto.clear();
  for (SearchNode& n : left.nodes) n.shared_bytes = n.register_bytes = 0;
  Living living(p, o, left);
  EXPECT_EQ(living->run(), StopReason::Exhausted);
  const SearchResult whole = run(p, o);
  const SearchResult& r = living->result();
  check_invariants(r);
  EXPECT_DOUBLE_EQ(r.nodes[r.best[0]].seconds, whole.nodes[whole.best[0]].seconds);
  EXPECT_EQ(count_state(r, NodeState::Complete), count_state(whole, NodeState::Complete));
  EXPECT_EQ(r.pareto.size(), whole.pareto.size());
}

int find_node(const SearchResult& r, NodeState state) {
  for (const SearchNode& n : r.nodes)
    if (n.state == state) return n.id;
  return -1;
}

TEST(Exploration, BelowAPrunedNode) {
  auto p = softmax(512, 512);
  SearchOptions o = limited(Strategy::Beam, 0);
  o.beam = 2;
  Living living(p, o);
  living->run();
  const int pruned = find_node(living->result(), NodeState::Dominated);
  ASSERT_GE(pruned, 0);
  const SearchResult before = living->result();
  ASSERT_FALSE(living->explore_below(pruned));
  EXPECT_EQ(living->root(), pruned);
  living->run({0, 0, before.plans_costed + 50});
  const SearchResult& r = living->result();
  ASSERT_GT(r.nodes.size(), before.nodes.size());
  EXPECT_NE(r.nodes[pruned].state, NodeState::Dominated);
  int plans = 0;
  for (size_t k = before.nodes.size(); k < r.nodes.size(); ++k) {
    int id = static_cast<int>(k);
    while (id > pruned) id = r.nodes[id].parent;
    EXPECT_EQ(id, pruned) << "node " << k << " is outside";
    plans += r.nodes[k].state == NodeState::Complete;
  }
  EXPECT_GT(plans, 0);
  EXPECT_LE(r.nodes[r.best[0]].seconds, before.nodes[before.best[0]].seconds);
  ASSERT_FALSE(living->explore_below(0));
  living->run({0, 0, r.plans_costed + 50});
  living->close();
  check_invariants(living->result());
}

TEST(Exploration, BelowAPrunedNodeOfASessionFile) {
  auto p = softmax(512, 512);
  SearchOptions o = limited(Strategy::Beam, 0);
  o.beam = 2;
  auto file = through_a_file(run(p, o), o);
  ASSERT_TRUE(file) << file.error().text();
  const int pruned = find_node(*file, NodeState::Dominated);
  ASSERT_GE(pruned, 0);
  Living living(p, o, *file);
  ASSERT_FALSE(living->explore_below(pruned));
  living->run({0, 0, file->plans_costed + 30});
  const SearchResult& r = living->result();
  EXPECT_NE(r.nodes[pruned].state, NodeState::Dominated);
  for (size_t k = file->nodes.size(); k < r.nodes.size(); ++k) {
    EXPECT_NE(r.nodes[k].duplicate_of, static_cast<int>(k));
    int id = static_cast<int>(k);
    while (id > pruned) id = r.nodes[id].parent;
    EXPECT_EQ(id, pruned) << "node " << k << " is outside";
  }
}

TEST(Exploration, BelowWhatHasNothingBelow) {
  auto p = softmax(512, 512);
  Living living(p, limited(Strategy::BestFirst, 200));
  living->run();
  const SearchResult& r = living->result();
  for (NodeState s : {NodeState::Illegal, NodeState::Complete}) {
    const auto bad = living->explore_below(find_node(r, s));
    ASSERT_TRUE(bad) << state_name(s);
    EXPECT_FALSE(bad->why.empty());
    EXPECT_FALSE(bad->suggest.empty());
  }
  EXPECT_TRUE(living->explore_below(-1));
  EXPECT_TRUE(living->explore_below(1 << 30));
  const int copy = find_node(r, NodeState::Duplicate);
  if (copy >= 0) {
    EXPECT_FALSE(living->explore_below(copy));
    EXPECT_EQ(living->root(), r.nodes[copy].duplicate_of);
  }
}

// The node ids of a schedule by the first statement they hold.
int band_of(const poly::Schedule& s, const std::string& stmt) {
  for (const poly::NodePtr& child : s.root->children)
    if (std::find(child->statements.begin(), child->statements.end(), stmt) !=
        child->statements.end())
      return child->children[0]->id;
  return -1;
}

TEST(ByHand, LegalStepsBecomeAPlan) {
  auto p = softmax(512, 512);
  Living living(p, limited(Strategy::BestFirst, 40));
  living->run();
  const std::string stmt = p->statements[0].name;
  const int band = band_of(poly::initial_schedule(p), stmt);
  const json params = {{"node", band}, {"sizes", {48, 24}}};
  auto id = living->add_by_hand(0, {{"tile", params.dump()}});
  ASSERT_TRUE(id) << id.error().text();
  const SearchNode& n = living->result().nodes[*id];
  EXPECT_TRUE(n.by_hand);
  EXPECT_EQ(n.parent, 0);
  EXPECT_TRUE(n.decision.starts_with("by hand: tile")) << n.decision;
  EXPECT_NE(n.decision.find(stmt), std::string::npos) << n.decision;
  EXPECT_EQ(n.state, NodeState::Complete) << n.reason;
  EXPECT_GT(n.seconds, 0);
  auto plan = plan_of(p, living->result(), *id);
  ASSERT_TRUE(plan) << plan.error().text();
  ASSERT_EQ(plan->script.size(), 1u);
  EXPECT_EQ(json::parse(plan->script[0].params)["sizes"], json({48, 24}));
}

// The path to a node is enough to apply something there: nothing else is added.
TEST(ByHand, OnARootAlone) {
  auto p = softmax(512, 512);
  SearchResult root;
  root.nodes.emplace_back();
  root.nodes[0].state = NodeState::Expanded;
  Living living(p, limited(Strategy::BestFirst, 10), root);
  const int band = band_of(poly::initial_schedule(p), p->statements[0].name);
  auto id = living->add_by_hand(
      0, {{"tile", json{{"node", band}, {"sizes", {8, 8}}}.dump()}});
  ASSERT_TRUE(id) << id.error().text();
  EXPECT_EQ(*id, 1);
  EXPECT_EQ(living->result().nodes.size(), 2u);
  living->run();  // and the search goes on around it
  living->close();
  check_invariants(living->result());
}

// What was tiled by hand below a plan keeps both the plan's sizes and the hand's.
TEST(ByHand, BelowAPlanOfTheSearch) {
  auto p = matmul(256, 512, 128);
  Living living(p, limited(Strategy::BestFirst, 200));
  living->run();
  const int best = living->result().best[0];
  const SearchNode before = living->result().nodes[best];
  auto plan = plan_of(p, living->result(), best);
  ASSERT_TRUE(plan);
  const int band = plan->schedule.root->children[0]->children[0]->id;
  auto id = living->add_by_hand(
      best, {{"map", json{{"node", band}, {"member", "*"}, {"mapping", "serial"}}.dump()}});
  ASSERT_TRUE(id) << id.error().text();
  const SearchNode& n = living->result().nodes[*id];
  EXPECT_EQ(n.state, NodeState::Complete) << n.reason;
  EXPECT_EQ(n.knobs, before.knobs);
  EXPECT_GT(n.seconds, before.seconds) << "one block instead of a grid";
  auto again = plan_of(p, living->result(), *id);
  ASSERT_TRUE(again) << again.error().text();
  ASSERT_EQ(again->script.size(), plan->script.size() + 1);
  for (size_t k = 0; k < plan->script.size(); ++k)
    EXPECT_EQ(again->script[k].params, plan->script[k].params) << k;
}

TEST(ByHand, IllegalStepsHaveTheirWitness) {
  auto p = softmax(512, 512);
  Living living(p, limited(Strategy::BestFirst, 10));
  const int root = poly::initial_schedule(p).root->id;
  const json params = {{"node", root}, {"first", 0}, {"last", 1}, {"depth", 2}};
  auto id = living->add_by_hand(0, {{"fuse", params.dump()}});
  ASSERT_TRUE(id) << id.error().text();
  const SearchNode n = living->result().nodes[*id];
  EXPECT_EQ(n.state, NodeState::Illegal) << n.reason;
  EXPECT_EQ(n.verdict, poly::VerdictKind::Illegal);
  EXPECT_NE(n.reason.find("must precede"), std::string::npos) << n.reason;
  EXPECT_FALSE(plan_of(p, living->result(), *id));
  EXPECT_FALSE(living->add_by_hand(*id, {{"fuse", params.dump()}}));
}

TEST(ByHand, RequestsThatMeanNothingAddNothing) {
  auto p = softmax(512, 512);
  Living living(p, limited(Strategy::BestFirst, 10));
  const size_t nodes = living->result().nodes.size();
  for (const poly::TransformStep& s : std::vector<poly::TransformStep>{
           {"tile", R"({"node": 100000, "sizes": [8]})"},
           {"tile", "{nonsense"},
           {"no_such_transform", "{}"},
           {"tile", R"({"sizes": [8]})"},
           {"", ""}}) {
    auto id = living->add_by_hand(0, {s});
    ASSERT_FALSE(id) << s.name;
    EXPECT_FALSE(id.error().why.empty());
  }
  EXPECT_FALSE(living->add_by_hand(0, {}));
  EXPECT_FALSE(living->add_by_hand(77, {{"tile", "{}"}}));
  EXPECT_EQ(living->result().nodes.size(), nodes);
}

// A search below a node made by hand leaves alone what the hand did, and finishes the rest.
TEST(ByHand, TheSearchGoesOnBelow) {
  auto p = softmax(512, 512);
  Living living(p, limited(Strategy::BestFirst, 40));
  living->run();
  const std::string last = p->statements.back().name;
  const int band = band_of(poly::initial_schedule(p), last);
  const json tile = {{"node", band}, {"sizes", {4, -1}}};
  auto id = living->add_by_hand(0, {{"tile", tile.dump()}});
  ASSERT_TRUE(id) << id.error().text();
  ASSERT_FALSE(living->explore_below(*id));
  const size_t before = living->result().nodes.size();
  living->run({0, 0, living->result().plans_costed + 60});
  const SearchResult& r = living->result();
  ASSERT_GT(r.nodes.size(), before);
  int plans = 0;
  for (size_t k = before; k < r.nodes.size(); ++k)
    if (r.nodes[k].state == NodeState::Complete) {
      ++plans;
      auto plan = plan_of(p, r, static_cast<int>(k));
      ASSERT_TRUE(plan) << plan.error().text();
      EXPECT_TRUE(poly::verify(plan->schedule).ok);
      EXPECT_EQ(plan->script[0].name, "tile");
    }
  EXPECT_GT(plans, 0);
  auto file = through_a_file(r, living->options());
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_TRUE(file->nodes[*id].by_hand);
}

TEST(Machines, TheSameMachineCostsTheSame) {
  for (auto p : {matmul(256, 512, 128), softmax(512, 512), attention(2, 256, 32)}) {
    SCOPED_TRACE(p->name);
    Living living(p, limited(Strategy::BestFirst, 150));
    living->run();
    const SearchResult before = living->result();
    auto ops = direct_ops_provider();
    ASSERT_FALSE(living->set_machine(living->options().machine, *ops));
    const SearchResult& r = living->result();
    for (const SearchNode& n : before.nodes) {
      if (n.state == NodeState::Open) continue;
      EXPECT_DOUBLE_EQ(r.nodes[n.id].seconds, n.seconds) << n.decision;
      EXPECT_DOUBLE_EQ(r.nodes[n.id].lower_bound, n.lower_bound) << n.decision;
      EXPECT_EQ(r.nodes[n.id].limiter, n.limiter);
      if (n.state == NodeState::Complete || n.state == NodeState::OverCapacity) {
        EXPECT_EQ(r.nodes[n.id].state, n.state);
      }
    }
    EXPECT_EQ(r.best, before.best);
    EXPECT_EQ(r.pareto, before.pareto);
  }
}

TEST(Machines, AnotherMachineCostsAllPlansAgain) {
  auto p = softmax(4096, 4096);
  Living living(p, limited(Strategy::BestFirst, 100));
  living->run();
  const SearchResult before = living->result();
  const Machine other = *find_machine("rtx4090");
  auto ops = direct_ops_provider();
  ASSERT_FALSE(living->set_machine(other, *ops));
  EXPECT_EQ(living->options().machine.id, other.id);
  int other_time = 0, plans = 0;
  for (const SearchNode& n : before.nodes)
    if (n.state == NodeState::Complete) {
      ++plans;
      other_time += living->result().nodes[n.id].seconds != n.seconds;
    }
  EXPECT_GT(plans, 10);
  EXPECT_EQ(other_time, plans);
  living->run({0, 0, 200});
  living->close();
  check_invariants(living->result());
  EXPECT_TRUE(living->set_machine(Machine{}, *ops));
}

}  // namespace
}  // namespace nautilus::sched
