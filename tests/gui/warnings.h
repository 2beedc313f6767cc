// A warning of Qt is a mistake of ours: it fails the test in which it is said.
#pragma once

namespace nautilus::gui {

void fail_tests_on_warnings();

}  // namespace nautilus::gui
