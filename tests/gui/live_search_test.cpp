#include "gui/models/live_search.h"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>
#include <map>

#include "gui/models/opening.h"
#include "tests/gui/patience.h"

namespace nautilus::gui {
namespace {

using SearchPhase = LiveSearch::Phase;
constexpr int kPatience = 60'000;

const sched::Session& small_softmax() {
  static const sched::Session s = [] {
    SpecRequest r;
    r.spec = "softmax";
    r.sizes = {{"N", 64}, {"M", 64}};
    auto opened = session_of(r);
    EXPECT_TRUE(opened) << opened.error().text();
    return *opened;
  }();
  return s;
}

bool paused(const LiveSearch& s) {
  return QTest::qWaitFor([&] { return s.phase() == SearchPhase::Paused; }, kPatience);
}

bool is_of(const Document& d, const std::string& machine) {
  return d.session().options.machine.id == machine;
}

// Ids are rows, parents come first, and what is listed exists.
void expect_sound(const Document& d) {
  for (size_t k = 0; k < d.nodes().size(); ++k) {
    ASSERT_EQ(d.nodes()[k].id, static_cast<int>(k));
    ASSERT_LT(d.nodes()[k].parent, static_cast<int>(k));
    ASSERT_LT(d.nodes()[k].duplicate_of, static_cast<int>(d.nodes().size()));
  }
  for (int id : d.best()) ASSERT_TRUE(d.node(id));
}

TEST(LiveSearch, GrowsTheDocumentAndEndsByItself) {
  Document d;
  LiveSearch s(d);
  d.set_session(small_softmax(), "");
  QSignalSpy grew(&d, &Document::appended), ended(&s, &LiveSearch::ended);
  s.explore({0, 80, 0});
  EXPECT_EQ(s.phase(), SearchPhase::Running);
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended.count() == 1; }, kPatience));
  EXPECT_EQ(s.phase(), SearchPhase::Paused);
  EXPECT_GE(grew.count(), 1);
  EXPECT_EQ(ended[0][0].value<sched::StopReason>(), sched::StopReason::PlanBudget);
  EXPECT_GE(d.session().result.plans_costed, 80);
  EXPECT_FALSE(d.best().empty());
  expect_sound(d);
  const size_t before = d.nodes().size();
  s.explore({0, 80, 0});  // as much again
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended.count() == 2; }, kPatience));
  EXPECT_GT(d.nodes().size(), before);
  EXPECT_GE(d.session().result.plans_costed, 160);
  expect_sound(d);
  s.explore({0, 0, 0});  // and to the end, where nothing is left
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended.count() == 3; }, kPatience));
  EXPECT_EQ(ended[2][0].value<sched::StopReason>(), sched::StopReason::Exhausted);
  const int all = d.session().result.plans_costed;
  s.explore({0, 100, 0});
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended.count() == 4; }, kPatience));
  EXPECT_EQ(d.session().result.plans_costed, all);
  expect_sound(d);
}

TEST(LiveSearch, PauseStepResumeStop) {
  Document d;
  LiveSearch s(d);
  d.set_session(small_softmax(), "");
  s.step();
  ASSERT_TRUE(paused(s));
  const size_t one = d.nodes().size();
  EXPECT_GT(one, 0u);
  s.step();
  ASSERT_TRUE(paused(s));
  EXPECT_GE(d.nodes().size(), one);
  s.explore({0, 0, 0});
  ASSERT_TRUE(QTest::qWaitFor([&] { return d.nodes().size() > one + 20; }, kPatience));
  s.pause();
  ASSERT_TRUE(paused(s));
  const size_t at_pause = d.nodes().size();
  QTest::qWait(300);
  EXPECT_EQ(d.nodes().size(), at_pause);
  s.stop();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !s.alive(); }, kPatience));
  expect_sound(d);
  EXPECT_FALSE(d.best().empty());
}

