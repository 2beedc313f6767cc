// What nobody plans for: long programs, deep trees, senseless numbers, steps while a search runs,
// closing and switching while something is computed.
#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QTextBrowser>

#include "gui/models/opening.h"
#include "gui/views/iteration_canvas.h"
#include "gui/views/iteration_view.h"
#include "gui/views/schedule_canvas.h"
#include "gui/views/schedule_view.h"
#include "gui/views/step_editor.h"
#include "gui/views/why_view.h"
#include "tests/gui/event_times.h"
#include "tests/gui/patience.h"
#include "tests/gui/sched_rig.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;
using Steps = HandSteps::Steps;

sched::Session session_for(const poly::ProgramPtr& general, const Steps& below_root) {
  sched::Session s = SchedRig::session();
  s.kernel = general->name;
  s.spec_path = general->name + ".naut";
  s.spec_text = poly::print_naut(*general);
  s.options.sizes.clear();
  for (const std::string& p : general->params) s.options.sizes[p] = 4096;
  s.program_naut =
      poly::print_naut(poly::restrict_to_demanded(*poly::bind_sizes(*general, s.options.sizes)));
  s.result.nodes.resize(2);
  sched::SearchNode& n = s.result.nodes[1];
  n.state = sched::NodeState::Expanded;
  n.verdict = poly::VerdictKind::Legal;
  n.decision = "by hand";
  n.steps = below_root;
  n.reason.clear();
  return s;
}

// The three views side by side; the longest event of looking at a candidate from all sides.
struct ThreeViews : SchedRig {
  ScheduleView schedule{shared(), nullptr};
  WhyView why{shared(), nullptr};
  IterationView iteration{shared(), nullptr};
  explicit ThreeViews(sched::Session s) : SchedRig(false) {
    document.set_session(std::move(s), QString());
    for (View* v : std::initializer_list<View*>{&schedule, &why, &iteration}) {
      v->resize(700, 300);
      v->show();
      EXPECT_TRUE(QTest::qWaitForWindowExposed(v));
    }
  }
  bool settled() { return idle(schedule) && idle(why) && idle(iteration); }
  void look_around() {
    for (int node : {0, 1}) {
      selection.select(node);
      QCoreApplication::processEvents();
      ASSERT_TRUE(settled());
      EXPECT_FALSE(schedule.canvas().tree().boxes.empty());
      EXPECT_FALSE(iteration.canvas().scene().empty());
      for (int k = 0; k < 8; ++k) QTest::keyClick(&schedule.canvas(), Qt::Key_Down);
      QTest::keyClick(&schedule.canvas(), Qt::Key_End);
      QTest::keyClick(&schedule.canvas(), Qt::Key_Space);
      iteration.set_step(3);
      QCoreApplication::processEvents();
      ASSERT_TRUE(settled());
    }
  }
};

void expect_quick(const char* what) {
  const LongestEvent longest = EventTimes::stop();
  std::printf("%s: longest event %.1f ms (%s to %s)\n", what, longest.ms, longest.event.c_str(),
              longest.receiver.c_str());
  EXPECT_LT(longest.ms, 50 * kSlower)
      << what << ": " << longest.event << " to " << longest.receiver;
}

