// Work off the interface thread of which only the newest result counts: a picture's layout, an
// index. While one job runs at most one more waits, the newest. A result that a request with
// `supersede` has overtaken is dropped; one overtaken by mere growth is still delivered, so that a
// picture that grows faster than it is laid out is seen to grow.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "gui/models/background.h"

namespace nautilus::gui {

// Lives on the interface thread, and dies there with its owner: no result arrives afterwards.
template <class Result>
class LatestJob {
 public:
  using Job = std::function<Result()>;       // runs on a thread of the pool, with data of its own
  using Done = std::function<void(Result)>;  // runs on the interface thread
  void start(Job job, Done done, bool supersede) {
    if (supersede) ++generation_;
    waiting_job_ = std::move(job);
    waiting_done_ = std::move(done);
    if (!running_) launch();
  }
  // What is under way is of no use any more.
  void drop() {
    ++generation_;
    waiting_job_ = nullptr;
    waiting_done_ = nullptr;
  }
  bool busy() const { return running_; }

 private:
  void launch() {
    running_ = true;
    auto job = std::exchange(waiting_job_, nullptr);
    auto done = std::exchange(waiting_done_, nullptr);
    background_pool().start([this, alive = std::weak_ptr<int>(alive_), job = std::move(job),
                             done = std::move(done), generation = generation_] {
      auto result = std::make_shared<Result>(job());
      QMetaObject::invokeMethod(
          QCoreApplication::instance(),
          [this, alive, done, result, generation] {
            if (alive.expired()) return;
            running_ = false;
            if (waiting_job_) launch();
            if (generation == generation_) done(std::move(*result));
          },
          Qt::QueuedConnection);
    });
  }

  Job waiting_job_;
  Done waiting_done_;
  bool running_ = false;
  unsigned generation_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace nautilus::gui
