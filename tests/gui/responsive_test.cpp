// While a search lives, no event takes the interface thread 50 ms: of a machine with nothing else
// to do (the benchmark sees to that). Here twice as much, for machines that run other tests beside
// it.
#include <gtest/gtest.h>
#include <time.h>

#include <QElapsedTimer>
#include <QTimer>

#include "autosched/file.h"
#include "tests/gui/big_session.h"
#include "tests/gui/event_times.h"
#include "tests/gui/patience.h"
#include "tests/gui/samples.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

TEST(Responsive, InterfaceThreadDuringALiveSearch) {
  WindowRig rig({1920, 1080});
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("attention_causal_gqa"));
  for (const View* v : w.views()) w.dock(v->name())->show();
  w.search().explore({0, 0, 0});
  ASSERT_TRUE(wait_until(60, [&] { return w.document().nodes().size() > 5; }));
  EventTimes::start();
  double longest_gap = 0;
  QElapsedTimer since;
  since.start();
  QTimer beat;
  beat.setTimerType(Qt::PreciseTimer);
  QObject::connect(&beat, &QTimer::timeout, [&] {
    longest_gap = std::max(longest_gap, static_cast<double>(since.nsecsElapsed()) / 1e6);
    since.start();
  });
  beat.start(5);
  int turn = 0;
  QTimer user;  // who looks around meanwhile
  QObject::connect(&user, &QTimer::timeout, [&] {
    w.selection().select(static_cast<int>(w.document().nodes().size()) * (turn++ % 7) / 8);
  });
  user.start(250);
  QTest::qWait(8000);
  const LongestEvent longest = EventTimes::stop();
  std::printf(
      "%zu candidates; longest event %.1f ms of processor time (%s to %s), longest gap of a 5 ms "
      "heartbeat %.1f ms\n",
      w.document().nodes().size(), longest.ms, longest.event.c_str(), longest.receiver.c_str(),
      longest_gap);
  EXPECT_LT(longest.ms, 100 * kSlower) << longest.event << " to " << longest.receiver;
  w.search().pause();
  EXPECT_TRUE(wait_until(60, [&] { return w.search().phase() == LiveSearch::Phase::Paused; }));
}

