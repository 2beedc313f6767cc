#include "gui/views/roofline_geometry.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gui/views/viewport.h"

namespace nautilus::gui {
namespace {

sched::Machine h200() {
  return *sched::load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json");
}
const ProgramUse kAttention{{"f16"}, 130};

const Roof& find_roof(const std::vector<Roof>& roofs, Roof::Kind kind, const QString& part) {
  for (const Roof& r : roofs)
    if (r.kind == kind && r.name.contains(part)) return r;
  throw std::runtime_error("no such roof");
}

TEST(RooflineGeometry, EveryRoofHasItsValueAndSource) {
  const auto roofs = roofs_of(h200(), kAttention);
  EXPECT_EQ(find_roof(roofs, Roof::Kind::Memory, "HBM").label(), "HBM 4.49\u00a0TB/s, measured");
  EXPECT_EQ(find_roof(roofs, Roof::Kind::Matrix, "f16").label(),
            "matrix unit bf16, f16 989\u00a0TFLOP/s, datasheet");
  EXPECT_EQ(find_roof(roofs, Roof::Kind::Memory, "register").source_word(), "derived");
  for (const Roof& r : roofs) {
    EXPECT_GT(r.value, 0);
    EXPECT_FALSE(r.source.isEmpty()) << r.name.toStdString();
    EXPECT_TRUE(r.explanation().contains(r.source));
  }
}

TEST(RooflineGeometry, TypesOfTheProgramAreShownOthersAreThere) {
  const auto roofs = roofs_of(h200(), kAttention);
  EXPECT_TRUE(find_roof(roofs, Roof::Kind::Matrix, "f16").shown);
  EXPECT_FALSE(find_roof(roofs, Roof::Kind::Matrix, "e4m3").shown);
  EXPECT_TRUE(find_roof(roofs, Roof::Kind::Fma, "FMA").shown);
  const auto f32 = roofs_of(h200(), {{"f32"}, 0});
  EXPECT_FALSE(find_roof(f32, Roof::Kind::Matrix, "f16").shown);
}

TEST(RooflineGeometry, SpecialFunctionsAreConvertedAndSaySoOrAreLeftOut) {
  const auto roofs = roofs_of(h200(), kAttention);
  const Roof& r = find_roof(roofs, Roof::Kind::Special, "special");
  EXPECT_DOUBLE_EQ(r.value, 3.87e12 * 130);
  EXPECT_TRUE(r.note.contains("converted") && r.note.contains("130"));
  EXPECT_EQ(r.source_word(), "converted");
  for (const Roof& other : roofs_of(h200(), {{"f16"}, 0}))
    EXPECT_NE(other.kind, Roof::Kind::Special);
}

TEST(RooflineGeometry, BandwidthsAreExactlyAt45DegreesAndMeetArithmeticAtTheRidge) {
  const auto roofs = roofs_of(h200(), kAttention);
  const QRectF frame = machine_frame(roofs);
  Viewport v;
  v.area = QRectF(60, 10, 800, 500);
  v.fit(frame, {}, 1e6);
  double top = 0, fastest = 0;
  for (const Roof& r : roofs) {
    if (!r.shown) continue;
    (r.diagonal() ? fastest : top) = std::max(r.diagonal() ? fastest : top, r.value);
  }
  for (size_t k = 0; k < roofs.size(); ++k) {
    if (!roofs[k].shown) continue;
    const QLineF w = roof_line(roofs, k, frame.adjusted(-2, -2, 2, 2));
    ASSERT_FALSE(w.isNull()) << roofs[k].name.toStdString();
    const QLineF s(v.to_screen(w.p1()), v.to_screen(w.p2()));
    if (roofs[k].diagonal()) {
      EXPECT_NEAR(s.dx(), -s.dy(), 1e-6);
      EXPECT_NEAR(world_flops(w.p2()), top, top * 1e-9);
      EXPECT_NEAR(world_flops(w.p1()) / world_intensity(w.p1()), roofs[k].value,
                  roofs[k].value * 1e-9);
    } else {
      EXPECT_EQ(s.dy(), 0);
      EXPECT_NEAR(world_intensity(w.p1()) * fastest, roofs[k].value, roofs[k].value * 1e-9);
    }
  }
  for (const Ridge& r : ridges_of(roofs)) {
    const double i = world_intensity(r.world);
    EXPECT_NEAR(i * roofs[r.memory].value, roofs[r.arithmetic].value,
                roofs[r.arithmetic].value * 1e-9);
  }
}

TEST(RooflineGeometry, TheFrameIsWholeDecadesAroundTheRidges) {
  for (const std::string id : {"h200", "a100", "rtx4090"}) {
    const auto m = sched::load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/" + id + ".json");
    ASSERT_TRUE(m);
    const auto roofs = roofs_of(*m, kAttention);
    const QRectF f = machine_frame(roofs);
    for (double edge : {f.left(), f.right(), f.top(), f.bottom()})
      EXPECT_EQ(edge, std::round(edge));
    for (const Ridge& r : ridges_of(roofs)) EXPECT_TRUE(f.contains(r.world));
    EXPECT_LE(f.width(), 8);
  }
  EXPECT_FALSE(machine_frame({}).isEmpty());
}

TEST(RooflineGeometry, RoofsAreCutAtTheView) {
  const auto roofs = roofs_of(h200(), kAttention);
  const QRectF view(0, -14.5, 1, 1);
  for (size_t k = 0; k < roofs.size(); ++k) {
    const QLineF w = roof_line(roofs, k, view);
    if (w.isNull()) continue;
    const QRectF grown = view.adjusted(-1e-9, -1e-9, 1e-9, 1e-9);
    EXPECT_TRUE(grown.contains(w.p1()) && grown.contains(w.p2())) << roofs[k].name.toStdString();
  }
}

TEST(RooflineGeometry, NothingBeatsTheMachine) {
  const sched::Machine m = h200();
  EXPECT_DOUBLE_EQ(attainable(m, "hbm", 1), 4.49e12);
  EXPECT_DOUBLE_EQ(attainable(m, "l2", 1), 15.9e12) << "lines that several read come faster";
  EXPECT_DOUBLE_EQ(attainable(m, "hbm", 1e9), 1.9789e15);
}

TEST(RooflineGeometry, TicksAreDecadesThenTwosAndFives) {
  const auto far = log_ticks(-1, 4, 100);
  int labelled = 0;
  for (const LogTick& t : far) labelled += t.labelled;
  EXPECT_EQ(labelled, 6);
  const auto near = log_ticks(1, 2, 500);
  std::vector<double> values;
  for (const LogTick& t : near)
    if (t.labelled) values.push_back(t.value);
  EXPECT_EQ(values, (std::vector<double>{10, 20, 50, 100}));
}

TEST(Viewport, ZoomKeepsThePointUnderTheCursor) {
  Viewport v;
  v.area = QRectF(10, 20, 700, 500);
  v.centre = {3, -4};
  v.scale = 50;
  const QPointF cursor(123, 321), before = v.to_world(cursor);
  for (double f : {1.3, 0.2, 7.0}) v.zoom(cursor, f);
  EXPECT_NEAR(QLineF(v.to_world(cursor), before).length(), 0, 1e-9);
  v.zoom(cursor, 1e12);
  EXPECT_EQ(v.scale, v.most);
}

TEST(Viewport, FitShowsAllAndRevealMovesNoMoreThanItMust) {
  Viewport v;
  v.area = QRectF(0, 0, 400, 300);
  const QRectF all(-50, 10, 900, 200);
  v.fit(all, {10, 10, 10, 10}, 1e3);
  EXPECT_TRUE(v.visible().contains(all));
  v.scale = 1;
  v.centre = {0, 0};
  v.reveal(QRectF(-20, -20, 40, 40), 10);
  EXPECT_EQ(v.centre, QPointF(0, 0));
  v.reveal(QRectF(300, 0, 40, 40), 10);
  EXPECT_NEAR(v.to_screen(QPointF(340, 0)).x(), 390, 1e-9);
  Viewport again = v;
  again.from_json(v.to_json());
  EXPECT_EQ(again.centre, v.centre);
  again.from_json({{"x", "far"}, {"scale", -3}});
  EXPECT_EQ(again.centre, v.centre);
}

TEST(RooflineGeometry, AWideAreaShowsMoreWholeDecadesAndATallOneToo) {
  const QRectF machine(-1, -16, 5, 5);
  const QRectF wide = frame_for(machine, {900, 300});
  EXPECT_EQ(wide, QRectF(-2, -16, 9, 5)) << "four more";
  const QRectF tall = frame_for(machine, {300, 500});
  EXPECT_EQ(tall, QRectF(-1, -16, 5, 8));
  EXPECT_EQ(frame_for(machine, {400, 390}), machine);
  for (QSizeF area : {QSizeF(1, 1), QSizeF(2000, 3), QSizeF(3, 700)})
    EXPECT_TRUE(frame_for(machine, area).contains(machine));
}

// Damaged sessions and machines of nonsense: no loop without end.
TEST(RooflineGeometry, NonsenseEnds) {
  EXPECT_TRUE(log_ticks(-1e15, 1e15, 80).empty());
  EXPECT_TRUE(log_ticks(NAN, 3, 80).empty());
  EXPECT_FALSE(log_ticks(-3, 3, 80).empty());
  for (const double far : {1e300, double(INFINITY), double(NAN)}) {
    const QRectF frame = frame_for(QRectF(-1, -15, far, 4), {700, 350});
    EXPECT_FALSE(frame.height() > 1e3) << far;
  }
}

}  // namespace
}  // namespace nautilus::gui
