// The code of a candidate in panes: linked lines, passes, changes, find; by mouse and keyboard.
#include <QListWidget>
#include <QScrollBar>

#include "gui/views/budget_view.h"
#include "gui/views/code_view.h"
#include "tests/gui/sessions.h"

namespace nautilus::gui {
namespace {

using namespace testing_samples;

struct Coding : testing::Test {
  Desk desk;
  CodeView view{desk.shared(), nullptr};
  void SetUp() override {
    desk.selection.select(desk.best());
    view.resize(1400, 800);
    view.show();
    QTest::qWait(2);
    ASSERT_TRUE(settle(view));
    ASSERT_TRUE(view.plan());
  }
  static int count(const std::vector<uint8_t>& v, int what) {
    return int(std::count(v.begin(), v.end(), what));
  }
  // A point in a pane on the first line about a statement.
  static QPoint point_on(CodePane* pane, const PlanStages& plan, const QString& statement) {
    for (size_t n = 0; n < pane->stage().tags.size(); ++n)
      if (focus_of(plan, pane->stage().tags[n]).statement == statement) {
        pane->set_current(int(n));
        const int row = int(n) - pane->verticalScrollBar()->value();
        // The middle of its row: a window's frame may shift what the mouse meets by a little.
        int first = -1, last = -1;
        for (int y = 0; y < pane->viewport()->height(); ++y)
          if (pane->row_at({5, y}) == int(n)) last = y, first = first < 0 ? y : first;
        if (first >= 0) return {200, (first + last) / 2};
        ADD_FAILURE() << "row " << row << " is not on screen";
      }
    ADD_FAILURE() << statement.toStdString();
    return {};
  }
};

// Where the list is narrow its titles wrap; where there is room it is as wide as they are.
TEST_F(Coding, TitlesOfPassesAreNotCut) {
  auto* list = view.findChild<QListWidget*>();
  QFont bold = desk.theme.ui();
  bold.setBold(true);
  const QFontMetrics m(bold);
  const auto cut = [&](QListWidgetItem* item) {
    const QRect r = list->visualItemRect(item);
    const int lines = r.height() / m.height();
    return m.horizontalAdvance(item->text()) > lines * r.width();
  };
  for (const int width : {2400, 1400, 700}) {
    view.resize(width, 800);
    QTest::qWait(2);
    for (int n = 0; n < list->count(); ++n) {
      QListWidgetItem* item = list->item(n);
      EXPECT_FALSE(cut(item)) << width << ": " << item->text().toStdString();
      EXPECT_TRUE(item->toolTip().contains(item->text().mid(2))) << item->toolTip().toStdString();
    }
  }
}

TEST_F(Coding, HoveringAndPickingALineLightsItEverywhere) {
  ASSERT_EQ(view.pane_count(), 3);
  CodePane* tile = view.pane(1);
  const QPoint at = point_on(tile, *view.plan(), "S_P_exp");
  QTest::mouseMove(tile->viewport(), at);
  QTest::qWait(2);
  EXPECT_EQ(desk.selection.hovered_statement(), "S_P_exp");
  QTest::mouseClick(tile->viewport(), Qt::LeftButton, {}, at);
  QTest::qWait(2);
  EXPECT_EQ(desk.selection.now().statement, "S_P_exp");
  for (int n = 0; n < 3; ++n)
    EXPECT_GT(count(view.pane(n)->relevant(), 2), 0) << view.pane(n)->stage().id.toStdString();
  // From elsewhere: another statement.
  desk.selection.select_tree_node(-1);
  desk.selection.select_statement("S_O");
  QTest::qWait(2);
  EXPECT_GT(count(view.pane(2)->relevant(), 2), 0);
}

TEST_F(Coding, TheKeyboardPicksToo) {
  CodePane* tile = view.pane(1);
  point_on(tile, *view.plan(), "S_P_max");
  tile->setFocus();
  QTest::keyClick(tile, Qt::Key_Return);
  QTest::qWait(2);
  EXPECT_EQ(desk.selection.now().statement, "S_P_max");
  const int before = tile->current_row();
  QTest::keyClick(tile, Qt::Key_Down);
  EXPECT_EQ(tile->current_row(), before + 1);
  QTest::keyClick(tile, Qt::Key_End);
  EXPECT_EQ(tile->current_row(), tile->row_count() - 1);
  EXPECT_EQ(tile->verticalScrollBar()->value(), tile->verticalScrollBar()->maximum());
}

TEST_F(Coding, PassesStepWithJAndK) {
  CodePane* pane = view.pane(view.active());
  view.show_stage(view.active(), "tile.lower");
  std::vector<QString> seen;
  for (int n = 0; n < 30; ++n) {
    seen.push_back(pane->stage().id);
    view.step_pass(1);
    if (pane->stage().id == seen.back()) break;
  }
  ASSERT_GT(seen.size(), 4u);
  EXPECT_EQ(seen[1], "tile.rewrite");
  EXPECT_EQ(seen.back(), "cuda");
  view.step_pass(-1);
  EXPECT_EQ(pane->stage().id, seen[seen.size() - 2]);
  pane->setFocus();
  view.activateWindow();
  QTest::keyClick(pane, Qt::Key_J);
  EXPECT_EQ(pane->stage().id, "cuda");
}

TEST_F(Coding, ChangesOfAPass) {
  view.show_stage(view.active(), "tile.rewrite");
  CodePane* pane = view.pane(view.active());
  const int all = pane->row_count();
  view.set_diff(true);
  EXPECT_TRUE(pane->shows_changes());
  EXPECT_NE(pane->row_count(), all);
  int of_text = 0;
  for (int r = 0; r < pane->row_count(); ++r) of_text += pane->line_of_row(r) >= 0;
  EXPECT_LT(of_text, all);  // what is alike is folded
  view.set_diff(false);
  EXPECT_EQ(pane->row_count(), all);
}

TEST_F(Coding, Finds) {
  CodePane* pane = view.pane(2);
  int lines = 0, first = -1;
  for (qsizetype n = 0; n < pane->stage().lines.size(); ++n)
    if (pane->stage().lines[n].contains("exp2", Qt::CaseInsensitive)) {
      ++lines;
      if (first < 0) first = int(n);
    }
  ASSERT_GT(lines, 0);
  pane->set_current(0);
  EXPECT_EQ(pane->find("EXP2", true), lines);
  EXPECT_EQ(pane->current_row(), first);
  if (lines > 1) {
    pane->find("exp2", true);
    EXPECT_GT(pane->current_row(), first);
    pane->find("exp2", false);
    EXPECT_EQ(pane->current_row(), first);
  }
  EXPECT_EQ(pane->find("no such text", true), 0);
}

TEST_F(Coding, PanesComeAndGo) {
  view.add_pane("schedule");
  ASSERT_EQ(view.pane_count(), 4);
  EXPECT_EQ(view.pane(3)->stage().id, "schedule");
  const QJsonObject saved = view.viewport();
  view.close_pane(0);
  EXPECT_EQ(view.pane_count(), 3);
  EXPECT_EQ(view.pane(0)->stage().id, "tile.rewrite");
  view.set_viewport(saved);
  ASSERT_EQ(view.pane_count(), 4);
  EXPECT_EQ(view.pane(0)->stage().id, "spec");
  for (int n = 0; n < 6; ++n) view.close_pane(0);
  EXPECT_EQ(view.pane_count(), 1);  // one stays
}

TEST_F(Coding, TextCanBeSelected) {
  CodePane* pane = view.pane(0);
  pane->setFocus();
  QTest::keyClick(pane, Qt::Key_A, Qt::ControlModifier);
  EXPECT_EQ(pane->selected_text(), pane->stage().lines.join('\n'));
  QTest::keyClick(pane, Qt::Key_Home);
  EXPECT_EQ(pane->selected_text(), pane->stage().lines[0]);
}

TEST_F(Coding, AnotherCandidateReplacesTheTexts) {
  const QStringList before = view.pane(2)->stage().lines;
  desk.selection.select(desk.document.best().at(1));
  QTest::qWait(2);
  ASSERT_TRUE(settle(view));
  EXPECT_EQ(view.plan()->node, desk.document.best().at(1));
  EXPECT_NE(view.pane(2)->stage().lines, before);
}

TEST(BudgetViewTest, WithoutKernelsThereIsNoneToChoose) {
  Desk desk;
  BudgetView view(desk.shared(), nullptr);
  view.resize(700, 500);
  view.show();
  auto* kernels = view.findChild<QComboBox*>();
  ASSERT_TRUE(kernels);
  EXPECT_FALSE(kernels->isVisible()) << "no candidate is selected";
  desk.selection.select(desk.document.best().front());
  ASSERT_TRUE(settle(view));
  EXPECT_GT(kernels->count(), 0);
  EXPECT_TRUE(kernels->isVisible());
  sched::SearchOptions o = desk.document.session().options;
  o.machine.id = o.machine.kind = "cpu";
  desk.bench.set_options(o);
  desk.document.set_options(o);
  ASSERT_TRUE(settle(view));
  EXPECT_EQ(kernels->count(), 0);
  EXPECT_FALSE(kernels->isVisible());
}

TEST(BudgetViewTest, WhatLiesUnderTheMouseIsSelected) {
  Desk desk;
  BudgetView view(desk.shared(), nullptr);
  desk.selection.select(desk.best());
  view.resize(1100, 800);
  view.show();
  QTest::qWait(2);
  ASSERT_TRUE(settle(view));
  ASSERT_TRUE(view.budget());
  view.grab();
  ASSERT_GT(view.canvas()->hits().size(), 20u);
  const BudgetHit* with = nullptr;
  for (const BudgetHit& h : view.canvas()->hits())
    if (!h.focus.statement.isEmpty() && h.where.width() > 8) with = &h;
  ASSERT_TRUE(with);
  const QPoint at = with->where.center().toPoint();
  const QString statement = view.canvas()->hit(at)->focus.statement;
  QTest::mouseClick(view.canvas(), Qt::LeftButton, {}, at);
  QTest::qWait(2);
  EXPECT_EQ(desk.selection.now().statement, statement);
  view.canvas()->zoom(0.5, 0.5);
  EXPECT_NEAR(view.canvas()->to() - view.canvas()->from(), 0.5, 1e-9);
  view.canvas()->set_span(-3, -2.9);
  EXPECT_EQ(view.canvas()->from(), 0);
  view.canvas()->fit();
  EXPECT_EQ(view.canvas()->to(), 1);
}

}  // namespace
}  // namespace nautilus::gui
