#include "gui/views/search_tree.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QSignalSpy>
#include <QSlider>
#include <QToolButton>
#include <QWheelEvent>

#include "tests/gui/big_session.h"
#include "tests/gui/legend_marks.h"
#include "tests/gui/surroundings.h"
#include "tests/gui/svg_texts.h"

namespace nautilus::gui {
namespace {

using sched::NodeState;
class SearchTree : public testing::Test {
 protected:
  explicit SearchTree(int size = 400) {
    stage.document.set_session(big_session(size, 21, kH200), "");
    stage.document.set_answer(stage.document.best(), {});
    view = std::make_unique<SearchTreeView>(stage.shared(), nullptr);
    canvas = view->canvas();
    stage.show(*view);
  }
  void settle() { Surroundings::settle(*view); }
  int best() { return stage.document.best().front(); }
  void key(Qt::Key k, Qt::KeyboardModifiers m = Qt::NoModifier) {
    QTest::keyClick(canvas, k, m);
    settle();
  }
  void click(QPointF at, Qt::KeyboardModifiers m = Qt::NoModifier) {
    QTest::mouseClick(canvas, Qt::LeftButton, m, at.toPoint());
    settle();
  }
  // The middle of a box, off what opens and closes it.
  QPointF body(int node) { return canvas->screen_box(node).center() - QPointF(12, 0); }
  int fold(Group g) {
    for (int i = 0; i < canvas->picture().size(); ++i)
      if (canvas->picture().items[i].fold == g) return i;
    return -1;
  }
  QPointF centre_of_item(int i) {
    return canvas->viewport().to_screen(canvas->picture().box(i).center());
  }

