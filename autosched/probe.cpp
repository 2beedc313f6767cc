// Measures this host: vector FMA rate, exp rate, read bandwidth of each cache level and of memory.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "autosched/machine.h"
#include "autosched/probe_kernels.h"

namespace nautilus::sched {
namespace {

using Clock = std::chrono::steady_clock;
std::atomic<float> sink;

double since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

// Cores this process may use.
int cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

// Size in bytes of the data cache of this level, 0 if unknown.
int64_t cache_bytes(int level) {
  for (int i = 0; i < 8; ++i) {
    std::string dir = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    std::ifstream l(dir + "level"), t(dir + "type"), s(dir + "size");
    int lv = 0;
    std::string type, size;
    if (!(l >> lv) || !(t >> type) || !(s >> size) || lv != level || type == "Instruction")
      continue;
    char suffix = size.empty() ? ' ' : size.back();
    return std::atoll(size.c_str()) * (suffix == 'K' ? 1024 : suffix == 'M' ? 1 << 20 : 1);
  }
  return 0;
}

// Runs work(thread) on all threads for `seconds`; the sum over threads of the best rate that each
// reached in any slice of a tenth of that, so that other processes on the host disturb less.
double rate(int threads, double seconds, const std::function<double(int)>& work) {
  std::vector<double> rates(threads);
  auto body = [&](int id) {
    work(id);
    auto start = Clock::now();
    do {
      double units = 0;
      auto t = Clock::now();
      do units += work(id);
      while (since(t) < seconds / 10);
      rates[id] = std::max(rates[id], units / since(t));
    } while (since(start) < seconds);
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(body, i);
  body(0);
  for (std::thread& t : pool) t.join();
  double sum = 0;
  for (double r : rates) sum += r;
  return sum;
}

double read_rate(int threads, std::vector<std::vector<float>>& buffers, size_t bytes,
                 double seconds) {
  size_t n = std::min(bytes / sizeof(float), buffers[0].size()) / 128 * 128;
  return rate(threads, seconds, [&](int id) {
    size_t passes = std::max<size_t>(1, (1u << 18) / std::max<size_t>(n, 1));
    for (size_t p = 0; p < passes; ++p) sink = probe::read_many(buffers[id].data(), n);
    return static_cast<double>(n * sizeof(float) * passes);
  });
}

std::string mb(double bytes) {
  return bytes >= (1 << 20) ? std::to_string(static_cast<int64_t>(bytes / (1 << 20))) + " MB"
                            : std::to_string(static_cast<int64_t>(bytes / 1024)) + " KB";
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "CPU";
}

// Time for a second thread to see a flag and answer it, the best of several batches: what joining
// the threads of a parallel loop costs.
double handover_seconds() {
  constexpr int kBatches = 20, kRounds = 50;
  std::atomic<int> turn{0};
  std::thread other([&] {
    for (int i = 0; i < kBatches * kRounds; ++i) {
      while (turn.load(std::memory_order_acquire) != 2 * i + 1) std::this_thread::yield();
      turn.store(2 * i + 2, std::memory_order_release);
    }
  });
  double best = 1;
  for (int b = 0, i = 0; b < kBatches; ++b) {
    auto t = Clock::now();
    for (int end = i + kRounds; i < end; ++i) {
      turn.store(2 * i + 1, std::memory_order_release);
      while (turn.load(std::memory_order_acquire) != 2 * i + 2) std::this_thread::yield();
    }
    best = std::min(best, since(t) / kRounds);
  }
  other.join();
  return std::min(best, 2e-5);
}

// What the code generator makes of a CPU. Calibrated once, with attention in f32 (8 heads of 64,
// 2048 positions) at tiles of 16 to 256 and with its unfused, untiled form, on an AVX-512 server of
// two cores: the predicted order of plans agreed with the measured one.
void cpu_model(Machine& m) {
  const char* calibrated = "calibrated: attention in f32, tiles of 16 to 256, two AVX-512 cores";
  for (const auto& [key, value] : std::map<std::string, double>{{"scalar_slots", 24},
                                                                {"scalar_special", 6},
                                                                {"strided_slots", 4},
                                                                {"vector_slots", 1.25},
                                                                {"tile_setup", 80e-9},
                                                                {"pack_element", 0.3e-9},
                                                                {"cache_room", 0.75},
                                                                {"unhidden", 0.3}}) {
    for (const ModelKey& k : model_keys("cpu"))
      if (k.name == key) m.model[key] = {value, k.unit, calibrated};
  }
}

}  // namespace

Machine probe_cpu() {
  Machine m;
  m.id = "cpu";
  m.kind = "cpu";
  m.units = cores();
  m.name = cpu_name() + ", " + std::to_string(m.units) + " cores";
  const double slice = 0.05;
  double fma = rate(m.units, slice, [](int) {
    sink = probe::fma_rounds(20'000);
    return 20'000 * probe::kFmaFlopsPerRound;
  });
  m.fma = {fma, "FLOP/s", "measured: 16 independent f32 vector FMA chains a core"};
  m.matrix["f32"] = {fma, "FLOP/s", "measured: as fma (no matrix unit is used)"};
  std::vector<std::vector<float>> small(m.units, std::vector<float>(4096, 0.5f)), out = small;
  double special = rate(m.units, slice, [&](int id) {
    sink = probe::exp_many(small[id].data(), out[id].data(), 4096);
    return 4096.0;
  });
  m.special = {special, "1/s", "measured: vectorized exp2 by polynomial"};
  for (const auto& [unit, many, per, what] :
       {std::tuple{"divide", &probe::divide_many, 1.0, "divisions"},
        {"convert", &probe::convert_many, 2.0, "conversions between f32 and i32"},
        {"compare", &probe::compare_many, 1.0, "comparisons that select"}}) {
    const double each = rate(m.units, slice / 2, [&, many = many, per = per](int id) {
      sink = many(small[id].data(), out[id].data(), 4096);
      return per * 4096.0;
    });
    m.rates[unit] = {each, "1/s", std::string("measured: vectors of ") + what};
  }
  cpu_model(m);
  m.clock = {fma / m.units / 64, "Hz", "derived from the FMA rate at 64 FLOP a clock and core"};

  double l1 = cache_bytes(1), l2 = cache_bytes(2), l3 = cache_bytes(3);
  if (l1 <= 0) l1 = 32 << 10;
  if (l2 <= 0) l2 = 1 << 20;
  if (l3 <= 0) l3 = 16 << 20;
  const size_t big = 96u << 20;
  std::vector<std::vector<float>> buffers(m.units);
  {
    std::vector<std::thread> pool;
    for (int i = 0; i < m.units; ++i)
      pool.emplace_back([&, i] {
        buffers[i].assign(std::min<size_t>(big, (768u << 20) / m.units) / sizeof(float), 1.0f);
      });
    for (std::thread& t : pool) t.join();
  }
  double total = static_cast<double>(buffers[0].size() * sizeof(float)) * m.units;
  auto add = [&](const char* name, size_t bytes, double capacity, bool per_unit,
                 const std::string& note) {
    double bw = read_rate(m.units, buffers, bytes, slice);
    std::string cap = "sysfs" + note;
    m.levels.push_back({name,
                        {bw, "B/s", "measured: all cores read " + mb(bytes) + " each" + note},
                        {capacity, "B", name == std::string("dram") ? "nominal" : cap},
                        per_unit});
  };
  add("dram", buffers[0].size() * sizeof(float), 64e9, false,
      total < 2 * l3 ? " (partly within the last-level cache of " + mb(l3) + ")" : "");
  add("l3", std::min<size_t>(l3 / 2 / m.units, 4 * l2), l3, false, "");
  // How much of the last-level cache is ours: the largest working set that still reads at 0.7 of
  // its rate.
  double ours = 4 * l2 * m.units, l3_rate = m.levels.back().bandwidth.value;
  for (double each = 8 * l2;
       each * m.units <= l3 && each <= static_cast<double>(buffers[0].size() * sizeof(float));
       each *= 2) {
    if (read_rate(m.units, buffers, static_cast<size_t>(each), slice) < 0.7 * l3_rate) break;
    ours = each * m.units;
  }
  if (ours < l3)
    m.levels.back().capacity = {
        ours, "B", "measured: the largest working set read at its rate (sysfs: " + mb(l3) + ")"};
  add("l2", l2 / 2, l2, true, "");
  add("l1", l1 / 2, l1, true, "");
  m.levels.push_back({"register",
                      {3 * 4 * fma / 2, "B/s", "three 4-byte operands an FMA"},
                      {32 * 64, "B", "32 vector registers of 64 bytes"},
                      true});
  m.registers_per_unit = {l1, "B", "a block's tile values live in the first-level cache"};
  m.shared_per_unit = {l2, "B", "a block's scratch lives in the second-level cache"};
  double hand = handover_seconds();
  m.barrier_latency = {hand, "s",
                       "measured: hand-over between two threads and back (at most 20 us)"};
  m.launch_latency = {10 * hand, "s",
                      "derived: ten hand-overs to start and join the threads of a kernel"};
  m.memory_latency = {1e-7, "s", "nominal: 100 ns to memory"};
  m.sustained = {1, "1", "measured rates are sustained ones"};
  m.max_threads_per_unit = 1;
  m.matrix_shape = {1, 16, 1};
  return m;
}

}  // namespace nautilus::sched
