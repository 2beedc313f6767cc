#include "gui/models/timeline_trace.h"

#include <algorithm>

namespace nautilus::gui {

namespace {

constexpr size_t kMostSteps = 20'000;

class Tracing {
 public:
  Tracing(Environment env, int iterations) : env_(std::move(env)), iterations_(iterations) {}

  Trace run(const memory::Role& r) {
    env_["warp"] = 0;
    region(r.body);
    return std::move(out_);
  }

 private:
  Environment env_;
  const int iterations_;
  Trace out_;
  int iteration_ = -1, depth_ = 0;

  int64_t value(const IndexExpr& e, int64_t otherwise = 0) const {
    try {
      return e.evaluate(env_);
    } catch (const std::out_of_range&) {  // a name that only lanes know
      return otherwise;
    }
  }
  bool holds(const Cond& c) const {
    try {
      return c.evaluate(env_);
    } catch (const std::out_of_range&) {
      return true;
    }
  }

  void region(const memory::Region& r) {
    for (const memory::Instr& i : r.body) {
      if (out_.steps.size() >= kMostSteps) return;
      if (i.code == memory::Code::For)
        loop(i);
      else if (i.code == memory::Code::If)
        branch(i);
      else
        out_.steps.push_back({&i, iteration_, value(i.slot), value(i.slot_b), value(i.parity)});
    }
  }

  void branch(const memory::Instr& i) {
    const size_t side = i.operands.empty() && holds(i.cond) ? 0 : 1;
    if (side < i.regions.size()) region(i.regions[side]);
  }

  void loop(const memory::Instr& i) {
    if (i.regions.empty()) return;
    const int64_t lower = value(i.lower), upper = value(i.upper, lower + 1);
    const int64_t trips = upper > lower ? (upper - lower + i.step - 1) / i.step : 0;
    const int64_t shown = std::min<int64_t>(trips, iterations_);
    out_.cut |= shown < trips;
    const bool outermost = depth_++ == 0;
    const size_t before = out_.steps.size();
    for (int64_t n = 0; n < shown; ++n) {
      env_[i.iv] = lower + n * i.step;
      if (outermost) iteration_ = int(n);
      region(i.regions[0]);
    }
    env_.erase(i.iv);
    --depth_;
    if (!outermost) return;
    iteration_ = -1;
    if (out_.steps.size() - before > longest_) {
      longest_ = out_.steps.size() - before;
      out_.loop = i.iv, out_.trips = trips, out_.shown = shown;
    }
  }
  size_t longest_ = 0;
};

}  // namespace

Trace trace_role(const memory::Role& r, const Environment& block, int iterations) {
  return Tracing(block, iterations).run(r);
}

}  // namespace nautilus::gui
