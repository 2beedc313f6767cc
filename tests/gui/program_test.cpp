// The program itself, as a process: batch pictures, missing display, bad options, Xvfb.
#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QProcess>
#include <QStandardPaths>
#include <QSvgRenderer>
#include <QTemporaryDir>

#include "compiler/driver/exit_status.h"
#include "tests/gui/artefacts.h"

namespace nautilus::gui {
namespace {

struct Ran {
  int status = -1;
  QString out, err;
};

Ran run(const QStringList& arguments, const QMap<QString, QString>& set = {},
        const QStringList& unset = {}, const QString& wrapper = {}) {
  QProcess p;
  QProcessEnvironment env = QProcessEnvironment::systemEnvironment();
  QTemporaryDir home;
  env.insert("HOME", home.path());
  env.insert("XDG_RUNTIME_DIR", home.path());
  for (auto at = set.begin(); at != set.end(); ++at) env.insert(at.key(), at.value());
  for (const QString& name : unset) env.remove(name);
  p.setProcessEnvironment(env);
  const QString program = NAUTILUS_BIN_DIR "/nautilus-explorer";
  if (wrapper.isEmpty())
    p.start(program, arguments);
  else
    p.start(wrapper, QStringList{"-a", program} + arguments);
  p.waitForFinished(240'000);
  return {p.exitStatus() == QProcess::NormalExit ? p.exitCode() : -1,
          QString::fromUtf8(p.readAllStandardOutput()),
          QString::fromUtf8(p.readAllStandardError())};
}

TEST(Program, PicturesOfEveryViewWithoutADisplay) {
  const QString to = fresh_artefacts("light").path();
  const Ran r = run({"--offscreen", "--screenshot", to, "--plans", "60", "softmax"}, {},
                    {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"});
  EXPECT_EQ(r.status, 0) << r.err.toStdString();
  const QStringList svgs = QDir(to).entryList({"*.svg"});
  EXPECT_GE(svgs.size(), 1);
  for (const QString& svg : svgs) {
    EXPECT_TRUE(QSvgRenderer(QDir(to).filePath(svg)).isValid()) << svg.toStdString();
    QImage png(QDir(to).filePath(svg.chopped(3) + "png"));
    ASSERT_FALSE(png.isNull()) << svg.toStdString();
    png = png.convertToFormat(QImage::Format_RGB32);
    int painted = 0;
    for (int y = 0; y < png.height(); ++y)
      for (int x = 0; x < png.width(); ++x) painted += png.pixel(x, y) != png.pixel(0, 0);
    EXPECT_GT(painted, 1000) << svg.toStdString() << " is empty";  // a line of text is as much
  }
  EXPECT_TRUE(QFile::exists(QDir(to).filePath("window.png")));
}

TEST(Program, AtTwiceTheScaleAndDark) {
  const QDir dir(fresh_artefacts("dark-200"));
  const Ran r = run({"--offscreen", "--scale", "2", "--theme", "dark", "--screenshot", dir.path(),
                     "--window-size", "1280x800", "--plans", "100", "softmax"});
  EXPECT_EQ(r.status, 0) << r.err.toStdString();
  const QImage window(dir.filePath("window.png"));
  EXPECT_EQ(window.size(), QSize(2560, 1600));
  EXPECT_LT(window.pixelColor(window.width() / 2, window.height() - 8).lightness(), 128);
}

TEST(Program, WithoutADisplayItSaysSoAndOffersPictures) {
  const Ran r = run({}, {}, {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"});
  EXPECT_EQ(r.status, 4);
  EXPECT_TRUE(r.err.contains("there is no display"));
  EXPECT_TRUE(r.err.contains("--offscreen --screenshot DIR"));
}

TEST(Program, BadRequestsEndWithAReason) {
  const std::pair<QStringList, const char*> cases[] = {
      {{"--bogus"}, "bogus"},
      {{"a", "b"}, "one file"},
      {{"--theme", "pink"}, "no theme 'pink'"},
      {{"--scale", "nan"}, "--scale 'nan': a factor from 0.5 to 4"},
      {{"--window-size", "10x10"}, "--window-size '10x10': WIDTHxHEIGHT in pixels from 800x500"},
      {{"--window-size", "640x400"}, "from 800x500"},
      {{"--window-size", "many"}, "such as 1600x1000"},
      {{"--explore", "soon", "softmax"}, "no number of seconds"},
      {{"--plans", "-3", "softmax"}, "no number of plans"},
      {{"--plans", "3"}, "need a FILE"},
      {{""}, "FILE is empty"},
      {{"--offscreen", " "}, "FILE is empty"},
      {{"--theme", ""}, "followed by nothing"},
      {{"--offscreen", "--screenshot=", "softmax"}, "followed by nothing"},
      {{"--lesson", "tiling", "softmax"}, "without FILE"},
      {{"--keys", "--screenshot", "x"}, "goes alone"},
      {{"--select", "best"}, "needs a FILE"},
      {{"--window-size", "16384x16384"}, "too large"},
      {{"--window-size", "8000x8000", "--scale", "4"}, "too large"},
      {{"--offscreen", "#node=3"}, "none is open"},
      {{"--offscreen", "softmax#node=12345"}, "no candidate 12345"},
      {{"--offscreen", "softmax#colour=red"}, "colour=red"},
      {{"--offscreen", "--select", "best", "softmax"}, "no best plan"},
      {{"--offscreen", "--select", "77", "softmax"}, "no candidate is '77'"},
      {{"--offscreen", "--screenshot", "/dev/null/x", "softmax"}, "/dev/null is no directory"},
      {{"--offscreen", "no_such_kernel"}, "no such file"},
      {{"--offscreen", "--lesson", "no_such_lesson"}, "no"}};
  for (const auto& [arguments, part] : cases) {
    const Ran r = run(arguments);
    EXPECT_GT(r.status, 0) << arguments.join(' ').toStdString();
    EXPECT_TRUE(r.err.contains(part))
        << arguments.join(' ').toStdString() << ": " << r.err.toStdString();
  }
  for (const char* help : {"--help", "-h"})
    EXPECT_TRUE(run({help}).out.startsWith("Usage: nautilus-explorer ")) << help;
  EXPECT_TRUE(run({"--version"}).out.startsWith("nautilus-explorer "));
}

// A place that takes no file is bad input, known before the work, as of nautilusc.
TEST(Program, PlacesThatTakeNoFileAreBadInput) {
  const QTemporaryDir dir;
  const QString file = dir.filePath("a_file");
  QFile made(file);
  ASSERT_TRUE(made.open(QIODevice::WriteOnly));
  for (const QString& to : {file, file + "/deeper", QString("/proc/pictures")}) {
    const Ran r = run({"--offscreen", "--screenshot", to, "softmax"});
    EXPECT_EQ(r.status, driver::kBadInput) << to.toStdString();
    QProcess compiler;
    compiler.start(NAUTILUS_BIN_DIR "/nautilusc", {"compile", "softmax", "-o", to});
    ASSERT_TRUE(compiler.waitForFinished(60'000));
    EXPECT_EQ(compiler.exitCode(), r.status) << to.toStdString();
    const QString told = compiler.readAllStandardError();
    EXPECT_EQ(r.err.section(": ", 1), told.section(": ", 1)) << told.toStdString();
  }
}

TEST(Program, AnswersThatCannotBeWrittenAreAFailure) {
  for (const char* option : {"--help", "--version", "--keys"}) {
    QProcess p;
    p.setStandardOutputFile("/dev/full");
    p.start(NAUTILUS_BIN_DIR "/nautilus-explorer", {option});
    ASSERT_TRUE(p.waitForFinished(60'000));
    EXPECT_EQ(p.exitCode(), 4) << option;
    EXPECT_TRUE(p.readAllStandardError().contains("cannot write the answer")) << option;
  }
}

TEST(Program, WithoutADisplayNothingIsSaidThatNobodyAsked) {
  EXPECT_EQ(run({"--offscreen", "softmax"}).err.toStdString(), "");
}

// With a home of its own; told to end after some seconds.
struct Ended {
  Ended(const QStringList& arguments, int seconds) {
    QProcessEnvironment env = QProcessEnvironment::systemEnvironment();
    env.insert("HOME", home.path());
    env.insert("XDG_DATA_HOME", home.path());
    env.insert("QT_QPA_PLATFORM", "offscreen");
    p.setProcessEnvironment(env);
    p.start(NAUTILUS_BIN_DIR "/nautilus-explorer", arguments);
    p.waitForFinished(1000 * seconds);
    p.terminate();
    p.waitForFinished(60'000);
  }
  QTemporaryDir home;
  QProcess p;
};

TEST(Program, WhatIsNotSavedOutlivesTheRequestToEnd) {
  const Ended e({"--plans", "60", "softmax"}, 6);
  EXPECT_EQ(e.p.exitStatus(), QProcess::NormalExit);
  EXPECT_EQ(e.p.exitCode(), 0);
  const QDir kept(e.home.filePath("nautilus/nautilus-explorer"));
  const QStringList copies = kept.entryList({"recovered-*.nautilus.json"}, QDir::Files);
  ASSERT_EQ(copies.size(), 1);
  EXPECT_GT(QFileInfo(kept.filePath(copies[0])).size(), 1000);
}

TEST(Program, InBatchTheStatusNamesTheSignal) {
  const Ended e({"--offscreen", "--explore", "50", "attention_causal_gqa"}, 3);
  EXPECT_EQ(e.p.exitStatus(), QProcess::NormalExit);
  EXPECT_EQ(e.p.exitCode(), 128 + 15);
}

TEST(Program, UnderXvfb) {
  const QString xvfb = QStandardPaths::findExecutable("xvfb-run");
  ASSERT_FALSE(xvfb.isEmpty()) << "xvfb-run is missing: ./nautilus setup installs it (xvfb, xauth)";
  const QDir dir(fresh_artefacts("xvfb"));
  const Ran r = run(
      {"--batch", "--screenshot", dir.path(), "--plans", "50", "--select", "illegal", "softmax"},
      {{"QT_QPA_PLATFORM", "xcb"},
       {"LSAN_OPTIONS",
        "suppressions=" NAUTILUS_SOURCE_DIR "/tests/gui/system_leaks.supp:print_suppressions=0"}},
      {}, xvfb);
  EXPECT_EQ(r.status, 0) << r.err.toStdString();
  EXPECT_FALSE(QImage(dir.filePath("window.png")).isNull());
}

}  // namespace
}  // namespace nautilus::gui
