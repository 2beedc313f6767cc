// The real program without a person: a window, what it told, and small helpers to drive it.
#pragma once

#include <QFile>
#include <QMessageBox>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "gui/app/main_window.h"
#include "gui/app/screenshots.h"
#include "gui/app/view_dock.h"

namespace nautilus::gui {

struct WindowRig {
  explicit WindowRig(QSize size = {1500, 950}) {
    QSettings().clear();
    window = std::make_unique<MainWindow>();
    window->resize(size);
    window->show();
    window->activateWindow();  // where no window manager does
    (void)QTest::qWaitForWindowActive(window.get());
  }
  ~WindowRig() {
    // Nothing asks at the end.
    window->set_problem_handler([](const QString&, const QString&) {});
    window->close();
  }
  bool open(const QString& link) {
    QSignalSpy spy(window.get(), &MainWindow::opened);
    window->open(link);
    if (!wait_until(60, [&] { return spy.count() > 0; })) return false;
    settle();
    return spy[0][0].toBool();
  }
  bool save(const QString& file) {
    QSignalSpy spy(window.get(), &MainWindow::saved);
    window->save(file);
    return wait_until(60, [&] { return spy.count() > 0; }) && spy[0][0].toBool();
  }
  // A search until it pauses by itself.
  bool explore(int plans) {
    QSignalSpy spy(&window->search(), &LiveSearch::ended);
    window->search().explore({0, plans, 0});
    if (!wait_until(120, [&] { return spy.count() > 0; })) return false;
    settle();
    return true;
  }
  void settle() {
    wait_until(0.03, [] { return false; });
    wait_until(60, [&] { return !window->busy(); });
    wait_until(0.03, [] { return false; });
  }
  // The text of the box that is shown, which is closed; "" if there is none.
  QString problem() {
    auto* box = window->findChild<QMessageBox*>("problem");
    if (!box) return {};
    const QString text = box->text();
    box->close();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    return text;
  }
  QTemporaryDir dir;
  std::unique_ptr<MainWindow> window;
};

}  // namespace nautilus::gui
