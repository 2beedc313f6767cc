#include "gui/models/quantity.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <vector>

namespace nautilus::gui {
namespace {

TEST(Quantity, ThreeDigitsAndAPrefix) {
  EXPECT_EQ(si(4.49e12, "B/s"), "4.49\u00a0TB/s");
  EXPECT_EQ(si(0.25, "s"), "250\u00a0ms");
  EXPECT_EQ(si(-1.234e4, "B"), "-12.3\u00a0kB");
  EXPECT_EQ(si(0.25, "B"), "0.25\u00a0B") << "there is no millibyte";
  EXPECT_EQ(si(1e12, {}, 1), "1\u00a0T");
  EXPECT_EQ(si(2e10, {}, 1), "20\u00a0G");
  EXPECT_EQ(si(123.456, {}), "123");
}

TEST(Quantity, WholeNumbersHaveNoFraction) {
  EXPECT_EQ(si(4e12, "B/s"), "4\u00a0TB/s");
  EXPECT_EQ(si(3.9996e12, "B/s"), "4.00\u00a0TB/s") << "it is not quite four";
  EXPECT_EQ(si(0, "s"), "0\u00a0s");
  for (int k = -15; k <= 18; ++k)
    EXPECT_TRUE(si(std::pow(10.0, k), "s").startsWith('1'))
        << k << si(std::pow(10.0, k), "s").toStdString();
}

TEST(Quantity, RoundingCarriesIntoThePrefix) {
  EXPECT_EQ(si(999.6e9, "B/s"), "1.00\u00a0TB/s");
  EXPECT_EQ(bytes_text(1023.99), "1.00\u00a0KiB");
}

TEST(Quantity, OutOfRange) {
  EXPECT_EQ(si(INFINITY, "s"), "–");
  EXPECT_EQ(seconds_text(NAN), "–");
  EXPECT_EQ(bytes_text(NAN), "–");
  EXPECT_EQ(percent_text(-INFINITY), "–");
  EXPECT_EQ(plain_text(NAN, "x"), "–");
  EXPECT_EQ(number_text(NAN), "–");
  EXPECT_EQ(si(5e21, "B"), "5000\u00a0EB");
}

// No number makes a text that a column has no room for.
TEST(Quantity, EveryDoubleHasAShortText) {
  std::vector<double> all = {0,        -0.0, NAN,     INFINITY, DBL_MAX, DBL_MIN,
                             4.9e-324, 0.1,  999.999, 9.22e18,  1.84e19, 999999.7};
  for (int k = -320; k <= 308; ++k) all.push_back(std::pow(10.0, k) * 1.2345);
  for (const double size : all)
    for (const double v : {size, -size})
      for (const QString& text :
           {si(v, "s"), si(v, "B/s"), si(v, {}), seconds_text(v), bytes_text(v), number_text(v),
            plain_text(v, "x"), percent_text(v), whole_text(v), ratio_text(v)}) {
        EXPECT_LE(text.size(), 20) << v << ' ' << text.toStdString();
        EXPECT_FALSE(text.contains("inf") || text.contains("nan")) << text.toStdString();
      }
  EXPECT_EQ(si(1e308, "s"), "1e+290\u00a0Es");
  EXPECT_EQ(seconds_text(1e-300), "1e-285\u00a0fs");
  EXPECT_EQ(percent_text(1e300), "1e+302\u00a0%");
  EXPECT_EQ(whole_text(1e5), "100000");
  EXPECT_EQ(whole_text(9.3e18), "9.3e+18");
  EXPECT_EQ(ratio_text(1e300), "1e+300");
  EXPECT_EQ(ratio_text(1234), "1\u202f234");
  EXPECT_EQ(ratio_text(0.5), "0.50");
  EXPECT_EQ(ratio_text(0.004), "0.004");
}

TEST(Quantity, TimesBytesAndCounts) {
  EXPECT_EQ(seconds_text(3.6585e-6), "3.66\u00a0\u00b5s");
  EXPECT_EQ(seconds_text(2.39), "2.39\u00a0s");
  EXPECT_EQ(seconds_text(5400), "5400\u00a0s");
  EXPECT_EQ(bytes_text(512), "512\u00a0B");
  EXPECT_EQ(bytes_text(98304), "96\u00a0KiB");
  EXPECT_EQ(bytes_text(400e3), "391\u00a0KiB");
  EXPECT_EQ(count_text(1234567), "1\u202f234\u202f567");
  EXPECT_EQ(count_text(-123), "-123");
  EXPECT_EQ(number_text(4096), "4\u202f096");
  EXPECT_EQ(number_text(12.5e6), "12.5\u00a0M");
  EXPECT_EQ(number_text(2.5), "2.50");
  EXPECT_EQ(plain_text(0.25, "FLOP/B"), "0.25\u00a0FLOP/B");
  EXPECT_EQ(plain_text(5321, {}), "5321");
  EXPECT_EQ(percent_text(0.004), "0.4\u00a0%");
  EXPECT_EQ(percent_text(0.16), "16\u00a0%");
}

TEST(Quantity, ByItsUnit) {
  EXPECT_EQ(quantity_text(1e-3, "s"), "1\u00a0ms");
  EXPECT_EQ(quantity_text(233472, "B"), "228\u00a0KiB");
  EXPECT_EQ(quantity_text(12, ""), "12");
}

}  // namespace
}  // namespace nautilus::gui
