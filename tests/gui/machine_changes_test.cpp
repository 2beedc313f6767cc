// Another machine while a search goes on: costs of two are never seen beside each other.
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <map>

#include "tests/gui/live_search_rig.h"

namespace nautilus::gui {
namespace {

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
    const int id = append_refused(d);
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

}  // namespace
}  // namespace nautilus::gui
