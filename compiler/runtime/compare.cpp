#include "compiler/runtime/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "compiler/runtime/extents.h"

namespace nautilus::runtime {
namespace {

double unit_roundoff(Type t) {
  switch (t) {
    case Type::F64:
      return 0x1p-53;
    case Type::F32:
      return 0x1p-24;
    case Type::F16:
      return 0x1p-11;
    case Type::BF16:
      return 0x1p-8;
    case Type::E4M3:
      return 0x1p-4;
    case Type::E5M2:
      return 0x1p-3;
    default:
      return 0;
  }
}

// Absolute difference; equal infinities and two NaNs differ by nothing, otherwise those differ
// infinitely.
double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

std::string number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

struct Bad {
  double ratio;
  std::string text;
};

// What to try after a wrong result, by what the wrong elements have in common. `infinite`: some of
// them, or of the reference, are no finite numbers.
std::string advice(tile::Numerics numerics, bool infinite) {
  if (numerics == tile::Numerics::Strict) return "";
  const std::string name = numerics == tile::Numerics::Fast ? "fast" : "reassociate";
  return infinite ? "numerics " + name +
                        " assume finite operands, and intermediate values in range; here some are "
                        "not: --numerics strict assumes neither"
                  : "--numerics strict shows whether the rewrites of numerics " + name +
                        " lose this accuracy";
}

}  // namespace

double default_tolerance(const poly::Program& p, const std::string& output,
                         tile::Numerics numerics) {
  const Type type = p.tensor(output)->type;
  if (!is_float(type)) return 0;
  double length = 0;
  for (const poly::Statement& s : p.statements) {
    if (!s.reduction || s.domain.is_empty()) continue;
    double n = 1;
    for (const int d : s.reduction->dims) {
      const auto lo = poly::dim_min(s.domain, static_cast<unsigned>(d)),
                 hi = poly::dim_max(s.domain, static_cast<unsigned>(d));
      if (lo && hi) n *= static_cast<double>(*hi - *lo + 1);
    }
    length += n;
  }
  const double accumulate = type == Type::F64 ? 0x1p-53 : 0x1p-24;
  const double t = 2 * unit_roundoff(type) + 8 * accumulate * (8 + std::sqrt(length));
  return numerics == tile::Numerics::Fast ? 16 * t : t;
}

void compare(const poly::Program& p, const Reference& reference, const poly::Buffers& baseline,
             const poly::Buffers& got, const RunOptions& options, RunResult& r) {
  double squares = 0, baseline_squares = 0;
  int64_t wrong = 0;
  bool infinite = false;
  std::vector<Bad> worst;
  for (const auto& [name, want] : reference.outputs) {
    const auto& known = reference.known.at(name);
    const auto& have = got.at(name);
    const auto plain = baseline.find(name);
    const auto extents = extents_of(p, name);
    double sum = 0, count = 0, largest_plain = 0;
    for (size_t k = 0; k < want.size(); ++k) {
      if (!known[k]) continue;
      if (std::isfinite(want[k])) {
        sum += want[k] * want[k];
        count += 1;
      }
      if (plain == baseline.end()) continue;
      const double d = difference(plain->second[k], want[k]);
      if (std::isfinite(d)) largest_plain = std::max(largest_plain, d);
    }
    const double rms = count > 0 ? std::sqrt(sum / count) : 0;
    const double t =
        options.tolerance > 0 ? options.tolerance : default_tolerance(p, name, options.numerics);
    for (size_t k = 0; k < want.size(); ++k) {
      if (!known[k]) continue;
      ++r.compared;
      infinite |= !std::isfinite(want[k]);
      const double d = difference(have[k], want[k]);
      const double plain_d = plain == baseline.end() ? 0 : difference(plain->second[k], want[k]);
      if (std::isfinite(plain_d)) {
        r.baseline_max_error = std::max(r.baseline_max_error, plain_d);
        baseline_squares += plain_d * plain_d;
      }
      const bool as_plain = plain != baseline.end() && difference(have[k], plain->second[k]) == 0;
      if (as_plain && !std::isfinite(d))
        continue;  // the same overflow as the straightforward evaluation's
      r.max_error = std::max(r.max_error, d);
      squares += d * d;
      const double allowed =
          std::max(t * (std::isfinite(want[k]) ? std::abs(want[k]) + rms : 0), 4 * largest_plain);
      if (d <= allowed || as_plain) continue;
      infinite |= !std::isfinite(have[k]);
      ++wrong;
      const double ratio = allowed > 0 ? d / allowed : std::numeric_limits<double>::infinity();
      if (worst.size() >= 5 && ratio <= worst.back().ratio) continue;
      worst.push_back({ratio, name + element_text(extents, static_cast<int64_t>(k)) + ": got " +
                                  number(have[k]) + ", reference " + number(want[k]) + " (error " +
                                  number(d) + ", allowed " + number(allowed) + ")"});
      std::stable_sort(worst.begin(), worst.end(),
                       [](const Bad& a, const Bad& b) { return a.ratio > b.ratio; });
      if (worst.size() > 5) worst.pop_back();
    }
  }
  const double n = std::max<double>(1, static_cast<double>(r.compared));
  r.rms_error = std::sqrt(squares / n);
  r.baseline_rms_error = std::sqrt(baseline_squares / n);
  r.worst.clear();
  for (const Bad& b : worst) r.worst.push_back(b.text);
  r.passed = wrong == 0;
  if (r.compared == 0) r.worst.push_back("nothing to compare: every output is empty");
  if (wrong > 0)
    r.failure = "wrong result: " + std::to_string(wrong) + " of " + std::to_string(r.compared) +
                " elements differ by more than allowed, first " + r.worst[0];
  r.suggest = wrong > 0 ? advice(options.numerics, infinite) : "";
}

}  // namespace nautilus::runtime
