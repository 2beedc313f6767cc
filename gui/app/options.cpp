#include "gui/app/options.h"

#include <QCommandLineParser>
#include <QRegularExpression>

#include "compiler/driver/exit_status.h"

namespace nautilus::gui {
namespace {

constexpr int kMostSide = 16384;         // pixels of the display
constexpr double kMostPixels = 1 << 26;  // a quarter of a GiB

QString help_text(const QCommandLineParser& p) {  // which names the program only once it runs
  static const QRegularExpression usage("^Usage: \\S+");
  return p.helpText().replace(usage, "Usage: nautilus-explorer");
}

}  // namespace

std::optional<Early> parse_options(const QStringList& arguments, Options& out) {
  QCommandLineParser p;
  p.setApplicationDescription(
      "nautilus-explorer: see the whole search, steer it, teach with it.\n"
      "FILE: a spec (*.spec.cpp), a program (*.naut), a session (*.nautilus.json), the name of a\n"
      "corpus kernel, or a link FILE#node=42&view=roofline.");
  p.addPositionalArgument("FILE", "what to open", "[FILE]");
  const QCommandLineOption help({"h", "help"}, "Show this."),
      version("version", "Show the version."), offscreen("offscreen", "Use no display."),
      batch("batch", "Like --offscreen, on the display."),
      shots("screenshot",
            "Write every view, or each step of the --lesson, to DIR as PNG and SVG, and end.",
            "DIR"),
      lesson("lesson", "Begin a lesson.", "NAME"),
      keys("keys", "Print every key as Markdown, and end."),
      explore("explore", "Search for so long first.", "SECONDS"),
      plans("plans", "Search for so many plans first.", "COUNT"),
      select("select",
             "Then select a candidate: a number, best, or the first in a state (illegal).",
             "WHICH"),
      theme("theme", "light, dark or system.", "NAME"),
      scale("scale", "Scale of the interface: 1 or 2, ...", "FACTOR"),
      size("window-size", "Size of the window.", "WIDTHxHEIGHT");
  p.addOptions({help, version, keys, offscreen, batch, shots, lesson, explore, plans, select, theme,
                scale, size});
  const auto bad = [&](const QString& why) {
    return Early{"nautilus-explorer: " + why + " (--help shows the options)", driver::kBadInput};
  };
  if (!p.parse(arguments)) return bad(p.errorText());
  if (p.isSet(help)) return Early{help_text(p), driver::kGood};
  if (p.isSet(version)) return Early{"nautilus-explorer " NAUTILUS_VERSION, driver::kGood};
  for (const auto* o : {&shots, &lesson, &explore, &plans, &select, &theme, &scale, &size})
    if (p.isSet(*o) && p.value(*o).trimmed().isEmpty())
      return bad("--" + o->names().first() + " is followed by nothing");
  if (p.positionalArguments().size() > 1) return bad("it opens one file");
  const bool has_file = !p.positionalArguments().isEmpty();
  if (has_file && p.positionalArguments().front().trimmed().isEmpty())
    return bad("the name of FILE is empty");
  if (has_file && p.isSet(lesson)) return bad("a --lesson brings its own program: without FILE");
  if (p.isSet(keys))
    for (const auto* o : {&shots, &lesson, &explore, &plans, &select})
      if (has_file || p.isSet(*o)) return bad("--keys goes alone");
  if (p.isSet(select) && !has_file) return bad("--select needs a FILE");
  out.file = p.positionalArguments().value(0);
  out.lesson = p.value(lesson);
  out.screenshots = p.value(shots);
  out.keys = p.isSet(keys);
  out.offscreen = p.isSet(offscreen) || out.keys;
  out.batch = out.offscreen || p.isSet(batch);
  bool good = true;
  if (p.isSet(explore)) {
    out.explore = p.value(explore).toDouble(&good);
    if (!good || !(out.explore >= 0 && out.explore <= 1e6))
      return bad("--explore '" + p.value(explore) + "' is no number of seconds from 0 to 1000000");
  }
  if (p.isSet(plans)) {
    out.plans = p.value(plans).toInt(&good);
    if (!good || out.plans < 1)
      return bad("--plans '" + p.value(plans) + "' is no number of plans (1 or more)");
    if (out.explore < 0) out.explore = 0;
  }
  if (out.explore >= 0 && out.file.isEmpty()) return bad("--explore and --plans need a FILE");
  out.select = p.value(select);
  out.theme = p.value(theme);
  if (!QStringList{"", "light", "dark", "system"}.contains(out.theme))
    return bad("there is no theme '" + out.theme + "'");
  if (p.isSet(scale)) {
    out.scale = p.value(scale).toDouble(&good);
    if (!good || !(out.scale >= 0.5 && out.scale <= 4))
      return bad("--scale '" + p.value(scale) + "': a factor from 0.5 to 4");
  }
  if (p.isSet(size)) {
    const QStringList wh = p.value(size).split('x');
    bool w = false, h = false;
    out.width = wh.value(0).toInt(&w);
    out.height = wh.value(1).toInt(&h);
    if (wh.size() != 2 || !w || !h || out.width < kLeastWindow.width() ||
        out.height < kLeastWindow.height() || out.width > kMostSide || out.height > kMostSide)
      return bad(QString("--window-size '%1': WIDTHxHEIGHT in pixels from %2x%3 to %4x%4, such as "
                         "1600x1000")
                     .arg(p.value(size))
                     .arg(kLeastWindow.width())
                     .arg(kLeastWindow.height())
                     .arg(kMostSide));
  }
  const double factor = out.scale > 0 ? out.scale : 1, w = factor * out.width,
               h = factor * out.height;
  if (w > kMostSide || h > kMostSide || w * h > kMostPixels)
    return bad(QString("a window of %1 x %2 pixels (--window-size times --scale) is too large: at "
                       "most %3 a side and %4 in all")
                   .arg(w)
                   .arg(h)
                   .arg(kMostSide)
                   .arg(qint64(kMostPixels)));
  return std::nullopt;
}

bool has_display() {
#ifdef Q_OS_LINUX
  return qEnvironmentVariableIsSet("DISPLAY") || qEnvironmentVariableIsSet("WAYLAND_DISPLAY") ||
         qEnvironmentVariableIsSet("QT_QPA_PLATFORM");
#else
  return true;
#endif
}

}  // namespace nautilus::gui
