// Two programs and one session file: what another one wrote is never lost unasked.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTimer>

#include "gui/models/file_stamp.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

struct TwoPrograms : testing::Test {
  WindowRig mine, other;
  QString file = mine.dir.filePath("shared.nautilus.json");

  void SetUp() override {
    ASSERT_TRUE(mine.open("softmax"));
    ASSERT_TRUE(mine.save(file));
    ASSERT_TRUE(other.open(file));
    other.window->document().set_note(0, "of the other");
    ASSERT_TRUE(other.save(file));
    mine.window->document().set_note(0, "mine");
  }
  static std::string note_in(const QString& name) {
    const auto s = sched::load_session(name.toStdString());
    return s && s->notes.contains(0) ? s->notes.at(0) : "";
  }
  QMessageBox* box() {
    QMessageBox* found = nullptr;
    wait_until(30, [&] {
      found = mine.window->findChild<QMessageBox*>("changed-file");
      return found != nullptr;
    });
    return found;
  }
  static QAbstractButton* button(QMessageBox* box, const QString& text) {
    for (QAbstractButton* b : box->buttons())
      if (b->text().remove('&').startsWith(text)) return b;
    return nullptr;
  }
};

TEST_F(TwoPrograms, CancelKeepsBoth) {
  QSignalSpy saved(mine.window.get(), &MainWindow::saved);
  mine.window->save(file);
  QMessageBox* asked = box();
  ASSERT_TRUE(asked);
  EXPECT_EQ(saved.count(), 0) << "before the answer";
  QTest::keyClick(asked, Qt::Key_Escape);
  ASSERT_TRUE(wait_until(30, [&] { return saved.count() > 0; }));
  EXPECT_FALSE(saved[0][0].toBool());
  EXPECT_EQ(note_in(file), "of the other");
  EXPECT_TRUE(mine.window->document().modified());
}

TEST_F(TwoPrograms, OverwriteIsWhatTheUserSaid) {
  QSignalSpy saved(mine.window.get(), &MainWindow::saved);
  mine.window->save(file);
  QMessageBox* asked = box();
  ASSERT_TRUE(asked);
  QTest::mouseClick(button(asked, "Overwrite"), Qt::LeftButton);
  ASSERT_TRUE(wait_until(30, [&] { return saved.count() > 0; }));
  EXPECT_TRUE(saved[0][0].toBool());
  EXPECT_EQ(note_in(file), "mine");
  EXPECT_FALSE(mine.window->document().modified());
  mine.window->document().set_note(0, "mine again");  // nobody else was at it since
  EXPECT_TRUE(mine.save(file));
  EXPECT_EQ(note_in(file), "mine again");
}

TEST_F(TwoPrograms, SaveAsKeepsBoth) {
  const QString elsewhere = mine.dir.filePath("elsewhere.nautilus.json");
  QSignalSpy saved(mine.window.get(), &MainWindow::saved);
  mine.window->save(file);
  QMessageBox* asked = box();
  ASSERT_TRUE(asked);
  QTimer answer;
  QObject::connect(&answer, &QTimer::timeout, [&] {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    if (!dialog) return;
    answer.stop();
    auto* line = dialog->findChild<QLineEdit*>("fileNameEdit");
    line->setText(elsewhere);
    QTest::keyClick(line, Qt::Key_Return);
  });
  answer.start(20);
  QTest::mouseClick(button(asked, "Save as"), Qt::LeftButton);
  ASSERT_TRUE(wait_until(30, [&] { return saved.count() > 0; }));
  EXPECT_TRUE(saved[0][0].toBool());
  EXPECT_EQ(note_in(file), "of the other");
  EXPECT_EQ(note_in(elsewhere), "mine");
  EXPECT_EQ(mine.window->document().file(), elsewhere);
}

