// Work on the interface thread in slices: a long pass over the document that must not hold up what
// the user does, and cannot leave the thread because the document lives there.
#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <functional>

namespace nautilus::gui {

// Lives with its owner: nothing runs afterwards.
class Slices {
 public:
  Slices() {
    timer_.setInterval(0);
    QObject::connect(&timer_, &QTimer::timeout, [this] { slice(); });
  }
  // `step` does a little, at most a millisecond, and says whether there is more. The first slice
  // runs at once, so that little work is done when this returns. What ran before is given up.
  void start(std::function<bool()> step, std::function<void()> done) {
    step_ = std::move(step);
    done_ = std::move(done);
    timer_.start();
    slice();
  }
  void stop() { timer_.stop(); }
  bool busy() const { return timer_.isActive(); }

 private:
  void slice() {
    QElapsedTimer t;
    t.start();
    while (t.elapsed() < kSlice)
      if (!step_()) {
        timer_.stop();
        const auto done = done_;
        return done();
      }
  }
  static constexpr int kSlice = 6;  // ms
  QTimer timer_;
  std::function<bool()> step_;
  std::function<void()> done_;
};

}  // namespace nautilus::gui
