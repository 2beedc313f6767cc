// Why a candidate is what it is.
#include "gui/models/why_data.h"

#include <gtest/gtest.h>

#include <set>

#include "gui/models/opening.h"
#include "tests/gui/sched_programs.h"

namespace nautilus::gui {
namespace {

using namespace poly::testing_programs;
using nlohmann::json;

// A node below a path of accepted decisions, at sizes of 64.
struct Asked {
  explicit Asked(poly::ProgramPtr p, poly::Sizes sizes = {}) : general(std::move(p)) {
    in.options.sizes = std::move(sizes);
    for (const std::string& name : general->params) in.options.sizes.emplace(name, 64);
    in.program = std::make_shared<const poly::Program>(
        poly::restrict_to_demanded(*poly::bind_sizes(*general, in.options.sizes)));
    in.general = general;
    deps = *poly::dependences(*in.program);
    in.dependences = &deps;
    in.path.emplace_back();
    in.path.back().state = sched::NodeState::Expanded;
  }
  sched::SearchNode& add(const std::string& name, const json& params, sched::NodeState state) {
    sched::SearchNode n;
    n.id = 10 * static_cast<int>(in.path.size());
    n.parent = in.path.back().id;
    n.steps = {{name, params.dump()}};
    n.state = state;
    in.path.push_back(n);
    return in.path.back();
  }
  poly::NodeId root() const { return poly::initial_schedule(general).root->id; }
  poly::ProgramPtr general;
  poly::DependenceSet deps;
  WhyInput in;
};

json fusion(poly::NodeId node, int last) {
  return {{"node", node}, {"first", 0}, {"last", last}, {"depth", 2}};
}

TEST(WhyData, AnIllegalNodeIsJudgedAgain) {
  Asked a(softmax(poly::make_context()));
  a.add("fuse", fusion(a.root(), 2), sched::NodeState::Illegal).reason = "as the search said";
  const Why w = explain(a.in);
  EXPECT_TRUE(w.remarks.empty()) << w.remarks[0];
  EXPECT_EQ(w.node, 10);
  EXPECT_EQ(w.reason, "as the search said");
  ASSERT_NE(w.failing(), nullptr);
  EXPECT_EQ(w.failing()->verdict.kind, poly::VerdictKind::Illegal);
  ASSERT_EQ(w.failing()->verdict.witness.size(), 1u);
  const WitnessStory& witness = w.failing()->verdict.witness.front();
  EXPECT_EQ(witness.source, "S_m");
  EXPECT_EQ(witness.sizes, (std::vector<std::pair<std::string, int64_t>>{{"M", 64}, {"N", 64}}));
  // And drawn at small sizes, between the same statements.
  ASSERT_TRUE(w.picture);
  EXPECT_TRUE(w.picture->scaled);
  ASSERT_GE(w.arrow, 0);
  const IterArrow& arrow = w.picture->arrows[static_cast<size_t>(w.arrow)];
  EXPECT_EQ(arrow.fate, Fate::Violated);
  EXPECT_GT(arrow.from, arrow.to);
}

TEST(WhyData, ARepairedNodeHasItsDerivationAndWhatPlainFusionBreaks) {
  Asked a(rows_of_attention(poly::make_context(), true));
  a.add("rolling_update", fusion(a.root(), 3), sched::NodeState::Expanded).verdict =
      poly::VerdictKind::Repairable;
  const Why w = explain(a.in);
  EXPECT_TRUE(w.remarks.empty()) << w.remarks[0];
  EXPECT_EQ(w.failing(), nullptr);
  ASSERT_EQ(w.steps.size(), 1u);
  ASSERT_EQ(w.steps[0].verdict.repairs.size(), 2u);  // the sum and the output
  for (const RepairStory& r : w.steps[0].verdict.repairs)
    for (const ObligationStory& o : r.obligations) EXPECT_TRUE(o.discharged) << o.claim;
  ASSERT_EQ(w.steps[0].plain.size(), 1u);
  EXPECT_EQ(w.steps[0].plain[0].kind, poly::VerdictKind::Illegal);
  ASSERT_TRUE(w.picture);
  ASSERT_GE(w.arrow, 0);
  EXPECT_EQ(w.picture->arrows[static_cast<size_t>(w.arrow)].fate, Fate::Paid);
}

TEST(WhyData, ARefusedRollingUpdateSaysWhichCorrectionIsMissing) {
  Asked a(softmax(poly::make_context()));
  a.add("rolling_update", fusion(a.root(), 3), sched::NodeState::Illegal);
  const Why w = explain(a.in);
  ASSERT_NE(w.failing(), nullptr);
  EXPECT_FALSE(w.failing()->verdict.why.empty());
  ASSERT_EQ(w.failing()->plain.size(), 1u);
  ASSERT_TRUE(w.picture);
  EXPECT_GE(w.arrow, 0);
}

// Where the fusion without a correction cannot be made at all (tiles of other sizes), what is drawn
// is the refused step itself, with the witness that it has.
TEST(WhyData, ARefusedRollingUpdateIsDrawnAsItIs) {
  SpecRequest request;
  request.spec = "layernorm";
  const auto opened = session_of(request);
  ASSERT_TRUE(opened) << opened.error().text();
  const auto general = poly::parse_naut(poly::make_context(), opened->program_naut, "layernorm");
  ASSERT_TRUE(general) << general.error().text();
  Asked a(std::make_shared<const poly::Program>(*general), opened->options.sizes);
  sched::SearchOptions o = opened->options;
  o.seconds = 0;
  o.max_plans = 60;
  const auto ops = sched::direct_ops_provider();
  const auto found = sched::search(a.in.program, o, *ops);
  ASSERT_TRUE(found) << found.error().text();
  int drawn = 0;
  for (const sched::SearchNode& n : found->nodes) {
    if (n.state != sched::NodeState::Illegal || n.steps.empty() ||
        n.steps.back().name != "rolling_update" || drawn == 3)
      continue;
    a.in.path.clear();
    for (int id = n.id; id >= 0; id = found->nodes[size_t(id)].parent)
      a.in.path.insert(a.in.path.begin(), found->nodes[size_t(id)]);
    const Why w = explain(a.in);
    ASSERT_TRUE(w.picture) << n.id;
    ASSERT_GE(w.arrow, 0) << n.id;
    EXPECT_EQ(w.picture->arrows[static_cast<size_t>(w.arrow)].fate, Fate::Violated);
    ++drawn;
  }
  EXPECT_GT(drawn, 0);
}

TEST(WhyData, StepsBeforeTheFailingOneAreToldToo) {
  Asked a(softmax(poly::make_context()));
  sched::SearchNode& n = a.add("fuse", fusion(a.root(), 1), sched::NodeState::Illegal);
  const poly::Schedule s = poly::initial_schedule(a.general);
  const poly::NodeId band = poly::preorder(s)[2]->id;
  n.steps.insert(n.steps.begin(), {"interchange", json{{"node", band}, {"order", {1, 0}}}.dump()});
  n.steps.push_back({"tile", "{}"});  // after the refusal: not reached
  const Why w = explain(a.in);
  ASSERT_EQ(w.steps.size(), 2u);
  EXPECT_TRUE(w.steps[0].verdict.accepted());
  EXPECT_FALSE(w.steps[0].diff.empty());
  EXPECT_EQ(w.refused, 1);
}

TEST(WhyData, NumbersOfWhatWasPruned) {
  Asked a(softmax(poly::make_context()));
  sched::SearchNode& n =
      a.add("tile", json{{"node", 3}, {"sizes", {8, 8}}}, sched::NodeState::OverCapacity);
  n.seconds = 3e-6;
  n.lower_bound = 2e-6;
  n.register_bytes = 300e3;
  n.shared_bytes = 10e3;
  a.in.options.machine.kind = "gpu";
  a.in.options.machine.registers_per_unit.value = 256e3;
  a.in.options.machine.model["register_room"].value = 0.5;
  a.in.options.machine.shared_per_unit.value = 200e3;
  a.in.context.best_seconds = 1e-6;
  const Why w = explain(a.in);
  ASSERT_EQ(w.numbers.size(), 4u);
  EXPECT_EQ(w.numbers[0].name, "predicted");
  EXPECT_TRUE(w.numbers[0].over());
  EXPECT_TRUE(w.numbers[2].over());
  EXPECT_EQ(*w.numbers[2].limit, 128e3);
  EXPECT_FALSE(w.numbers[3].over());
}

TEST(WhyData, DamagedPathsAreRemarks) {
  Asked a(softmax(poly::make_context()));
  a.add("tile", json{{"node", 999}, {"sizes", {8}}}, sched::NodeState::Expanded);
  a.add("tile", json{{"node", 999}, {"sizes", {8}}}, sched::NodeState::Expanded);
  const Why w = explain(a.in);
  ASSERT_EQ(w.remarks.size(), 1u);
  EXPECT_NE(w.remarks[0].find("cannot be made again"), std::string::npos);
  EXPECT_TRUE(w.steps.empty());
  EXPECT_EQ(explain(WhyInput()).node, -1);
}

TEST(WhyData, SentencesAndNumbers) {
  sched::SearchNode n;
  n.state = sched::NodeState::Bounded;
  EXPECT_EQ(state_sentence(n, {2e-6, -1, "", {}, {}}),
            "Left out: no plan below it can be faster than those that are known (the best takes "
            "2\u00a0µs).");
  n.state = sched::NodeState::Duplicate;
  EXPECT_EQ(state_sentence(n, {0, 7, "fuse", {}, {}}),
            "The same schedule as node 7 (fuse), reached by other steps: it is explored there.");
  std::set<std::string> told;
  for (int k = 0; k <= static_cast<int>(sched::NodeState::Failed); ++k) {
    n.state = static_cast<sched::NodeState>(k);
    const std::string sentence = state_sentence(n, {});
    EXPECT_TRUE(told.insert(sentence).second && sentence.back() == '.') << sentence;
  }
  EXPECT_EQ(measured_sentence({}), "");
  EXPECT_NE(
      measured_sentence({0, -1, "", sched::MeasuredPlan{1e-6, false, "h200"}, {}}).find("wrong"),
      std::string::npos);
  const std::string open =
      measured_sentence({0, -1, "", sched::MeasuredPlan{1e-6, {}, "h200"}, {}});
  EXPECT_NE(open.find("not compared"), std::string::npos) << open;
  EXPECT_EQ(open.find("wrong"), std::string::npos) << open;
}

}  // namespace
}  // namespace nautilus::gui
