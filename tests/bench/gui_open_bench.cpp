// The whole program with a session of 100,000 candidates: how long it takes to open (from the file
// to painted views), how long a selection takes until every view that is shown has painted it, and
// the longest that any event holds the interface thread while it opens, while a search adds
// candidates and while the machine changes. Exit status 1 when a limit is missed.
#include <sys/resource.h>

#include <QElapsedTimer>
#include <QStandardPaths>
#include <QTemporaryDir>

#include "autosched/file.h"
#include "gui/app/main_window.h"
#include "gui/app/screenshots.h"
#include "gui/app/view_dock.h"
#include "tests/bench/figures.h"
#include "tests/gui/big_session.h"
#include "tests/gui/event_times.h"

namespace {

using namespace nautilus;
using namespace nautilus::gui;
constexpr double kOpen = 2000, kBlock = 50, kSelection = 50;  // ms
Figures figures;

double ms(const QElapsedTimer& t) { return static_cast<double>(t.nsecsElapsed()) / 1e6; }

bool write_session(const sched::Session& whole, const QString& file) {
  sched::Session s = whole;
  const auto program = sched::read_file(NAUTILUS_SOURCE_DIR "/tests/golden/softmax.naut");
  if (program) s.program_naut = *program;
  s.options.sizes = {{"N", 64}, {"M", 64}};  // so that a search can go on
  const auto bad = program ? sched::save_session(s, file.toStdString())
                           : std::optional<Refusal>(program.error());
  if (bad) std::fprintf(stderr, "%s\n", bad->text().c_str());
  return !bad;
}

bool open(MainWindow& window, const QString& file, int count) {
  int answer = -1;
  const auto heard =
      QObject::connect(&window, &MainWindow::opened, [&](bool good) { answer = good; });
  QElapsedTimer t;
  t.start();
  EventTimes::start();
  window.open(file);
  wait_until(60, [&] { return answer >= 0; });
  QCoreApplication::processEvents();
  figures.add("opening " + std::to_string(count) + " candidates, file to painted views", ms(t),
              "ms", kOpen);
  wait_until(60, [&] { return !window.busy(); });
  const LongestEvent longest = EventTimes::stop();
  figures.add("until every view is complete", ms(t), "ms", 0);
  figures.add("longest event while opening", longest.ms, "ms", kBlock,
              longest.event + " to " + longest.receiver);
  QObject::disconnect(heard);
  return answer == 1;
}

// As a live search does: ten batches a second, with the parents changed and a better answer now and
// then.
void grow(MainWindow& window, const std::vector<sched::SearchNode>& more, size_t batch) {
  EventTimes::start();
  double longest_append = 0;
  for (size_t at = 0; at < more.size(); at += batch) {
    const auto begin = more.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<sched::SearchNode> nodes(
        begin, begin + static_cast<std::ptrdiff_t>(std::min(batch, more.size() - at)));
    Document& d = window.document();
    std::vector<sched::SearchNode> changed{*d.node(nodes.front().parent)};
    std::vector<int> best = d.best();
    best.insert(best.begin(), nodes.front().id);
    const double before = thread_ms();
    d.append(std::move(nodes));
    d.change(std::move(changed));
    d.set_answer(best, {});
    d.set_progress(static_cast<int>(at), 10, 1);
    longest_append = std::max(longest_append, thread_ms() - before);
    wait_until(0.1, [] { return false; });
  }
  wait_until(60, [&] { return !window.busy(); });
  const LongestEvent longest = EventTimes::stop();
  figures.add("longest batch of a live search", longest_append, "ms", kBlock,
              std::to_string(batch) + " candidates a batch");
  figures.add("longest event during a live search", longest.ms, "ms", kBlock,
              longest.event + " to " + longest.receiver);
}

// False: it was refused.
bool change_machine(MainWindow& window, const std::string& file) {
  const sched::Machine machine = *sched::load_machine(file);
  const auto there = [&] { return window.document().session().options.machine.id == machine.id; };
  EventTimes::start();
  window.search().set_machine(machine);
  wait_until(120, there);
  wait_until(60, [&] { return !window.busy(); });
  const LongestEvent longest = EventTimes::stop();
  figures.add("longest event while the machine changes", longest.ms, "ms", kBlock,
              longest.event + " to " + longest.receiver);
  return there();
}

void select(MainWindow& window, int count) {
  std::vector<double> clock, thread;
  for (int k = 0; k < 200; ++k) {
    wait_until(0.005, [] { return false; });
    wait_until(5, [&] { return !window.busy(); });
    const int node = static_cast<int>((static_cast<int64_t>(k) * 7919) % count);
    QElapsedTimer t;
    t.start();
    const double before = thread_ms();
    window.selection().select(node);
    QCoreApplication::sendPostedEvents();  // the merged change
    QCoreApplication::processEvents();     // and what it painted
    thread.push_back(thread_ms() - before);
    clock.push_back(ms(t));
  }
  char more[96];
  std::snprintf(more, sizeof more, "median %.1f, most %.1f, median on the clock %.1f",
                at_quantile(thread, 0.5), at_quantile(thread, 1), at_quantile(clock, 0.5));
  figures.add("a selection reaches " + std::to_string(window.views().size()) + " views",
              at_quantile(thread, 0.95), "ms", kSelection, more);
}

}  // namespace

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QStandardPaths::setTestModeEnabled(true);
  EventTimes app(argc, argv);
  QApplication::setOrganizationName("nautilus-bench");
  const BenchArguments arguments(argc, argv);
  const int count = arguments.count, extra = 10'000;
  QTemporaryDir dir;
  const QString file = dir.filePath("big.nautilus.json");
  sched::Session whole = big_session(count + extra, 1, kH200);
  std::vector<sched::SearchNode>& nodes = whole.result.nodes;
  const std::vector<sched::SearchNode> more(nodes.begin() + count, nodes.end());
  nodes.resize(static_cast<size_t>(count));
  std::erase_if(whole.result.best, [&](int id) { return id >= count; });
  if (!write_session(whole, file)) return 2;
  whole = {};
  MainWindow window;
  window.resize(1920, 1080);
  window.set_problem_handler([](const QString& title, const QString& text) {
    std::fprintf(stderr, "%s: %s\n", qPrintable(title), qPrintable(text));
  });
  window.show();
  wait_until(0.2, [] { return false; });
  if (!open(window, file, count)) return 2;
  select(window, count);
  grow(window, more, 500);
  if (!change_machine(window, NAUTILUS_SOURCE_DIR "/corpus/machines/rtx4090.json")) return 2;
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  figures.add("memory at most", static_cast<double>(use.ru_maxrss) / 1024, "MB", 1000);
  return figures.finish(arguments.out, "explorer-program");
}
