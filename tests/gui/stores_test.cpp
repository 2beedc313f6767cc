// Measurement stores, SQLite among them, that somebody opens as if they were sessions.
#include <gtest/gtest.h>

#include <QAbstractButton>

#include "gui/models/measurement_rows.h"
#include "gui/models/measurements.h"
#include "gui/models/opening.h"
#include "tests/gui/window_rig.h"

#ifdef NAUTILUS_HAVE_SQLITE
#include <sqlite3.h>
#endif

namespace nautilus::gui {
namespace {

void put(const QString& file, const QByteArray& content) {
  QFile f(file);
  ASSERT_TRUE(f.open(QIODevice::WriteOnly) && f.write(content) == content.size());
}

QAbstractButton* button_of(const QMessageBox& box, const QString& text) {
  for (QAbstractButton* b : box.buttons())
    if (b->text().remove('&') == text) return b;
  return nullptr;
}

QMessageBox* offered(MainWindow& w) {
  QMessageBox* box = nullptr;
  wait_until(60, [&] { return (box = w.findChild<QMessageBox*>("store")) != nullptr; });
  return box;
}

TEST(Stores, AreToldFromSessions) {
  EXPECT_EQ(store_kind({"SQLite format 3\0 and more", 25}, "x"), "an SQLite database");
  EXPECT_EQ(store_kind(" \n[{", "x.json"), "a list in JSON");
  EXPECT_EQ(store_kind("node,ms", "x.csv"), "a table in CSV");
  EXPECT_EQ(store_kind("{\"nautilus_session\"", "x.json"), "");
  EXPECT_EQ(store_kind("", "x.json"), "");
}

TEST(Stores, SayWhatTheyAreAboutWhereTheirRowsAgree) {
  const auto about = [](const std::string& csv) { return subject_of(*measurement_rows(csv)); };
  const auto one = about("kernel,sizes,ms\nsoftmax,N=64 M=32,1\nsoftmax,N=64 M=32,2\n");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->kernel, "softmax");
  EXPECT_EQ(one->sizes, (poly::Sizes{{"N", 64}, {"M", 32}}));
  const auto several = about("kernel,sizes,ms\nsoftmax,N=64,1\nsoftmax,N=128,2\n");
  ASSERT_TRUE(several);
  EXPECT_TRUE(several->sizes.empty());
  EXPECT_FALSE(about("kernel,ms\nsoftmax,1\nmatmul,2\n"));
  EXPECT_FALSE(about("node,ms\n1,2\n"));
}

TEST(Stores, OpenedIntoASessionTheyAreImported) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  const QString file = rig.dir.filePath("times.csv");
  put(file, "kernel,node,ms\nsoftmax,0,1.5\n");
  for (const bool agree : {false, true}) {
    QSignalSpy opened(&w, &MainWindow::opened), imported(&w, &MainWindow::measurements_imported);
    w.open(file);
    QMessageBox* box = offered(w);
    ASSERT_TRUE(box);
    EXPECT_TRUE(box->text().contains("times.csv is a measurement store (a table in CSV with 1 row"))
        << box->text().toStdString();
    QAbstractButton* b =
        agree ? button_of(*box, "Import into softmax") : box->button(QMessageBox::Cancel);
    ASSERT_TRUE(b);
    QTest::mouseClick(b, Qt::LeftButton);
    ASSERT_TRUE(wait_until(60, [&] { return opened.count() > 0; }));
    EXPECT_EQ(opened[0][0].toBool(), agree);
    rig.settle();
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    EXPECT_EQ(w.document().measured(0).has_value(), agree);
  }
  EXPECT_DOUBLE_EQ(w.document().measured(0)->seconds, 1.5e-3);
}

// Only what replaces the session asks whether it is to be saved.
TEST(Stores, WhatDoesNotReplaceTheSessionDoesNotAskToSaveIt) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  ASSERT_TRUE(rig.open("softmax"));
  const QString file = rig.dir.filePath("times.csv");
  put(file, "kernel,node,ms\nsoftmax,0,1.5\n");
  w.document().set_note(0, "not saved");
  const auto asks = [&] { return w.findChild<QMessageBox*>("unsaved") != nullptr; };
  w.open(file);
  QMessageBox* box = nullptr;
  ASSERT_TRUE(wait_until(60, [&] {
    box = w.findChild<QMessageBox*>("store");
    return box || asks();
  }));
  EXPECT_FALSE(asks());
  ASSERT_TRUE(box);
  QTest::mouseClick(box->button(QMessageBox::Cancel), Qt::LeftButton);
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  w.open(rig.dir.filePath("absent.nautilus.json"));
  QString problem;
  ASSERT_TRUE(wait_until(60, [&] { return !(problem = rig.problem()).isEmpty() || asks(); }));
  EXPECT_TRUE(problem.contains("absent")) << problem.toStdString();
  EXPECT_FALSE(asks());
  w.open("matmul");  // this one does
  ASSERT_TRUE(wait_until(60, asks));
  EXPECT_EQ(w.document().session().kernel, "softmax");
  QSignalSpy opened(&w, &MainWindow::opened);
  QTest::mouseClick(w.findChild<QMessageBox*>("unsaved")->button(QMessageBox::Discard),
                    Qt::LeftButton);
  ASSERT_TRUE(wait_until(60, [&] { return opened.count() > 0; }));
  EXPECT_EQ(w.document().session().kernel, "matmul");
}

