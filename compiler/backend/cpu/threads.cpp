#include "compiler/backend/cpu/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace nautilus::cpu {
namespace {

thread_local bool parallel_error = false;

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Scratch = std::unique_ptr<void, Free>;

}  // namespace

// Cores this process may use (its affinity mask, not the whole machine).
int hardware_threads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

bool take_parallel_error() { return std::exchange(parallel_error, false); }

extern "C" void parallel_for(long n, int threads, long scratch_bytes, BlockBody body,
                             void* context) {
  if (n <= 0) return;
  if (threads <= 0) threads = hardware_threads();
  const long workers = std::min<long>(n, std::min(threads, 1024));
  std::vector<Scratch> scratch;
  for (long w = 0; w < workers; ++w) {
    scratch.emplace_back(std::aligned_alloc(64, (std::max(scratch_bytes, 64L) + 63) / 64 * 64));
    if (!scratch.back()) {
      parallel_error = true;
      return;
    }
  }
  std::atomic<long> next{0};
  auto work = [&](long w) {
    char* mine = static_cast<char*>(scratch[w].get());
    for (long i = next.fetch_add(1); i < n; i = next.fetch_add(1)) body(context, i, mine);
  };
  std::vector<std::thread> pool;
  try {
    for (long w = 1; w < workers; ++w) pool.emplace_back(work, w);
  } catch (const std::system_error&) {
    // Fewer threads than asked for: the others take the remaining blocks.
  }
  work(0);
  for (auto& t : pool) t.join();
}

}  // namespace nautilus::cpu