// Nodes that somebody else put into the document are known to the search that goes on.
TEST(LiveSearch, GoesOnFromWhatIsThere) {
  Document d;
  LiveSearch s(d);
  d.set_session(small_softmax(), "");
  s.explore({0, 50, 0});
  ASSERT_TRUE(QTest::qWaitFor([&] { return s.phase() == SearchPhase::Paused; }, kPatience));
  sched::SearchNode mine;
  mine.parent = 0;
  mine.state = sched::NodeState::Illegal;
  mine.verdict = poly::VerdictKind::Illegal;
  mine.decision = "by hand";
  d.append({mine});
  const int id = static_cast<int>(d.nodes().size()) - 1;
  s.explore({0, 100, 0});
  ASSERT_TRUE(paused(s));
  EXPECT_EQ(d.node(id)->decision, "by hand");
  EXPECT_GT(static_cast<int>(d.nodes().size()), id + 1);
  expect_sound(d);
}

// A transform by hand before any search.
TEST(LiveSearch, BeginsBesideWhatWasMadeByHand) {
  Document d;
  LiveSearch s(d);
  d.set_session(small_softmax(), "");
  sched::SearchNode mine;
  mine.parent = 0;
  mine.state = sched::NodeState::Illegal;
  mine.verdict = poly::VerdictKind::Illegal;
  mine.by_hand = true;
  d.append({mine});
  s.explore({0, 50, 0});
  ASSERT_TRUE(paused(s));
  EXPECT_TRUE(d.node(1)->by_hand);
  EXPECT_GE(d.session().result.plans_costed, 50);
  expect_sound(d);
}

TEST(LiveSearch, TransformsByHandWhileItRuns) {
  Document d;
  LiveSearch s(d);
  d.set_session(small_softmax(), "");
  s.explore({0, 0, 0});
  ASSERT_TRUE(QTest::qWaitFor([&] { return d.nodes().size() > 5; }, kPatience));
  int made = -2;
  s.add_by_hand(0, {{"fuse", "{\"node\":999}"}}, [&](int node, const QString& why) {
    made = node;
    EXPECT_FALSE(why.isEmpty());
  });
  ASSERT_TRUE(QTest::qWaitFor([&] { return made != -2; }, kPatience));
  EXPECT_EQ(made, -1);
  EXPECT_EQ(s.phase(), SearchPhase::Running);
  const size_t before = d.nodes().size();
  EXPECT_TRUE(QTest::qWaitFor([&] { return d.nodes().size() > before; }, kPatience));
  s.pause();
  ASSERT_TRUE(paused(s));
  expect_sound(d);
}

TEST(LiveSearch, BelowACandidateAndEverythingAgain) {
  Document d;
  LiveSearch s(d);
  d.set_session(small_softmax(), "");
  s.explore({0, 30, 0});
  ASSERT_TRUE(paused(s));
  const auto open = std::find_if(d.nodes().begin() + 1, d.nodes().end(),
                                 [](const auto& n) { return n.state == sched::NodeState::Open; });
  ASSERT_NE(open, d.nodes().end());
  const int root = open->id;
  s.explore_below(root);
  ASSERT_TRUE(QTest::qWaitFor([&] { return s.root() == root; }, kPatience));
  const int first = static_cast<int>(d.nodes().size());
  s.explore({0, 60, 0});
  ASSERT_TRUE(paused(s));
  // The decision that the budget cut short is finished first; then all is below the root.
  bool begun = false;
  int below = 0, outside = 0;
  for (int id = first; id < static_cast<int>(d.nodes().size()); ++id) {
    const std::vector<int> path = d.path(id);
    const bool inside = std::find(path.begin(), path.end(), root) != path.end();
    begun |= inside;
    (inside ? below : outside)++;
    EXPECT_TRUE(inside || !begun) << "node " << id << ": " << d.node(id)->decision;
  }
  EXPECT_GT(below, 0);
  std::printf("%d candidates below, %d of the decision under way\n", below, outside);
  s.explore_below(0);
  EXPECT_TRUE(QTest::qWaitFor([&] { return s.root() == 0; }, kPatience));
}

TEST(LiveSearch, AnotherMachineCostsEverythingAgain) {
  Document d;
  LiveSearch s(d);
  d.set_session(small_softmax(), "");
  s.explore({0, 60, 0});
  ASSERT_TRUE(paused(s));
  const int best = d.best().front();
  const double before = d.node(best)->seconds;
  const auto other = machine_named("rtx4090");
  ASSERT_TRUE(other);
  s.set_machine(*other);
  ASSERT_TRUE(QTest::qWaitFor([&] { return is_of(d, "rtx4090"); }, kPatience));
  EXPECT_NE(d.node(best)->seconds, before);
}