TEST(Stores, OpenedAloneTheyBringTheirOperator) {
  WindowRig rig;
  MainWindow& w = *rig.window;
  const QString file = rig.dir.filePath("times.json");
  put(file, R"([{"kernel": "softmax", "sizes": "N=64 M=32", "machine": "rtx4090", "node": 0,
                   "seconds": 2e-3}])");
  QSignalSpy imported(&w, &MainWindow::measurements_imported);
  w.open(file);
  QMessageBox* box = offered(w);
  ASSERT_TRUE(box);
  QAbstractButton* open = button_of(*box, "Open softmax and import");
  ASSERT_TRUE(open);
  QTest::mouseClick(open, Qt::LeftButton);
  ASSERT_TRUE(wait_until(60, [&] { return imported.count() > 0; })) << rig.problem().toStdString();
  EXPECT_EQ(w.document().session().kernel, "softmax");
  EXPECT_EQ(w.document().session().options.sizes.at("M"), 32);
  EXPECT_EQ(w.document().session().options.machine.id, "rtx4090");
  EXPECT_DOUBLE_EQ(w.document().measured(0)->seconds, 2e-3);
}

TEST(Stores, ThatDoNotSayWhatTheyAreAboutAreNamed) {
  WindowRig rig;
  const QString file = rig.dir.filePath("times.csv");
  put(file, "node,ms\n0,1.5\n");
  EXPECT_FALSE(rig.open(file));
  const QString told = rig.problem();
  EXPECT_TRUE(told.contains("is a measurement store")) << told.toStdString();
  EXPECT_TRUE(told.contains("Import measurements")) << told.toStdString();
}

#ifdef NAUTILUS_HAVE_SQLITE
QByteArray database(const char* statements, const QString& file) {
  sqlite3* d = nullptr;
  EXPECT_EQ(sqlite3_open(file.toUtf8().constData(), &d), SQLITE_OK);
  char* why = nullptr;
  EXPECT_EQ(sqlite3_exec(d, statements, nullptr, nullptr, &why), SQLITE_OK) << (why ? why : "");
  sqlite3_close(d);
  QFile f(file);
  EXPECT_TRUE(f.open(QIODevice::ReadOnly));
  return f.readAll();
}

TEST(Stores, RowsOfSqliteTablesThatHaveATime) {
  const QTemporaryDir dir;
  const std::string content =
      database(
          "PRAGMA journal_mode = wal;"
          "CREATE TABLE machines (name TEXT, cores INTEGER);"
          "INSERT INTO machines VALUES ('h200', 132);"
          "CREATE TABLE \"my \"\"runs\" (kernel TEXT, node INTEGER, seconds REAL, right INTEGER);"
          "INSERT INTO \"my \"\"runs\" VALUES ('softmax', 0, 0.0015, 1), ('softmax', NULL, 2, 0);",
          dir.filePath("a.sqlite"))
          .toStdString();
  const auto rows = measurement_rows(content);
  ASSERT_TRUE(rows) << rows.error().text();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].at("seconds"), "0.0015");
  EXPECT_EQ((*rows)[1].at("node"), "");
  sched::Session s;
  s.kernel = "softmax";
  s.result.nodes.resize(1);
  const auto import = read_measurements(content, s, "a.sqlite");
  ASSERT_TRUE(import) << import.error().text();
  ASSERT_EQ(import->rows.size(), 1u);
  EXPECT_TRUE(import->rows[0].measured.right);
  EXPECT_EQ(import->left_out, 1);
  for (size_t cut = 16; cut < content.size(); cut += 1111)  // damage is a refusal, or fewer rows
    (void)measurement_rows(content.substr(0, cut));
  std::string hurt = content;
  for (size_t k = 100; k < hurt.size(); k += 3) hurt[k] = static_cast<char>(k);
  (void)measurement_rows(hurt);
  const std::string none = database("CREATE TABLE t (a)", dir.filePath("b.sqlite")).toStdString();
  EXPECT_FALSE(measurement_rows(none));
}

TEST(Stores, AnSqliteDatabaseIsOfferedForImport) {
  WindowRig rig;
  ASSERT_TRUE(rig.open("softmax"));
  const QString file = rig.dir.filePath("store.db");
  database("CREATE TABLE runs (node, ms); INSERT INTO runs VALUES (0, 1.5)", file);
  QSignalSpy imported(rig.window.get(), &MainWindow::measurements_imported);
  rig.window->open(file);
  QMessageBox* box = offered(*rig.window);
  ASSERT_TRUE(box);
  EXPECT_TRUE(box->text().contains("an SQLite database with 1 row")) << box->text().toStdString();
  QTest::mouseClick(button_of(*box, "Import into softmax"), Qt::LeftButton);
  ASSERT_TRUE(wait_until(60, [&] { return imported.count() > 0; }));
  EXPECT_EQ(imported[0][0].toInt(), 1);
}
#endif

}  // namespace
}  // namespace nautilus::gui
