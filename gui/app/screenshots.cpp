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
#include "gui/views/lesson_view.h"

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

namespace {

// Writes pictures of a window into a folder; tells the first that cannot be written.
struct Pictures {
  MainWindow& window;
  QDir dir;
  double seconds;  // of patience
  int written = 0;

  bool keep(std::optional<Refusal> bad) {
    if (!bad) return ++written, true;
    window.tell_problem(QObject::tr("Not written"), QString::fromStdString(bad->text()));
    return false;
  }
  bool make_folder() {
    if (QDir().mkpath(dir.path())) return true;
    return keep(Refusal{"make the folder", dir.path().toStdString(), "it cannot be made", ""});
  }
  void settle() {
    wait_until(0.05, [] { return false; });  // merged changes reach the views
    wait_until(seconds, [&] { return !window.busy(); });
    wait_until(0.05, [] { return false; });
  }
  bool grab(const QString& name) {
    settle();
    const std::string file = dir.filePath(name).toStdString();
    const QImage image = window.grab().toImage();
    const QByteArray png = image.isNull() ? QByteArray() : small_png(image);
    if (png.isEmpty())
      return keep(Refusal{"write a picture of the window", file,
                          "it is too large, or there is no memory for it",
                          "a smaller --window-size or --scale"});
    return keep(sched::write_file_atomically(file, png.toStdString()));
  }
  bool draw(View& v, const QString& name) {
    return keep(
        export_picture(v, window.theme(), dir.filePath(name), v.picture_size().expandedTo(kLeast)));
  }
};

}  // namespace

int write_screenshots(MainWindow& window, const QString& directory, double seconds) {
  Pictures to{window, QDir(directory), seconds};
  // Something to compare: the two best, unless somebody chose.
  Document& document = window.document();
  const std::vector<int> best = document.best();
  if (document.pins().empty())
    for (size_t k = 0; k < std::min<size_t>(2, best.size()); ++k)
      document.set_pinned(best[k], true);
  if (!to.make_folder() || !to.grab("window.png")) return -1;
  for (View* v : window.views()) {
    window.reveal(v->name());
    to.settle();
    for (const char* ending : {".png", ".svg"})
      if (!to.draw(*v, v->name() + ending)) return -1;
    if (!to.grab("window-" + v->name() + ".png")) return -1;
  }
  return to.written;
}

int write_lesson_pictures(MainWindow& window, const QString& directory, double seconds) {
  auto* lesson = dynamic_cast<LessonView*>(window.view("lesson"));
  Pictures to{window, QDir(directory), seconds};
  if (!lesson || !to.make_folder()) return -1;
  const LessonRun& run = lesson->run();
  const auto told = [&](const QString& what) {
    window.tell_problem(QObject::tr("Lesson"), what);
    return -1;
  };
  if (!wait_until(seconds, [&] { return run.playing() && !lesson->busy(); }))
    return told(QObject::tr("It does not begin."));
  for (;;) {
    const LessonStep& step = run.step();
    const QString name = QString("%1-%2")
                             .arg(run.at() + 1, 2, 10, QLatin1Char('0'))
                             .arg(QString::fromStdString(step.id));
    if (!to.grab(name + ".png")) return -1;
    if (run.phase() == LessonRun::Phase::Predict) lesson->show_answer();
    if (run.phase() == LessonRun::Phase::Do) lesson->go_on();
    if (!wait_until(seconds, [&] { return run.phase() == LessonRun::Phase::Done; }))
      return told(QObject::tr("Step %1 has no answer.").arg(name));
    if ((step.question || step.transform) && !to.grab(name + "-done.png")) return -1;
    if (!to.draw(*lesson, name + ".svg")) return -1;
    if (run.at() + 1 == run.count()) return to.written;
    lesson->go_on();
  }
}

}  // namespace nautilus::gui
