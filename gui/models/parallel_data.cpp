#include "gui/models/parallel_data.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gui/models/quantity.h"

namespace nautilus::gui {

namespace {

uint8_t bin_of(double position) {
  const double t = (position - kMissing) / (1 - double(kMissing));
  return uint8_t(std::clamp(int(std::lround(t * (kBins - 1))), 0, kBins - 1));
}

// From values of an axis to positions and back. What does not depend on the value is found once.
class AxisScale {
 public:
  explicit AxisScale(const ParallelAxis& a)
      : log_(a.log), flip_(a.flip), one_(!(a.high > a.low)), from_(log_ ? std::log(a.low) : a.low) {
    // Halves: the difference may not be finite.
    half_ = log_ ? (std::log(a.high) - from_) / 2 : a.high / 2 - a.low / 2;
  }
  double position(double v) const {
    if (!std::isfinite(v)) return kMissing;
    const double t = one_ ? 0.5 : ((log_ ? std::log(v) : v) / 2 - from_ / 2) / half_;
    if (!std::isfinite(t)) return kMissing;
    return flip_ ? 1 - t : t;
  }
  double value(double position) const {
    const double t = flip_ ? 1 - position : position;
    const double v = (from_ / 2 + t * half_) * 2;
    return log_ ? std::exp(v) : v;
  }

