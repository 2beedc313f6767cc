// Saving large sessions beside a living interface, and what a crash leaves behind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <QAbstractButton>
#include <QDir>
#include <QFileInfo>
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "autosched/file.h"
#include "gui/app/recovery.h"
#include "gui/app/start_page.h"
#include "gui/models/snapshot.h"
#include "tests/gui/event_times.h"
#include "tests/gui/patience.h"
#include "tests/gui/samples.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

using testing_samples::random_nodes;
using testing_samples::random_session;

TEST(Snapshot, IsTheDocumentAtItsEnd) {
  Document d;
  sched::Session s = random_session(120'000, 5);
  s.options.machine = *sched::find_machine("h200");
  d.set_session(std::move(s), "");
  std::shared_ptr<sched::Session> copy;
  new Snapshot(
      d, [&](std::shared_ptr<sched::Session> c) { copy = std::move(c); }, &d);
  int turn = 0;
  while (!copy && turn < 10'000) {  // a search goes on meanwhile
    QCoreApplication::processEvents();
    if (turn++ % 2 || copy) continue;
    sched::SearchNode n = d.nodes()[static_cast<size_t>(turn)];
    n.reason = "changed " + std::to_string(turn);
    if (turn < 60) {
      d.change({n});
      d.append(random_nodes(3, 7, static_cast<int>(d.nodes().size())));
      d.set_note(turn, "noted");
    }
  }
  ASSERT_TRUE(copy);
  EXPECT_GT(turn, 2) << "it was taken in one piece";
  EXPECT_EQ(sched::session_to_json(*copy), sched::session_to_json(d.session()));
}

TEST(Snapshot, EndsWithItsDocument) {
  Document d;
  d.set_session(random_session(30'000, 5), "");
  bool ended = false;
  new Snapshot(
      d, [&](std::shared_ptr<sched::Session> c) { ended = !c; }, &d);
  d.set_session(random_session(10, 5), "");
  EXPECT_TRUE(ended);
}

TEST(Saving, AHundredThousandCandidatesDoNotHoldUpTheInterface) {
  WindowRig rig;
  ASSERT_TRUE(rig.open("softmax"));
  sched::Session s = rig.window->document().session();
  s.result.nodes = random_nodes(100'000, 3);
  rig.window->document().set_session(std::move(s), "");
  rig.settle();
  rig.window->document().set_note(5, "a change");
  const QString file = rig.dir.filePath("large.nautilus.json");
  EventTimes::start();
  const bool good = rig.save(file);
  const LongestEvent longest = EventTimes::stop();
  EXPECT_TRUE(good) << rig.problem().toStdString();
  std::printf("longest event while saving: %.1f ms (%s to %s)\n", longest.ms, longest.event.c_str(),
              longest.receiver.c_str());
  EXPECT_LT(longest.ms, 50 * kSlower) << longest.event << " to " << longest.receiver;
  const auto back = sched::load_session(file.toStdString());
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->result.nodes.size(), 100'000u);
  EXPECT_EQ(back->notes.at(5), "a change");
}

// The last one asked for is what the file holds.
TEST(Saving, OneAfterTheOther) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  const QString file = rig.dir.filePath("a.nautilus.json");
  QSignalSpy saved(&w, &MainWindow::saved);
  for (int k = 0; k < 5; ++k) {
    w.document().set_note(0, QString::number(k));
    w.save(file);
  }
  ASSERT_TRUE(wait_until(60, [&] { return saved.count() == 5; }));
  for (const auto& s : saved) EXPECT_TRUE(s[0].toBool()) << rig.problem().toStdString();
  EXPECT_EQ(sched::load_session(file.toStdString())->notes.at(0), "4");
  EXPECT_FALSE(w.document().modified());
  EXPECT_EQ(w.document().file(), file);
}

// As if a program had written `content` and ended, or not yet.
QString write_copy(RecoveryCopy& copy, const QByteArray& content) {
  EXPECT_TRUE(copy.claim());
  QFile f(copy.file());
  EXPECT_TRUE(f.open(QIODevice::WriteOnly));
  f.write(content);
  return copy.file();
}

TEST(Recovery, OnlyCopiesOfTheDeadAreOfferedAndOnlyOwnOnesRemoved) {
  RecoveryCopy mine, other;
  EXPECT_NE(mine.file(), other.file()) << "one process, two starts";
  QString dead;
  {
    RecoveryCopy gone;
    dead = write_copy(gone, "{}");
    EXPECT_TRUE(RecoveryCopy::left_behind().isEmpty()) << "its owner lives";
  }
  write_copy(mine, "{}");
  write_copy(other, "{}");
  EXPECT_EQ(RecoveryCopy::left_behind(), QStringList{dead});
  mine.remove_all();
  EXPECT_FALSE(QFile::exists(mine.file()));
  EXPECT_TRUE(QFile::exists(other.file()));
  EXPECT_TRUE(QFile::exists(dead));
  mine.take_over(other.file());  // has an owner
  mine.remove_all();
  EXPECT_TRUE(QFile::exists(other.file()));
  mine.take_over(dead);
  EXPECT_TRUE(RecoveryCopy::left_behind().isEmpty()) << "somebody took it";
  mine.remove_all();
  EXPECT_FALSE(QFile::exists(dead));
  other.remove_own();
  EXPECT_TRUE(QFileInfo(dead).dir().entryList({"recovered-*"}, QDir::Files).isEmpty());
}

TEST(Recovery, UnfinishedWritesOfTheDeadAreRemoved) {
  const auto unfinished = [](RecoveryCopy& of) {
    QFile f(of.file() + ".tmp7-1");
    EXPECT_TRUE(of.claim() && f.open(QIODevice::WriteOnly));
    return f.fileName();
  };
  RecoveryCopy alive;
  const QString under_way = unfinished(alive);
  QString left;
  {
    RecoveryCopy gone;
    left = unfinished(gone);
  }
  EXPECT_TRUE(RecoveryCopy::left_behind().isEmpty());
  EXPECT_TRUE(QFile::exists(under_way));
  EXPECT_FALSE(QFile::exists(left));
  QFile::remove(under_way);
  alive.remove_own();
  EXPECT_TRUE(QFileInfo(left).dir().entryList({"recovered-*"}, QDir::Files).isEmpty());
}

TEST(Saving, WhatACrashLeftIsOfferedAndKeptUntilSaved) {
  QString copy;
  {
    WindowRig rig;
    ASSERT_TRUE(rig.open("softmax"));
    ASSERT_TRUE(rig.explore(50));
    rig.window->autosave();
    ASSERT_TRUE(wait_until(60, [&] { return !rig.window->busy(); }));
    const QString own = rig.window->recovery().file();
    ASSERT_TRUE(QFile::exists(own));
    EXPECT_EQ(QFile::permissions(own) & ~(QFile::ReadUser | QFile::WriteUser),
              QFile::ReadOwner | QFile::WriteOwner);
    EXPECT_TRUE(RecoveryCopy::left_behind().isEmpty()) << "its program lives";
    RecoveryCopy crashed;
    copy = crashed.file();
    ASSERT_TRUE(QFile::copy(own, copy));
  }
  EXPECT_EQ(RecoveryCopy::left_behind(), QStringList{copy}) << "what was saved or given up is gone";
  WindowRig rig;
  MainWindow& w = *rig.window;
  QAbstractButton* offer = nullptr;
  for (auto* b : w.findChildren<QAbstractButton*>())
    if (b->text().startsWith("↻")) offer = b;
  ASSERT_TRUE(offer);
  QSignalSpy opened(&w, &MainWindow::opened);
  QTest::mouseClick(offer, Qt::LeftButton);
  ASSERT_TRUE(wait_until(60, [&] { return opened.count() > 0; }));
  EXPECT_GT(w.document().nodes().size(), 10u);
  EXPECT_TRUE(w.document().modified());
  EXPECT_TRUE(w.document().file().isEmpty());
  EXPECT_TRUE(QFile::exists(copy));
  ASSERT_TRUE(rig.save(rig.dir.filePath("kept.nautilus.json")));
  EXPECT_FALSE(QFile::exists(copy));
}

// Nobody else reads what is not saved, at no moment.
TEST(Recovery, CopiesAreForTheirOwnerAlone) {
  const QTemporaryDir dir;
  const std::string file = dir.filePath("copy.json").toStdString();
  mode_t seen = 0;
  std::atomic<bool> over{false};
  std::thread look([&] {
    while (!over)
      for (const QFileInfo& f : QDir(dir.path()).entryInfoList(QDir::Files)) {
        struct stat s {};
        if (::stat(QFile::encodeName(f.filePath()).constData(), &s) == 0) seen |= s.st_mode;
      }
  });
  const std::string content(8 << 20, 'x');
  for (int k = 0; k < 5; ++k)
    EXPECT_FALSE(sched::write_file_atomically(file, content, {.for_owner_alone = true}));
  over = true;
  look.join();
  EXPECT_EQ(seen & 0777, 0600U);
  // Also one that was there for all.
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_FALSE(sched::write_file_atomically(file, "y", {.for_owner_alone = true}));
  EXPECT_EQ(
      QFile::permissions(QString::fromStdString(file)) & (QFile::ReadGroup | QFile::ReadOther),
      QFile::Permissions());
}

TEST(Saving, ASessionWithItsRootAloneIsKeptForRecovery) {
  WindowRig rig;
  ASSERT_TRUE(rig.open("softmax"));
  ASSERT_EQ(rig.window->document().nodes().size(), 1u);
  rig.window->autosave();
  EXPECT_FALSE(rig.window->busy()) << "nothing was changed";
  rig.window->document().set_note(0, "hours of thought");
  rig.window->autosave();
  ASSERT_TRUE(wait_until(60, [&] { return !rig.window->busy(); }));
  const auto kept = sched::load_session(rig.window->recovery().file().toStdString());
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(kept->notes.at(0), "hours of thought");
}

// A copy that is being written when its session is given up comes too late, wherever it is.
TEST(Recovery, NothingStaysBehindOfWhatIsGivenUpDuringAutosave) {
  for (const bool by_closing : {false, true})
    for (const int later : {0, 1, 20, 60}) {  // ms after the writing began
      SCOPED_TRACE(std::to_string(by_closing) + " " + std::to_string(later));
      QString copy;
      {
        WindowRig rig;
        MainWindow& w = *rig.window;
        ASSERT_TRUE(rig.open("softmax"));
        sched::Session s = w.document().session();
        s.result.nodes = random_nodes(20'000, 3);
        w.document().set_session(std::move(s), "");
        rig.settle();
        background_pool().waitForDone();
        w.document().set_note(5, "a change");
        copy = w.recovery().file();
        w.autosave();
        ASSERT_TRUE(wait_until(60, [&] { return background_pool().activeThreadCount() > 0; }));
        QThread::msleep(static_cast<unsigned long>(later));
        by_closing ? void(w.close()) : w.open("matmul");
        QMessageBox* box = nullptr;
        ASSERT_TRUE(wait_until(60, [&] {
          box = w.findChild<QMessageBox*>("unsaved");
          return box != nullptr;
        }));
        QTest::mouseClick(box->button(QMessageBox::Discard), Qt::LeftButton);
        if (!by_closing) {
          ASSERT_TRUE(wait_until(60, [&] { return w.document().session().kernel == "matmul"; }));
          ASSERT_TRUE(wait_until(60, [&] { return !w.busy(); }));
          EXPECT_FALSE(QFile::exists(copy));
        }
      }
      EXPECT_FALSE(QFile::exists(copy));
      EXPECT_TRUE(QFileInfo(copy).dir().entryList({"recovered-*"}, QDir::Files).isEmpty());
    }
}

TEST(Recovery, ACopyThatIsWrittenAfterItsLockWentIsRemoved) {
  RecoveryCopy mine;
  write_copy(mine, "{}");
  mine.remove_own();
  QFile late(mine.file());  // by a write that was under way
  ASSERT_TRUE(late.open(QIODevice::WriteOnly));
  late.close();
  mine.remove_own();
  EXPECT_FALSE(late.exists());
}

TEST(Saving, WhyASearchStoppedIsKept) {
  WindowRig rig;
  ASSERT_TRUE(rig.open("softmax"));
  ASSERT_TRUE(rig.explore(60));
  const sched::SearchResult before = rig.window->document().session().result;
  ASSERT_EQ(before.stop_reason, sched::StopReason::PlanBudget);
  const QString file = rig.dir.filePath("a.nautilus.json");
  ASSERT_TRUE(rig.save(file));
  WindowRig again;
  ASSERT_TRUE(again.open(file)) << again.problem().toStdString();
  const sched::SearchResult& after = again.window->document().session().result;
  EXPECT_EQ(after.stop_reason, before.stop_reason);
  EXPECT_EQ(after.plans_costed, before.plans_costed);
  EXPECT_EQ(after.duplicates, before.duplicates);
  EXPECT_EQ(after.seconds, before.seconds);
  EXPECT_EQ(after.first_plan_seconds, before.first_plan_seconds);
  EXPECT_EQ(after.nodes.back().made_at, before.nodes.back().made_at);
}

}  // namespace
}  // namespace nautilus::gui
