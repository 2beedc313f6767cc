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
    QObject::connect(&timer_, &QTimer::timeout, [this] { slice(0, kSlice); });
  }
  // `step` does a little, at most a millisecond, and says whether there is more. A short first slice
  // runs at once, of `least` steps or more, so that little work is done when this returns. What ran
  // before is given up.
  void start(std::function<bool()> step, std::function<void()> done, int least = 0) {
    step_ = std::move(step);
    done_ = std::move(done);
    timer_.start();
    slice(least, kFirst);
  }
  void stop() { timer_.stop(); }
  bool busy() const { return timer_.isActive(); }

 private:
  void slice(int least, int ms) {
    QElapsedTimer t;
    t.start();
    while (least-- > 0 || t.elapsed() < ms)
      if (!step_()) {
        timer_.stop();
        const auto done = done_;
        return done();
      }
  }
  static constexpr int kFirst = 2, kSlice = 6;  // ms
  QTimer timer_;
  std::function<bool()> step_;
  std::function<void()> done_;
};

}  // namespace nautilus::gui
