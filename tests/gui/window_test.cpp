// The program as a user drives it.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/resource.h>

#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>

#include "autosched/file.h"
#include "compiler/driver/specs.h"
#include "gui/app/chips_bar.h"
#include "gui/app/key_sheet.h"
#include "gui/app/notes_panel.h"
#include "gui/app/options.h"
#include "gui/app/palette.h"
#include "gui/app/start_page.h"
#include "gui/models/opening.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

TEST(Window, ExploringAttentionIsTwoClicksAway) {
  WindowRig rig;
  EXPECT_TRUE(rig.window->on_start_page());
  QAbstractButton* attention = nullptr;
  for (QAbstractButton* b : rig.window->findChildren<QAbstractButton*>())
    if (b->text() == "attention_causal_gqa") attention = b;
  ASSERT_TRUE(attention);
  QSignalSpy opened(rig.window.get(), &MainWindow::opened);
  QTest::mouseClick(attention, Qt::LeftButton);
  ASSERT_TRUE(wait_until(60, [&] { return opened.count() > 0; }));
  EXPECT_FALSE(rig.window->on_start_page());
  EXPECT_EQ(rig.window->document().session().kernel, "attention_causal_gqa");
  ASSERT_TRUE(rig.window->commands().run("search.explore"));
  EXPECT_TRUE(wait_until(60, [&] { return rig.window->document().nodes().size() > 3; }));
  EXPECT_FALSE(rig.window->commands().run("search.explore"));  // it runs
  EXPECT_TRUE(rig.window->commands().run("search.pause"));
  EXPECT_TRUE(
      wait_until(60, [&] { return rig.window->search().phase() == LiveSearch::Phase::Paused; }));
}

TEST(Window, OneClickOpensAndExplores) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  auto* begin = qobject_cast<QPushButton*>(QApplication::focusWidget());
  ASSERT_TRUE(begin) << "what a newcomer wants has the focus";
  QTest::mouseClick(begin, Qt::LeftButton);
  ASSERT_TRUE(wait_until(60, [&] { return w.document().nodes().size() > 3; }));
  EXPECT_EQ(w.document().session().kernel, "attention_causal_gqa");
  w.search().stop();
  EXPECT_TRUE(wait_until(60, [&] { return !w.search().alive(); }));
}

TEST(Window, ExploreSelectFilterUndoAnnotateSaveReopen) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax")) << rig.problem().toStdString();
  ASSERT_TRUE(rig.explore(300));
  ASSERT_FALSE(w.document().best().empty());
  w.commands().run("go.best");
  const int best = w.document().best().front();
  EXPECT_EQ(w.selection().now().node, best);
  w.commands().run("go.parent");
  EXPECT_EQ(w.selection().now().node, w.document().node(best)->parent);
  QTest::keyClick(&w, Qt::Key_Left, Qt::AltModifier);
  EXPECT_EQ(w.selection().now().node, best);
  QTest::keyClick(&w, Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(w.selection().now().node, w.document().node(best)->parent);

  QTest::keyClicks(w.chips().line(), "state = complete");
  QTest::keyClick(w.chips().line(), Qt::Key_Return);
  ASSERT_EQ(w.filters().filters().size(), 1u);
  EXPECT_LT(w.filters().passing(), static_cast<int>(w.document().nodes().size()));
  QTest::keyClicks(w.chips().line(), "nonsense");
  QTest::keyClick(w.chips().line(), Qt::Key_Return);
  EXPECT_EQ(w.filters().filters().size(), 1u);
  EXPECT_FALSE(w.chips().line()->accessibleDescription().isEmpty());
  w.chips().line()->clear();
  w.commands().run("edit.undo");
  EXPECT_TRUE(w.filters().filters().empty());
  w.commands().run("edit.redo");
  EXPECT_EQ(w.filters().filters().size(), 1u);

  w.selection().select(best);
  QCoreApplication::processEvents();
  w.commands().run("edit.note");
  QTest::keyClicks(w.notes().editor(), "the one for the paper");
  w.commands().run("edit.pin");
  const QString file = rig.dir.filePath("a.nautilus.json");
  ASSERT_TRUE(rig.save(file)) << rig.problem().toStdString();
  EXPECT_FALSE(w.document().modified());
  const size_t count = w.document().nodes().size();

  WindowRig again;
  ASSERT_TRUE(again.open(file)) << again.problem().toStdString();
  EXPECT_EQ(again.window->document().nodes().size(), count);
  EXPECT_EQ(again.window->document().note(best), "the one for the paper");
  EXPECT_TRUE(again.window->document().pinned(best));
  EXPECT_EQ(again.window->selection().now().node, best);
  EXPECT_EQ(again.window->filters().filters().size(), 1u);
  EXPECT_FALSE(again.window->document().modified());
  ASSERT_TRUE(again.open(file + "#node=1&view=notes"));
  EXPECT_EQ(again.window->selection().now().node, 1);
  ASSERT_TRUE(again.explore(50));  // and the search goes on
  EXPECT_GT(again.window->document().nodes().size(), count);
}

