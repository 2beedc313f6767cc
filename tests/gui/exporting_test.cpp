#include "gui/app/exporting.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QSvgRenderer>
#include <QTemporaryDir>

#include "tests/gui/surroundings.h"

namespace nautilus::gui {
namespace {

// A view of one rectangle and one row.
class Square : public View {
 public:
  explicit Square(Shared s) : View(s, "square", "Square", nullptr) { resize(200, 100); }
  void paint_picture(QPainter& p, const QRectF& page) override {
    p.fillRect(page.adjusted(20, 20, -20, -20), Qt::red);
  }
  QList<QJsonObject> export_rows() const override { return rows; }
  QList<QJsonObject> rows = {{{"a", 1.5}, {"b", "x, \"y\"\nz"}},
                             {{"a", true}, {"c", QJsonValue()}}};
};

QByteArray content(const QString& file) {
  QFile f(file);
  EXPECT_TRUE(f.open(QIODevice::ReadOnly)) << file.toStdString();
  return f.readAll();
}

TEST(Exporting, Pictures) {
  Surroundings stage;
  Square view(stage.shared());
  QTemporaryDir dir;
  for (const char* name : {"a.svg", "a.png", "a.pdf"}) {
    const auto bad = export_view(view, stage.theme, dir.filePath(name));
    ASSERT_FALSE(bad) << bad->text();
  }
  const QImage png(dir.filePath("a.png"));
  EXPECT_EQ(png.size(), QSize(400, 200));
  EXPECT_EQ(png.pixelColor(200, 100), QColor(Qt::red));
  EXPECT_EQ(png.pixelColor(10, 10), stage.theme.background());
  QSvgRenderer svg(dir.filePath("a.svg"));
  ASSERT_TRUE(svg.isValid());
  EXPECT_EQ(svg.defaultSize(), QSize(200, 100));
  QImage drawn(200, 100, QImage::Format_ARGB32);
  QPainter p(&drawn);
  svg.render(&p);
  p.end();
  EXPECT_EQ(drawn.pixelColor(100, 50), QColor(Qt::red));
  EXPECT_TRUE(content(dir.filePath("a.pdf")).startsWith("%PDF-"));
}

TEST(Exporting, Data) {
  Surroundings stage;
  Square view(stage.shared());
  QTemporaryDir dir;
  ASSERT_FALSE(export_view(view, stage.theme, dir.filePath("a.csv")));
  EXPECT_EQ(content(dir.filePath("a.csv")), "a,b,c\n1.5,\"x, \"\"y\"\"\nz\",\ntrue,,\n");
  ASSERT_FALSE(export_view(view, stage.theme, dir.filePath("a.json")));
  EXPECT_EQ(QJsonDocument::fromJson(content(dir.filePath("a.json"))).array().size(), 2);
}

TEST(Exporting, Refusals) {
  Surroundings stage;
  Square view(stage.shared());
  QTemporaryDir dir;
  EXPECT_TRUE(export_view(view, stage.theme, dir.filePath("a.docx")));
  EXPECT_TRUE(export_view(view, stage.theme, "/nowhere/at/all/a.svg"));
  view.rows.clear();
  const auto none = export_view(view, stage.theme, dir.filePath("b.csv"));
  ASSERT_TRUE(none);
  EXPECT_NE(none->why.find("no rows"), std::string::npos);
  EXPECT_FALSE(QFile::exists(dir.filePath("b.csv")));
}

}  // namespace
}  // namespace nautilus::gui
