// The iteration space: what is shown, its animation, keys and readouts.
#include "gui/views/iteration_view.h"

#include <gtest/gtest.h>

#include <QCheckBox>
#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QSlider>
#include <QToolButton>

#include "gui/views/iteration_canvas.h"
#include "tests/gui/sched_rig.h"

namespace nautilus::gui {
namespace {

struct IterationRig : SchedRig {
  IterationView view{shared(), nullptr};
  explicit IterationRig(int node = 1) {
    view.resize(1000, 640);
    view.show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&view));
    EXPECT_TRUE(select(view, node));
  }
  IterationCanvas& canvas() { return view.canvas(); }
  const IterationPicture& picture() { return canvas().scene().picture(); }
  template <class T>
  T* named(const char* name) {
    for (T* w : view.findChildren<T*>())
      if (w->accessibleName() == QLatin1String(name)) return w;
    return nullptr;
  }
  int with_fate(Fate f) {
    int n = 0;
    for (const IterArrow& a : picture().arrows) n += a.fate == f;
    return n;
  }
};

TEST(IterationView, AnIllegalCandidateShowsWhatIsOutOfOrder) {
  IterationRig r;
  EXPECT_EQ(r.canvas().scene().panels().size(), 2u);
  EXPECT_GT(r.with_fate(Fate::Violated), 0);
  EXPECT_TRUE(r.view.notes()->text().contains("Scaled down"));
  EXPECT_TRUE(r.view.notes()->text().contains("✗ S_m of m must come before S_P"))
      << r.view.notes()->text().toStdString();
  EXPECT_TRUE(r.view.notes()->text().contains("A part of"));  // too many to draw all
  QTest::keyClick(&r.canvas(), Qt::Key_Right);
  QTest::keyClick(&r.canvas(), Qt::Key_Right);
  const QImage shot = r.canvas().grab().toImage();
  int red = 0;
  for (int y = 0; y < shot.height(); ++y)
    for (int x = 0; x < shot.width(); ++x) red += shot.pixelColor(x, y) == r.theme.bad();
  EXPECT_GT(red, 10);
}

TEST(IterationView, TheAnimationStepsPlaysAndStops) {
  IterationRig r(0);
  const int steps = r.canvas().scene().step_count();
  ASSERT_GT(steps, 4);
  EXPECT_EQ(r.view.step(), -1);
  QTest::keyClick(&r.canvas(), Qt::Key_Home);
  EXPECT_EQ(r.view.step(), 0);
  QTest::keyClick(&r.canvas(), Qt::Key_Period);
  QTest::keyClick(&r.canvas(), Qt::Key_Period);
  QTest::keyClick(&r.canvas(), Qt::Key_Comma);
  EXPECT_EQ(r.view.step(), 1);
  EXPECT_EQ(r.named<QSlider>("moment")->value(), 1);
  r.named<QSlider>("moment")->setValue(3);
  EXPECT_EQ(r.canvas().state().step, 3);
  QTest::keyClick(&r.canvas(), Qt::Key_End);
  EXPECT_EQ(r.view.step(), -1);
  r.named<QComboBox>("speed")->setCurrentIndex(2);
  QTest::keyClick(&r.canvas(), Qt::Key_P);
  EXPECT_TRUE(r.view.playing());
  EXPECT_TRUE(QTest::qWaitFor([&] { return r.view.step() >= 2; }));
  QTest::mouseClick(r.named<QToolButton>("play"), Qt::LeftButton);
  EXPECT_FALSE(r.view.playing());
  r.view.set_step(steps - 2);
  r.view.play(true);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !r.view.playing(); }));  // at the end
}

TEST(IterationView, ArrowsMoveBetweenInstancesAndTheReadoutFollows) {
  IterationRig r;
  QTest::keyClick(&r.canvas(), Qt::Key_Right);
  const int first = r.canvas().state().chosen;
  ASSERT_GE(first, 0);
  QTest::keyClick(&r.canvas(), Qt::Key_Right);
  const int next = r.canvas().state().chosen;
  EXPECT_EQ(r.canvas().scene().position(next).x() - r.canvas().scene().position(first).x(),
            IterationScene::kCell);
  EXPECT_TRUE(r.view.readout()->text().contains("S_m[i=0, j=1]"))
      << r.view.readout()->text().toStdString();
  EXPECT_TRUE(r.view.readout()->text().contains("writes m[0]"));
  EXPECT_TRUE(r.view.readout()->text().contains("out of order"));
  QTest::keyClick(&r.canvas(), Qt::Key_Escape);
  EXPECT_EQ(r.canvas().state().chosen, -1);
}

