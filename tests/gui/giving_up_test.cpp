// What takes long can be given up, and leaves all as it was before.
#include <gtest/gtest.h>

#include <QFileInfo>
#include <QToolButton>
#include <algorithm>
#include <atomic>

#include "gui/app/chips_bar.h"
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

// Also beside a dialog, a filter or an input, each of which has an Esc of its own.
TEST(WorkShown, TheButtonAndItsKeyEndTheLast) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(QTest::qWaitForWindowActive(&w));
  QStringList given_up;
  const auto window_key = [&] { QTest::keyClick(&w, Qt::Key_Period, Qt::ControlModifier); };
  for (const char* name : {"first", "second", "third", "fourth"})
    w.work().begin(name, [&, name] { given_up << name; });
  auto* cancel = w.findChild<QToolButton*>("cancel-work");
  ASSERT_TRUE(cancel);
  EXPECT_FALSE(cancel->isVisible()) << "nothing has taken long yet";
  EXPECT_FALSE(w.commands().run("go.give_up"));
  ASSERT_TRUE(wait_until(10, [&] { return cancel->isVisible(); }));
  QTest::mouseClick(cancel, Qt::LeftButton);
  EXPECT_EQ(given_up, QStringList{"fourth"});
  w.chips().edit_new();
  ASSERT_TRUE(QApplication::focusWidget());
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
  w.setFocus();
  QTest::keyClick(&w, Qt::Key_Escape);
  EXPECT_EQ(given_up.size(), 1) << "Esc is for what has the keyboard";
  cancel->setFocus();
  QTest::keyClick(cancel, Qt::Key_Escape);
  EXPECT_EQ(given_up, (QStringList{"fourth", "third"}));
  window_key();
  EXPECT_EQ(given_up, (QStringList{"fourth", "third", "second"}));
  EXPECT_TRUE(w.work().any());
  window_key();
  EXPECT_FALSE(w.work().any());
  EXPECT_FALSE(cancel->isVisible());
  window_key();  // there is nothing left
  EXPECT_EQ(given_up.size(), 4);
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
  // Those that can have a kernel.
  const auto& nodes = w.document().nodes();
  const auto count = std::count_if(nodes.begin(), nodes.begin() + 30'000, [](const auto& n) {
    return n.state != sched::NodeState::Illegal && n.state != sched::NodeState::Unknown &&
           n.state != sched::NodeState::Failed;
  });
  EXPECT_GT(count, 10'000);
  EXPECT_EQ(imported[0][0].toInt(), count);
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

// In place of nvcc something that takes a minute, in a child of its own.
struct SlowCompiler {
  WindowRig rig;
  QString child_file = rig.dir.filePath("child");

  SlowCompiler() {
    QFile slow(rig.dir.filePath("nvcc"));
    EXPECT_TRUE(slow.open(QIODevice::WriteOnly));
    slow.write("#!/bin/sh\nsleep 60 &\necho $! > \"" + child_file.toUtf8() + ".part\"\nmv \"" +
               child_file.toUtf8() + ".part\" \"" + child_file.toUtf8() + "\"\nwait\n");
    slow.close();
    EXPECT_TRUE(slow.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
    qputenv("NAUTILUS_NVCC", slow.fileName().toUtf8());
  }
  ~SlowCompiler() { qunsetenv("NAUTILUS_NVCC"); }
  CodeView& code() { return dynamic_cast<CodeView&>(*rig.window->view("code")); }
  // Until it is at work; the process that it started, 0: it does not start.
  pid_t start() {
    MainWindow& w = *rig.window;
    if (!rig.open("softmax") || !rig.explore(20) || !w.reveal("code")) return 0;
    w.selection().select(w.document().best().front());
    rig.settle();  // a question on its way would have it built once more
    if (!wait_until(60, [&] { return code().plan() && !code().busy(); })) return 0;
    if (!code().plan()->find("ptx")) return 0;
    code().show_stage(0, "ptx");
    QFile child(child_file);
    if (!wait_until(60, [&] { return child.exists(); })) return 0;
    return child.open(QIODevice::ReadOnly) ? child.readAll().trimmed().toInt() : 0;
  }
  // Also one that nobody has asked about since it ended.
  static bool lives(pid_t p) {
    QFile stat(QString("/proc/%1/stat").arg(p));
    return stat.open(QIODevice::ReadOnly) && !stat.readAll().contains(") Z");
  }
};

TEST(GivingUp, BuildingEndsTheCompilerAndWhatItStarted) {
  SlowCompiler nvcc;
  const pid_t child = nvcc.start();
  ASSERT_GT(child, 0);
  MainWindow& w = *nvcc.rig.window;
  ASSERT_TRUE(w.work().any());
  EXPECT_TRUE(SlowCompiler::lives(child));
  QElapsedTimer t;
  t.start();
  w.work().give_up();
  EXPECT_FALSE(w.work().any());
  let_the_pool_end();
  EXPECT_LT(t.elapsed(), 20'000 * kSlower);
  EXPECT_TRUE(wait_until(20, [&] { return !SlowCompiler::lives(child); }));
  EXPECT_TRUE(wait_until(60, [&] { return !nvcc.code().busy(); }));
  EXPECT_TRUE(nvcc.code().plan()->find("ptx")->on_demand) << "as before";
}

// A question that is on its way when the compiler is given up does not start it again; who chooses
// the stage does.
TEST(GivingUp, AnAnswerOnItsWayDoesNotBuildAgain) {
  SlowCompiler nvcc;
  ASSERT_GT(nvcc.start(), 0);
  MainWindow& w = *nvcc.rig.window;
  const auto best = w.document().best();
  ASSERT_TRUE(QFile::remove(nvcc.child_file));
  const PlanStages* before = nvcc.code().plan();
  w.selection().select(best.back() == best.front() ? 0 : best.back());
  QCoreApplication::processEvents();  // views are told, and ask
  ASSERT_EQ(nvcc.code().plan(), before) << "answered at once";
  w.work().give_up();
  ASSERT_TRUE(wait_until(60, [&] { return !nvcc.code().busy(); }));
  nvcc.rig.settle();
  EXPECT_FALSE(w.work().any());
  EXPECT_FALSE(QFile::exists(nvcc.child_file));
  nvcc.code().show_stage(0, "ptx");
  EXPECT_TRUE(wait_until(60, [&] { return QFile::exists(nvcc.child_file); }));
}

TEST(GivingUp, TheProgramEndsWithoutWaitingForACompiler) {
  SlowCompiler nvcc;
  const pid_t child = nvcc.start();
  ASSERT_GT(child, 0);
  QElapsedTimer t;
  t.start();
  nvcc.rig.window.reset(new MainWindow);  // the old one is destroyed
  EXPECT_LT(t.elapsed(), 20'000 * kSlower);
  EXPECT_TRUE(wait_until(20, [&] { return !SlowCompiler::lives(child); }));
}

TEST(GivingUp, FilesAreReadBesideCompilers) {
  std::atomic<bool> over{false};
  for (int k = 0; k < 2; ++k)
    background_pool().start([&over] {
      while (!over) QThread::msleep(1);
    });
  {
    WindowRig rig;
    EXPECT_GE(background_pool().maxThreadCount(), kLeastThreads);
    EXPECT_TRUE(rig.open("softmax")) << "two that take long have all threads";
    over = true;
  }
  background_pool().waitForDone();
}

}  // namespace
}  // namespace nautilus::gui