TEST(Window, PaletteFindAndKeys) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  ASSERT_TRUE(rig.explore(100));
  w.commands().run("go.palette");
  auto* p = w.findChild<Palette*>("palette");
  ASSERT_TRUE(p);
  QTest::keyClicks(p->line(), "best plan");
  QTest::keyClick(p->line(), Qt::Key_Return);
  EXPECT_EQ(w.selection().now().node, w.document().best().front());
  w.commands().run("go.find");
  p = w.findChild<Palette*>("find");
  ASSERT_TRUE(p);
  QTest::keyClicks(p->line(), "3");
  QTest::keyClick(p->line(), Qt::Key_Return);
  EXPECT_EQ(w.selection().now().node, 3);
  w.commands().run("go.find");
  p = w.findChildren<Palette*>("find").back();
  QTest::keyClicks(p->line(), "S_Y_sum");
  ASSERT_GT(p->list()->count(), 0);
  EXPECT_TRUE(p->list()->item(0)->text().contains("S_Y_sum"));
  QTest::keyClick(p->line(), Qt::Key_Return);
  EXPECT_EQ(w.selection().now().statement, "S_Y_sum");
  w.commands().run("help.keys");
  EXPECT_TRUE(w.findChild<KeySheet*>("keys"));
  for (const Commands::Command& c : w.commands().all()) {
    EXPECT_FALSE(c.action->text().isEmpty()) << c.id.toStdString();
    EXPECT_FALSE(c.action->toolTip().isEmpty()) << c.id.toStdString();
  }
}

TEST(Window, NoTwoCommandsOfTheWindowShareAKey) {
  WindowRig rig;
  QMap<QString, QString> owner;
  for (const Commands::Command& c : rig.window->commands().all()) {
    if (c.action->parent() != rig.window.get()) continue;
    for (const QKeySequence& k : c.action->shortcuts()) {
      EXPECT_FALSE(owner.contains(k.toString()))
          << k.toString().toStdString() << ": " << c.id.toStdString();
      owner[k.toString()] = c.id;
    }
  }
}

TEST(Window, BadInputIsToldAndChangesNothing) {
  WindowRig rig;
  ASSERT_TRUE(rig.open("softmax"));
  const auto write = [&](const char* name, const QByteArray& content) {
    QFile f(rig.dir.filePath(name));
    EXPECT_TRUE(f.open(QIODevice::WriteOnly));
    f.write(content);
    return f.fileName();
  };
  const std::pair<QString, const char*> cases[] = {
      {write("a.nautilus.json", "{\"nautilus_session\": 1, \"spec\":"), "JSON"},
      {write("b.nautilus.json", "{\"hello\": 1}"), "not a Nautilus session"},
      {write("c.nautilus.json", "{\"nautilus_session\": 99}"), "newer version"},
      {write("d.nautilus.json", "{\"nautilus_session\": 1}"), "damaged"},
      {write("e.nautilus.json", QByteArray(1 << 20, '[')), "JSON"},
      {write("f.naut", "naut 1\nprogram \n"), ""},
      {write("g.spec.cpp", "int main() {"), ""},
      {write("empty.naut", ""), ""},
      {write("h.nautilus.json", ""), "empty"},
      {write("i.json", "{\"nautilus_session\": 2, \"spec\": {}}"), "spec"},
      {write("j.nautilus.json", QByteArray("\x00\xff\x17\x80random\x00", 12)), "JSON"},
      {write("k", "{\"nautilus_session\": 1e300}"), "version"},
      {rig.dir.filePath("absent.nautilus.json"), "absent.nautilus.json"},
      {rig.dir.filePath("absent.spec.cpp"), "no such file"},
      {rig.dir.path(), "directory"}};
  for (const auto& [file, part] : cases) {
    EXPECT_FALSE(rig.open(file)) << file.toStdString();
    const QString text = rig.problem();
    EXPECT_FALSE(text.isEmpty()) << file.toStdString();
    EXPECT_TRUE(text.contains(part)) << file.toStdString() << ": " << text.toStdString();
    EXPECT_EQ(rig.window->document().session().kernel, "softmax");
  }
  ASSERT_TRUE(rig.open("softmax#node=77"));
  EXPECT_TRUE(rig.problem().contains("no candidate 77"));
  ASSERT_TRUE(rig.open("softmax#view=nowhere"));
  EXPECT_TRUE(rig.problem().contains("no view 'nowhere'"));
}

