// Like gtest_main, with a QApplication that needs no display.
#include <gtest/gtest.h>

#include <QStandardPaths>

#include "tests/gui/event_times.h"

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QStandardPaths::setTestModeEnabled(true);
  testing::InitGoogleTest(&argc, argv);
  nautilus::gui::EventTimes app(argc, argv);
  QApplication::setOrganizationName("nautilus-test");
  QApplication::setApplicationName("explorer-test");
  return RUN_ALL_TESTS();
}
