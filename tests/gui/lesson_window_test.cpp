// Lessons in the real window, as a student plays them: begun from the menu, answered wrong and
// right, transforms made by hand in the schedule view, left in the middle and gone on with.
#include <gtest/gtest.h>

#include <QLineEdit>
#include <QListWidget>
#include <QRadioButton>
#include <filesystem>
#include <fstream>

#include "gui/views/lesson_view.h"
#include "gui/views/schedule_view.h"
#include "gui/views/step_editor.h"
#include "tests/gui/patience.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

using Phase = LessonRun::Phase;

struct StudentRig : WindowRig {
  LessonView& lesson() { return *dynamic_cast<LessonView*>(window->view("lesson")); }
  const LessonRun& run() { return lesson().run(); }
  bool wait(const std::function<bool()>& done) { return wait_until(kSlower > 1 ? 270 : 90, done); }
  bool play(const QString& name) {
    window->commands().run("lesson." + name);
    return wait([&] { return run().playing() && run().lesson().name == name.toStdString(); }) &&
           (settle(), true);
  }
  void click(const char* name) {
    QTest::mouseClick(lesson().findChild<QWidget*>(name), Qt::LeftButton);
    settle();
  }
  bool shown(const char* view) { return !window->view(view)->visibleRegion().isEmpty(); }
  // Right or wrong, by the widgets; the program's answer is known from the run.
  void answer(bool right) {
    ASSERT_EQ(run().phase(), Phase::Predict);
    ASSERT_TRUE(wait([&] { return run().progress(run().at()).answer.has_value(); }));
    const LessonAnswer a = *run().progress(run().at()).answer;
    if (run().step().question->kind == LessonQuestion::Kind::Number) {
      auto* line = lesson().findChild<QLineEdit*>("lesson-number");
      line->setText(right ? QString::fromStdString(a.said[0]) : QString("-1"));
    } else {
      const auto choices = lesson().findChildren<QRadioButton*>();
      choices[right ? a.choice : (a.choice + 1) % choices.size()]->click();
    }
    click("lesson-predict");
  }
  // The transform of the step in the schedule view's own form.
  void by_hand(const std::function<void(nlohmann::json&)>& otherwise = {}) {
    auto& schedule = *dynamic_cast<ScheduleView*>(window->view("schedule"));
    window->dock("schedule")->reveal();
    settle();
    ASSERT_EQ(run().phase(), Phase::Do);
    const poly::TransformStep asked = run().asked(run().at())->step;
    window->selection().select(run().node_of(run().step().transform->from, -1));
    settle();
    schedule.begin_transform(QString::fromStdString(asked.name));
    ASSERT_TRUE(schedule.editor().active());
    nlohmann::json params = nlohmann::json::parse(asked.params);
    if (otherwise) otherwise(params);
    for (const char* first : {"node"})
      if (params.contains(first)) schedule.editor().field(first)->set_value(params[first]);
    for (auto& [name, value] : params.items())
      schedule.editor().field(QString::fromStdString(name))->set_value(value);
    ASSERT_TRUE(wait([&] { return schedule.editor().apply_button()->isEnabled(); }));
    QTest::mouseClick(schedule.editor().apply_button(), Qt::LeftButton);
    settle();
  }
  // Goes through the step, right and by the lesson's own button.
  void do_step() {
    if (run().phase() == Phase::Predict) answer(true);
    if (run().phase() == Phase::Do) click("lesson-apply");
    ASSERT_TRUE(wait([&] { return run().phase() == Phase::Done; })) << run().step().id;
  }
  void next() { click("lesson-next"); }
};