// Whoever pauses or stops while plans are costed again finds costs of one machine, the one that the
// document names.
TEST(LiveSearch, CostsOfTwoMachinesAreNeverMixed) {
  Document start;
  {
    LiveSearch s(start);
    start.set_session(small_softmax(), "");
    s.explore({0, 300, 0});
    ASSERT_TRUE(paused(s));
  }
  const sched::Session searched = start.session();
  const auto other = machine_named("rtx4090");
  ASSERT_TRUE(other);
  const auto costs = [&](const Document& d) {  // of the candidates that were there before
    std::vector<double> out;
    for (const sched::SearchNode& n : searched.result.nodes) out.push_back(d.node(n.id)->seconds);
    return out;
  };
  const std::vector<double> old_costs = costs(start);
  std::vector<double> new_costs;
  const auto begin = [&](Document& d, LiveSearch& s) {
    d.set_session(searched, "");
    s.step();  // the exploration knows all
    ASSERT_TRUE(paused(s));
    s.set_machine(*other);
  };
  {
    Document d;
    LiveSearch s(d);
    begin(d, s);
    ASSERT_TRUE(QTest::qWaitFor([&] { return is_of(d, "rtx4090"); }, kPatience));
    new_costs = costs(d);
  }
  ASSERT_NE(new_costs, old_costs);
  for (const int turns : {0, 1, 3, 10}) {
    SCOPED_TRACE(turns);
    Document d;
    LiveSearch s(d);
    const auto one_machine = [&] {
      EXPECT_EQ(costs(d), is_of(d, "rtx4090") ? new_costs : old_costs);
    };
    QObject::connect(&d, &Document::options_changed, &d, one_machine);
    QObject::connect(&d, &Document::changed, &d, one_machine);
    QObject::connect(&d, &Document::appended, &d, one_machine);
    QObject::connect(&d, &Document::answer_changed, &d, one_machine);
    QObject::connect(&d, &Document::progress, &d, one_machine);
    begin(d, s);
    s.explore({0, 0, 0});
    QTest::qWait(turns);
    turns % 2 ? s.stop() : s.pause();
    ASSERT_TRUE(QTest::qWaitFor([&] { return s.phase() != SearchPhase::Running; }, kPatience));
    EXPECT_TRUE(is_of(d, "rtx4090")) << "what was asked before the pause is done";
    one_machine();
  }
  {  // cut short by the end of it all
    Document d;
    LiveSearch s(d);
    begin(d, s);
    s.drop();
    QTest::qWait(50);
    EXPECT_TRUE(is_of(d, searched.options.machine.id));
    EXPECT_EQ(costs(d), old_costs);
  }
}

// A search of 300 plans and what they cost on two machines.
class MachineChanges : public testing::Test {
 protected:
  void SetUp() override {
    {
      LiveSearch s(d);
      d.set_session(small_softmax(), "");
      s.explore({0, 300, 0});
      ASSERT_TRUE(paused(s));
    }
    const auto other = machine_named("rtx4090");
    ASSERT_TRUE(other);
    machines = {d.session().options.machine, *other};
    costs_on[machines[0].id] = costs();
    search = std::make_unique<LiveSearch>(d);
    search->set_machine(machines[1]);
    ASSERT_TRUE(arrives(1));
    costs_on[machines[1].id] = costs();
    ASSERT_NE(costs_on[machines[0].id], costs_on[machines[1].id]);
    const auto note = [this] {
      EXPECT_EQ(costs(), costs_on[d.session().options.machine.id]);
      if (seen.empty() || seen.back() != d.session().options.machine.id)
        seen.push_back(d.session().options.machine.id);
    };
    for (const auto told : {&Document::options_changed, &Document::answer_changed})
      QObject::connect(&d, told, &d, note);
    QObject::connect(&d, &Document::changed, &d, note);
    QObject::connect(&d, &Document::appended, &d, note);
    seen = {machines[1].id};
  }
  // Of the plans that were there at first.
  std::vector<double> costs() {
    if (plans.empty())
      for (const sched::SearchNode& n : d.nodes())
        if (n.state == sched::NodeState::Complete && !n.knobs.empty()) plans.push_back(n.id);
    std::vector<double> out;
    for (int id : plans) out.push_back(d.node(id)->seconds);
    return out;
  }
  bool arrives(size_t machine) {
    return QTest::qWaitFor([&] { return is_of(d, machines[machine].id); }, kPatience);
  }
  // A step that the search took below the program as it was written.
  std::vector<poly::TransformStep> known_step() {
    for (const sched::SearchNode& n : d.nodes())
      if (n.parent == 0 && !n.steps.empty()) return n.steps;
    return {};
  }
  Document d;
  std::unique_ptr<LiveSearch> search;
  std::vector<sched::Machine> machines;
  std::map<std::string, std::vector<double>> costs_on;
  std::vector<std::string> seen;
  std::vector<int> plans;
};

