// Work that takes longer than a frame and needs nothing of the interface: reading and writing files.
#pragma once

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>
#include <functional>
#include <memory>

namespace nautilus::gui {

// Runs `job` on a thread of the pool and `done` with its result on the interface thread, unless
// `owner` is gone by then.
template <class T>
void in_background(QObject* owner, std::function<T()> job, std::function<void(T)> done) {
  QThreadPool::globalInstance()->start(
      [owner = QPointer<QObject>(owner), job = std::move(job), done = std::move(done)] {
        auto result = std::make_shared<T>(job());
        QMetaObject::invokeMethod(QCoreApplication::instance(), [owner, done, result] {
          if (owner) done(std::move(*result));
        });
      });
}

}  // namespace nautilus::gui