 private:
  bool log_, flip_;
  bool one_;  // all values are one
  double from_, half_ = 0;
};

}  // namespace

double ParallelAxis::position(double v) const { return AxisScale(*this).position(v); }
double ParallelAxis::value(double position) const { return AxisScale(*this).value(position); }

std::vector<double> ParallelData::values(const Document& d, ParallelAxis& a) const {
  a.categories.clear();
  if (a.column.numeric()) return numbers_of(d, nodes_, a.column);
  const auto key = [&](int n) {
    const std::string_view t = text_of(*d.node(n), a.column);
    // Limiters differ in their percentages; the kind is what matters.
    return a.column.what == Column::What::Limiter ? t.substr(0, t.find(':')) : t;
  };
  std::set<std::string_view> names;
  for (int n : nodes_)
    if (!key(n).empty()) names.insert(key(n));
  const std::vector<std::string_view> sorted(names.begin(), names.end());
  for (std::string_view s : sorted)
    a.categories.push_back(QString::fromUtf8(s.data(), qsizetype(s.size())));
  std::vector<double> out;
  out.reserve(nodes_.size());
  for (int n : nodes_) {
    const std::string_view k = key(n);
    out.push_back(k.empty()
                      ? std::nan("")
                      : double(std::lower_bound(sorted.begin(), sorted.end(), k) - sorted.begin()));
  }
  return out;
}

void ParallelData::set(const Document& d, const std::vector<Column>& columns,
                       std::vector<int> nodes) {
  const std::vector<ParallelAxis> before = std::move(axes_);
  begin(std::move(nodes));
  for (const Column& c : columns) add(d, c, before);
}

void ParallelData::begin(std::vector<int> nodes) {
  nodes_ = std::move(nodes);
  axes_.clear();
  values_.clear();
}

void ParallelData::add(const Document& d, const Column& column,
                       const std::vector<ParallelAxis>& before) {
  ParallelAxis a;
  const auto old = std::find_if(before.begin(), before.end(),
                                [&](const ParallelAxis& x) { return x.column == column; });
  a.column = column;
  a.log = old != before.end() ? old->log : column.log();
  if (old != before.end()) a.flip = old->flip, a.brush = old->brush;
  values_.push_back(values(d, a));
  place(a, values_.back());
  axes_.push_back(std::move(a));
}

void ParallelData::place(ParallelAxis& a, const std::vector<double>& values) {
  double low = INFINITY, high = -INFINITY;
  for (double v : values)
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  if (low > high) low = high = 0;
  a.low = low, a.high = high;
  if (low <= 0 || !a.column.numeric()) a.log = false;
  a.at.resize(values.size());
  a.bin.resize(values.size());
  const AxisScale scale(a);
  for (size_t n = 0; n < values.size(); ++n) {
    const double t = scale.position(values[n]);
    a.at[n] = float(t);
    a.bin[n] = bin_of(t);
  }
  ticks(a, values);
}

void ParallelData::ticks(ParallelAxis& a, const std::vector<double>& values) {
  a.ticks.clear();
  const auto add = [&](double v, const QString& label) {
    a.ticks.push_back({a.position(v), label});
  };
  if (!a.column.numeric()) {
    for (size_t k = 0; k < a.categories.size(); ++k) add(double(k), a.categories[k]);
    return;
  }
  if (a.high <= a.low) return add(a.low, shown_number(a.low, a.column));
  std::set<double> distinct;  // few values: each is a tick
  for (double v : values) {
    if (std::isfinite(v)) distinct.insert(v);
    if (distinct.size() > 9) break;
  }
  if (distinct.size() <= 9) {
    for (double v : distinct) add(v, shown_number(v, a.column));
    return;
  }
  if (a.log) {
    const double decades = std::log10(a.high) - std::log10(a.low);
    for (int e = int(std::floor(std::log10(a.low))); e <= int(std::ceil(std::log10(a.high))); ++e)
      for (double m : {1.0, 2.0, 5.0}) {
        const double v = m * std::pow(10, e);
        if ((m == 1 || decades < 1.6) && v >= a.low * 0.999 && v <= a.high * 1.001)
          add(v, shown_number(v, a.column));
      }
  } else if (std::isfinite(a.high - a.low)) {
    const double step = round_step(a.high - a.low, 6);
    for (double v = std::ceil(a.low / step) * step; v <= a.high + step * 1e-9; v += step)
      add(v, shown_number(v, a.column));
  }
}

int ParallelData::axis(const QString& id) const {
  for (size_t a = 0; a < axes_.size(); ++a)
    if (axes_[a].column.id() == id) return int(a);
  return -1;
}

void ParallelData::set_log(int axis, bool on) {
  ParallelAxis& a = axes_[size_t(axis)];
  if (on && (a.low <= 0 || !a.column.numeric())) return;
  std::optional<std::pair<double, double>> span;
  if (a.brush) span = {a.value(a.brush->first), a.value(a.brush->second)};
  a.log = on;
  place(a, values_[size_t(axis)]);
  if (span) a.brush = {a.position(span->first), a.position(span->second)};
}

void ParallelData::set_flip(int axis, bool on) {
  ParallelAxis& a = axes_[size_t(axis)];
  if (a.flip == on) return;
  a.flip = on;
  place(a, values_[size_t(axis)]);
  if (a.brush) a.brush = {1 - a.brush->second, 1 - a.brush->first};
}

void ParallelData::move(int from, int to) {
  const auto turn = [&](auto& v) {
    if (from < to)
      std::rotate(v.begin() + from, v.begin() + from + 1, v.begin() + to + 1);
    else
      std::rotate(v.begin() + to, v.begin() + from, v.begin() + from + 1);
  };
  turn(axes_);
  turn(values_);
}

void ParallelData::remove(int axis) {
  axes_.erase(axes_.begin() + axis);
  values_.erase(values_.begin() + axis);
}

void ParallelData::set_brush(int axis, std::optional<std::pair<double, double>> span) {
  if (span && span->first > span->second) std::swap(span->first, span->second);
  axes_[size_t(axis)].brush = span;
}

bool ParallelData::brushed() const {
  return std::any_of(axes_.begin(), axes_.end(), [](const auto& a) { return a.brush.has_value(); });
}

void ParallelData::clear_brushes() {
  for (ParallelAxis& a : axes_) a.brush.reset();
}

std::vector<uint8_t> ParallelData::lit(const std::vector<uint8_t>* also) const {
  std::vector<uint8_t> out = also ? *also : std::vector<uint8_t>(nodes_.size(), 1);
  for (const ParallelAxis& a : axes_) {
    if (!a.brush) continue;
    const auto low = float(a.brush->first), high = float(a.brush->second);
    for (size_t n = 0; n < out.size(); ++n) out[n] &= uint8_t(a.at[n] >= low && a.at[n] <= high);
  }
  return out;
}

std::vector<int> ParallelData::nodes_of(const std::vector<uint8_t>& lit) const {
  std::vector<int> out;
  for (size_t n = 0; n < lit.size(); ++n)
    if (lit[n]) out.push_back(nodes_[n]);
  return out;
}

int ParallelData::nearest(int left, double x, double position, double reach,
                          const std::vector<uint8_t>& lit) const {
  if (left < 0 || size_t(left) + 1 >= axes_.size()) return -1;
  const ParallelAxis &a = axes_[size_t(left)], &b = axes_[size_t(left) + 1];
  int best = -1;
  double least = reach;
  for (size_t n = 0; n < nodes_.size(); ++n) {
    if (!lit[n]) continue;
    const double d = std::abs(a.at[n] + (b.at[n] - a.at[n]) * x - position);
    if (d < least) least = d, best = int(n);
  }
  return best;
}

bool ParallelData::worth_showing(const Document& d, const Column& c,
                                 const std::vector<int>& nodes) {
  if (!c.numeric()) {
    std::string_view text;
    for (int n : nodes) {
      const std::string_view t = text_of(*d.node(n), c);
      if (!t.empty() && !text.empty() && t != text) return true;
      if (text.empty()) text = t;
    }
    return false;
  }
  double first = std::nan("");
  // Most columns differ early.
  for (size_t from = 0, to = 0; from < nodes.size(); from = to) {
    to = std::min(nodes.size(), from + 1000 + 8 * from);
    const std::vector<int> some(nodes.begin() + int64_t(from), nodes.begin() + int64_t(to));
    for (double v : numbers_of(d, some, c)) {
      if (!std::isnan(v) && !std::isnan(first) && v != first) return true;
      if (std::isnan(first)) first = v;
    }
  }
  return false;
}

}  // namespace nautilus::gui