TEST(SchedOdd, SixtyStatements) {
  EventTimes::start();
  ThreeViews v(session_for(poly::testing_programs::chain(poly::make_context(), 60), {}));
  v.look_around();
  EXPECT_EQ(v.schedule.canvas().tree().boxes.size(), 121u);
  EXPECT_EQ(v.iteration.canvas().scene().picture().available.size(), 60u);
  v.schedule.begin_transform("rolling_update");  // its names of pairs would be thousands
  ASSERT_TRUE(QTest::qWaitFor([&] { return v.schedule.editor().attempt().has_value(); }, 60'000));
  expect_quick("60 statements");
}

TEST(SchedOdd, ADeepTree) {
  Steps steps;
  const auto program = poly::testing_programs::chain(poly::make_context(), 2);
  poly::Schedule s = poly::initial_schedule(program);
  poly::NodeId band = poly::preorder(s)[2]->id;
  for (int k = 0; k < 40; ++k) {
    steps.push_back(
        poly::testing_programs::step("tile", {{"node", band}, {"sizes", {2048 >> (k % 11)}}}));
    const auto next = edit_only(s, steps.back());
    ASSERT_TRUE(next) << next.error().text();
    s = *next;
    for (const poly::Node* n : poly::preorder(s)) {
      if (n->kind == poly::NodeKind::Band && n->statements.front() == "S_T1") band = n->id;
    }
  }
  EventTimes::start();
  ThreeViews v(session_for(program, steps));
  v.look_around();
  EXPECT_EQ(v.schedule.canvas().tree().boxes.size(), 45u);
  expect_quick("a tree 40 bands deep");
}

// Numbers that mean nothing are refused in words, whether typed or from a script; nothing is made.
TEST(SchedOdd, SenselessNumbers) {
  SchedRig r;
  ScheduleView view(r.shared(), nullptr);
  view.resize(900, 500);
  view.show();
  ASSERT_TRUE(r.select(view, 0));
  const poly::NodeId band = view.canvas().tree().boxes[2].id;
  const std::vector<poly::TransformStep> senseless = {
      {"tile", json{{"node", band}, {"sizes", {-7, 8}}}.dump()},
      {"tile", json{{"node", band}, {"sizes", {int64_t{1} << 41, 8}}}.dump()},
      {"tile", json{{"node", 4711}, {"sizes", {8, 8}}}.dump()},
      {"tile", json{{"node", band}, {"sizes", "many"}}.dump()},
      {"tile", "{\"node\":"},
      {"split", json{{"node", band}, {"at", 0}}.dump()},
      {"split", json{{"node", band}, {"at", 2}}.dump()},
      {"fuse", json{{"node", 1}, {"first", 3}, {"last", 1}, {"depth", 1}}.dump()},
      {"fuse", json{{"node", 1}, {"first", 0}, {"last", 99}, {"depth", 1}}.dump()},
      {"fuse", json{{"node", 1}, {"first", 0}, {"last", 1}, {"depth", 1000}}.dump()},
      {"interchange", json{{"node", band}, {"order", {0, 0}}}.dump()},
      {"shift",
       json{{"node", band}, {"member", "i"}, {"amount", 1}, {"statements", {"no"}}}.dump()},
      {"partition", json{{"node", band}, {"condition", "{ S_m[i : }"}}.dump()},
      {"no_such_transform", "{}"},
  };
  QSignalSpy refused(&view.hand_steps(), &HandSteps::refused);
  for (const poly::TransformStep& step : senseless) {
    refused.clear();
    view.hand_steps().apply(0, {step});
    ASSERT_TRUE(QTest::qWaitFor([&] { return refused.count() == 1; }, 60'000)) << step_text(step);
    EXPECT_FALSE(refused[0][0].toString().isEmpty()) << step_text(step);
    EXPECT_EQ(r.document.nodes().size(), 5u) << step_text(step);
  }
  // What is merely extreme is made.
  for (const int64_t size : {int64_t{0}, int64_t{-1}, int64_t{1} << 40}) {
    const size_t before = r.document.nodes().size();
    view.hand_steps().apply(0, {{"tile", json{{"node", band}, {"sizes", {size, 8}}}.dump()}});
    ASSERT_TRUE(QTest::qWaitFor([&] { return r.document.nodes().size() == before + 1; }, 60'000))
        << size;
    IterationView iterations(r.shared(), nullptr);
    iterations.show();
    ASSERT_TRUE(r.select(iterations, static_cast<int>(before)));
    EXPECT_FALSE(iterations.canvas().scene().empty()) << size;
  }
}

// Knobs are tile sizes that the search chose after the structure: a step by hand below such a plan
// is applied to it, and the saved script has them.
TEST(SchedOdd, AStepBelowKnobsKeepsThem) {
  const auto s = sched::load_session(NAUTILUS_SOURCE_DIR "/tests/gui/attention_session.json");
  ASSERT_TRUE(s) << s.error().text();
  const sched::SearchNode& plan = s->result.nodes[static_cast<size_t>(s->result.best.front())];
  ASSERT_TRUE(plan.knobs.count("tile.j"));
  SchedRig r(false);
  ScheduleView view(r.shared(), nullptr);
  view.show();
  r.document.set_session(*s, QString());
  ASSERT_TRUE(r.select(view, plan.id));
  std::string before;
  poly::NodeId band = -1;
  for (const TreeBox& b : view.canvas().tree().boxes)
    for (const TreeMember& m : b.members)
      if (m.step == plan.knobs.at("tile.j") && m.mapping == poly::Mapping::Serial) band = b.id;
  ASSERT_GE(band, 0);
  const size_t count = r.document.nodes().size();
  view.hand_steps().apply(plan.id, {{"unroll", json{{"node", band}, {"member", 0}}.dump()}});
  ASSERT_TRUE(QTest::qWaitFor([&] { return r.document.nodes().size() == count + 1; }, 120'000));
  ASSERT_TRUE(r.select(view, static_cast<int>(count)));
  const sched::SearchNode& made = *r.document.node(static_cast<int>(count));
  EXPECT_EQ(made.parent, plan.id);
  EXPECT_EQ(made.knobs, plan.knobs);
  bool unrolled = false;
  for (const TreeBox& b : view.canvas().tree().boxes)
    for (const TreeMember& m : b.members)
      unrolled |=
          b.id == band && m.mapping == poly::Mapping::Unroll && m.step == plan.knobs.at("tile.j");
  EXPECT_TRUE(unrolled);
  // Its script alone, from the program as it was written, gives the same tree.
  QTemporaryDir dir;
  ASSERT_TRUE(view.save_script(dir.filePath("STEPS.json")));
  const TreePicture tree = view.canvas().tree();
  ASSERT_TRUE(view.load_script(dir.filePath("STEPS.json")));
  ASSERT_TRUE(QTest::qWaitFor([&] { return r.document.nodes().size() == count + 2; }, 120'000));
  ASSERT_TRUE(r.select(view, static_cast<int>(count) + 1));
  ASSERT_EQ(view.canvas().tree().boxes.size(), tree.boxes.size());
  for (size_t k = 0; k < tree.boxes.size(); ++k) {
    const TreeBox &x = view.canvas().tree().boxes[k], &y = tree.boxes[k];
    ASSERT_EQ(x.members.size(), y.members.size());
    for (size_t m = 0; m < x.members.size(); ++m) {
      EXPECT_EQ(x.members[m].step, y.members[m].step);
      EXPECT_EQ(x.members[m].functions, y.members[m].functions);
    }
  }
}

TEST(SchedOdd, ViewsThatAreGoneGetNoAnswer) {
  SchedRig r;
  for (int k = 0; k < 3; ++k) {
    auto schedule = std::make_unique<ScheduleView>(r.shared(), nullptr);
    auto why = std::make_unique<WhyView>(r.shared(), nullptr);
    auto iteration = std::make_unique<IterationView>(r.shared(), nullptr);
    for (View* v : std::initializer_list<View*>{schedule.get(), why.get(), iteration.get()})
      v->show();
    r.selection.select(1 + k % 2);
    QCoreApplication::processEvents();
    EXPECT_TRUE(schedule->busy() || why->busy() || iteration->busy());
  }
  ASSERT_TRUE(QTest::qWaitFor([&] { return !r.bench.busy(); }, 60'000));
}

TEST(SchedOdd, WhatWasOvertakenIsNotShown) {
  ThreeViews v(SchedRig::session());
  for (int round = 0; round < 5; ++round)
    for (int node : {1, 2, 0, 3, 4, 2}) {
      v.selection.select(node);
      QTest::qWait(round);
    }
  ASSERT_TRUE(v.settled());
  EXPECT_EQ(v.schedule.canvas().tree().script.size(), 1u);
  EXPECT_EQ(v.why.why().node, 2);
  v.selection.select(1);
  QTest::qWait(1);
  v.selection.clear();  // while candidate 1 is computed
  ASSERT_TRUE(QTest::qWaitFor([&] { return !v.bench.busy(); }, 60'000));
  QTest::qWait(20);
  EXPECT_TRUE(v.schedule.canvas().tree().boxes.empty());
  EXPECT_TRUE(v.iteration.canvas().scene().empty());
  EXPECT_FALSE(v.schedule.busy() || v.why.busy() || v.iteration.busy());
  v.selection.select(1);
  QTest::qWait(1);
  v.document.set_session(SchedRig::session(), QString());  // another document meanwhile
  v.selection.clear();
  ASSERT_TRUE(v.settled());
}

TEST(SchedOdd, StepsWhileASearchRuns) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  auto* schedule = dynamic_cast<ScheduleView*>(w.view("schedule"));
  ASSERT_NE(schedule, nullptr);
  w.selection().select(0);
  rig.settle();
  w.search().explore({0, 0, 0});
  ASSERT_TRUE(wait_until(60, [&] { return w.document().nodes().size() > 20; }));
  const poly::NodeId band = schedule->canvas().tree().boxes[2].id;
  for (const int size : {8, 16, 32}) {
    w.selection().select(0);
    schedule->hand_steps().apply(0,
                                 {{"tile", json{{"node", band}, {"sizes", {size, size}}}.dump()}});
    ASSERT_TRUE(wait_until(60, [&] { return !schedule->hand_steps().busy(); }));
  }
  int by_hand = 0;
  for (const sched::SearchNode& n : w.document().nodes()) by_hand += n.by_hand && n.parent == 0;
  EXPECT_EQ(by_hand, 3);
  EXPECT_EQ(schedule->hand_steps().undo_stack().count(), 3);
  w.search().pause();
  EXPECT_TRUE(wait_until(60, [&] { return w.search().phase() == LiveSearch::Phase::Paused; }));
}

// Ctrl+Z in the tree takes a step back; the filters keep theirs.
TEST(SchedOdd, UndoBelongsToTheTreeThatHasTheFocus) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  auto* schedule = dynamic_cast<ScheduleView*>(w.view("schedule"));
  ASSERT_NE(schedule, nullptr);
  w.dock("schedule")->reveal();
  w.activateWindow();
  w.selection().select(0);
  rig.settle();
  const poly::NodeId band = schedule->canvas().tree().boxes[2].id;
  schedule->hand_steps().apply(0, {{"tile", json{{"node", band}, {"sizes", {8, 8}}}.dump()}});
  ASSERT_TRUE(wait_until(60, [&] { return w.selection().now().node == 1; }));
  rig.settle();
  schedule->canvas().setFocus();
  QTest::keyClick(&schedule->canvas(), Qt::Key_Z, Qt::ControlModifier);
  QCoreApplication::processEvents();
  EXPECT_EQ(w.selection().now().node, 0);
  QTest::keySequence(&schedule->canvas(), QKeySequence::Redo);
  QCoreApplication::processEvents();
  EXPECT_EQ(w.selection().now().node, 1);
}

TEST(SchedOdd, ClosingWhileSomethingIsComputed) {
  QElapsedTimer timer;
  {
    WindowRig rig;
    MainWindow& w = *rig.window;
    ASSERT_TRUE(rig.open("attention_causal"));
    auto* schedule = dynamic_cast<ScheduleView*>(w.view("schedule"));
    ASSERT_NE(schedule, nullptr);
    w.dock("schedule")->reveal();
    w.selection().select(0);
    rig.settle();
    schedule->hand_steps().apply(
        0, {{"rolling_update", json{{"node", 1}, {"first", 0}, {"last", 6}, {"depth", 4}}.dump()}});
    w.selection().select(0);
    QTest::qWait(20);
    timer.start();
  }
  EXPECT_LT(timer.elapsed(), 10'000);
}

}  // namespace
}  // namespace nautilus::gui