// A file system that is full, played by a limit on the size of files.
TEST(Window, AFullDiskLosesNothing) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  ASSERT_TRUE(rig.explore(50));
  const QString file = rig.dir.filePath("a.nautilus.json");
  ASSERT_TRUE(rig.save(file));
  const auto before = sched::read_file(file.toStdString());
  w.document().set_note(0, "written later");
  signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small = old;
  small.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &small);
  const bool good = rig.save(file);
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_FALSE(good);
  const QString told = rig.problem();
  EXPECT_TRUE(told.contains("Nothing is lost")) << told.toStdString();
  EXPECT_TRUE(w.document().modified());
  EXPECT_EQ(w.document().note(0), "written later");
  EXPECT_EQ(*sched::read_file(file.toStdString()), *before);
  EXPECT_FALSE(rig.save("/dev/full/a.nautilus.json"));
  EXPECT_FALSE(rig.problem().isEmpty());
  EXPECT_TRUE(rig.save(file));
  EXPECT_FALSE(w.document().modified());
}

TEST(Window, ClosingDuringASearchAsks) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("attention_causal"));
  w.search().explore({0, 0, 0});
  ASSERT_TRUE(wait_until(60, [&] { return w.document().nodes().size() > 10; }));
  EXPECT_FALSE(w.close());
  auto* box = w.findChild<QMessageBox*>("unsaved");
  ASSERT_TRUE(box);
  EXPECT_TRUE(box->text().contains("search is running"));
  QTest::mouseClick(box->button(QMessageBox::Cancel), Qt::LeftButton);
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  EXPECT_TRUE(w.isVisible());
  EXPECT_FALSE(w.close());
  box = w.findChild<QMessageBox*>("unsaved");
  ASSERT_TRUE(box);
  QTest::mouseClick(box->button(QMessageBox::Discard), Qt::LeftButton);
  EXPECT_TRUE(wait_until(5, [&] { return !w.isVisible(); }));
  EXPECT_FALSE(w.search().alive());
}

// While the question about what is not saved waits, another file is asked for: that is the one that
// is opened, in whichever order the questions are answered.
TEST(Window, TheFileAskedForLastIsOpened) {
  for (const bool first_answered_first : {true, false}) {
    SCOPED_TRACE(first_answered_first);
    WindowRig rig;
    MainWindow& w = *rig.window;
    ASSERT_TRUE(rig.open("softmax"));
    w.document().set_note(0, "not saved");
    QList<QMessageBox*> asked;
    for (const char* name : {"matmul", "layernorm"}) {
      w.open(name);
      QMessageBox* box = nullptr;
      ASSERT_TRUE(wait_until(60, [&] {
        for (auto* b : w.findChildren<QMessageBox*>("unsaved"))
          if (!asked.contains(b)) box = b;
        return box != nullptr;
      }));
      asked << box;
    }
    const auto discard = [&](int which) {
      asked[which]->button(QMessageBox::Discard)->click();
      rig.settle();
    };
    discard(first_answered_first ? 0 : 1);
    EXPECT_EQ(w.document().session().kernel, first_answered_first ? "softmax" : "layernorm");
    discard(first_answered_first ? 1 : 0);
    EXPECT_EQ(w.document().session().kernel, "layernorm");
  }
}

