// Pictures of the search tree and the roofline of a real search, in light and dark, at 100 % and
// 200 %, as PNG and SVG: written for people to look at, and checked for what a program can check.
#include <gtest/gtest.h>

#include <QPainter>
#include <QSet>
#include <QSvgGenerator>
#include <QSvgRenderer>
#include <fstream>
#include <sstream>

#include "gui/views/roofline.h"
#include "gui/views/search_tree.h"
#include "tests/autosched/programs.h"
#include "tests/gui/artefacts.h"
#include "tests/gui/surroundings.h"

namespace nautilus::gui {
namespace {

// A session file given by NAUTILUS_PICTURES_OF, else a short search for causal attention.
sched::Session attention() {
  if (const char* file = std::getenv("NAUTILUS_PICTURES_OF")) {
    auto given = sched::load_session(file);
    EXPECT_TRUE(given) << given.error().text();
    if (given) return *std::move(given);
  }
  const poly::ProgramPtr program = sched::testing_programs::attention(4, 4096, 64, true);
  sched::Session s;
  s.program_naut = poly::print_naut(*program);
  s.kernel = "attention";
  s.options.machine = *sched::load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json");
  s.options.max_plans = 300;
  s.options.seconds = 60;
  auto ops = sched::direct_ops_provider();
  auto found = sched::search(program, s.options, *ops);
  EXPECT_TRUE(found) << found.error().text();
  if (found) s.result = *std::move(found);
  return s;
}

QDir folder() { return artefacts(QStringLiteral("search")); }

void write(View& v, const QString& name, double ratio) {
  QImage image(v.size() * ratio, QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);
  v.render(&image);
  QSet<QRgb> colours;
  for (int y = 0; y < image.height(); y += 3)
    for (int x = 0; x < image.width(); x += 3) colours << image.pixel(x, y);
  EXPECT_GT(colours.size(), 12) << name.toStdString() << " is blank";
  EXPECT_TRUE(image.save(folder().filePath(name + ".png")));
}

void write_svg(View& v, const QString& name) {
  QSvgGenerator svg;
  svg.setFileName(folder().filePath(name + ".svg"));
  svg.setSize(v.picture_size().toSize());
  svg.setViewBox(QRectF(QPointF(), v.picture_size()));
  QPainter p(&svg);
  v.paint_picture(p, QRectF(QPointF(), v.picture_size()));
  p.end();
  QSvgRenderer read(svg.fileName());
  EXPECT_TRUE(read.isValid());
  std::ifstream in(svg.fileName().toStdString());
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_NE(text.str().find("<text"), std::string::npos) << "text stays text";
}

TEST(Pictures, OfARealSearch) {
  Surroundings stage;
  sched::Session s = attention();
  ASSERT_FALSE(s.result.nodes.empty());
  stage.bench.set_work(s);
  stage.document.set_session(s, "");
  SearchTreeView tree(stage.shared(), nullptr);
  RooflineView roofline(stage.shared(), nullptr);
  for (const auto mode : {Theme::Mode::Light, Theme::Mode::Dark}) {
    stage.theme.set_mode(mode);
    const QString suffix = mode == Theme::Mode::Light ? "light" : "dark";
    for (View* v : {static_cast<View*>(&tree), static_cast<View*>(&roofline)}) {
      v->setPalette(stage.theme.palette());
      stage.show(*v, {1100, 760});
      for (double ratio : {1.0, 2.0})
        write(*v, v->name() + "_" + suffix + (ratio > 1 ? "_2x" : ""), ratio);
      write_svg(*v, v->name() + "_" + suffix);
    }
  }
}

}  // namespace
}  // namespace nautilus::gui
