// One selection, one filter and one tree through all views of the real program.
#include <gtest/gtest.h>

#include <QAbstractScrollArea>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QSvgRenderer>
#include <QTextBrowser>
#include <QToolButton>
#include <algorithm>

#include "gui/app/exporting.h"
#include "gui/views/elided_label.h"
#include "gui/views/roofline.h"
#include "gui/views/schedule_view.h"
#include "gui/views/view_bar.h"
#include "gui/views/why_view.h"
#include "tests/gui/window_rig.h"

namespace nautilus::gui {
namespace {

// Softmax after a short search, which has met illegal fusions.
struct Searched : WindowRig {
  Searched() {
    EXPECT_TRUE(open("softmax")) << problem().toStdString();
    EXPECT_TRUE(explore(200));
  }
  Document& document() { return window->document(); }
  // The first candidate in this state that has steps; -1: none.
  int find(sched::NodeState state) {
    for (const sched::SearchNode& n : document().nodes())
      if (n.state == state && !n.steps.empty()) return n.id;
    return -1;
  }
  // Applies steps by hand below `parent`; the new candidate, or -1.
  int apply(int parent, const std::vector<poly::TransformStep>& steps) {
    auto& hand = dynamic_cast<ScheduleView&>(*window->view("schedule")).hand_steps();
    QSignalSpy applied(&hand, &HandSteps::applied), refused(&hand, &HandSteps::refused);
    hand.apply(parent, steps);
    EXPECT_TRUE(wait_until(60, [&] { return applied.count() + refused.count() > 0; }));
    return applied.count() ? applied[0][0].toInt() : -1;
  }
};

TEST(WindowViews, AnIllegalCandidateShowsItsWitness) {
  Searched rig;
  const int bad = rig.find(sched::NodeState::Illegal);
  ASSERT_GE(bad, 0);
  rig.window->dock("why")->reveal();
  rig.window->selection().select(bad);
  rig.settle();
  const auto& why = dynamic_cast<WhyView&>(*rig.window->view("why"));
  const QString text = why.text()->toPlainText();
  EXPECT_TRUE(text.contains("must precede") || text.contains("before")) << text.toStdString();
  EXPECT_TRUE(text.contains("=")) << "no index values: " << text.toStdString();
}

TEST(WindowViews, TransformsByHandAreCandidatesLikeOthers) {
  Searched rig;
  const int good = rig.find(sched::NodeState::Expanded), bad = rig.find(sched::NodeState::Illegal);
  ASSERT_GE(good, 0);
  ASSERT_GE(bad, 0);
  const size_t before = rig.document().nodes().size();
  const sched::SearchNode from = *rig.document().node(good), no = *rig.document().node(bad);
  const int mine = rig.apply(from.parent, from.steps);
  ASSERT_GE(mine, static_cast<int>(before));
  EXPECT_TRUE(rig.document().node(mine)->by_hand);
  EXPECT_NE(rig.document().node(mine)->state, sched::NodeState::Illegal);
  EXPECT_EQ(rig.window->selection().now().node, mine);
  const int refused = rig.apply(no.parent, no.steps);
  ASSERT_GE(refused, 0);
  EXPECT_EQ(rig.document().node(refused)->state, sched::NodeState::Illegal);
  EXPECT_FALSE(rig.document().node(refused)->reason.empty());
  ASSERT_TRUE(rig.explore(50));  // and the search goes on beside them
  EXPECT_TRUE(rig.document().node(mine)->by_hand);
}

TEST(WindowViews, EveryViewShowsTheSelectionAndExports) {
  Searched rig;
  MainWindow& w = *rig.window;
  const auto& best = rig.document().best();
  ASSERT_FALSE(best.empty());
  for (size_t k = 0; k < std::min<size_t>(2, best.size()); ++k)
    rig.document().set_pinned(best[k], true);
  w.selection().select(best.front());
  for (View* v : w.views()) {
    if (v->name() == "lesson") continue;
    SCOPED_TRACE(v->name().toStdString());
    w.dock(v->name())->reveal();
    rig.settle();
    EXPECT_FALSE(v->accessibleName().isEmpty());
    const QString svg = rig.dir.filePath(v->name() + ".svg");
    w.export_view_to(*v, svg);
    EXPECT_EQ(rig.problem(), "");
    EXPECT_TRUE(QSvgRenderer(svg).isValid());
    for (const char* ending : {".png", ".pdf"}) {
      w.export_view_to(*v, rig.dir.filePath(v->name() + ending));
      EXPECT_EQ(rig.problem(), "");
    }
    if (v->export_rows().isEmpty()) continue;
    for (const char* ending : {".csv", ".json"}) {
      w.export_view_to(*v, rig.dir.filePath(v->name() + ending));
      EXPECT_EQ(rig.problem(), "");
    }
  }
  EXPECT_FALSE(w.view("table")->export_rows().isEmpty());
  EXPECT_FALSE(w.view("compare")->export_rows().isEmpty());
}

// Every control that the keyboard reaches says what it is.
TEST(WindowViews, ControlsHaveNamesAndToolTips) {
  Searched rig;
  for (View* v : rig.window->views()) {
    rig.window->dock(v->name())->reveal();
    rig.settle();
    for (const QWidget* control : v->findChildren<QWidget*>()) {
      if (!control->isVisibleTo(v) || !(control->focusPolicy() & Qt::TabFocus)) continue;
      const auto* button = qobject_cast<const QAbstractButton*>(control);
      if (button && button->text().isEmpty() && button->icon().isNull()) continue;  // a corner
      const bool named = !control->accessibleName().isEmpty() ||
                         (button && !button->text().isEmpty()) || control->focusProxy();
      EXPECT_TRUE(named) << v->name().toStdString() << ": " << control->metaObject()->className()
                         << " " << control->objectName().toStdString();
    }
  }
}

// Whether it is a control of a bar, and shown: what scrolls is reached by scrolling.
bool in_a_bar(const QWidget* w, const QWidget* view) {
  if (!w->isVisible()) return false;
  for (const QWidget* up = w->parentWidget(); up && up != view; up = up->parentWidget())
    if (qobject_cast<const QAbstractScrollArea*>(up)) return false;
  return true;
}

bool elides(const QWidget* w) {
  const bool any_width = w->sizePolicy().horizontalPolicy() == QSizePolicy::Ignored;
  return dynamic_cast<const ElidedLabel*>(w) || (qobject_cast<const QComboBox*>(w) && any_width);
}

// In the least window no control of a view is cut, and none lies on another.
TEST(WindowViews, BarsAreWholeInTheLeastWindow) {
  WindowRig rig({800, 500});
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("attention_causal"));
  ASSERT_TRUE(rig.explore(60));
  w.selection().select(w.document().best().front());
  int seen = 0;
  for (View* v : w.views()) {
    SCOPED_TRACE(v->name().toStdString());
    w.dock(v->name())->reveal();
    rig.settle();
    if (!v->isVisible()) continue;
    std::vector<const QWidget*> controls;
    for (const QWidget* c : v->findChildren<QWidget*>()) {
      const bool counts = qobject_cast<const QToolButton*>(c) || qobject_cast<const QLabel*>(c) ||
                          qobject_cast<const QComboBox*>(c) || qobject_cast<const QCheckBox*>(c);
      if (!counts || !in_a_bar(c, v)) continue;
      ++seen;
      const std::string name =
          (c->accessibleName() + u' ' + c->metaObject()->className()).toStdString();
      EXPECT_TRUE(elides(c) || c->width() >= c->minimumSizeHint().width()) << name;
      const QRect at(c->mapTo(v, QPoint(0, 0)), c->size());
      EXPECT_TRUE(v->rect().contains(at)) << name;
      for (const QWidget* other : controls)
        EXPECT_FALSE(at.intersects(QRect(other->mapTo(v, QPoint(0, 0)), other->size())))
            << name << " on " << other->accessibleName().toStdString();
      controls.push_back(c);
    }
  }
  EXPECT_GT(seen, 20);
}

// What has no room in a bar is behind its last button, and works there.
TEST(WindowViews, WhatHasNoRoomInABarIsOneClickAway) {
  WindowRig rig({800, 500});
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  auto& roofline = dynamic_cast<RooflineView&>(*w.view("roofline"));
  w.dock("roofline")->reveal();
  rig.settle();
  auto* bar = roofline.findChild<ViewBar*>();
  ASSERT_TRUE(bar);
  auto* more = bar->findChild<QToolButton*>("view_bar_more");
  ASSERT_TRUE(more);
  ASSERT_TRUE(more->isVisible());
  const auto path = [&]() -> QToolButton* {
    for (auto* b : w.findChildren<QToolButton*>())
      if (b->text() == "Path") return b;
    return nullptr;
  };
  ASSERT_TRUE(path());
  EXPECT_FALSE(path()->isVisible());
  const bool on = roofline.canvas()->path_shown();
  for (int k = 0; k < 2; ++k) {
    QTest::mouseClick(more, Qt::LeftButton);
    ASSERT_TRUE(path()->isVisible());
    EXPECT_NE(path()->window(), &w);
    QTest::mouseClick(path(), Qt::LeftButton);
    EXPECT_EQ(roofline.canvas()->path_shown(), k == 0 ? !on : on);
    QCoreApplication::processEvents();
    EXPECT_FALSE(path()->isVisible()) << "the list of the rest stays open";
  }
  QTest::mouseClick(more, Qt::LeftButton);
  ASSERT_TRUE(path()->isVisible());
  QTest::keyClick(path()->window(), Qt::Key_Escape);
  EXPECT_FALSE(path()->isVisible());
  w.dock("roofline")->setFloating(true);
  w.dock("roofline")->resize(1200, 500);
  rig.settle();
  EXPECT_FALSE(more->isVisible());
  EXPECT_TRUE(path()->isVisible());
  EXPECT_TRUE(
      roofline.rect().contains(QRect(path()->mapTo(&roofline, QPoint(0, 0)), path()->size())));
}

}  // namespace
}  // namespace nautilus::gui
