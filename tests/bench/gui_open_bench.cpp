// How long the whole program takes to open a session of 100,000 candidates (from the file to painted
// views), and how long a selection takes until every view that is shown has painted it. Exits with
// 1 when opening takes 2 s or a selection 50 ms (median of all, and 95 % on a quiet machine).
#include <sys/resource.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <algorithm>
#include <cstdio>

#include "autosched/file.h"
#include "gui/app/main_window.h"
#include "gui/app/screenshots.h"
#include "tests/gui/big_session.h"

int main(int argc, char** argv) {
  using namespace nautilus;
  using namespace nautilus::gui;
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QStandardPaths::setTestModeEnabled(true);
  QApplication app(argc, argv);
  QApplication::setOrganizationName("nautilus-bench");
  const int count = argc > 1 ? std::atoi(argv[1]) : 100'000;
  QTemporaryDir dir;
  const QString file = dir.filePath("big.nautilus.json");
  {
    sched::Session s = big_session(count, 1, NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json");
    const auto program = sched::read_file(NAUTILUS_SOURCE_DIR "/tests/golden/softmax.naut");
    s.program_naut = *program;
    if (auto bad = sched::save_session(s, file.toStdString())) {
      std::fprintf(stderr, "%s\n", bad->text().c_str());
      return 2;
    }
  }
  MainWindow window;
  window.resize(1920, 1080);
  window.set_problem_handler([](const QString& title, const QString& text) {
    std::fprintf(stderr, "%s: %s\n", qPrintable(title), qPrintable(text));
  });
  window.show();
  wait_until(0.2, [] { return false; });
  QElapsedTimer t;
  int answer = -1;
  QObject::connect(&window, &MainWindow::opened, [&](bool good) { answer = good; });
  t.start();
  window.open(file);
  wait_until(60, [&] { return answer >= 0; });
  const double there = static_cast<double>(t.nsecsElapsed()) / 1e6;
  QCoreApplication::processEvents();
  const double painted = static_cast<double>(t.nsecsElapsed()) / 1e6;
  wait_until(60, [&] { return !window.busy(); });
  const double complete = static_cast<double>(t.nsecsElapsed()) / 1e6;
  std::printf("%d candidates: read and shown after %.0f ms, painted after %.0f ms, layouts complete "
              "after %.0f ms\n", count, there, painted, complete);

  std::vector<double> ms;
  for (int k = 0; k < 200; ++k) {
    wait_until(0.005, [] { return false; });
    wait_until(5, [&] { return !window.busy(); });
    const int node = static_cast<int>((static_cast<int64_t>(k) * 7919) % count);
    t.start();
    window.selection().select(node);
    QCoreApplication::sendPostedEvents();  // the merged change
    QCoreApplication::processEvents();     // and what it painted
    ms.push_back(static_cast<double>(t.nsecsElapsed()) / 1e6);
  }
  std::sort(ms.begin(), ms.end());
  const double median = ms[ms.size() / 2], p95 = ms[ms.size() * 95 / 100];
  std::printf("a selection reaches %lld views in %.1f ms (median), %.1f ms (95 %%), %.1f ms (most)\n",
              static_cast<long long>(window.views().size()), median, p95, ms.back());
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  std::printf("memory at most %.0f MB\n", static_cast<double>(use.ru_maxrss) / 1024);
  return answer == 1 && painted < 2000 && median < 50 && p95 < 50 ? 0 : 1;
}
