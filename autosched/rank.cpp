#include "autosched/rank.h"

#include <cmath>

namespace nautilus::sched {

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto ranks = [](const std::vector<double>& v) {
    std::vector<double> r(v.size());
    for (size_t i = 0; i < v.size(); ++i)
      for (size_t j = 0; j < v.size(); ++j)
        r[i] += v[j] < v[i] ? 1 : v[j] == v[i] && j != i ? 0.5 : 0;
    return r;
  };
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double n = static_cast<double>(x.size());
  if (x.size() < 2) return 0;
  const double mean = (n - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace nautilus::sched
