#include "tests/gui/warnings.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <QString>
#include <algorithm>
#include <cstdio>

namespace nautilus::gui {
namespace {

// What is said of the place where tests run, not of the program.
constexpr const char* kAboutThePlace[] = {
    "This plugin does not support",          // the offscreen platform has no window manager
    "QStandardPaths: XDG_RUNTIME_DIR",       // nobody is logged in
    "QStandardPaths: runtime directory",     // likewise
    "Could not find the Qt platform theme",  // no desktop
};

void listen(QtMsgType type, const QMessageLogContext&, const QString& text) {
  std::fprintf(stderr, "%s\n", qUtf8Printable(text));
  if (type == QtDebugMsg || type == QtInfoMsg) return;
  const bool excused =
      std::ranges::any_of(kAboutThePlace, [&](const char* t) { return text.startsWith(t); });
  if (!excused) ADD_FAILURE() << "Qt warns: " << text.toStdString();
}

TEST(Warnings, FailATest) {
  EXPECT_NONFATAL_FAILURE(qWarning("a picture with no size"), "a picture with no size");
  qWarning("This plugin does not support raise()");
}

}  // namespace

void fail_tests_on_warnings() { qInstallMessageHandler(listen); }

}  // namespace nautilus::gui
