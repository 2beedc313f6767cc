// How well one order is another: predictions beside measurements.
#pragma once

#include <vector>

namespace nautilus::sched {

// Spearman's coefficient of two lists of one length, equal values sharing their ranks: 1 for the
// same order, -1 for the opposite. 0 for less than two, or where all of a list are equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace nautilus::sched
