// The command line.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>
#include <optional>

namespace nautilus::gui {

// What the window can be at least, with every view: pixels of the interface.
inline constexpr QSize kLeastWindow(800, 500);

struct Options {
  QString file;  // may be a link, or the name of a corpus kernel
  QString lesson, screenshots, theme;
  QString select;          // a candidate's number, "best", or words of a state
  bool keys = false;       // print the key sheet, and end
  bool offscreen = false;  // without a display
  bool batch = false;      // without a person: ends by itself
  double explore = -1;     // seconds of search before anything else; 0: no limit; < 0: none
  int plans = -1;          // likewise plans; < 0: what the window has
  double scale = 0;        // 1, 2; 0: the display's
  int width = 1600, height = 1000;
};
// What should be printed, and with which exit status, instead of starting; or nothing.
struct Early {
  QString text;
  int status = 0;  // driver::Exit
};
std::optional<Early> parse_options(const QStringList& arguments, Options& out);
// Whether windows can be shown, by the environment.
bool has_display();

}  // namespace nautilus::gui