TEST(LessonWindow, AStudentPlaysTiling) {
  StudentRig r;
  ASSERT_TRUE(r.play("tiling"));
  EXPECT_TRUE(r.shown("lesson"));
  EXPECT_TRUE(r.shown("schedule"));
  EXPECT_EQ(r.window->selection().now().statement, "S_C_acc");
  // What is locked is seen to be.
  EXPECT_FALSE(r.window->commands().action("search.sizes")->isEnabled());
  EXPECT_TRUE(r.window->commands().action("search.sizes")->text().startsWith("Locked"));
  auto* locks = r.lesson().findChild<QLabel*>("lesson-locks");
  EXPECT_TRUE(locks->isVisible() && locks->text().contains("K=1024"))
      << locks->text().toStdString();

  r.next();
  EXPECT_TRUE(r.shown("roofline"));
  r.answer(false);
  EXPECT_EQ(r.run().phase(), Phase::Done);
  EXPECT_FALSE(r.run().right(1));
  auto* text = r.lesson().findChild<QTextBrowser*>("lesson-text");
  EXPECT_TRUE(text->toPlainText().contains("No schedule moves less"));
  r.next();
  EXPECT_TRUE(r.shown("schedule"));
  r.answer(true);
  ASSERT_NO_FATAL_FAILURE(r.by_hand([](auto& p) { p["sizes"] = {32, 32, 0}; }));
  EXPECT_EQ(r.run().phase(), Phase::Do) << "another tile is not what was asked for";
  EXPECT_TRUE(r.wait([&] {
    const auto labels = r.lesson().findChildren<QLabel*>();
    return std::any_of(labels.begin(), labels.end(), [](const QLabel* l) {
      return l->isVisible() && l->text().contains("other parameters");
    });
  }));
  ASSERT_NO_FATAL_FAILURE(r.by_hand());
  EXPECT_EQ(r.run().phase(), Phase::Done);
  r.next();
  // In other words: both members by name, where the lesson says "*".
  ASSERT_NO_FATAL_FAILURE(r.by_hand([](auto& p) { p["member"] = {"i", "j"}; }));
  EXPECT_TRUE(r.wait([&] { return r.run().phase() == Phase::Done; }));
  QTest::mouseClick(r.lesson().findChild<QWidget*>("lesson-back"), Qt::LeftButton);
  r.settle();
  EXPECT_EQ(r.run().at(), 2);
  EXPECT_EQ(r.run().phase(), Phase::Done);
  for (int k = r.run().at(); k + 1 < r.run().count(); ++k) {
    ASSERT_NO_FATAL_FAILURE(r.do_step());
    r.next();
    ASSERT_EQ(r.run().at(), k + 1);
  }
  EXPECT_EQ(r.run().rights(), r.run().asked_questions() - 1);
  r.next();  // to the list
  EXPECT_FALSE(r.run().playing());
  EXPECT_TRUE(r.window->commands().action("search.sizes")->isEnabled());
}

TEST(LessonWindow, LeftInTheMiddleAndGoneOnWith) {
  StudentRig r;
  ASSERT_TRUE(r.play("parallelism"));
  for (int k = 0; k < 4; ++k) {
    ASSERT_NO_FATAL_FAILURE(r.do_step());
    r.next();
  }
  ASSERT_EQ(r.run().at(), 4);
  r.window->set_problem_handler([](const QString&, const QString&) {});  // nothing asks
  const int rights = r.run().rights();
  ASSERT_TRUE(r.open("softmax"));
  EXPECT_FALSE(r.run().playing());
  EXPECT_TRUE(r.window->commands().action("search.sizes")->isEnabled());
  auto* list = r.lesson().findChild<QListWidget*>("lesson-list");
  int left = 0;
  for (int k = 0; k < list->count(); ++k) left += list->item(k)->text().contains("go on at step 5");
  EXPECT_EQ(left, 1);
  ASSERT_TRUE(r.play("parallelism"));
  EXPECT_EQ(r.run().at(), 4);
  EXPECT_EQ(r.run().rights(), rights);
  // Its candidates are there again, and what builds on them goes on.
  for (int k : {1, 2, 3}) {
    const sched::SearchNode* n = r.window->document().node(r.run().progress(k).node);
    ASSERT_TRUE(n) << k;
    EXPECT_TRUE(n->by_hand);
  }
  ASSERT_NO_FATAL_FAILURE(r.do_step());
  // The same lesson again from the menu goes on, from its own menu it begins again.
  r.window->commands().run("lesson.parallelism");
  r.settle();
  EXPECT_EQ(r.run().at(), 4);
  ASSERT_TRUE(r.lesson().restart());
  ASSERT_TRUE(r.wait([&] { return r.run().playing(); }));
  EXPECT_EQ(r.run().at(), 0);
  EXPECT_EQ(r.run().asked_questions(), 0);
}

TEST(LessonWindow, TheLastOneAskedForIsPlayed) {
  StudentRig r;
  r.lesson().play("fusion");
  r.lesson().play("layout");
  r.lesson().play("parallelism");
  ASSERT_TRUE(r.wait([&] { return r.run().playing(); }));
  r.settle();
  EXPECT_EQ(r.run().lesson().name, "parallelism");
  EXPECT_EQ(r.window->document().session().kernel, "matmul");
  // A file opened while a lesson is prepared stays open.
  r.lesson().play("fusion");
  ASSERT_TRUE(r.open("layernorm"));
  r.settle();
  EXPECT_FALSE(r.run().playing());
  EXPECT_NE(r.window->document().session().kernel, "softmax");
}

