// What ends while something is at work for it, and news that reach everybody.
#include <gtest/gtest.h>

#include <stdexcept>

#include "gui/models/background.h"
#include "gui/models/opening.h"
#include "gui/views/compare_view.h"
#include "gui/views/roofline.h"
#include "tests/gui/sessions.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

TEST(Background, WhatAJobThrowsIsARefusal) {
  QObject owner;
  std::optional<Expected<int>> result;
  in_background<Expected<int>>(
      &owner, []() -> Expected<int> { throw std::runtime_error("out of luck"); },
      [&](Expected<int> r) { result.emplace(std::move(r)); });
  ASSERT_TRUE(QTest::qWaitFor([&] { return result.has_value(); }));
  ASSERT_FALSE(*result);
  EXPECT_EQ(result->error().why, "out of luck");
}

TEST(Background, NothingArrivesForWhoIsGone) {
  auto owner = std::make_unique<QObject>();
  bool arrived = false;
  in_background<int>(
      owner.get(), [] { return 1; }, [&](int) { arrived = true; });
  owner.reset();
  background_pool().waitForDone();
  QTest::qWait(20);
  EXPECT_FALSE(arrived);
}

TEST(WindowLife, ItEndsWhileASearchRuns) {
  for (const int wait : {0, 50, 400}) {
    auto rig = std::make_unique<WindowRig>();
    ASSERT_TRUE(rig->open("attention_causal_gqa"));
    rig->window->search().explore({0, 0, 0});
    QTest::qWait(wait);
    ASSERT_EQ(rig->window->search().phase(), LiveSearch::Phase::Running);
    rig->window.reset(new MainWindow);  // the old one is destroyed, not closed
  }
}

TEST(WindowLife, ItEndsWhileFilesAreReadAndWritten) {
  auto rig = std::make_unique<WindowRig>();
  ASSERT_TRUE(rig->open("softmax"));
  rig->window->save(rig->dir.filePath("a.nautilus.json"));
  rig->window->open("matmul");
  rig->window.reset(new MainWindow);
  background_pool().waitForDone();
  QTest::qWait(20);
}

TEST(News, AnotherMachineReachesBenchAndRoofs) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  ASSERT_TRUE(rig.explore(60));
  const auto& roofline = dynamic_cast<RooflineView&>(*w.view("roofline"));
  const auto highest = [&] {
    double most = 0;
    for (const Roof& r : roofline.canvas()->roofs()) most = std::max(most, r.value);
    return most;
  };
  const auto on_the_bench = [&] {
    std::string id;
    w.bench().ask<std::string>(
        &w, "machine", [](const Workpiece& p, const CancelToken&) { return p.options.machine.id; },
        [&](std::string answer) { id = std::move(answer); });
    EXPECT_TRUE(wait_until(60, [&] { return !id.empty(); }));
    return id;
  };
  const double before = highest();
  EXPECT_EQ(on_the_bench(), "h200");
  w.search().set_machine(*machine_named("rtx4090"));
  ASSERT_TRUE(
      wait_until(60, [&] { return w.document().session().options.machine.id == "rtx4090"; }));
  EXPECT_NE(highest(), before);
  EXPECT_EQ(on_the_bench(), "rtx4090");
}

// Without pins the best plan is compared with the selected one: another best is another question.
TEST(News, AnotherAnswerIsComparedAgain) {
  testing_samples::Desk desk;
  CompareView view(desk.shared(), nullptr);
  view.resize(900, 500);
  view.show();
  const std::vector<int> best = desk.document.best();
  ASSERT_GE(best.size(), 3u);
  desk.selection.select(best[2]);
  ASSERT_TRUE(testing_samples::settle(view));
  const auto compared = [&] {
    std::vector<int> out;
    for (const Compared& c : view.compared()) out.push_back(c.node);
    return out;
  };
  ASSERT_EQ(compared(), (std::vector<int>{best[0], best[2]}));
  desk.document.set_answer({best[1], best[0]}, {});
  ASSERT_TRUE(testing_samples::settle(view));
  EXPECT_EQ(compared(), (std::vector<int>{best[1], best[2]}));
}

}  // namespace
}  // namespace nautilus::gui
