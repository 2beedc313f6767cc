// Signals that end the program, and what they interrupt.
#include "gui/app/signals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace nautilus::gui {
namespace {

// Until nobody takes more: then the handler cannot write, and write says so in errno.
bool fill_pipes() {
  bool any = false;
  for (int fd = 3; fd < 256; ++fd) {
    const int how = ::fcntl(fd, F_GETFL);
    if (how < 0 || (how & O_ACCMODE) != O_WRONLY || !(how & O_NONBLOCK)) continue;
    const std::array<char, 4096> bytes{};
    while (::write(fd, bytes.data(), bytes.size()) > 0) {
    }
    while (::write(fd, bytes.data(), 1) > 0) {
    }
    any |= errno == EAGAIN;
  }
  return any;
}

TEST(Signals, LeaveErrnoAsItWas) {
  EXPECT_EXIT(
      {
        ::signal(SIGHUP, SIG_DFL);
        on_end_signals([](int) {});
        if (!fill_pipes()) ::_exit(2);
        errno = ENOENT;
        ::raise(SIGHUP);
        ::_exit(errno == ENOENT ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace nautilus::gui
