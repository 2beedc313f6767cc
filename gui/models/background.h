// Work that takes longer than a frame and needs nothing of the interface: reading and writing
// files.
#pragma once

#include <QCoreApplication>
#include <QPointer>
#include <QThread>
#include <QThreadPool>
#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>

#include "polyhedral/expected.h"

namespace nautilus::gui {

inline constexpr int kLeastThreads = 4;

// Its threads are for such work alone: Qt paints with those of its own pool, and a window would
// stand still while a compiler has them. Where there are few cores, a file is still read beside
// compilers.
inline QThreadPool& background_pool() {
  static QThreadPool pool;
  static const bool sized = [] {
    pool.setMaxThreadCount(std::max(kLeastThreads, QThread::idealThreadCount()));
    return true;
  }();
  (void)sized;
  return pool;
}

// What a job throws would end the program, and with it what is not saved: it becomes a refusal.
template <class T>
T or_refusal(const std::function<T()>& job) {
  if constexpr (std::is_constructible_v<T, Refusal>) {
    try {
      return job();
    } catch (const std::exception& e) {
      return T(Refusal{"", "", e.what(), ""});
    }
  } else {
    return job();
  }
}

// What is large takes a while to be forgotten: elsewhere.
template <class T>
void forget(T large) {
  background_pool().start(
      [large = std::make_shared<T>(std::move(large))]() mutable { large.reset(); });
}

// Runs `job` on a thread of the pool and `done` with its result on the interface thread, unless
// `owner` is gone by then.
template <class T>
void in_background(QObject* owner, std::function<T()> job, std::function<void(T)> done) {
  background_pool().start(
      [owner = QPointer<QObject>(owner), job = std::move(job), done = std::move(done)] {
        auto result = std::make_shared<T>(or_refusal<T>(job));
        QMetaObject::invokeMethod(QCoreApplication::instance(), [owner, done, result] {
          if (owner) done(std::move(*result));
        });
      });
}

}  // namespace nautilus::gui
