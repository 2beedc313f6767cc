// Values of an axis and their places on it: where lines are drawn, ticks stand and brushes are.
#include "gui/models/parallel_data.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/gui/sessions.h"

namespace nautilus::gui {
namespace {

using namespace testing_samples;

ParallelData lines(const Document& d) {
  std::vector<int> nodes;
  for (const sched::SearchNode& n : d.nodes()) nodes.push_back(n.id);
  ParallelData p;
  p.set(d, columns_of(d), std::move(nodes));
  return p;
}

// To the last bit: a brush at a line's value keeps the line.
TEST(ParallelPlaces, OfLinesAreThoseOfTheirValues) {
  Desk desk(random_session(400, 11));
  ParallelData p = lines(desk.document);
  int compared = 0;
  for (const bool flip : {false, true})
    for (const bool log : {false, true})
      for (size_t a = 0; a < p.axes().size(); ++a) {
        p.set_flip(int(a), flip);
        p.set_log(int(a), log);
        const ParallelAxis& axis = p.axes()[a];
        if (!axis.column.numeric()) continue;
        const std::vector<double> values = numbers_of(desk.document, p.nodes(), axis.column);
        for (size_t n = 0; n < values.size(); ++n) {
          EXPECT_EQ(axis.at[n], float(axis.position(values[n]))) << axis.column.id().toStdString();
          compared += std::isfinite(values[n]);
        }
      }
  EXPECT_GT(compared, 1000);
}

TEST(ParallelPlaces, EndsAndWaysBack) {
  for (const bool log : {false, true})
    for (const bool flip : {false, true})
      for (const auto& [low, high] : {std::pair(1e-6, 3e-2), std::pair(0.1, 0.3), std::pair(5., 5.),
                                      std::pair(1e-300, 1.7e308)}) {
        ParallelAxis a;
        a.log = log, a.flip = flip, a.low = low, a.high = high;
        EXPECT_EQ(a.position(NAN), kMissing);
        EXPECT_EQ(a.position(-INFINITY), kMissing);
        if (low == high) {
          EXPECT_EQ(a.position(low), 0.5);
          EXPECT_NEAR(a.value(0.3), low, 1e-12 * low);
          continue;
        }
        EXPECT_EQ(a.position(low), flip ? 1 : 0);
        EXPECT_EQ(a.position(high), flip ? 0 : 1);
        for (const double t : {0.0, 0.25, 0.5, 1.0}) {
          EXPECT_TRUE(std::isfinite(a.value(t))) << low << " " << high << " at " << t;
          EXPECT_NEAR(a.position(a.value(t)), t, 1e-9);
        }
      }
  ParallelAxis wide;  // the difference of its ends is not finite
  wide.low = -1.7e308, wide.high = 1.7e308;
  EXPECT_EQ(wide.value(1), wide.high);
  EXPECT_EQ(wide.value(0), wide.low);
}

}  // namespace
}  // namespace nautilus::gui
