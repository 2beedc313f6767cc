#include "gui/views/roofline.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QPainter>
#include <cmath>

#include "tests/gui/big_session.h"
#include "tests/gui/legend_marks.h"
#include "tests/gui/surroundings.h"
#include "tests/gui/svg_texts.h"

namespace nautilus::gui {
namespace {

class RooflineTest : public testing::Test {
 protected:
  RooflineTest() {
    sched::Session s = big_session(400, 21, kH200);
    s.program_naut.clear();  // nothing for the bench to do
    stage.document.set_session(s, "");
    view = std::make_unique<RooflineView>(stage.shared(), nullptr);
    canvas = view->canvas();
    stage.show(*view);
    canvas->grab();
  }
  int best() { return stage.document.best().front(); }
  void click(QPointF at, Qt::KeyboardModifiers m = Qt::NoModifier) {
    QTest::mouseClick(canvas, Qt::LeftButton, m, at.toPoint());
    Surroundings::settle(*view);
  }
  Surroundings stage;
  std::unique_ptr<RooflineView> view;
  RooflineCanvas* canvas = nullptr;
};

TEST_F(RooflineTest, TheLegendNamesTheMarksThatOccur) {
  expect_legend_of_marks(stage, *view, best());
}

TEST_F(RooflineTest, TheFrameIsFrozenUntilMovedAndSpaceFreezesAgain) {
  EXPECT_TRUE(canvas->frozen());
  const Viewport& v = canvas->viewport();
  EXPECT_TRUE(canvas->plot().adjusted(-1, -1, 1, 1).contains(v.to_screen(canvas->frame())));
  QTest::keyClick(canvas, Qt::Key_Right);
  EXPECT_FALSE(canvas->frozen());
  QTest::keyClick(canvas, Qt::Key_Space);
  EXPECT_TRUE(canvas->frozen());
}

TEST_F(RooflineTest, ALevelThatAnotherMachineLacksIsGivenUp) {
  auto* box = view->findChild<QComboBox*>("roofline_level");
  canvas->set_level("l2");
  ASSERT_GT(box->currentIndex(), 0);
  sched::Session s = big_session(60, 3, kH200);
  s.program_naut.clear();
  std::erase_if(s.options.machine.levels, [](const auto& l) { return l.name == "l2"; });
  for (sched::SearchNode& n : s.result.nodes)
    std::erase_if(n.points, [](const auto& p) { return p.level == "l2"; });
  stage.document.set_session(s, "");
  Surroundings::settle(*view);
  EXPECT_EQ(canvas->level(), QString());
  EXPECT_EQ(box->currentIndex(), 0);
  EXPECT_NE(canvas->levels_shown(), 0U);
  canvas->set_state({{"level", "l2"}});  // as a damaged session has it
  EXPECT_EQ(canvas->level(), QString());
}

TEST_F(RooflineTest, FitToDataShowsEveryPoint) {
  QTest::keyClick(canvas, Qt::Key_F);
  canvas->grab();
  const Outside& o = canvas->painter().outside();
  EXPECT_EQ(o.left + o.right + o.above + o.below, 0);
}

TEST_F(RooflineTest, ClickIsolatesControlClickAddsEmptyClickReleases) {
  QTest::keyClick(canvas, Qt::Key_F);
  click(canvas->screen_point(best()));
  const int first = stage.selection.now().node;
  EXPECT_EQ(stage.selection.now().isolated, std::set<int>{first});
  int other = -1;
  for (const CloudPoint& p : canvas->cloud().points)
    if (QLineF(canvas->screen_point(p.node), canvas->screen_point(first)).length() > 60)
      other = p.node;
  ASSERT_GE(other, 0);
  click(canvas->screen_point(other), Qt::ControlModifier);
  EXPECT_EQ(stage.selection.now().isolated.size(), 2U);
  int lit = 0;
  for (const CloudPoint& p : canvas->cloud().points) lit += p.lit;
  EXPECT_EQ(lit, 8) << "two candidates on four levels";
  click(canvas->plot().topLeft() + QPointF(3, canvas->plot().height() * 0.55));
  EXPECT_TRUE(stage.selection.now().isolated.empty());
}

TEST_F(RooflineTest, HoverTellsIntensityAchievedShareAndLimiter) {
  QTest::keyClick(canvas, Qt::Key_F);
  QTest::mouseMove(canvas, canvas->screen_point(best()).toPoint());
  Surroundings::settle(*view);
  EXPECT_GE(stage.selection.hovered(), 0);
  auto [begin, end] = canvas->cloud().of(best());
  const QString text = canvas->describe(static_cast<int>(begin - canvas->cloud().points.data()));
  for (const char* part :
       {"intensity", "FLOP/B", "achieved", "FLOP/s", "of roof", "%", "limited by"})
    EXPECT_TRUE(text.contains(part)) << part;
}

TEST_F(RooflineTest, LevelsAndColoursAreChosenByKeyAndByBox) {
  auto* level = view->findChild<QComboBox*>("roofline_level");
  ASSERT_EQ(level->count(), 5);
  EXPECT_EQ(canvas->levels_shown(), 0b0111U) << "registers only when asked for";
  QTest::keyClick(canvas, Qt::Key_L);
  EXPECT_EQ(canvas->levels_shown(), 0b0001U);
  EXPECT_EQ(level->currentText(), "hbm");
  level->setFocus();
  QTest::keyClick(level, Qt::Key_Down);
  EXPECT_EQ(canvas->level(), "l2");
  QTest::keyClick(canvas, Qt::Key_C);
  EXPECT_EQ(canvas->colour(), ColourBy::State);
}

TEST_F(RooflineTest, ControlArrowsWalkFromPointToPoint) {
  QTest::keyClick(canvas, Qt::Key_F);
  QTest::keyClick(canvas, Qt::Key_Down, Qt::ControlModifier);
  ASSERT_GE(stage.selection.now().node, 0);
  const int first = stage.selection.now().node;
  const double y = canvas->screen_point(first).y();
  QTest::keyClick(canvas, Qt::Key_Down, Qt::ControlModifier);
  EXPECT_NE(stage.selection.now().node, first);
  EXPECT_GT(canvas->screen_point(stage.selection.now().node).y(), y);
  QTest::keyClick(canvas, Qt::Key_Return);
  EXPECT_EQ(stage.selection.now().isolated.size(), 1U);
  QTest::keyClick(canvas, Qt::Key_Escape);
  EXPECT_TRUE(stage.selection.now().isolated.empty());
}

TEST_F(RooflineTest, PointsOutsideGetABadgeThatShowsThem) {
  for (int k = 0; k < 30; ++k) QTest::keyClick(canvas, Qt::Key_A);
  canvas->grab();
  const int right = canvas->painter().outside().right;
  ASSERT_GT(right, 0);
  const QRectF badge = canvas->painter().badge('r');
  ASSERT_FALSE(badge.isNull());
  click(badge.center());
  canvas->grab();
  EXPECT_EQ(canvas->painter().outside().right, 0);
}

TEST_F(RooflineTest, PointsAboveARoofAreBadgedAsSuspicious) {
  EXPECT_EQ(canvas->painter().outside().suspicious, 0);
  stage.document.set_measured(best(), {1e-12, true, "a broken clock"});
  Surroundings::settle(*view);
  canvas->grab();
  EXPECT_GT(canvas->painter().outside().suspicious, 0);
  click(canvas->painter().badge('!').center());
  EXPECT_EQ(stage.selection.now().isolated, std::set<int>{best()});
}

TEST_F(RooflineTest, MarksTellPredictedMeasuredAndVerifiedApart) {
  CloudPoint p;
  EXPECT_EQ(mark_of(p), RooflinePainter::Mark::Hollow);
  p.measured = true;
  EXPECT_EQ(mark_of(p), RooflinePainter::Mark::Filled) << "nobody compared its outputs";
  p.wrong = true;
  EXPECT_EQ(mark_of(p), RooflinePainter::Mark::Wrong);
  p.wrong = false;
  p.right = true;
  EXPECT_EQ(mark_of(p), RooflinePainter::Mark::Ringed);
  const RooflinePainter painter(stage.theme);
  QList<QImage> images;
  for (auto mark : {RooflinePainter::Mark::Hollow, RooflinePainter::Mark::Filled,
                    RooflinePainter::Mark::Ringed, RooflinePainter::Mark::Wrong})
    for (int level = 0; level < 4; ++level) {
      QImage image(40, 40, QImage::Format_RGB32);
      image.fill(Qt::white);
      QPainter q(&image);
      painter.marker(q, {20, 20}, level, 12, Qt::blue, mark);
      q.end();
      for (const QImage& other : images) EXPECT_NE(image, other);
      images << image;
    }
}

TEST_F(RooflineTest, FiltersDim) {
  stage.filters.add({Filter::Field::Seconds, Filter::Op::Less, "", "1e-12"});
  Surroundings::settle(*view);
  for (const CloudPoint& p : canvas->cloud().points) EXPECT_FALSE(p.lit);
}

TEST_F(RooflineTest, SettingsAreSavedAndRestored) {
  QTest::keyClick(canvas, Qt::Key_L);
  canvas->set_path_shown(false);
  canvas->set_roof_shown(0, false);
  QTest::keyClick(canvas, Qt::Key_Plus);
  const QJsonObject saved = view->viewport();
  RooflineView other(stage.shared(), nullptr);
  stage.show(other);
  other.set_viewport(saved);
  EXPECT_EQ(other.viewport(), saved);
  EXPECT_FALSE(other.canvas()->roofs()[0].shown);
}

TEST_F(RooflineTest, GrowsWithTheDocumentAndExportsEveryPoint) {
  const size_t before = canvas->cloud().points.size();
  sched::SearchNode n = *stage.document.node(best());
  n.id = 400;
  stage.document.append({n});
  Surroundings::settle(*view);
  EXPECT_EQ(canvas->cloud().points.size(), before + 4);
  EXPECT_EQ(view->export_rows().size(), static_cast<qsizetype>(before) + 4);
  EXPECT_FALSE(view->export_rows()[0]["machine"].toString().isEmpty());
}

TEST_F(RooflineTest, NoCandidatesAndNoMachineAreFine) {
  stage.document.set_session({}, "");
  Surroundings::settle(*view);
  QTest::keyClick(canvas, Qt::Key_F);
  QTest::keyClick(canvas, Qt::Key_Right, Qt::ControlModifier);
  click({200, 200});
  canvas->grab();
  EXPECT_TRUE(canvas->cloud().points.empty());
}

// What is kept between frames never shows anything but what painting it all anew would.
TEST_F(RooflineTest, TheKeptLayerIsWhatPaintingAnewGives) {
  stage.document.set_session(big_session(20000, 3, kH200), "");
  Surroundings::settle(*view);
  const auto anew = [&] {
    const QImage kept = canvas->grab().toImage();
    stage.theme.changed();  // drops what is kept
    EXPECT_EQ(kept, canvas->grab().toImage());
    return kept;
  };
  QList<QImage> pictures;
  pictures << anew();
  QTest::keyClick(canvas, Qt::Key_F);
  pictures << anew();
  QTest::keyClick(canvas, Qt::Key_D);
  QTest::keyClick(canvas, Qt::Key_Plus);
  pictures << anew();
  QTest::mouseMove(canvas, canvas->plot().center().toPoint());
  Surroundings::settle(*view);
  anew();
  stage.selection.select(best());
  Surroundings::settle(*view);
  pictures << anew();
  stage.filters.add({Filter::Field::Seconds, Filter::Op::Less, "", "1e-5"});
  ASSERT_TRUE(QTest::qWaitFor([this] { return !stage.filters.busy(); }, 60'000));
  Surroundings::settle(*view);
  pictures << anew();
  stage.selection.isolate({best()});
  Surroundings::settle(*view);
  pictures << anew();
  canvas->set_level("l2");
  pictures << anew();
  canvas->set_colour(ColourBy::State);
  pictures << anew();
  stage.document.set_measured(best(), {1e-4, true, "here"});
  Surroundings::settle(*view);
  pictures << anew();
  for (qsizetype i = 1; i < pictures.size(); ++i) EXPECT_NE(pictures[i - 1], pictures[i]) << i;
}

TEST_F(RooflineTest, ThePlotUsesTheRoomOfASmallDock) {
  for (QSize size : {QSize(700, 350), QSize(880, 330), QSize(420, 600), QSize(1600, 900)}) {
    stage.show(*view, size);
    canvas->grab();
    canvas->grab();
    const QRectF plot = canvas->plot(), all(canvas->rect());
    const double share = plot.width() * plot.height() / (all.width() * all.height());
    EXPECT_GT(share, 0.33) << size.width() << " x " << size.height();
    EXPECT_TRUE(all.contains(plot));
  }
}

TEST_F(RooflineTest, ASessionOfAnySizeIsTakenInSlices) {
  stage.document.set_session(big_session(30000, 5, kH200), "");
  EXPECT_TRUE(view->busy());
  const size_t early = canvas->cloud().points.size();
  Surroundings::settle(*view);
  EXPECT_GT(canvas->cloud().points.size(), early);
  EXPECT_EQ(canvas->cloud().families.size(), size_t{kOtherFamilies});
  stage.document.set_session(big_session(30000, 6, kH200), "");
  stage.document.set_session(big_session(300, 7, kH200), "");  // the other is given up
  Surroundings::settle(*view);
  for (const CloudPoint& p : canvas->cloud().points) EXPECT_LT(p.node, 300);
}

}  // namespace
}  // namespace nautilus::gui
