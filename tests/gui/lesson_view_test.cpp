// The lesson view in its window: played with the keyboard and with clicks, its pictures kept.
#include "gui/views/lesson_view.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QRadioButton>
#include <QScrollBar>
#include <QSignalSpy>

#include "tests/gui/sched_rig.h"

namespace nautilus::gui {
namespace {

// A lesson, its view, and what a window has around it.
struct LessonRig : SchedRig {
  LessonView view{shared(), nullptr};
  explicit LessonRig(QSize size = {420, 760}) : SchedRig(false) {
    view.resize(size);
    view.show();
    view.activateWindow();
    view.setFocus();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&view));
  }
  bool settle() { return idle(view); }
  bool play(const char* name) { return view.play(name) && settle(); }
  void key() { QTest::keyClick(&view, Qt::Key_Return, Qt::ControlModifier); }
  QString text() { return view.findChild<QTextBrowser*>("lesson-text")->toPlainText(); }
  QWidget* part(const char* name) { return view.findChild<QWidget*>(name); }
  // A right prediction, and the transform done by the view.
  bool do_step() {
    const LessonRun& run = view.run();
    if (run.phase() == LessonRun::Phase::Predict) {
      const auto& q = *run.step().question;
      if (!QTest::qWaitFor([&] { return run.progress(run.at()).answer.has_value(); }, 60'000))
        return false;
      const LessonAnswer a = *run.progress(run.at()).answer;
      if (q.kind == LessonQuestion::Kind::Number)
        view.findChild<QLineEdit*>("lesson-number")->setText(QString::number(a.number, 'g', 17));
      else
        view.findChildren<QRadioButton*>().at(a.choice)->click();
      key();
    }
    if (run.phase() == LessonRun::Phase::Do) {
      if (!QTest::qWaitFor([&] { return run.asked(run.at()) != nullptr; }, 60'000)) return false;
      key();
    }
    return QTest::qWaitFor([&] { return run.phase() == LessonRun::Phase::Done; }, 60'000) &&
           settle();
  }
  void keep_picture(const QString& name) {
    const QString dir = qEnvironmentVariable("NAUTILUS_TEST_ARTEFACTS", QDir::tempPath());
    view.grab().save(dir + "/lesson-" + name + ".png");
  }
};

TEST(LessonView, ListsAllLessons) {
  LessonRig r;
  auto* list = r.view.findChild<QListWidget*>("lesson-list");
  ASSERT_TRUE(list);
  EXPECT_GE(list->count(), 10);
  EXPECT_TRUE(list->item(0)->text().contains("Tiling"));
  EXPECT_FALSE(r.view.play("no such lesson"));
  EXPECT_FALSE(r.view.run().playing());
  r.keep_picture("list");
}

TEST(LessonView, IsPlayedWithOneKey) {
  LessonRig r;
  ASSERT_TRUE(r.play("parallelism"));
  ASSERT_TRUE(r.view.run().playing());
  EXPECT_EQ(r.document.session().kernel, "matmul");
  r.keep_picture("question");
  for (int k = 0; k < r.view.run().count(); ++k) {
    ASSERT_EQ(r.view.run().at(), k);
    ASSERT_TRUE(r.do_step()) << r.view.run().step().id;
    EXPECT_FALSE(r.text().contains("{{"));
    EXPECT_FALSE(r.text().contains("…")) << r.text().toStdString();
    if (k == 3) r.keep_picture("witness");
    if (k + 1 < r.view.run().count()) r.key();
  }
  EXPECT_TRUE(r.view.run().finished());
  EXPECT_EQ(r.view.run().rights(), r.view.run().asked_questions());
  EXPECT_EQ(r.view.export_rows().size(), r.view.run().count());
  // What was done is in the tree, the illegal one with its witness.
  int by_hand = 0, illegal = 0;
  for (const sched::SearchNode& n : r.document.nodes()) {
    by_hand += n.by_hand;
    illegal += n.by_hand && n.state == sched::NodeState::Illegal;
  }
  EXPECT_EQ(by_hand, 5);
  EXPECT_EQ(illegal, 1);
  r.key();  // the list again
  EXPECT_FALSE(r.view.run().playing());
}

TEST(LessonView, NothingIsRevealedBeforeThePrediction) {
  LessonRig r;
  ASSERT_TRUE(r.play("layout"));
  r.key();  // the first step asks nothing
  ASSERT_TRUE(r.settle());
  ASSERT_EQ(r.view.run().phase(), LessonRun::Phase::Predict);
  ASSERT_TRUE(r.view.run().progress(1).answer);
  for (QLabel* l : r.view.findChildren<QLabel*>())
    EXPECT_FALSE(l->isVisible() && l->text().contains("It is")) << l->text().toStdString();
  auto* number = r.view.findChild<QLineEdit*>("lesson-number");
  QTest::keyClicks(number, "no idea");
  QTest::keyClick(number, Qt::Key_Return);
  EXPECT_EQ(r.view.run().phase(), LessonRun::Phase::Predict);
  number->clear();
  QTest::keyClicks(number, "7");
  QTest::keyClick(number, Qt::Key_Return);
  EXPECT_EQ(r.view.run().phase(), LessonRun::Phase::Done);
  EXPECT_FALSE(r.view.run().right(1));
  r.keep_picture("wrong");
  QTest::keyClick(&r.view, Qt::Key_Backspace, Qt::ControlModifier);
  EXPECT_EQ(r.view.run().at(), 0);
}

TEST(LessonView, ShowMeIsNoPrediction) {
  LessonRig r;
  ASSERT_TRUE(r.play("layout"));
  r.key();
  ASSERT_TRUE(r.settle());
  QTest::mouseClick(r.part("lesson-show"), Qt::LeftButton);
  EXPECT_EQ(r.view.run().phase(), LessonRun::Phase::Done);
  EXPECT_EQ(r.view.run().rights(), 0);
  const auto labels = r.view.findChildren<QLabel*>();
  EXPECT_TRUE(std::any_of(labels.begin(), labels.end(), [](const QLabel* l) {
    return l->isVisible() && l->text().endsWith("1 answer without a prediction");
  }));
}

// Another document ends the lesson; a lesson that is left behind says nothing any more.
TEST(LessonView, AnotherDocumentEndsIt) {
  LessonRig r;
  ASSERT_TRUE(r.play("layout"));
  r.document.set_session(SchedRig::session(), QString());
  EXPECT_FALSE(r.view.run().playing());
  ASSERT_TRUE(r.settle());
  EXPECT_FALSE(r.view.run().playing());
}

TEST(LessonView, PaintsItsStep) {
  LessonRig r;
  ASSERT_TRUE(r.play("layout"));
  QImage image(600, 400, QImage::Format_RGB32);
  image.fill(Qt::magenta);
  QPainter p(&image);
  r.view.paint_picture(p, QRectF(0, 0, 600, 400));
  p.end();
  EXPECT_NE(image.pixelColor(5, 5), QColor(Qt::magenta));
  int dark = 0;
  for (int y = 0; y < 400; y += 2)
    for (int x = 0; x < 600; x += 2) dark += image.pixelColor(x, y) == r.theme.text();
  EXPECT_GT(dark, 100);
}

}  // namespace
}  // namespace nautilus::gui
