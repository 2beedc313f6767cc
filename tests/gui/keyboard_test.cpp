// Without a mouse: every view is reached, left and worked in by keys alone.
#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QCompleter>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QTimer>
#include <utility>

#include "gui/app/key_sheet.h"
#include "gui/views/schedule_view.h"
#include "gui/views/step_editor.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

// What the keyboard speaks to now.
QWidget* listener(MainWindow& w) {
  if (QWidget* popup = QApplication::activePopupWidget()) return popup;
  QWidget* focus = QApplication::focusWidget();
  return focus ? focus : &w;
}
void press(MainWindow& w, Qt::Key key, Qt::KeyboardModifiers with = Qt::NoModifier) {
  QTest::keyClick(listener(w), key, with);
  QCoreApplication::processEvents();
}
void press(MainWindow& w, const QKeySequence& keys) {
  QTest::keySequence(listener(w), keys);
  QCoreApplication::processEvents();
}
bool within(const QWidget* view) {
  const QWidget* focus = QApplication::focusWidget();
  return focus && (focus == view || view->isAncestorOf(focus));
}

// Types a name into the file dialog that comes up, and agrees.
void answer_file_dialog(const QString& name) {
  auto* look = new QTimer(qApp);
  QObject::connect(look, &QTimer::timeout, [look, name, typed = false]() mutable {
    auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
    if (!dialog) {
      if (typed) look->deleteLater();
      return;
    }
    auto* line = dialog->findChild<QLineEdit*>("fileNameEdit");
    if (!std::exchange(typed, true)) {
      line->selectAll();
      QTest::keyClicks(line, name);
    }
    if (line->completer()) line->completer()->popup()->hide();
    QTest::keyClick(line, Qt::Key_Return);
  });
  look->start(20);
}

TEST(Keyboard, ExploreSelectApplySave) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(QTest::qWaitForWindowActive(&w));
  QSignalSpy opened(&w, &MainWindow::opened), saved(&w, &MainWindow::saved);
  const auto here = [] {
    const QWidget* focus = QApplication::focusWidget();
    return focus ? focus->accessibleName() : QString();
  };
  for (int k = 0; k < 80 && here() != "softmax"; ++k) press(w, Qt::Key_Tab);
  ASSERT_EQ(here(), "softmax");
  press(w, Qt::Key_Return);
  ASSERT_TRUE(wait_until(60, [&] { return opened.count() > 0; }));
  rig.settle();

  press(w, Qt::Key_F5);
  ASSERT_TRUE(wait_until(60, [&] { return w.document().nodes().size() > 20; }));
  press(w, Qt::Key_F6);
  ASSERT_TRUE(wait_until(60, [&] { return w.search().phase() == LiveSearch::Phase::Paused; }));
  rig.settle();

  press(w, QKeySequence("Ctrl+1"));
  EXPECT_TRUE(within(w.view("tree")));
  w.selection().select(0);
  rig.settle();
  press(w, Qt::Key_Right);
  const int child = w.selection().now().node;
  EXPECT_NE(child, 0);
  press(w, Qt::Key_Left);
  ASSERT_EQ(w.selection().now().node, 0);
  rig.settle();

  auto& schedule = dynamic_cast<ScheduleView&>(*w.view("schedule"));
  press(w, w.commands().action("view.schedule")->shortcut());
  ASSERT_TRUE(within(&schedule));
  press(w, Qt::Key_Down);
  press(w, Qt::Key_T);
  auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
  ASSERT_TRUE(menu);
  for (int k = 0; k < 60 && (!menu->activeAction() || menu->activeAction()->text() != "tile"); ++k)
    press(w, Qt::Key_Down);
  ASSERT_TRUE(menu->activeAction());
  EXPECT_EQ(menu->activeAction()->text(), "tile");
  press(w, Qt::Key_Return);
  const auto* editor = schedule.findChild<StepEditor*>();
  ASSERT_TRUE(editor);
  ASSERT_TRUE(wait_until(60, [&] { return editor->attempt().has_value(); }));
  EXPECT_TRUE(editor->isVisible());
  EXPECT_FALSE(editor->attempt()->verdict.malformed)
      << editor->verdict_label()->text().toStdString();
  EXPECT_TRUE(within(&schedule)) << "the editor takes the keyboard";
  rig.settle();
  const size_t before = w.document().nodes().size();
  press(w, QKeySequence("Ctrl+Return"));
  ASSERT_TRUE(wait_until(60, [&] { return w.document().nodes().size() > before; }));
  rig.settle();
  const int made = w.selection().now().node;
  EXPECT_TRUE(w.document().node(made)->by_hand);
  EXPECT_TRUE(w.commands().action("edit.undo")->text().contains("tile"))
      << w.commands().action("edit.undo")->text().toStdString();
  press(w, QKeySequence("Ctrl+Z"));
  EXPECT_EQ(w.selection().now().node, 0);

  const QString file = rig.dir.filePath("keys.nautilus.json");
  answer_file_dialog(file);
  press(w, QKeySequence("Ctrl+S"));
  ASSERT_TRUE(wait_until(60, [&] { return saved.count() > 0; }));
  EXPECT_TRUE(QFile::exists(file));
  EXPECT_FALSE(w.document().modified());
}

TEST(Keyboard, EveryViewIsAKeyAwayAndTabLeavesIt) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(QTest::qWaitForWindowActive(&w));
  ASSERT_TRUE(rig.open("softmax"));
  ASSERT_TRUE(rig.explore(50));
  for (View* v : w.views()) {
    SCOPED_TRACE(v->name().toStdString());
    const QAction* a = w.commands().action("view." + v->name());
    ASSERT_FALSE(a->shortcut().isEmpty());
    press(w, a->shortcut());
    rig.settle();
    EXPECT_TRUE(within(v));
    int tabs = 0;
    while (within(v) && tabs < 100) press(w, Qt::Key_Tab), ++tabs;
    EXPECT_FALSE(within(v));
  }
  press(w, QKeySequence("Ctrl+M"));
  EXPECT_TRUE(within(w.dock("notes")));
}

// Alt and a letter mean one thing in a menu.
TEST(Keyboard, MnemonicsDiffer) {
  WindowRig rig;
  const auto letters_differ = [](const QList<QAction*>& actions, const QString& where) {
    QMap<QChar, QString> owner;
    for (const QAction* a : actions) {
      const auto at = a->text().indexOf('&');
      if (at < 0 || !a->isVisible()) continue;
      const QChar letter = a->text()[at + 1].toLower();
      EXPECT_FALSE(owner.contains(letter)) << where.toStdString() << ": " << a->text().toStdString()
                                           << " and " << owner[letter].toStdString();
      owner[letter] = a->text();
    }
  };
  letters_differ(rig.window->menuBar()->actions(), "menu bar");
  for (const QAction* a : rig.window->menuBar()->actions())
    letters_differ(a->menu()->actions(), a->text());
}

TEST(Keyboard, TheGuideHasTheKeySheet) {
  WindowRig rig;
  QFile guide(NAUTILUS_SOURCE_DIR "/gui/GUIDE.md");
  ASSERT_TRUE(guide.open(QIODevice::ReadOnly));
  const QString keys = keys_as_markdown(rig.window->commands());
  EXPECT_TRUE(QString::fromUtf8(guide.readAll()).contains(keys))
      << "the table in gui/GUIDE.md should be (nautilus-explorer --keys):\n"
      << keys.toStdString();
}

}  // namespace
}  // namespace nautilus::gui
