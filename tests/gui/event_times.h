// How much processor time single events take on the interface thread: time that other programs take
// away does not count, so the figure is the same on a busy machine.
#pragma once

#include <time.h>

#include <QApplication>
#include <QMetaEnum>
#include <string>

namespace nautilus::gui {

// Processor time of this thread.
inline double thread_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

struct LongestEvent {
  double ms = 0;
  std::string event, receiver;
};

class EventTimes : public QApplication {
 public:
  using QApplication::QApplication;
  static void start() { longest_ = LongestEvent(), on_ = true; }
  static LongestEvent stop() { return on_ = false, longest_; }

  bool notify(QObject* receiver, QEvent* e) override {
    if (!on_ || depth_ > 0) return QApplication::notify(receiver, e);
    const int type = e->type();
    const std::string name = receiver->metaObject()->className();
    const double before = thread_ms();
    ++depth_;
    const bool taken = QApplication::notify(receiver, e);
    --depth_;
    const double ms = thread_ms() - before;
    if (on_ && ms > longest_.ms) {
      const char* key = QMetaEnum::fromType<QEvent::Type>().valueToKey(type);
      longest_ = {ms, key ? key : std::to_string(type), name};
    }
    return taken;
  }

 private:
  inline static bool on_ = false;
  inline static int depth_ = 0;
  inline static LongestEvent longest_;
};

}  // namespace nautilus::gui
