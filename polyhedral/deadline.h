// A moment after which work for one isl context ends early. Until then nothing is different, so
// what is computed never depends on how fast the machine is, only on whether it is finished.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "polyhedral/context.h"

namespace nautilus::poly {

// While alive: once `at` is past or `*stop` is set, every isl operation on ctx fails
// (isl::exception_abort: a Refusal or Unknown, never Legal), and out_of_time() is true in the
// thread that made the guard. Guards nest; the earlier moment counts. The end of a guard gives the
// context back as it was.
bool out_of_time();  // for loops outside isl: whether a guard of this thread has passed

class DeadlineGuard {
 public:
  using Clock = std::chrono::steady_clock;
  DeadlineGuard(isl::ctx ctx, Clock::time_point at, const std::atomic<bool>* stop = nullptr);
  ~DeadlineGuard();
  DeadlineGuard(const DeadlineGuard&) = delete;
  DeadlineGuard& operator=(const DeadlineGuard&) = delete;
  bool passed() const { return passed_.load(std::memory_order_relaxed); }

 private:
  friend bool out_of_time();
  void wait();
  void end();  // what happens when the moment has come
  isl::ctx ctx_;
  const Clock::time_point at_;
  const std::atomic<bool>* stop_;
  const DeadlineGuard* outer_;
  std::atomic<bool> passed_{false};
  std::mutex mutex_;
  std::condition_variable over_;
  bool finished_ = false;
  std::thread timer_;
};

}  // namespace nautilus::poly
