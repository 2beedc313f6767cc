#include "gui/app/screenshots.h"

#include <QCoreApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QImage>
#include <QPixmap>
#include <QThread>

#include "autosched/file.h"
#include "gui/app/exporting.h"
#include "gui/app/main_window.h"
#include "gui/app/small_png.h"
#include "gui/app/view_dock.h"

namespace nautilus::gui {

constexpr QSize kLeast(960, 620);

bool wait_until(double seconds, const std::function<bool()>& done) {
  QElapsedTimer timer;
  timer.start();
  while (!done()) {
    if (timer.elapsed() > 1000 * seconds) return false;
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    QThread::msleep(2);
  }
  return true;
}

int write_screenshots(MainWindow& window, const QString& directory, double seconds) {
  int written = 0;
  const auto keep = [&](std::optional<Refusal> bad) {
    if (!bad) return ++written, true;
    window.tell_problem(QObject::tr("Not written"), QString::fromStdString(bad->text()));
    return false;
  };
  if (!QDir().mkpath(directory)) {
    keep(Refusal{"make the folder", directory.toStdString(), "it cannot be made", ""});
    return -1;
  }
  const QDir dir(directory);
  const auto settle = [&] {
    wait_until(0.05, [] { return false; });  // merged changes reach the views
    wait_until(seconds, [&] { return !window.busy(); });
    wait_until(0.05, [] { return false; });
  };
  settle();
  // Something to compare: the two best, unless somebody chose.
  Document& document = window.document();
  const std::vector<int> best = document.best();
  if (document.pins().empty())
    for (size_t k = 0; k < std::min<size_t>(2, best.size()); ++k)
      document.set_pinned(best[k], true);
  settle();
  const auto grab = [&](const QString& name) {
    return keep(sched::write_file_atomically(dir.filePath(name).toStdString(),
                                             small_png(window.grab().toImage()).toStdString()));
  };
  if (!grab("window.png")) return -1;
  for (View* v : window.views()) {
    window.reveal(v->name());
    settle();
    for (const char* ending : {".png", ".svg"})
      if (!keep(export_picture(*v, window.theme(), dir.filePath(v->name() + ending),
                               v->picture_size().expandedTo(kLeast))))
        return -1;
    if (!grab("window-" + v->name() + ".png")) return -1;
  }
  return written;
}

}  // namespace nautilus::gui
