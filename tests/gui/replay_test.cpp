// The replay of a search by the order of its candidates and by its time.
#include <gtest/gtest.h>

#include <QLabel>
#include <QSlider>
#include <QToolButton>

#include "gui/views/search_tree.h"
#include "tests/gui/samples.h"
#include "tests/gui/surroundings.h"

namespace nautilus::gui {
namespace {

struct Replay : testing::Test {
  Surroundings stage;
  SearchTreeView view{stage.shared(), nullptr};
  QSlider* slider = view.findChild<QSlider*>("replay_slider");
  QLabel* label = view.findChild<QLabel*>("replay_step");
  QToolButton* order = view.findChild<QToolButton*>("replay_switch");

  void open(bool timed) {
    sched::Session s = testing_samples::random_session(100, 5);
    // Twenty at once, a pause of six seconds, then eight a second.
    for (sched::SearchNode& n : s.result.nodes)
      if (timed) n.made_at = n.id < 20 ? 0.5 : 6.5 + 0.125 * (n.id - 20);
    if (timed) s.result.nodes[50].made_at = -1;  // nobody knows
    stage.document.set_session(std::move(s), "");
    stage.show(view);
  }
  void press(QWidget* w, Qt::Key key) { QTest::keyClick(w, key); }
};

TEST_F(Replay, ByTimeWithTheKeyboard) {
  open(true);
  ASSERT_TRUE(slider && label && order);
  EXPECT_EQ(slider->maximum(), 100);
  press(view.canvas(), Qt::Key_T);
  EXPECT_EQ(slider->maximum(), 16'375) << "milliseconds";
  EXPECT_FALSE(view.canvas()->replaying());
  slider->setFocus();
  press(slider, Qt::Key_Home);
  EXPECT_EQ(view.canvas()->limit(), 1);
  slider->setValue(500);
  EXPECT_EQ(view.canvas()->limit(), 20);
  // Nothing is made for six seconds, and the slider moves through them all the same.
  const int here = slider->value();
  press(slider, Qt::Key_Right);
  EXPECT_GT(slider->value(), here);
  EXPECT_EQ(view.canvas()->limit(), 20);
  for (int k = 0; k < 200 && view.canvas()->limit() == 20; ++k) press(slider, Qt::Key_Right);
  EXPECT_GE(slider->value(), 6'500);
  EXPECT_GT(view.canvas()->limit(), 20);
  EXPECT_TRUE(label->text().contains(" s of 16.3")) << label->text().toStdString();
  slider->setValue(10'200);
  EXPECT_EQ(view.canvas()->limit(), 51) << "the unknown one is as old as the one before it";
  press(view.canvas(), Qt::Key_T);  // the same candidates, by order
  EXPECT_EQ(slider->value(), 51);
  press(view.canvas(), Qt::Key_T);
  EXPECT_EQ(view.canvas()->limit(), 51);
  press(slider, Qt::Key_End);
  EXPECT_FALSE(view.canvas()->replaying());
}

TEST_F(Replay, TheAxisIsSavedWithTheSession) {
  open(true);
  const QJsonObject by_order = view.viewport();
  press(view.canvas(), Qt::Key_T);
  ASSERT_EQ(slider->maximum(), 16'375);
  const QJsonObject by_time = view.viewport();
  view.set_viewport(by_order);
  EXPECT_EQ(slider->maximum(), 100);
  view.set_viewport(by_time);
  EXPECT_EQ(slider->maximum(), 16'375);
  EXPECT_EQ(order->text(), "time");
  view.set_viewport({});  // one of before
  EXPECT_EQ(slider->maximum(), 100);
}

TEST_F(Replay, WithoutTimesThereIsOrderAlone) {
  open(false);
  EXPECT_FALSE(order->isEnabled());
  EXPECT_TRUE(order->toolTip().contains("does not say"));
  press(view.canvas(), Qt::Key_T);
  EXPECT_EQ(slider->maximum(), 100);
  open(true);
  EXPECT_TRUE(order->isEnabled());
}

// Where a search went on from candidates without a time, and the last was made by hand.
TEST_F(Replay, TimesInTheMiddleAreTimes) {
  sched::Session s = testing_samples::random_session(100, 5);
  for (sched::SearchNode& n : s.result.nodes)
    n.made_at = n.id < 20 || n.id == 99 ? -1 : 0.125 * n.id;
  stage.document.set_session(std::move(s), "");
  stage.show(view);
  EXPECT_TRUE(order->isEnabled());
  press(view.canvas(), Qt::Key_T);
  EXPECT_EQ(slider->maximum(), 12'250);
}

TEST_F(Replay, PlaysThroughTime) {
  open(true);
  QTest::mouseClick(order, Qt::LeftButton);
  EXPECT_EQ(order->text(), "time");
  slider->setValue(16'000);
  QTest::mouseClick(view.findChild<QToolButton*>("replay_play"), Qt::LeftButton);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !view.canvas()->replaying(); }, 5000));
}

}  // namespace
}  // namespace nautilus::gui
