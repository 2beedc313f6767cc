#include <QApplication>
#include <QDir>
#include <QSettings>
#include <cstdio>
#include <cstdlib>

#include "autosched/file.h"
#include "compiler/driver/exit_status.h"
#include "gui/app/explore_bar.h"
#include "gui/app/key_sheet.h"
#include "gui/app/main_window.h"
#include "gui/app/options.h"
#include "gui/app/screenshots.h"
#include "gui/app/signals.h"

namespace {

using namespace nautilus::gui;
namespace driver = nautilus::driver;

constexpr double kPatience = 120;  // seconds for one view
constexpr double kLongSearch = 3600;

void print(const QString& text, FILE* to) { std::fprintf(to, "%s\n", qPrintable(text)); }

// For whoever asked for this text and nothing else. The exit status.
int answer(const QByteArray& text) {
  const bool good = std::fputs(text.constData(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!good) std::perror("nautilus-explorer: cannot write the answer");
  return good ? driver::kGood : driver::kEnvironment;
}

QtMessageHandler messages_before = nullptr;

// Without a display windows have no size hints to propagate, which Qt says of each of them.
void filter_message(QtMsgType type, const QMessageLogContext& context, const QString& text) {
  if (!text.contains("propagateSizeHints")) messages_before(type, context, text);
}

void begin_search(MainWindow& window, const Options& o) {
  Allowance a = window.explore_bar().allowance();
  a.seconds = o.explore;
  if (o.plans > 0) a.plans = o.plans;
  window.explore_bar().set_allowance(a);
  window.explore();
}

// False: there is no such candidate.
bool select(MainWindow& window, const QString& which) {
  if (which == "best") {
    if (!window.document().best().empty()) return window.commands().run("go.best");
    print("nautilus-explorer: there is no best plan: none was found yet (--explore searches)",
          stderr);
    return false;
  }
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
  int status = driver::kGood;
  window.set_problem_handler([&](const QString& title, const QString& text) {
    print(title + ": " + text, stderr);
    status = driver::kBadInput;
  });
  window.show();
  if (!o.file.isEmpty()) {
    int good = -1;
    QObject::connect(&window, &MainWindow::opened, &window, [&](bool is) { good = is; });
    window.open(o.file);
    if (!wait_until(kPatience, [&] { return good >= 0; })) {
      print(QString("nautilus-explorer: opening '%1' takes more than %2 s")
                .arg(o.file)
                .arg(kPatience),
            stderr);
      std::_Exit(driver::kBadInput);  // the end would wait for it
    }
    if (good != 1) return status ? status : driver::kBadInput;
  }
  if (!o.lesson.isEmpty() && !window.start_lesson(o.lesson)) return driver::kBadInput;
  if (o.explore >= 0) {
    begin_search(window, o);
    wait_until(o.explore > 0 ? o.explore + kPatience : kLongSearch,
               [&] { return window.search().phase() != LiveSearch::Phase::Running; });
    window.commands().run("go.best");
  }
  if (!o.select.isEmpty() && !select(window, o.select)) return driver::kBadInput;
  if (o.screenshots.isEmpty()) return status;
  const int files = o.lesson.isEmpty() ? write_screenshots(window, o.screenshots, kPatience)
                                       : write_lesson_pictures(window, o.screenshots, kPatience);
  if (files < 0) return driver::kEnvironment;
  const QString done =
      QString("%1 files in %2\n").arg(files).arg(QDir(o.screenshots).absolutePath());
  const int told = answer(done.toLocal8Bit());
  return told ? told : status;
}

}  // namespace

int main(int argc, char** argv) {
  ignore_write_signals();
  Options o;
  QStringList arguments;
  for (int k = 0; k < argc; ++k) arguments << QString::fromLocal8Bit(argv[k]);
  if (const auto early = parse_options(arguments, o)) {
    if (early->status == driver::kGood) return answer(early->text.toLocal8Bit() + '\n');
    print(early->text, stderr);
    return early->status;
  }
  if (!o.screenshots.isEmpty() && !o.batch) {
    print("nautilus-explorer: --screenshot goes with --offscreen (or --batch)", stderr);
    return driver::kBadInput;
  }
  // Before the work, as nautilusc does.
  if (!o.screenshots.isEmpty())
    if (const auto bad = nautilus::sched::check_directory(o.screenshots.toStdString())) {
      print("nautilus-explorer: " + QString::fromStdString(bad->text()), stderr);
      return driver::kBadInput;
    }
  if (o.offscreen) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  } else if (!has_display()) {
    print(
        "nautilus-explorer: there is no display here (DISPLAY and WAYLAND_DISPLAY are not set).\n"
        "To write every view of a session to pictures without one:\n"
        "  nautilus-explorer --offscreen --screenshot DIR [--explore SECONDS] FILE",
        stderr);
    return driver::kEnvironment;
  }
  if (qgetenv("QT_QPA_PLATFORM") == "offscreen")
    messages_before = qInstallMessageHandler(filter_message);
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
  if (o.keys) return answer(keys_as_markdown(window.commands()).toUtf8());
  on_end_signals([&window, batch = o.batch](int number) {
    if (batch) std::_Exit(kSignalStatus + number);
    window.leave();
  });
  if (o.batch) return run_batch(window, o);
  window.show();
  if (!o.file.isEmpty())
    window.open(o.file, [&] {
      if (!o.select.isEmpty()) select(window, o.select);
      if (o.explore >= 0) begin_search(window, o);
    });
  if (!o.lesson.isEmpty()) window.start_lesson(o.lesson);
  return QApplication::exec();
}