TEST_F(MachineChanges, AgainWhileTheFirstIsUnderWay) {
  for (int turns : {0, 1, 2, 5, 20}) {
    SCOPED_TRACE(turns);
    search->set_machine(machines[0]);
    for (int k = 0; k < turns; ++k) {
      QCoreApplication::processEvents();
      QTest::qSleep(2);
    }
    search->set_machine(machines[1]);
    search->pause();
    bool asked = false;  // what is asked last is answered last
    search->add_by_hand(0, {{"fuse", "{\"node\":999}"}},
                        [&](int, const QString&) { asked = true; });
    ASSERT_TRUE(QTest::qWaitFor([&] { return asked; }, kPatience));
    EXPECT_TRUE(is_of(d, machines[1].id));
    EXPECT_EQ(seen, (std::vector{machines[1].id, machines[0].id, machines[1].id}));
    seen = {machines[1].id};
    expect_sound(d);
  }
}

// What a person makes just before is in the tree with the others; just after, with the new costs.
TEST_F(MachineChanges, CandidatesByHandBesideThem) {
  ASSERT_FALSE(known_step().empty());
  std::vector<std::pair<int, std::string>> made;  // and the machine then
  const auto done = [&](int node, const QString& why) {
    EXPECT_TRUE(d.node(node)) << why.toStdString();
    made.emplace_back(node, d.session().options.machine.id);
  };
  search->add_by_hand(0, known_step(), done);
  search->set_machine(machines[0]);
  search->add_by_hand(0, known_step(), done);
  ASSERT_TRUE(QTest::qWaitFor([&] { return made.size() == 2; }, kPatience));
  EXPECT_EQ(made[1].second, machines[0].id);
  expect_sound(d);
}

TEST_F(MachineChanges, SearchesAndStepsGoOnAfterwards) {
  QSignalSpy ended(search.get(), &LiveSearch::ended);
  const size_t count = d.nodes().size();
  search->set_machine(machines[0]);
  search->explore({0, 100, 0});
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended.count() == 1; }, kPatience));
  EXPECT_TRUE(is_of(d, machines[0].id));
  EXPECT_GT(d.nodes().size(), count);
  search->set_machine(machines[1]);
  search->step();
  ASSERT_TRUE(paused(*search));
  EXPECT_TRUE(is_of(d, machines[1].id));
  expect_sound(d);
}

// Not of the exploration: its costs are of the machine then.
TEST_F(MachineChanges, WhatAnotherMadeMeanwhileIsCostedToo) {
  for (const bool stops : {false, true}) {
    const size_t to = stops ? 1 : 0;
    QSignalSpy ended(search.get(), &LiveSearch::ended);
    search->set_machine(machines[to]);
    if (stops)
      search->stop();
    else
      search->explore({0, 10, 0});
    sched::SearchNode mine;
    mine.parent = 0;
    mine.state = sched::NodeState::Illegal;
    mine.verdict = poly::VerdictKind::Illegal;
    mine.decision = "by hand";
    d.append({mine});
    const int id = static_cast<int>(d.nodes().size()) - 1;
    if (stops)
      ASSERT_TRUE(QTest::qWaitFor([&] { return !search->alive(); }, kPatience));
    else
      ASSERT_TRUE(QTest::qWaitFor([&] { return ended.count() == 1; }, kPatience));
    EXPECT_TRUE(is_of(d, machines[to].id));
    EXPECT_EQ(d.node(id)->decision, "by hand");
    expect_sound(d);
  }
}

TEST_F(MachineChanges, AskedWhileTheSearchStops) {
  search->stop();
  search->set_machine(machines[0]);
  EXPECT_TRUE(arrives(0));
  expect_sound(d);
}