TEST(IterationView, HoverShowsTheInstanceUnderTheMouse) {
  IterationRig r;
  const int point = r.canvas().scene().panels()[1].points[5];
  QTest::mouseMove(&r.canvas(), r.canvas().on_widget(point).toPoint());
  EXPECT_EQ(r.canvas().state().hovered, r.canvas().scene().cell_of(point).front());
  EXPECT_TRUE(r.view.readout()->text().contains("S_P["));
  QCoreApplication::processEvents();
  EXPECT_EQ(r.selection.hovered_statement(), "S_P");
}

TEST(IterationView, StatementsAndDimensionsAreChosen) {
  IterationRig r(0);
  auto* first = r.named<QComboBox>("statement");
  ASSERT_EQ(first->count(), 4);
  first->setCurrentText("S_Y");
  Q_EMIT first->activated(first->currentIndex());
  ASSERT_TRUE(r.idle(r.view));
  EXPECT_EQ(r.picture().statements.at(0).name, "S_Y");
  auto* x = r.named<QComboBox>("dimension across");
  EXPECT_EQ(x->currentText(), "j");
  x->setCurrentText("i");
  Q_EMIT x->activated(x->currentIndex());
  EXPECT_EQ(r.canvas().scene().panels()[0].choice.x, 0);
  // From another view.
  r.selection.select_statement("S_l");
  QCoreApplication::processEvents();
  ASSERT_TRUE(r.idle(r.view));
  EXPECT_EQ(r.picture().statements.at(0).name, "S_l");
}

TEST(IterationView, TheViewportRemembersStatements) {
  IterationRig r(0);
  r.view.show_statements("S_m", "S_P");
  ASSERT_TRUE(r.idle(r.view));
  const QJsonObject saved = r.view.viewport();
  IterationRig other(0);
  other.view.set_viewport(saved);
  ASSERT_TRUE(other.idle(other.view));
  ASSERT_EQ(other.picture().statements.size(), 2u);
  EXPECT_EQ(other.picture().statements[1].name, "S_P");
}

TEST(IterationView, NothingSelectedSaysWhatToDo) {
  IterationRig r(0);
  r.selection.clear();
  QCoreApplication::processEvents();
  EXPECT_TRUE(r.canvas().scene().empty());
  EXPECT_FALSE(r.named<QSlider>("moment")->isEnabled());
  QTest::keyClick(&r.canvas(), Qt::Key_Right);  // nothing happens
  EXPECT_EQ(r.canvas().state().chosen, -1);
}

TEST(IterationView, ExportHasPictureAndRows) {
  IterationRig r;
  QImage image(800, 500, QImage::Format_RGB32);
  QPainter p(&image);
  r.view.paint_picture(p, QRectF(0, 0, 800, 500));
  p.end();
  EXPECT_EQ(image.pixelColor(799, 0), r.theme.background());
  EXPECT_EQ(r.view.export_rows().size(), static_cast<qsizetype>(r.picture().points.size()));
  EXPECT_TRUE(r.view.export_rows()[0].contains("time"));
}

// Twelve thousand points and twenty thousand arrows.
TEST(IterationScene, PaintsManyPointsAndArrowsQuickly) {
  IterationPicture p;
  p.statements = {{"S", {"i", "j"}, {false, false}, "T", 1, 0, {0, 0}, {109, 109}, {{}}, true}};
  for (int64_t k = 0; k < 110 * 110; ++k) p.points.push_back({0, 0, {k / 110, k % 110}, {}, {}});
  p.dependences = {{"S", "S", "T", "flow", Fate::Violated, 1, "i"}};
  for (int k = 0; k < 20'000; ++k)
    p.arrows.push_back(
        {k % 12'000, (k * 7 + 111) % 12'000, 0, k % 2 ? Fate::Violated : Fate::Kept});
  IterationScene scene;
  scene.set(p, {}, false);
  Theme theme;
  QImage image(1000, 700, QImage::Format_ARGB32_Premultiplied);
  QElapsedTimer clock;
  clock.start();
  constexpr int kFrames = 5;
  for (int k = 0; k < kFrames; ++k) {
    QPainter painter(&image);
    painter.scale(0.26, 0.26);
    scene.paint(painter, theme, scene.bounds(), 0.26, {});
  }
  RecordProperty("ms_a_frame", std::to_string(clock.elapsed() / kFrames));
  EXPECT_GT(scene.drawn_arrows(), 0);
  EXPECT_LE(scene.drawn_arrows(), static_cast<int>(IterationScene::kFewArrows));
  // All of a point's own are drawn, however many there are.
  const int before = scene.drawn_arrows();
  SceneState at_a_point;
  at_a_point.hovered = 500;
  ASSERT_FALSE(scene.arrows_of(500).empty());
  QPainter painter(&image);
  scene.paint(painter, theme, scene.bounds(), 0.26, at_a_point);
  EXPECT_GT(scene.drawn_arrows(), before);
}

}  // namespace
}  // namespace nautilus::gui