// What the box asks about is the session that was open then, whatever is open now.
TEST_F(TwoPrograms, AnotherDocumentIsNotWrittenInThePlaceOfTheOneAskedAbout) {
  for (const char* answer : {"Overwrite", "Save as"}) {
    SCOPED_TRACE(answer);
    mine.window->document().set_note(0, "mine");
    QSignalSpy saved(mine.window.get(), &MainWindow::saved);
    mine.window->save(file);
    QMessageBox* asked = box();
    ASSERT_TRUE(asked);
    sched::Session next = mine.window->document().session();
    next.notes[0] = "of a third one";
    mine.window->document().set_session(next, "");
    QTest::mouseClick(button(asked, answer), Qt::LeftButton);
    ASSERT_TRUE(wait_until(30, [&] { return saved.count() > 0; }));
    EXPECT_FALSE(saved[0][0].toBool());
    EXPECT_EQ(note_in(file), "of the other");
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    mine.window->document().set_session(next, file);
  }
}

TEST_F(TwoPrograms, LeavingAsksAboutTheDocumentThatIsOpenNow) {
  bool left = false;
  mine.window->document().set_note(0, "mine");
  EXPECT_FALSE(mine.window->close());
  auto* asked = mine.window->findChild<QMessageBox*>("unsaved");
  ASSERT_TRUE(asked);
  sched::Session next = mine.window->document().session();
  mine.window->document().set_session(next, "");
  mine.window->document().set_note(0, "of a third one");
  QTest::mouseClick(asked->button(QMessageBox::Discard), Qt::LeftButton);
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  left = !mine.window->isVisible();
  EXPECT_FALSE(left) << "nobody said that this one may go";
  asked = mine.window->findChild<QMessageBox*>("unsaved");
  ASSERT_TRUE(asked);
  QTest::mouseClick(asked->button(QMessageBox::Discard), Qt::LeftButton);
  EXPECT_TRUE(wait_until(5, [&] { return !mine.window->isVisible(); }));
}

TEST_F(TwoPrograms, TheCopyForRecoveryIsElsewhere) {
  mine.window->autosave();
  ASSERT_TRUE(wait_until(30, [&] { return !mine.window->busy(); }));
  EXPECT_TRUE(QFile::exists(mine.window->recovery().file()));
  EXPECT_EQ(note_in(file), "of the other");
}

TEST_F(TwoPrograms, WithoutAPersonItIsRefused) {
  QString told;
  mine.window->set_problem_handler([&](const QString&, const QString& text) { told = text; });
  EXPECT_FALSE(mine.save(file));
  EXPECT_TRUE(told.contains("another program")) << told.toStdString();
  EXPECT_EQ(note_in(file), "of the other");
}

TEST_F(TwoPrograms, AFileThatIsGoneIsWrittenAgain) {
  ASSERT_TRUE(QFile::remove(file));
  EXPECT_TRUE(mine.save(file));
  EXPECT_EQ(note_in(file), "mine");
}

// A save that ends after another document was opened says nothing of that one.
TEST(Saving, BesideAnotherDocumentThatComesMeanwhile) {
  for (int turns = 0; turns < 8; ++turns) {
    WindowRig rig;
    MainWindow& w = *rig.window;
    const QString first = rig.dir.filePath("first.nautilus.json"),
                  second = rig.dir.filePath("second.nautilus.json");
    ASSERT_TRUE(rig.open("softmax"));
    ASSERT_TRUE(rig.save(second));
    const sched::Session next = w.document().session();
    w.document().set_note(0, "of the first");
    QSignalSpy saved(&w, &MainWindow::saved);
    w.save(first);
    for (int k = 0; k < turns; ++k) QCoreApplication::processEvents();
    const bool before = saved.count() > 0;
    w.document().set_session(next, second);
    w.document().set_note(0, "of the second");
    ASSERT_TRUE(wait_until(60, [&] { return saved.count() > 0 && !w.busy(); }));
    (void)rig.problem();
    EXPECT_EQ(w.document().file(), second) << turns;
    EXPECT_TRUE(w.document().modified()) << turns;
    EXPECT_EQ(w.document().note(0), "of the second");
    if (saved[0][0].toBool()) {
      EXPECT_EQ(TwoPrograms::note_in(first), "of the first") << turns;
    } else {
      EXPECT_FALSE(QFile::exists(first)) << turns << (before ? " before" : " after");
    }
  }
}

}  // namespace
}  // namespace nautilus::gui