TEST_F(MachineChanges, RefusedAfterAnother) {
  sched::Machine without_levels;
  without_levels.id = "nothing";
  QSignalSpy refused(search.get(), &LiveSearch::refused);
  search->set_machine(machines[0]);
  search->set_machine(without_levels);
  search->set_machine(machines[1]);
  ASSERT_TRUE(QTest::qWaitFor([&] { return seen.size() == 3; }, kPatience));
  EXPECT_EQ(seen, (std::vector{machines[1].id, machines[0].id, machines[1].id}));
  EXPECT_EQ(refused.count(), 1);
  expect_sound(d);
}

TEST_F(MachineChanges, AnotherDocumentInTheMiddle) {
  for (int turns : {0, 1, 3, 10, 40}) {
    search->set_machine(machines[0]);
    for (int k = 0; k < turns; ++k) {
      QCoreApplication::processEvents();
      QTest::qSleep(2);
    }
    const auto at_drop = costs();
    const std::string machine = d.session().options.machine.id;
    search->drop();
    QTest::qWait(100);
    EXPECT_EQ(costs(), at_drop);
    EXPECT_TRUE(is_of(d, machine));
    EXPECT_EQ(costs(), costs_on[machine]);
    search->set_machine(machines[1]);
    ASSERT_TRUE(arrives(1));
  }
}

TEST(LiveSearch, AMachineThatIsRefusedChangesNothing) {
  Document d;
  LiveSearch s(d);
  d.set_session(small_softmax(), "");
  s.explore({0, 60, 0});
  ASSERT_TRUE(paused(s));
  const std::string before = d.session().options.machine.id;
  const double best = d.node(d.best().front())->seconds;
  QSignalSpy refused(&s, &LiveSearch::refused);
  sched::Machine without_levels;
  without_levels.id = "nothing";
  s.set_machine(without_levels);
  ASSERT_TRUE(QTest::qWaitFor([&] { return refused.count() == 1 && !s.alive(); }, kPatience));
  EXPECT_TRUE(is_of(d, before));
  EXPECT_EQ(d.node(d.best().front())->seconds, best);
  s.explore({0, 20, 0});  // and it goes on
  EXPECT_TRUE(paused(s));
  EXPECT_EQ(refused.count(), 1);
}

TEST(LiveSearch, AnotherDocumentDropsIt) {
  Document d;
  auto s = std::make_unique<LiveSearch>(d);
  d.set_session(small_softmax(), "");
  s->explore({0, 0, 0});
  ASSERT_TRUE(QTest::qWaitFor([&] { return d.nodes().size() > 5; }, kPatience));
  QElapsedTimer t;
  t.start();
  s->drop();
  EXPECT_LT(t.elapsed(), 50 * kSlower);
  d.set_session(small_softmax(), "");
  QTest::qWait(300);
  EXPECT_EQ(d.nodes().size(), 1u);
  s->explore({0, 0, 0});
  QTest::qWait(100);
  t.start();
  s.reset();  // while it runs
  EXPECT_LT(t.elapsed(), 5000 * kSlower);
}

TEST(LiveSearch, AProgramThatCannotBeReadIsRefused) {
  Document d;
  LiveSearch s(d);
  sched::Session broken = small_softmax();
  broken.program_naut = "naut 1\nprogram";
  d.set_session(broken, "");
  QSignalSpy refused(&s, &LiveSearch::refused);
  s.explore({1, 0, 0});
  ASSERT_TRUE(QTest::qWaitFor([&] { return refused.count() == 1; }, kPatience));
  EXPECT_NE(s.phase(), SearchPhase::Running);
}

sched::Session causal_attention() {
  SpecRequest r;
  r.spec = "attention_causal_gqa";
  auto opened = session_of(r);
  EXPECT_TRUE(opened) << opened.error().text();
  return *opened;
}

