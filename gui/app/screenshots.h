// Every view of what is open, as PNG and SVG: figures in batch, and what a person reviews.
#pragma once

#include <QString>
#include <functional>

namespace nautilus::gui {

class MainWindow;

// Waits (at most `seconds`) until views have what they show, then writes DIR/NAME.png and NAME.svg
// for each view and DIR/window.png. The number of files, or -1 if one could not be written (told
// through the window's problem handler).
int write_screenshots(MainWindow& window, const QString& directory, double seconds);
// The window at each step of the lesson that begins or is played, with its question open and with
// its answer shown, and the step's text as SVG.
int write_lesson_pictures(MainWindow& window, const QString& directory, double seconds);

// Runs the event loop until `done` holds; false: it took longer.
bool wait_until(double seconds, const std::function<bool()>& done);

}  // namespace nautilus::gui
