// Work that needs no isl, away from the interface thread: `done` runs on the interface thread,
// unless `asker` is gone.
#pragma once

#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>
#include <functional>
#include <memory>

namespace nautilus::gui {

template <class T>
void in_background(QObject* asker, std::function<T()> job, std::function<void(T)> done) {
  const QPointer<QObject> guard(asker);
  QThreadPool::globalInstance()->start([guard, job = std::move(job), done = std::move(done)] {
    auto result = std::make_shared<T>(job());
    QMetaObject::invokeMethod(
        QCoreApplication::instance(),
        [guard, result, done] {
          if (guard) done(std::move(*result));
        },
        Qt::QueuedConnection);
  });
}

}  // namespace nautilus::gui
