#include "gui/models/live_search.h"

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>
#include <map>

#include "tests/gui/live_search_rig.h"
#include "tests/gui/patience.h"

namespace nautilus::gui {
namespace {

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
  const int id = append_refused(d);
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
  append_refused(d, true);
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