TEST(LessonWindow, WhileASearchRunsAndClosedInTheMiddle) {
  StudentRig r;
  ASSERT_TRUE(r.open("softmax"));
  r.window->search().explore({0, 0, 0});
  ASSERT_TRUE(r.wait([&] { return r.window->search().phase() == LiveSearch::Phase::Running; }));
  r.window->set_problem_handler([](const QString&, const QString&) {});  // nothing asks
  ASSERT_TRUE(r.play("parallelism"));
  EXPECT_NE(r.window->search().phase(), LiveSearch::Phase::Running) << "that was another program";
  ASSERT_NO_FATAL_FAILURE(r.do_step());
  r.next();
  // The lesson's own program is searched while its step is done.
  r.window->search().explore({0, 0, 0});
  ASSERT_TRUE(r.wait([&] { return r.window->document().nodes().size() > 3; }));
  ASSERT_NO_FATAL_FAILURE(r.do_step());
  EXPECT_EQ(r.run().phase(), Phase::Done);
  const sched::SearchNode* n = r.window->document().node(r.run().progress(1).node);
  ASSERT_TRUE(n);
  EXPECT_TRUE(n->by_hand);
  r.next();
  r.lesson().play("tiling");  // and it is closed while one is prepared and a search runs
}

TEST(LessonWindow, UnknownAndDamagedLessonsSaySo) {
  namespace fs = std::filesystem;
  const fs::path dir = fs::temp_directory_path() / ("corpus-" + std::to_string(::getpid()));
  fs::remove_all(dir);
  fs::create_directories(dir / "lessons");
  for (const auto& e : fs::directory_iterator(NAUTILUS_SOURCE_DIR "/corpus"))
    if (e.path().filename() != "lessons") fs::create_symlink(e.path(), dir / e.path().filename());
  const fs::path from = NAUTILUS_SOURCE_DIR "/corpus/lessons";
  for (const char* name : {"glossary.md", "layout.json", "layout.md", "tiling.json"})
    fs::copy_file(from / name, dir / "lessons" / name);
  std::ofstream(dir / "lessons" / "lost.json") << R"({"nautilus_lesson": 1, "title": "Lost",
    "about": "A kernel that is not there", "kernel": "no_such_kernel", "steps": [{"id": "a"}]})";
  std::ofstream(dir / "lessons" / "lost.md") << "## a: A\nx\n";
  qputenv("NAUTILUS_CORPUS", dir.c_str());
  {
    StudentRig r;
    QStringList told;
    r.window->set_problem_handler([&](const QString&, const QString& text) { told << text; });
    EXPECT_FALSE(r.window->start_lesson("none"));
    EXPECT_FALSE(r.window->start_lesson("tiling"));
    ASSERT_EQ(told.size(), 2);
    EXPECT_TRUE(told[0].contains("layout")) << told[0].toStdString();
    EXPECT_TRUE(told[1].contains("tiling.md")) << told[1].toStdString();
    auto* list = r.lesson().findChild<QListWidget*>("lesson-list");
    ASSERT_EQ(list->count(), 3);
    EXPECT_TRUE(list->item(2)->text().contains("tiling"));
    EXPECT_FALSE(list->item(2)->flags() & Qt::ItemIsEnabled);
    EXPECT_TRUE(r.window->start_lesson("lost"));
    auto* text = r.lesson().findChild<QTextBrowser*>("lesson-text");
    ASSERT_TRUE(r.wait([&] { return text->toPlainText().contains("cannot begin"); }));
    EXPECT_TRUE(text->toPlainText().contains("no_such_kernel"))
        << text->toPlainText().toStdString();
    EXPECT_FALSE(r.run().playing());
  }
  qunsetenv("NAUTILUS_CORPUS");
  fs::remove_all(dir);
}

TEST(LessonWindow, PicturesOfEveryStep) {
  StudentRig r;
  ASSERT_TRUE(r.play("parallelism"));
  const int files = write_lesson_pictures(*r.window, r.dir.filePath("steps"), 60);
  EXPECT_TRUE(r.run().finished());
  const QDir dir(r.dir.filePath("steps"));
  const QStringList pngs = dir.entryList({"*.png"}), svgs = dir.entryList({"*.svg"});
  EXPECT_EQ(svgs.size(), r.run().count());
  EXPECT_EQ(files, pngs.size() + svgs.size());
  EXPECT_GT(pngs.size(), svgs.size());
  EXPECT_TRUE(pngs.contains("04-grid-done.png")) << pngs.join(" ").toStdString();
  for (const QString& png : pngs) EXPECT_GE(QImage(dir.filePath(png)).width(), 900);
}

// Every view that lessons may name is one of the window.
TEST(LessonWindow, ViewsOfLessonsAreThere) {
  StudentRig r;
  for (const std::string& name : lesson_views())
    EXPECT_TRUE(r.window->view(QString::fromStdString(name))) << name;
  EXPECT_EQ(lesson_views().size() + 1, static_cast<size_t>(r.window->views().size()));
}

}  // namespace
}  // namespace nautilus::gui
