#include "compiler/runtime/gpu/execute.h"

#include <algorithm>
#include <chrono>

#include "compiler/runtime/gpu/session.h"

namespace nautilus::gpu {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

// Clocks of an idle device rise within some tens of milliseconds of work.
constexpr double kWarmSeconds = 0.05;
// One sample is at least that long where runs follow each other directly: events tick in half
// microseconds, and the first kernel's start takes some.
constexpr double kSampleSeconds = 1e-3;
constexpr int kMostRuns = 200;  // of a sample
// Share of the time limit after which no further sample is begun.
constexpr double kTimeForSamples = 0.7;

// Warms the device up, then takes samples until there are enough or the time is used up.
void time_runs(Session& s, const Job& job, int64_t l2_bytes, Clock::time_point start,
               Outcome& out) {
  const double until = kTimeForSamples * job.seconds;
  const uint64_t trash_bytes = job.flush ? 2 * static_cast<uint64_t>(l2_bytes) : 0;
  const DevicePointer trash = trash_bytes > 0 ? s.scratch(trash_bytes) : 0;
  const auto sample = [&](int runs) {
    if (trash_bytes > 0) s.fill(trash, 0, trash_bytes);
    return s.timed(runs) / runs;
  };
  const Clock::time_point warm = Clock::now();
  double one = sample(1);
  while (since(warm) < kWarmSeconds && since(start) < until) one = sample(1);
  // What a flush empties must stay empty: one run a sample.
  const double runs =
      job.flush ? 1 : std::clamp(kSampleSeconds / std::max(one, 1e-9), 1.0, 1.0 * kMostRuns);
  std::vector<double> samples;
  while (static_cast<int>(samples.size()) < job.repeats && since(start) < until)
    samples.push_back(sample(static_cast<int>(runs)));
  if (samples.empty()) samples.push_back(one);
  std::sort(samples.begin(), samples.end());
  out.seconds = samples[samples.size() / 2];
  out.samples = static_cast<int>(samples.size());
}

}  // namespace

Outcome execute(const Driver& d, const Job& job, const std::string& cubin, char* shared,
                const std::function<void(const std::string&)>& reached) {
  Outcome out;
  const Clock::time_point start = Clock::now();
  const auto told = [&](const char* what) {
    if (reached) reached(what);
  };
  auto info = device_info(d);
  if (!info) {
    out.failure = info.error().text();
    return out;
  }
  out.device = info->name;
  try {
    Session s(d, job);
    s.load(cubin, out.kernels);
    s.allocate(shared);
    s.synchronize("fill and copy the tensors");
    told("loaded");
    s.launch(true);
    s.copy_out(shared);
    s.check_bands();
    told("ran");
    if (job.repeats <= 0) return out;
    time_runs(s, job, info->l2_bytes, start, out);
    out.repeatable = s.outputs_equal(shared);
  } catch (const DeviceError& e) {
    out.failure = e.text;
  }
  return out;
}

}  // namespace nautilus::gpu