// A decision takes seconds here; a pause does not wait for its end.
TEST(LiveSearch, PauseReachesTheDecisionUnderWay) {
  Document d;
  LiveSearch s(d);
  d.set_session(causal_attention(), "");
  s.explore({0, 0, 6});
  ASSERT_TRUE(paused(s));
  // Each decision as long as the pause lets it, and then to its end: `rest` is what a pause that
  // waited would have taken.
  double pause = 0, rest = 0;
  int in_the_middle = 0;
  for (int k = 0; k < 40 && (in_the_middle < 4 || rest < 500); ++k) {
    s.step();
    if (QTest::qWaitFor([&] { return s.phase() != SearchPhase::Running; }, 30))
      continue;  // it was a short one
    QElapsedTimer t;
    t.start();
    s.pause();
    ASSERT_TRUE(paused(s));
    const auto cut = static_cast<double>(t.elapsed());
    t.start();
    s.step();
    ASSERT_TRUE(paused(s));
    pause = std::max(pause, cut);
    rest = std::max(rest, static_cast<double>(t.elapsed()));
    ++in_the_middle;
  }
  std::printf("%d pauses in the middle took up to %.0f ms, what they cut up to %.0f ms more\n",
              in_the_middle, pause, rest);
  ASSERT_GE(in_the_middle, 2) << "nothing was paused while it decided";
  ASSERT_GE(rest, 200) << "no decision was long enough to tell";
  EXPECT_LT(pause, 3000 * kSlower);
  EXPECT_LT(pause, rest) << "it waited for the end of a decision";
  expect_sound(d);
}

// What was cut short goes on, and finds what a search in one go finds.
TEST(LiveSearch, PausedAndResumedItFindsTheSame) {
  const auto whole = [](Document& d) {
    LiveSearch s(d);
    d.set_session(small_softmax(), "");
    s.explore({0, 0, 0});
    EXPECT_TRUE(paused(s));
  };
  const auto in_pieces = [](Document& d) {
    LiveSearch s(d);
    d.set_session(small_softmax(), "");
    for (int k = 0; k < 12; ++k) {
      if (k % 3 == 0)
        s.step();
      else
        s.explore({0, 0, 0});
      QTest::qWait(5 + 11 * k % 40);
      s.pause();
      ASSERT_TRUE(paused(s));
    }
    s.explore({0, 0, 0});
    EXPECT_TRUE(paused(s));
  };
  Document one, other;
  whole(one);
  in_pieces(other);
  ASSERT_EQ(one.nodes().size(), other.nodes().size());
  for (size_t k = 0; k < one.nodes().size(); ++k) {
    const sched::SearchNode &a = one.nodes()[k], &b = other.nodes()[k];
    ASSERT_EQ(a.parent, b.parent) << k;
    ASSERT_EQ(a.decision, b.decision) << k;
    ASSERT_EQ(a.state, b.state) << k << ": " << a.reason << " | " << b.reason;
    ASSERT_EQ(a.reason, b.reason) << k;
    ASSERT_EQ(a.seconds, b.seconds) << k;
    ASSERT_EQ(a.knobs, b.knobs) << k;
  }
  EXPECT_EQ(one.best(), other.best());
  EXPECT_EQ(one.session().result.pareto, other.session().result.pareto);
  EXPECT_EQ(one.session().result.plans_costed, other.session().result.plans_costed);
}

TEST(LiveSearch, CandidatesSayWhenTheyWereMade) {
  Document d;
  LiveSearch s(d);
  d.set_session(small_softmax(), "");
  s.explore({0, 60, 0});
  ASSERT_TRUE(paused(s));
  double last = 0;
  for (const sched::SearchNode& n : d.nodes()) {
    ASSERT_GE(n.made_at, last) << n.id;
    last = n.made_at;
  }
  EXPECT_GT(last, 0);
  EXPECT_LE(last, d.session().result.seconds);
}

TEST(LiveSearch, DroppedInTheMiddleOfAStep) {
  Document d;
  LiveSearch s(d);
  d.set_session(causal_attention(), "");
  s.step();
  QTest::qWait(50);
  s.drop();
  EXPECT_FALSE(s.alive());
  d.set_session(small_softmax(), "");
  QSignalSpy grew(&d, &Document::appended), phases(&s, &LiveSearch::phase_changed);
  QTest::qWait(2000);  // its last words are for nobody
  EXPECT_EQ(grew.count(), 0);
  EXPECT_EQ(phases.count(), 0);
  EXPECT_EQ(d.nodes().size(), 1u);
  EXPECT_EQ(d.session().kernel, "softmax");
  s.step();
  EXPECT_TRUE(paused(s));
  EXPECT_GT(d.nodes().size(), 1u);
}

}  // namespace
}  // namespace nautilus::gui