  Surroundings stage;
  std::unique_ptr<SearchTreeView> view;
  SearchTreeCanvas* canvas = nullptr;
};

TEST_F(SearchTree, TheLegendNamesTheMarksThatOccur) {
  expect_legend_of_marks(stage, *view, best());
}

TEST_F(SearchTree, ClickSelectsControlClickIsolatesAndBothAreShared) {
  canvas->go_to(best());
  settle();
  const int parent = stage.document.node(best())->parent;
  canvas->fit();
  click(body(parent));
  EXPECT_EQ(stage.selection.now().node, parent);
  click(body(best()), Qt::ControlModifier);
  EXPECT_EQ(stage.selection.now().isolated, std::set<int>{best()});
  EXPECT_EQ(stage.selection.now().node, parent) << "the selection stays";
  key(Qt::Key_Escape);
  EXPECT_TRUE(stage.selection.now().isolated.empty());
}

TEST_F(SearchTree, HoverIsLight) {
  canvas->fit();
  QTest::mouseMove(canvas, body(0).toPoint());
  settle();
  EXPECT_EQ(stage.selection.hovered(), 0);
  EXPECT_EQ(stage.selection.now().node, -1);
  QTest::mouseMove(canvas, QPoint(2, 2));
  settle();
  EXPECT_EQ(stage.selection.hovered(), -1);
}

TEST_F(SearchTree, ArrowsGoToParentChildAndSiblings) {
  canvas->go_to(best());
  settle();
  key(Qt::Key_Left);
  const int parent = stage.document.node(best())->parent;
  EXPECT_EQ(stage.selection.now().node, parent);
  key(Qt::Key_Right);
  EXPECT_EQ(stage.selection.now().node, best()) << "the child with the fastest plan";
  key(Qt::Key_Home);
  EXPECT_EQ(stage.selection.now().node, 0);
  key(Qt::Key_Right);
  const int child = stage.selection.now().node;
  EXPECT_EQ(stage.document.node(child)->parent, 0);
  for (int k = 0; k < 100; ++k) QTest::keyClick(canvas, Qt::Key_Up);
  const QString first = canvas->accessibleDescription();
  key(Qt::Key_Down);
  EXPECT_NE(canvas->accessibleDescription(), first);
  key(Qt::Key_Up);
  EXPECT_EQ(canvas->accessibleDescription(), first);
  EXPECT_TRUE(first.startsWith('#')) << "the first child is a candidate, in words";
}

TEST_F(SearchTree, EnterAndClicksCloseAndOpen) {
  key(Qt::Key_Home);
  const int all = canvas->picture().size();
  key(Qt::Key_Return);
  EXPECT_EQ(canvas->picture().size(), 1);
  key(Qt::Key_Right);
  EXPECT_EQ(canvas->picture().size(), all) << "right opens what is closed";
  canvas->fit();
  const QRectF toggle = canvas->picture().toggle_box(0);
  click(canvas->viewport().to_screen(toggle.center()));
  EXPECT_EQ(canvas->picture().size(), 1);
}

TEST_F(SearchTree, FoldsUnfoldByClickAndByEnter) {
  const int plans = fold(Group::Plans);
  ASSERT_GE(plans, 0);
  canvas->fit();
  const int members = canvas->picture().items[plans].below, before = canvas->picture().shown_nodes;
  const int parent = canvas->picture().items[plans].node;
  click(centre_of_item(plans));
  EXPECT_EQ(canvas->picture().shown_nodes, before + members);
  key(Qt::Key_Return);
  EXPECT_EQ(canvas->picture().shown_nodes, before) << "the cursor is still on the fold";
  canvas->set_unfolded(parent, Group::Plans, true);
  settle();
  EXPECT_EQ(canvas->picture().shown_nodes, before + members);
}

TEST_F(SearchTree, DoubleClickReRootsAndEscapeComesBack) {
  QSignalSpy rooted(view.get(), &SearchTreeView::root_changed);
  const int parent = stage.document.node(best())->parent;
  canvas->go_to(best());
  settle();
  QTest::mouseDClick(canvas, Qt::LeftButton, {}, body(parent).toPoint());
  settle();
  EXPECT_EQ(canvas->root(), parent);
  ASSERT_EQ(rooted.size(), 1);
  EXPECT_EQ(rooted[0][0].toInt(), parent);
  EXPECT_EQ(canvas->picture().items[0].node, parent);
  key(Qt::Key_Backspace);
  EXPECT_EQ(canvas->root(), stage.document.node(parent)->parent);
  key(Qt::Key_Escape);
  EXPECT_EQ(canvas->root(), 0);
}

TEST_F(SearchTree, ASelectionMadeElsewhereIsUnfoldedAndRevealed) {
  int hidden = -1;
  for (int id = 0; id < 400 && hidden < 0; ++id)
    if (canvas->picture().items[canvas->picture().item_of[id]].node != id) hidden = id;
  ASSERT_GE(hidden, 0);
  stage.selection.select(hidden);
  settle();
  const int item = canvas->picture().item_of[hidden];
  EXPECT_EQ(canvas->picture().items[item].node, hidden);
  EXPECT_TRUE(QRectF(canvas->rect()).contains(canvas->screen_box(hidden).topLeft()));
}

TEST_F(SearchTree, GrowthDoesNotMoveWhatIsLookedAt) {
  canvas->go_to(best());
  settle();
  QTest::keyClick(canvas, Qt::Key_Minus);
  const QRectF before = canvas->screen_box(best());
  const int root = stage.document.node(best())->parent;
  std::vector<sched::SearchNode> more;
  for (int k = 0; k < 50; ++k) {
    sched::SearchNode n;
    n.id = 400 + k;
    n.parent = k % 2 ? 0 : std::max(0, stage.document.node(root)->parent);
    n.state = k % 3 ? NodeState::Expanded : NodeState::Illegal;
    n.decision = "grown";
    more.push_back(n);
  }
  stage.document.append(more);
  settle();
  const QRectF after = canvas->screen_box(best());
  EXPECT_GT(canvas->picture().item_of.size(), 400U);
  EXPECT_NEAR(after.left(), before.left(), 0.6);
  EXPECT_NEAR(after.top(), before.top(), 0.6);
}

TEST_F(SearchTree, ReplayShowsWhatWasThereAndTheBestSoFar) {
  auto* slider = view->findChild<QSlider*>("replay_slider");
  auto* label = view->findChild<QLabel*>("replay_step");
  ASSERT_TRUE(slider && label);
  EXPECT_EQ(slider->maximum(), 400);
  slider->setFocus();
  QTest::keyClick(slider, Qt::Key_Home);
  EXPECT_EQ(canvas->limit(), 1);
  EXPECT_EQ(canvas->best(), -1);
  slider->setValue(250);
  int fastest = -1;
  for (int id = 0; id < 250; ++id) {
    const auto* n = stage.document.node(id);
    if (n->state == NodeState::Complete &&
        (fastest < 0 || n->seconds < stage.document.node(fastest)->seconds))
      fastest = id;
  }
  EXPECT_EQ(canvas->best(), fastest);
  EXPECT_TRUE(label->text().contains("search order")) << "ids are no times";
  const QRectF there = canvas->screen_box(0);
  QTest::keyClick(slider, Qt::Key_End);
  EXPECT_FALSE(canvas->replaying());
  EXPECT_EQ(canvas->screen_box(0), there) << "replay moves nothing";
  EXPECT_EQ(canvas->best(), best());
}

TEST_F(SearchTree, ReplayPlaysToTheEnd) {
  auto* play = view->findChild<QToolButton*>("replay_play");
  view->findChild<QSlider*>("replay_slider")->setValue(380);
  QTest::mouseClick(play, Qt::LeftButton);
  EXPECT_TRUE(QTest::qWaitFor([this] { return !canvas->replaying(); }, 5000));
}

TEST_F(SearchTree, SpaceFitsWheelZoomsToTheCursorDragAndKeysPan) {
  key(Qt::Key_Space);
  const QRectF seen = canvas->viewport().visible();
  EXPECT_TRUE(seen.contains(canvas->picture().bounds));
  const QPointF cursor(300, 200), before = canvas->viewport().to_world(cursor);
  QWheelEvent wheel(cursor, canvas->mapToGlobal(cursor), {}, {0, 240}, Qt::NoButton, Qt::NoModifier,
                    Qt::NoScrollPhase, false);
  QApplication::sendEvent(canvas, &wheel);
  EXPECT_NEAR(QLineF(canvas->viewport().to_world(cursor), before).length(), 0, 1e-6);
  EXPECT_LT(canvas->viewport().visible().width(), seen.width());
  QPointF middle = canvas->viewport().centre;
  QTest::mousePress(canvas, Qt::LeftButton, {}, {300, 300});
  QTest::mouseMove(canvas, {320, 330});
  QTest::mouseMove(canvas, {360, 390});
  QTest::mouseRelease(canvas, Qt::LeftButton, {}, {360, 390});
  EXPECT_LT(canvas->viewport().centre.x(), middle.x());
  EXPECT_EQ(stage.selection.now().node, -1) << "a drag is no click";
  for (auto [k, m] :
       {std::pair(Qt::Key_D, Qt::NoModifier), std::pair(Qt::Key_Right, Qt::ShiftModifier)}) {
    middle = canvas->viewport().centre;
    QTest::keyClick(canvas, k, m);
    EXPECT_GT(canvas->viewport().centre.x(), middle.x());
  }
}

TEST_F(SearchTree, FiltersDimAndDoNotRemove) {
  canvas->fit();
  const int items = canvas->picture().size();
  const QImage all = canvas->grab().toImage();
  stage.filters.add({Filter::Field::Text, Filter::Op::Contains, "", "no such text"});
  settle();
  EXPECT_EQ(canvas->picture().size(), items);
  EXPECT_NE(canvas->grab().toImage(), all);
}

TEST_F(SearchTree, ViewportIsSavedAndRestored) {
  canvas->set_unfolded(0, Group::Plans, true);
  key(Qt::Key_Plus);
  const QJsonObject saved = view->viewport();
  SearchTreeView other(stage.shared(), nullptr);
  stage.show(other);
  other.set_viewport(saved);
  Surroundings::settle(other);
  EXPECT_EQ(other.viewport(), saved);
  other.set_viewport({{"root", 123456}, {"scale", "wide"}, {"opened", "x"}});
  Surroundings::settle(other);
  EXPECT_EQ(other.canvas()->root(), 0);
}

TEST_F(SearchTree, PictureAndRowsAreExported) {
  QImage page(800, 600, QImage::Format_RGB32);
  page.fill(Qt::magenta);
  QPainter p(&page);
  view->paint_picture(p, QRectF(0, 0, 800, 600));
  p.end();
  EXPECT_NE(page.pixelColor(3, 3), QColor(Qt::magenta));
  EXPECT_EQ(view->export_rows().size(), 400);
}

TEST_F(SearchTree, AnEmptyDocumentIsShownAsNothing) {
  stage.document.set_session({}, "");
  settle();
  EXPECT_EQ(canvas->picture().size(), 0);
  key(Qt::Key_Down);
  key(Qt::Key_Space);
  click({100, 100});
  canvas->grab();
}

TEST_F(SearchTree, OtherCostsKeepTheView) {
  key(Qt::Key_Plus);
  const double zoom = canvas->viewport().scale;
  ASSERT_GT(canvas->best(), 0);
  std::vector<sched::SearchNode> nodes = stage.document.nodes();
  for (sched::SearchNode& n : nodes) n.seconds *= 2;
  ASSERT_TRUE(stage.document.set_costs(stage.document.session().options, std::move(nodes),
                                       stage.document.best(), {}));
  ASSERT_EQ(canvas->facts().size(), stage.document.nodes().size()) << "what is shown stays whole";
  settle();
  for (const sched::SearchNode& n : stage.document.nodes())
    ASSERT_EQ(canvas->facts()[static_cast<size_t>(n.id)].seconds, static_cast<float>(n.seconds));
  EXPECT_EQ(canvas->viewport().scale, zoom);
}

}  // namespace
}  // namespace nautilus::gui
