#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <thread>

#include "autosched/file.h"
#include "gui/models/bench.h"

namespace nautilus::gui {
namespace {

sched::Session softmax() {
  sched::Session s;
  s.kernel = "softmax";
  s.spec_path = NAUTILUS_SOURCE_DIR "/corpus/kernels/softmax.spec.cpp";
  s.spec_text = *sched::read_file(s.spec_path);
  s.program_naut = *sched::read_file(NAUTILUS_SOURCE_DIR "/tests/golden/softmax.naut");
  return s;
}

TEST(Bench, MakesPlansAwayFromTheInterface) {
  Bench bench;
  bench.set_work(softmax());
  QString tree;
  std::thread::id where;
  const std::function<std::pair<QString, std::thread::id>(const Workpiece&, const CancelToken&)> job =
      [](const Workpiece& w, const CancelToken&) {
        const auto plan = w.plan({sched::SearchNode{}});
        return std::pair(plan ? QString::fromStdString(to_text(plan->schedule)) : QString(),
                         std::this_thread::get_id());
      };
  bench.ask<std::pair<QString, std::thread::id>>(&bench, "tree", job, [&](auto r) {
    tree = r.first;
    where = r.second;
    EXPECT_EQ(QThread::currentThread(), qApp->thread());
  });
  EXPECT_TRUE(bench.busy());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !tree.isEmpty(); }));
  EXPECT_TRUE(tree.contains("band")) << tree.toStdString();
  EXPECT_NE(where, std::this_thread::get_id());
  EXPECT_FALSE(bench.busy());
}

TEST(Bench, OnlyTheNewestAnswerOfAChannelArrives) {
  Bench bench;
  bench.set_work(softmax());
  QList<int> answers;
  QObject asker;
  const auto ask = [&](const QString& channel, int k) {
    bench.ask<int>(
        &asker, channel,
        [k](const Workpiece&, const CancelToken& c) {
          for (int turn = 0; turn < 20 && !c.cancelled(); ++turn) QThread::msleep(1);
          return k;
        },
        [&](int r) { answers << r; });
  };
  for (int k = 0; k < 10; ++k) ask("a", k);
  ask("b", 100);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !bench.busy(); }));
  EXPECT_EQ(answers, (QList<int>{9, 100}));
}

TEST(Bench, AnswersForWhoIsGoneOrForAnotherDocumentAreDropped) {
  Bench bench;
  bench.set_work(softmax());
  int arrived = 0;
  const auto slow = [](const Workpiece&, const CancelToken& c) {
    while (!c.cancelled()) QThread::msleep(1);
    return 1;
  };
  auto asker = std::make_unique<QObject>();
  const CancelToken token = bench.ask<int>(asker.get(), "x", slow, [&](int) { ++arrived; });
  bench.ask<int>(
      asker.get(), "y", [](const Workpiece&, const CancelToken&) { return 2; },
      [&](int) { ++arrived; });
  asker.reset();
  token.cancel();
  ASSERT_TRUE(QTest::qWaitFor([&] { return !bench.busy(); }));
  QObject other;
  bench.ask<int>(&other, "x", slow, [&](int) { ++arrived; });
  bench.set_work(softmax());
  ASSERT_TRUE(QTest::qWaitFor([&] { return !bench.busy(); }));
  EXPECT_EQ(arrived, 0);
}

TEST(Bench, WhatAJobThrowsIsTold) {
  Bench bench;
  QSignalSpy spy(&bench, &Bench::failed);
  const auto refuse = [](const Workpiece&, const CancelToken&) -> int {
    throw Refused({"look", "", "cannot see", ""});
  };
  QObject asker;
  bench.set_work(softmax());
  bench.ask<int>(&asker, "x", refuse, [](int) { FAIL(); });
  ASSERT_TRUE(QTest::qWaitFor([&] { return spy.count() == 1; }));
  EXPECT_EQ(spy[0][1].toString(), "x");
  EXPECT_TRUE(spy[0][2].toString().contains("cannot see"));
  sched::Session broken = softmax();
  broken.program_naut = "no program";
  bench.set_work(broken);
  bench.ask<int>(&asker, "x", refuse, [](int) { FAIL(); });
  ASSERT_TRUE(QTest::qWaitFor([&] { return spy.count() == 3; }));
  EXPECT_EQ(spy[1][1].toString(), "program");
  EXPECT_TRUE(spy[2][2].toString().contains("no program"));
}

TEST(Bench, ReadsTheGeneralProgramFromItsSpec) {
  Bench bench;
  bench.set_work(softmax());
  std::optional<std::string> name;
  QObject asker;
  bench.ask<std::string>(
      &asker, "x",
      [](const Workpiece& w, const CancelToken&) {
        return w.general() ? w.general()->name : std::string();
      },
      [&](std::string n) { name = n; });
  ASSERT_TRUE(QTest::qWaitFor([&] { return name.has_value(); }, 20000));
  EXPECT_EQ(*name, "softmax");
}

}  // namespace
}  // namespace nautilus::gui
