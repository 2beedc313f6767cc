// Pictures of the schedule tree, Why and the iteration space as they are in the window's docks, in
// light and dark, at 100 % and 200 %, as PNG and SVG: written for people to look at, and checked
// for what a program can check.
#include <gtest/gtest.h>

#include <QImage>
#include <QSet>

#include "gui/app/exporting.h"
#include "gui/models/opening.h"
#include "tests/gui/artefacts.h"
#include "tests/gui/sched_rig.h"

namespace nautilus::gui {
namespace {

QDir picture_folder() { return artefacts(QStringLiteral("schedule")); }

// How much of the picture is one colour: 1 is blank.
double plainness(const QImage& image) {
  QHash<QRgb, int> many;
  int all = 0;
  for (int y = 0; y < image.height(); y += 3)
    for (int x = 0; x < image.width(); x += 3) ++many[image.pixel(x, y)], ++all;
  int most = 0;
  for (int n : many) most = std::max(most, n);
  return static_cast<double>(most) / all;
}

void picture(SchedRig& rig, View& v, const QString& name) {
  ASSERT_TRUE(rig.idle(v));
  for (const bool dark : {false, true})
    for (const int ratio : {1, 2}) {
      rig.theme.set_mode(dark ? Theme::Mode::Dark : Theme::Mode::Light);
      qApp->setPalette(rig.theme.palette());
      QCoreApplication::processEvents();
      QImage image(v.size() * ratio, QImage::Format_RGB32);
      image.setDevicePixelRatio(ratio);
      v.render(&image);
      EXPECT_LT(plainness(image), 0.995) << name.toStdString();
      const QString file =
          QStringLiteral("%1-%2-%3x.png").arg(name, dark ? "dark" : "light").arg(ratio);
      EXPECT_TRUE(image.save(picture_folder().filePath(file)));
    }
  rig.theme.set_mode(Theme::Mode::Light);
  qApp->setPalette(rig.theme.palette());
  for (const char* ending : {".svg", ".png"}) {
    const auto bad =
        export_picture(v, rig.theme, picture_folder().filePath(name + ending), v.picture_size());
    EXPECT_FALSE(bad) << bad->text();
  }
}

// The three views of one candidate.
void pictures(SchedRig& rig, int node, const QString& name) {
  const std::unique_ptr<View> views[] = {
      std::unique_ptr<View>(make_schedule_view(rig.shared(), nullptr)),
      std::unique_ptr<View>(make_why_view(rig.shared(), nullptr)),
      std::unique_ptr<View>(make_iteration_view(rig.shared(), nullptr))};
  rig.selection.select(node);
  for (const auto& v : views) {
    v->resize(v->name() == QStringLiteral("iteration") ? QSize(900, 420) : QSize(700, 300));
    v->show();
    QCoreApplication::processEvents();
    picture(rig, *v, name + u'-' + v->name());
    v->hide();
  }
}

TEST(SchedPictures, CausalAttention) {
  SchedRig rig(false);
  const auto s = sched::load_session(NAUTILUS_SOURCE_DIR "/tests/gui/attention_session.json");
  ASSERT_TRUE(s) << s.error().text();
  rig.document.set_session(*s, QString());
  pictures(rig, s->result.best.front(), "causal-best");
  for (const sched::SearchNode& n : s->result.nodes)
    if (n.state == sched::NodeState::Illegal) {
      pictures(rig, n.id, "causal-illegal");
      break;
    }
}

TEST(SchedPictures, Softmax) {
  SchedRig rig;
  pictures(rig, 2, "softmax-rolling");
  pictures(rig, 3, "softmax-too-large");
}

TEST(SchedPictures, Products) {
  SpecRequest r;
  for (const char* kernel : {"matmul", "conv2d"}) {
    SchedRig rig(false);
    r.spec = kernel;
    const auto s = session_of(r);
    ASSERT_TRUE(s) << s.error().text();
    rig.document.set_session(*s, QString());
    pictures(rig, 0, kernel);
  }
}

}  // namespace
}  // namespace nautilus::gui
