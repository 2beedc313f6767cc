#include "gui/app/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QSocketNotifier>
#include <cerrno>
#include <utility>

namespace nautilus::gui {
namespace {

int ends[2] = {-1, -1};  // of the pipe that a handler may write to

// What it interrupts may be about to look at errno.
void note_signal(int number) {
  const int before = errno;
  ::signal(number, SIG_DFL);
  const auto byte = static_cast<unsigned char>(number);
  [[maybe_unused]] const auto written = ::write(ends[1], &byte, 1);
  errno = before;
}

}  // namespace

void ignore_write_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

void on_end_signals(std::function<void(int)> end) {
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  auto* arrived = new QSocketNotifier(ends[0], QSocketNotifier::Read, QCoreApplication::instance());
  QObject::connect(arrived, &QSocketNotifier::activated, arrived, [arrived, end = std::move(end)] {
    unsigned char byte = 0;
    if (::read(ends[0], &byte, 1) != 1) return;
    arrived->setEnabled(false);
    end(byte);
  });
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    now = {};
    now.sa_handler = note_signal;
    now.sa_flags = SA_RESTART;
    ::sigaction(number, &now, nullptr);
  }
}

}  // namespace nautilus::gui
