#include <QApplication>
#include <QDir>
#include <QSettings>
#include <cstdio>

#include "gui/app/explore_bar.h"
#include "gui/app/key_sheet.h"
#include "gui/app/main_window.h"
#include "gui/app/options.h"
#include "gui/app/screenshots.h"

namespace {

using namespace nautilus::gui;

constexpr double kPatience = 120;  // seconds for one view
constexpr double kLongSearch = 3600;

void print(const QString& text, FILE* to) { std::fprintf(to, "%s\n", qPrintable(text)); }

void begin_search(MainWindow& window, const Options& o) {
  Allowance a = window.explore_bar().allowance();
  a.seconds = o.explore;
  if (o.plans > 0) a.plans = o.plans;
  window.explore_bar().set_allowance(a);
  window.explore();
}

// False: there is no such candidate.
bool select(MainWindow& window, const QString& which) {
  if (which == "best") return window.commands().run("go.best");
  bool number = false;
  const int id = which.toInt(&number);
  for (const auto& n : window.document().nodes()) {
    if (number ? n.id != id : Theme::state_words(n.state) != which) continue;
    window.selection().select(n.id);
    return true;
  }
  print("nautilus-explorer: no candidate is '" + which + "'", stderr);
  return false;
}

// Without a person: opens, searches, writes the pictures. The exit status.
int run_batch(MainWindow& window, const Options& o) {
  int status = 0;
  window.set_problem_handler([&](const QString& title, const QString& text) {
    print(title + ": " + text, stderr);
    status = 2;
  });
  window.show();
  if (!o.file.isEmpty()) {
    int answer = -1;
    QObject::connect(&window, &MainWindow::opened, &window, [&](bool good) { answer = good; });
    window.open(o.file);
    wait_until(kPatience, [&] { return answer >= 0; });
    if (answer != 1) return status ? status : 2;
  }
  if (!o.lesson.isEmpty() && !window.start_lesson(o.lesson)) return 2;
  if (o.explore >= 0) {
    begin_search(window, o);
    wait_until(o.explore > 0 ? o.explore + kPatience : kLongSearch,
               [&] { return window.search().phase() != LiveSearch::Phase::Running; });
    window.commands().run("go.best");
  }
  if (!o.select.isEmpty() && !select(window, o.select)) return 2;
  if (o.screenshots.isEmpty()) return status;
  const int files = o.lesson.isEmpty() ? write_screenshots(window, o.screenshots, kPatience)
                                       : write_lesson_pictures(window, o.screenshots, kPatience);
  if (files < 0) return 4;
  print(QString("%1 files in %2").arg(files).arg(QDir(o.screenshots).absolutePath()), stdout);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  QStringList arguments;
  for (int k = 0; k < argc; ++k) arguments << QString::fromLocal8Bit(argv[k]);
  if (const auto early = parse_options(arguments, o)) {
    print(early->text, early->status ? stderr : stdout);
    return early->status;
  }
  if (!o.screenshots.isEmpty() && !o.batch) {
    print("nautilus-explorer: --screenshot goes with --offscreen (or --batch)", stderr);
    return 2;
  }
  if (o.offscreen) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  } else if (!has_display()) {
    print(
        "nautilus-explorer: there is no display here (DISPLAY and WAYLAND_DISPLAY are not set).\n"
        "To write every view of a session to pictures without one:\n"
        "  nautilus-explorer --offscreen --screenshot DIR [--explore SECONDS] FILE",
        stderr);
    return 4;
  }
  if (o.scale > 0) qputenv("QT_SCALE_FACTOR", QByteArray::number(o.scale));
  QApplication app(argc, argv);
  QApplication::setApplicationName("nautilus-explorer");
  QApplication::setOrganizationName(o.batch ? "nautilus-batch" : "nautilus");
  if (o.batch) QSettings().clear();  // the same picture for everybody
  MainWindow window;
  window.resize(o.width, o.height);
  if (!o.theme.isEmpty())
    window.theme().set_mode(o.theme == "dark"    ? Theme::Mode::Dark
                            : o.theme == "light" ? Theme::Mode::Light
                                                 : Theme::Mode::System);
  if (o.keys) {
    std::fputs(keys_as_markdown(window.commands()).toUtf8().constData(), stdout);
    return 0;
  }
  if (o.batch) return run_batch(window, o);
  window.show();
  if (!o.file.isEmpty())
    window.open(o.file, [&] {
      if (o.explore >= 0) begin_search(window, o);
    });
  if (!o.lesson.isEmpty()) window.start_lesson(o.lesson);
  return QApplication::exec();
}
