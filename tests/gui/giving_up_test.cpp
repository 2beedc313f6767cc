// What takes long can be given up, and leaves all as it was before.
#include <gtest/gtest.h>

#include <QFileInfo>
#include <QToolButton>

#include "gui/app/work_shown.h"
#include "gui/views/code_view.h"
#include "gui/views/lesson_view.h"
#include "tests/gui/patience.h"
#include "tests/gui/samples.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

using testing_samples::random_nodes;

// With what was given up at its end, too late for anybody.
void let_the_pool_end() {
  background_pool().waitForDone();
  QTest::qWait(50);
}

void fill(MainWindow& w, int count) {
  sched::Session s = w.document().session();
  s.result.nodes = random_nodes(count, 3);
  w.document().set_session(std::move(s), "");
}

TEST(WorkShown, TheButtonAndEscEndTheLast) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(QTest::qWaitForWindowActive(&w));
  QStringList given_up;
  for (const char* name : {"first", "second", "third"})
    w.work().begin(name, [&, name] { given_up << name; });
  auto* cancel = w.findChild<QToolButton*>("cancel-work");
  ASSERT_TRUE(cancel);
  EXPECT_FALSE(cancel->isVisible()) << "nothing has taken long yet";
  EXPECT_FALSE(w.commands().run("go.give_up"));
  ASSERT_TRUE(wait_until(10, [&] { return cancel->isVisible(); }));
  QTest::mouseClick(cancel, Qt::LeftButton);
  EXPECT_EQ(given_up, QStringList{"third"});
  QTest::keyClick(&w, Qt::Key_Escape);
  EXPECT_EQ(given_up, (QStringList{"third", "second"}));
  EXPECT_TRUE(w.work().any());
  QTest::keyClick(&w, Qt::Key_Escape);
  EXPECT_FALSE(w.work().any());
  EXPECT_FALSE(cancel->isVisible());
  QTest::keyClick(&w, Qt::Key_Escape);  // there is nothing left
  EXPECT_EQ(given_up.size(), 3);
}

TEST(GivingUp, OpeningLeavesWhatWasOpen) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  fill(w, 20'000);
  const QString file = rig.dir.filePath("other.nautilus.json");
  ASSERT_TRUE(rig.save(file));
  w.document().set_note(3, "mine");
  w.document().set_saved(file, w.document().revision());
  w.selection().select(7);
  QSignalSpy opened(&w, &MainWindow::opened), reset(&w.document(), &Document::reset);
  w.open(file);
  ASSERT_TRUE(w.work().any());
  w.work().give_up();
  ASSERT_EQ(opened.count(), 1);
  EXPECT_FALSE(opened[0][0].toBool());
  let_the_pool_end();
  EXPECT_EQ(opened.count(), 1);
  EXPECT_EQ(reset.count(), 0);
  EXPECT_EQ(w.document().note(3), "mine");
  EXPECT_EQ(w.selection().now().node, 7);
  EXPECT_TRUE(wait_until(20, [&] { return !w.busy(); }));
  EXPECT_TRUE(rig.problem().isEmpty());
  EXPECT_TRUE(rig.open(file)) << "the next one opens";
}

TEST(GivingUp, TheLastFileAskedForIsOpened) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  QSignalSpy opened(&w, &MainWindow::opened);
  w.open("softmax");
  w.open("matmul");
  ASSERT_TRUE(wait_until(60, [&] { return opened.count() > 0; }));
  let_the_pool_end();
  EXPECT_EQ(opened.count(), 1);
  EXPECT_EQ(w.document().session().kernel, "matmul");
  EXPECT_FALSE(w.work().any());
}

TEST(GivingUp, SavingLeavesTheFileAsItWas) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  fill(w, 30'000);
  const QString file = rig.dir.filePath("a.nautilus.json");
  QFile before(file);
  ASSERT_TRUE(before.open(QIODevice::WriteOnly) && before.write("old") == 3);
  before.close();
  // At once while the copy is made, and later while the file is written.
  for (int turns : {0, 3, 30}) {
    w.document().set_note(1, QString::number(turns) + " changed");
    QSignalSpy saved(&w, &MainWindow::saved);
    w.save(file);
    for (int k = 0; k < turns; ++k) QCoreApplication::processEvents();
    ASSERT_TRUE(w.work().any());
    w.work().give_up();
    ASSERT_TRUE(wait_until(60, [&] { return saved.count() > 0; }));
    EXPECT_FALSE(saved[0][0].toBool());
    EXPECT_TRUE(w.document().modified());
    EXPECT_EQ(QFileInfo(file).size(), 3);
    EXPECT_TRUE(rig.problem().isEmpty()) << "who gave it up knows";
  }
  EXPECT_EQ(QFileInfo(file).dir().entryList(QDir::Files).size(), 1) << "a part was left behind";
  EXPECT_TRUE(rig.save(file));
  EXPECT_GT(QFileInfo(file).size(), 1000);
}