// What a search of 20,000 plans hands over, ten times a second, into a tree that is already large.
TEST(Responsive, BatchesIntoALargeTree) {
  using testing_samples::random_nodes;
  WindowRig rig({1920, 1080});
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  sched::Session s = w.document().session();
  s.result.nodes = random_nodes(20'000, 3);
  w.document().set_session(std::move(s), "");
  rig.settle();
  uint32_t turn = 0;
  QTimer search;
  QObject::connect(&search, &QTimer::timeout, [&] {
    Document& d = w.document();
    const int count = static_cast<int>(d.nodes().size());
    std::vector<sched::SearchNode> changed(d.nodes().end() - 60, d.nodes().end());
    for (sched::SearchNode& n : changed) n.seconds *= 0.9;
    d.append(random_nodes(200, ++turn, count));
    d.change(std::move(changed));
    d.set_answer({count - 1 - static_cast<int>(turn) % 50, count - 2}, {});
    d.set_progress(count, count, 0.1 * turn);
  });
  QTimer user;
  QObject::connect(&user, &QTimer::timeout, [&] {
    w.selection().select(static_cast<int>(w.document().nodes().size()) * (turn % 7) / 8);
  });
  search.start(100);
  user.start(250);
  EventTimes::start();
  QTest::qWait(5000);
  const LongestEvent longest = EventTimes::stop();
  search.stop();
  std::printf("%zu candidates; longest event %.1f ms of processor time (%s to %s)\n",
              w.document().nodes().size(), longest.ms, longest.event.c_str(),
              longest.receiver.c_str());
  EXPECT_LT(longest.ms, 100 * kSlower) << longest.event << " to " << longest.receiver;
}

constexpr int kMany = 100'000;
// ms; twice the limit, which the benchmark measures with a core to itself: here others run beside.
constexpr double kBlock = 100;

void tell(const char* when, const LongestEvent& longest) {
  std::printf("longest event %s: %.1f ms of processor time (%s to %s)\n", when, longest.ms,
              longest.event.c_str(), longest.receiver.c_str());
}

// A session with a program that can be read, and views that all show it.
sched::Session large_session(int count) {
  sched::Session s = big_session(count, 1, kH200);
  s.program_naut = *sched::read_file(NAUTILUS_SOURCE_DIR "/tests/golden/softmax.naut");
  return s;
}

TEST(Responsive, OpeningAHundredThousandCandidates) {
  WindowRig rig({1920, 1080});
  const QString file = rig.dir.filePath("large.nautilus.json");
  ASSERT_FALSE(sched::save_session(large_session(kMany), file.toStdString()));
  EventTimes::start();
  const bool good = rig.open(file);
  const LongestEvent longest = EventTimes::stop();
  ASSERT_TRUE(good) << rig.problem().toStdString();
  tell("while opening", longest);
  EXPECT_EQ(rig.window->document().nodes().size(), size_t{kMany});
  EXPECT_LT(longest.ms, kBlock * kSlower) << longest.event << " to " << longest.receiver;
}

TEST(Responsive, BatchesIntoAHundredThousandCandidates) {
  WindowRig rig({1920, 1080});
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  sched::Session s = large_session(kMany + 6'000);
  auto& nodes = s.result.nodes;
  const std::vector<sched::SearchNode> more(nodes.begin() + kMany, nodes.end());
  nodes.resize(kMany);
  std::erase_if(s.result.best, [](int id) { return id >= kMany; });
  w.document().set_session(std::move(s), "");
  rig.settle();
  size_t at = 0;
  QTimer search;
  QObject::connect(&search, &QTimer::timeout, [&] {
    if (at == more.size()) return search.stop();
    const auto from = more.begin() + static_cast<std::ptrdiff_t>(at);
    w.document().append({from, from + 500});
    w.document().set_answer({kMany + static_cast<int>(at)}, {});
    at += 500;
  });
  EventTimes::start();
  search.start(100);
  ASSERT_TRUE(wait_until(60, [&] { return !search.isActive(); }));
  rig.settle();
  const LongestEvent longest = EventTimes::stop();
  tell("while batches arrive", longest);
  EXPECT_EQ(w.document().nodes().size(), size_t{kMany + 6'000});
  EXPECT_LT(longest.ms, kBlock * kSlower) << longest.event << " to " << longest.receiver;
}

// All costs, the machine and the answer come at once; views take them in slices. With a filter and
// a selection, which both stay.
TEST(Responsive, AnotherMachineForAHundredThousandCandidates) {
  WindowRig rig({1920, 1080});
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  sched::Session s = large_session(kMany);
  s.options.sizes = {{"N", 64}, {"M", 64}};
  w.document().set_session(std::move(s), "");
  for (const View* v : w.views()) w.dock(v->name())->show();
  w.filters().add(*filter_from_string("limiter latency", nullptr));
  w.selection().select(kMany / 2);
  rig.settle();
  const size_t views = w.views().size();
  ASSERT_GT(views, 5u);
  const auto is_there = [&] { return w.document().session().options.machine.id == "rtx4090"; };
  QSignalSpy refused(&w.search(), &LiveSearch::refused);
  EventTimes::start();
  w.search().set_machine(*sched::load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/rtx4090.json"));
  wait_until(120, [&] { return is_there() || refused.count() > 0; });
  rig.settle();
  const LongestEvent longest = EventTimes::stop();
  ASSERT_TRUE(is_there()) << rig.problem().toStdString();
  tell("while the machine changes", longest);
  EXPECT_GE(w.document().nodes().size(), size_t{kMany});
  EXPECT_EQ(w.selection().now().node, kMany / 2);
  EXPECT_GT(w.filters().passing(), 0);
  EXPECT_LT(longest.ms, kBlock * kSlower) << longest.event << " to " << longest.receiver;
}

TEST(Responsive, FilteringAHundredThousandCandidates) {
  WindowRig rig({1920, 1080});
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  w.document().set_session(large_session(kMany), "");
  rig.settle();
  EventTimes::start();
  double longest_edit = 0;
  for (const char* text : {"text rolling", "limiter latency", "text stages = 2", "depth >= 3"}) {
    const double before = thread_ms();
    w.filters().add(*filter_from_string(text, nullptr));
    longest_edit = std::max(longest_edit, thread_ms() - before);
    wait_until(0.02, [] { return false; });  // the next one comes before the last one's end
  }
  w.filters().remove(0);
  rig.settle();
  const LongestEvent longest = EventTimes::stop();
  tell("while filtering", longest);
  std::printf("longest edit of the filters: %.1f ms\n", longest_edit);
  EXPECT_LT(longest.ms, kBlock * kSlower) << longest.event << " to " << longest.receiver;
  EXPECT_LT(longest_edit, kBlock * kSlower);
  int passing = 0;
  for (const sched::SearchNode& n : w.document().nodes()) {
    bool meets_all = true;
    for (const Filter& f : w.filters().filters()) meets_all &= meets(f, w.document(), n);
    ASSERT_EQ(w.filters().passes(n.id), meets_all) << n.id;
    passing += meets_all;
  }
  EXPECT_EQ(w.filters().passing(), passing);
  EXPECT_GT(passing, 0);
}

}  // namespace
}  // namespace nautilus::gui
