// Like gtest_main, with a QApplication that needs no display.
#include <gtest/gtest.h>

#include <QTemporaryDir>

#include "tests/gui/event_times.h"
#include "tests/gui/warnings.h"

// Qt's platform plugins speak to the desktop through libdbus, which keeps what it allocates until
// the process ends. LeakSanitizer asks this; system_leaks.supp says the same of programs that tests
// start.
extern "C" const char* __lsan_default_suppressions() { return "leak:libdbus-1"; }

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  // Settings and files of its own: tests run beside each other, and beside whoever uses the
  // program.
  const QTemporaryDir home;
  for (const char* name : {"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"})
    qputenv(name, home.path().toUtf8());
  testing::InitGoogleTest(&argc, argv);
  nautilus::gui::fail_tests_on_warnings();
  nautilus::gui::EventTimes app(argc, argv);
  QApplication::setOrganizationName("nautilus-test");
  QApplication::setApplicationName("explorer-test");
  return RUN_ALL_TESTS();
}