TEST(GivingUp, ImportingAddsNothing) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  fill(w, 30'000);
  QFile store(rig.dir.filePath("store.csv"));
  ASSERT_TRUE(store.open(QIODevice::WriteOnly));
  store.write("node,seconds\n");
  for (int k = 0; k < 30'000; ++k) store.write(QByteArray::number(k) + ",1e-3\n");
  store.close();
  for (int turns : {0, 5, 60}) {
    QSignalSpy imported(&w, &MainWindow::measurements_imported);
    w.import_measurements(store.fileName());
    for (int k = 0; k < turns && w.work().any(); ++k) QCoreApplication::processEvents();
    if (!w.work().any()) break;  // it was quick
    w.work().give_up();
    let_the_pool_end();
    ASSERT_EQ(imported.count(), 1);
    EXPECT_EQ(imported[0][0].toInt(), -1);
    EXPECT_TRUE(w.document().session().measured.empty());
  }
  QSignalSpy imported(&w, &MainWindow::measurements_imported);
  w.import_measurements(store.fileName());
  ASSERT_TRUE(wait_until(60, [&] { return imported.count() > 0; }));
  EXPECT_EQ(imported[0][0].toInt(), 30'000);
}

TEST(GivingUp, ALessonThatIsPreparedLeavesTheSession) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("matmul"));
  auto& lesson = dynamic_cast<LessonView&>(*w.view("lesson"));
  QSignalSpy reset(&w.document(), &Document::reset);
  ASSERT_TRUE(w.start_lesson("tiling"));
  ASSERT_TRUE(wait_until(20, [&] { return w.work().any(); }));
  w.work().give_up();
  EXPECT_FALSE(w.work().any());
  let_the_pool_end();
  EXPECT_EQ(reset.count(), 0);
  EXPECT_EQ(w.document().session().kernel, "matmul");
  EXPECT_FALSE(lesson.run().playing());
  EXPECT_FALSE(lesson.busy());
  ASSERT_TRUE(w.start_lesson("tiling"));
  EXPECT_TRUE(wait_until(60, [&] { return lesson.run().playing(); }));
}

// In place of nvcc something that never ends, with a child of its own.
TEST(GivingUp, BuildingEndsTheCompilerAndWhatItStarted) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  QFile slow(rig.dir.filePath("nvcc"));
  ASSERT_TRUE(slow.open(QIODevice::WriteOnly));
  slow.write("#!/bin/sh\nsleep 300\n");
  slow.close();
  ASSERT_TRUE(slow.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
  qputenv("NAUTILUS_NVCC", slow.fileName().toUtf8());
  ASSERT_TRUE(rig.open("softmax"));
  ASSERT_TRUE(rig.explore(20));
  auto& code = dynamic_cast<CodeView&>(*w.view("code"));
  ASSERT_TRUE(w.reveal("code"));
  w.selection().select(w.document().best().front());
  ASSERT_TRUE(wait_until(60, [&] { return code.plan() && !code.busy(); }));
  ASSERT_TRUE(code.plan()->find("ptx"));
  code.show_stage(0, "ptx");
  ASSERT_TRUE(w.work().any());
  wait_until(0.3, [] { return false; });
  QElapsedTimer t;
  t.start();
  w.work().give_up();
  EXPECT_FALSE(code.busy());
  EXPECT_FALSE(w.work().any());
  let_the_pool_end();
  EXPECT_LT(t.elapsed(), 20'000 * kSlower);
  EXPECT_TRUE(code.plan()->find("ptx")->on_demand) << "as before";
  qunsetenv("NAUTILUS_NVCC");
}

}  // namespace
}  // namespace nautilus::gui
