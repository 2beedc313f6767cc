// While a search lives, no event takes the interface thread 50 ms.
#include <gtest/gtest.h>
#include <time.h>

#include <QElapsedTimer>
#include <QTimer>

#include "tests/gui/event_times.h"
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
  std::printf("%zu candidates; longest event %.1f ms of processor time (%s to %s), longest gap of a 5 ms "
              "heartbeat %.1f ms\n",
              w.document().nodes().size(), longest.ms, longest.event.c_str(),
              longest.receiver.c_str(), longest_gap);
  EXPECT_LT(longest.ms, 50) << longest.event << " to " << longest.receiver;
  w.search().pause();
  EXPECT_TRUE(wait_until(60, [&] { return w.search().phase() == LiveSearch::Phase::Paused; }));
}

}  // namespace
}  // namespace nautilus::gui
