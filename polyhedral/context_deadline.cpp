#include <isl/ctx.h>

#include "polyhedral/deadline.h"

namespace nautilus::poly {
namespace {

thread_local const DeadlineGuard* innermost = nullptr;

// Held while contexts are stopped or given back, so that the end of an inner guard never undoes the
// passing of an outer one.
std::mutex& flags() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

DeadlineGuard::DeadlineGuard(isl::ctx ctx, Clock::time_point at, const std::atomic<bool>* stop)
    : ctx_(ctx), at_(at), stop_(stop), outer_(innermost) {
  innermost = this;
  if (Clock::now() >= at_ || (stop_ && stop_->load()))
    end();
  else
    timer_ = std::thread([this] { wait(); });
}

DeadlineGuard::~DeadlineGuard() {
  {
    std::lock_guard lock(mutex_);
    finished_ = true;
  }
  over_.notify_all();
  if (timer_.joinable()) timer_.join();
  innermost = outer_;
  std::lock_guard lock(flags());
  bool stopped = false;
  for (const DeadlineGuard* g = outer_; g; g = g->outer_)
    stopped |= g->passed() && isl::ctx(g->ctx_).get() == ctx_.get();
  if (!stopped) isl_ctx_resume(ctx_.get());
  isl_ctx_reset_error(ctx_.get());
}

// isl looks at its flag before each operation; setting it is all that another thread may do.
void DeadlineGuard::end() {
  std::lock_guard lock(flags());
  passed_.store(true, std::memory_order_relaxed);
  isl_ctx_abort(ctx_.get());
}

// Sleeps until the moment comes or the guard ends; `*stop` is looked at now and then.
void DeadlineGuard::wait() {
  constexpr auto kLook = std::chrono::milliseconds(20);
  std::unique_lock lock(mutex_);
  while (!finished_) {
    const auto now = Clock::now();
    if (now >= at_ || (stop_ && stop_->load(std::memory_order_relaxed))) return end();
    over_.wait_until(lock, stop_ ? std::min(at_, now + kLook) : at_);
  }
}

bool out_of_time() {
  for (const DeadlineGuard* g = innermost; g; g = g->outer_)
    if (g->passed()) return true;
  return false;
}

}  // namespace nautilus::poly
