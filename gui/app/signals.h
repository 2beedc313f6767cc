// Ends of the program that the system asks for.
#pragma once

#include <functional>

namespace nautilus::gui {

// What is too large to write, or has no reader, fails there; it does not end the program.
void ignore_write_signals();

// From now on SIGTERM, SIGINT and SIGHUP come to `end`, on the interface thread and once; a second
// of its kind ends the program at once. Those ignored at the start (nohup) stay ignored.
void on_end_signals(std::function<void(int)> end);

constexpr int kSignalStatus = 128;  // and the signal's number: what shells make of one

}  // namespace nautilus::gui
