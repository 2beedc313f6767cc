// Figures beside each other, and the table that shows them.
#include <QAbstractItemModelTester>
#include <cmath>

#include "gui/models/compare_data.h"
#include "gui/views/compare_view.h"
#include "tests/gui/sessions.h"

namespace nautilus::gui {
namespace {

using namespace testing_samples;

Metric metric(std::vector<double> values, Better b = Better::Less) {
  return {"g", "m", "", Unit::Seconds, b, std::move(values)};
}

TEST(CompareDataTest, DeltasSaturateAtTwo) {
  const Metric m = metric({1.0, 2.0, 4.0, 0.5, 0.25, 1.0, NAN, std::sqrt(2.0)});
  EXPECT_EQ(m.delta(1), 1);
  EXPECT_EQ(m.delta(2), 1);
  EXPECT_EQ(m.delta(3), -1);
  EXPECT_EQ(m.delta(4), -1);
  EXPECT_EQ(m.delta(5), 0);
  EXPECT_TRUE(std::isnan(m.delta(6)));
  EXPECT_NEAR(m.delta(7), 0.5, 1e-12);
  EXPECT_EQ(m.delta_text(0), "");
  EXPECT_EQ(m.delta_text(2), "×4.00");
  EXPECT_EQ(m.delta_text(5), "same");
  EXPECT_EQ(metric({100, 100.4}).delta_text(1), "about the same") << "not ×1.00";
  EXPECT_EQ(metric({100, 101}).delta_text(1), "×1.01");
  EXPECT_EQ(metric({0, 3}).delta_text(1), "more");
}

TEST(CompareDataTest, TextsHaveUnits) {
  EXPECT_EQ(metric_text(3.66e-6, Unit::Seconds), "3.66\u00a0µs");
  EXPECT_EQ(metric_text(2048, Unit::Bytes), "2\u00a0KiB");
  EXPECT_EQ(metric_text(0.38, Unit::Share), "38\u00a0%");
  EXPECT_EQ(metric_text(9.7e12, Unit::Rate), "9.70\u00a0TFLOP/s");
  EXPECT_EQ(metric_text(NAN, Unit::Count), "–");
}

struct Comparing : testing::Test {
  Desk desk;
  CompareView view{desk.shared(), nullptr};
  int other() const { return desk.document.best().at(1); }
  void pin() {
    desk.document.set_pinned(desk.best(), true);
    desk.document.set_pinned(other(), true);
    view.resize(1200, 700);
    view.show();
    ASSERT_TRUE(settle(view));
  }
};

TEST_F(Comparing, TwoPinnedCandidates) {
  pin();
  ASSERT_EQ(view.compared().size(), 2u);
  QAbstractItemModelTester tester(&view.metrics(),
                                  QAbstractItemModelTester::FailureReportingMode::Fatal);
  EXPECT_EQ(view.metrics().columnCount(), 4);
  bool predicted = false;
  for (int r = 0; r < view.metrics().rowCount(); ++r) {
    const Metric& m = view.metrics().metrics()[size_t(r)];
    ASSERT_EQ(m.values.size(), 2u);
    if (m.name != "predicted") continue;
    predicted = true;
    EXPECT_EQ(m.values[0], desk.document.node(desk.best())->seconds);
    EXPECT_GE(m.delta(1), 0);  // the best is the least
  }
  EXPECT_TRUE(predicted);
  view.tabs()->setCurrentIndex(1);
  EXPECT_GT(view.script()->differences(), 0);
  view.show_stage("tile.rewrite");
  EXPECT_GT(view.code()->differences(), 0);
  EXPECT_EQ(view.code()->left()->row_count(), view.code()->right()->row_count());
  view.code()->step(1);
  const int first = view.code()->left()->current_row();
  view.code()->step(1);
  EXPECT_GE(view.code()->left()->current_row(), first);
  EXPECT_EQ(view.code()->left()->current_row(), view.code()->right()->current_row());
}

TEST_F(Comparing, AThirdPinAndOneLess) {
  pin();
  desk.document.set_pinned(desk.document.best().at(2), true);
  ASSERT_TRUE(settle(view));
  EXPECT_EQ(view.compared().size(), 3u);
  desk.document.set_pinned(desk.best(), false);
  ASSERT_TRUE(settle(view));
  ASSERT_EQ(view.compared().size(), 2u);
  EXPECT_EQ(view.compared()[0].node, other());
}

TEST_F(Comparing, WithoutPinsTheSelectedBesideTheBest) {
  view.resize(900, 600);
  view.show();
  ASSERT_TRUE(settle(view));
  EXPECT_TRUE(view.compared().empty());
  EXPECT_FALSE(view.tabs()->isEnabled());
  desk.selection.select(other());
  QTest::qWait(5);
  ASSERT_TRUE(settle(view));
  ASSERT_EQ(view.compared().size(), 2u);
  EXPECT_EQ(view.compared()[0].node, desk.best());
}

TEST_F(Comparing, ALargeChangeIsShadedDeeply) {
  pin();
  for (int r = 0; r < view.metrics().rowCount(); ++r) {
    const Metric& m = view.metrics().metrics()[size_t(r)];
    const double d = m.delta(1);
    const QColor c = view.metrics().shade(r, 1);
    if (std::isnan(d) || d == 0) {
      EXPECT_FALSE(c.isValid());
      continue;
    }
    EXPECT_NEAR(c.alphaF(), 0.10 + 0.45 * std::abs(d), 0.01);
    if (m.better == Better::Less) {
      EXPECT_EQ(c.rgb() & 0xFFFFFF,
                (d < 0 ? desk.theme.good() : desk.theme.bad()).rgb() & 0xFFFFFF);
    }
  }
}

}  // namespace
}  // namespace nautilus::gui