// What --window-size takes at least is what the window can be, with whatever is shown.
TEST(Window, IsAsSmallAsItIsToldToBe) {
  const QSize least = kLeastWindow;
  WindowRig rig(least);
  MainWindow& w = *rig.window;
  EXPECT_EQ(w.size(), least) << "with the start page";
  ASSERT_TRUE(rig.open("softmax"));
  ASSERT_TRUE(rig.explore(20));
  w.commands().run("go.best");
  for (const View* v : w.views()) {
    w.reveal(v->name());
    rig.settle();
    const QSize hint = w.minimumSizeHint();
    EXPECT_EQ(w.grab().size(), least) << v->name().toStdString();
    EXPECT_TRUE(hint.width() <= least.width() && hint.height() <= least.height())
        << v->name().toStdString() << ": " << hint.width() << "x" << hint.height();
  }
}

TEST(Window, LongAndManyFiltersDoNotWidenIt) {
  WindowRig rig({900, 600});
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  const int least = w.minimumSizeHint().width();
  const QSize before = w.size();
  const QString words = "text " + QString(400, 'w');
  for (int k = 0; k < 20; ++k) w.filters().add(*filter_from_string(words, nullptr));
  rig.settle();
  EXPECT_EQ(w.size(), before);
  EXPECT_LE(w.minimumSizeHint().width(), least);
  QToolButton* chip = nullptr;
  for (auto* b : w.chips().findChildren<QToolButton*>())
    if (!chip && b->text().endsWith("…") && b->isVisible()) chip = b;
  ASSERT_TRUE(chip);
  EXPECT_LE(chip->width(), 240);
  EXPECT_GE(chip->visibleRegion().boundingRect().height(), chip->sizeHint().height() - 2);
  EXPECT_TRUE(chip->toolTip().contains(words));
  w.chips().line()->setText(QString(10'000, 'x'));
  EXPECT_LE(w.chips().line()->text().size(), kMostFilterText);
  w.chips().line()->clear();
}

// It ends, with a problem or with what is there.
TEST(Window, LinksWithoutAFile) {
  WindowRig rig;
  for (const char* link : {"#node=3", "", "#view=code"}) {
    EXPECT_FALSE(rig.open(link)) << link;
    EXPECT_FALSE(rig.problem().isEmpty()) << link;
  }
  ASSERT_TRUE(rig.open("softmax"));
  EXPECT_TRUE(rig.open("#node=0&view=code"));
  EXPECT_FALSE(rig.open("#node=12345"));
  EXPECT_FALSE(rig.problem().isEmpty());
}

TEST(Window, ImportsMeasurements) {
  WindowRig rig;
  ASSERT_TRUE(rig.open("softmax"));
  ASSERT_TRUE(rig.explore(50));
  QFile f(rig.dir.filePath("store.csv"));
  ASSERT_TRUE(f.open(QIODevice::WriteOnly));
  const int best = rig.window->document().best().front();
  f.write(QString("node,ms,right\n%1,0.25,true\n99999,1,true\n").arg(best).toUtf8());
  f.close();
  QSignalSpy imported(rig.window.get(), &MainWindow::measurements_imported);
  rig.window->import_measurements(f.fileName());
  ASSERT_TRUE(wait_until(60, [&] { return imported.count() > 0; }));
  const QString told = rig.problem();
  for (const char* part : {"store.csv: 1 row imported, 1 left out", "no candidate 99999", "again"})
    EXPECT_TRUE(told.contains(part)) << part << ": " << told.toStdString();
  ASSERT_TRUE(rig.window->document().measured(best));
  EXPECT_DOUBLE_EQ(rig.window->document().measured(best)->seconds, 2.5e-4);
}

// Every kernel has its place on the start page, and the first button one that exists.
TEST(StartPageCorpus, EveryKernelHasAFamily) {
  QStringList names;
  for (const CorpusFamily& f : corpus_families()) {
    EXPECT_NE(f.name, "others") << f.kernels.front().name.toStdString();
    for (const CorpusEntry& c : f.kernels) names << c.name;
  }
  EXPECT_EQ(size_t(names.size()), driver::corpus_kernels().size());
  EXPECT_EQ(names.removeDuplicates(), 0);
  EXPECT_TRUE(names.contains(corpus_begin().name));
}

}  // namespace
}  // namespace nautilus::gui
