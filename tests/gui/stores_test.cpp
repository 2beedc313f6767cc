// Measurement stores, SQLite among them, that somebody opens as if they were sessions.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <QTemporaryDir>

#include <QAbstractButton>
#include <QFileInfo>
#include <chrono>
#include <filesystem>
#include <sstream>

#include "compiler/driver/common.h"
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
  const auto about = [](const std::string& csv) { return *subject_of(*measurement_rows(csv)); };
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

// Sizes that the command line refuses are refused, and not left out without a word.
TEST(Stores, WhoseSizesAreNoneAreRefused) {
  const QTemporaryDir dir;
  const QString file = dir.filePath("times.csv");
  sched::Session s;
  s.kernel = "softmax";
  s.result.nodes.resize(1);
  for (const char* sizes :
       {"N=many", "N=-1", "N=64 N=64", "64", "N=64,M=32", "N=1e3", "=4", "N=2000000000000"}) {
    std::vector<std::string> items;
    std::istringstream in(sizes);
    for (std::string item; in >> item;) items.push_back(item);
    const auto told = driver::parse_sizes(items);
    ASSERT_FALSE(told) << sizes;
    put(file, QByteArray("kernel,node,sizes,ms\nsoftmax,0,\"") + sizes + "\",1\n");
    const auto opened = open_any(file.toStdString(), "cpu");
    ASSERT_FALSE(opened) << sizes;
    EXPECT_NE(opened.error().why.find(told.error().why), std::string::npos)
        << opened.error().text();
    const auto import = read_measurements(*read_store(file.toStdString()), s, "times.csv");
    ASSERT_TRUE(import);
    EXPECT_TRUE(import->rows.empty()) << sizes;
    EXPECT_TRUE(import->why.contains(QString::fromStdString(told.error().why)))
        << import->why.toStdString();
  }
}

// The list with times is taken, wherever it stands among others.
TEST(Stores, MayBeObjects) {
  for (const char* text :
       {R"({"devices": [{"name": "h200"}], "measurements": [{"node": 3, "ms": 1.5}]})",
        R"({"rows": [{"node": 3}, {"node": 3, "median_ms": 1.5}], "a": [1], "z": []})",
        R"({"node": 3, "seconds": 1.5e-3, "tags": [{"node": 1}]})"}) {
    const auto rows = measurement_rows(text);
    ASSERT_TRUE(rows) << text << rows.error().text();
    EXPECT_EQ(rows->back().at("node"), "3");
    EXPECT_EQ(*time_of(rows->back()), 1.5e-3) << text;
  }
  const auto why = [](const char* text) {
    const auto rows = measurement_rows(text);
    return rows ? std::string("understood") : rows.error().why;
  };
  EXPECT_EQ(why(R"({"devices": [{"name": "h200"}], "rows": []})"),
            "none of its lists has rows with a time: devices, rows");
  EXPECT_EQ(why(R"({"ms": [1, 2], "node": [0, 1]})"),
            "none of its lists has rows with a time: ms, node");
  EXPECT_EQ(why(R"({"results": {"rows": [{"ms": 1}]}})"),
            "it is an object with neither a time nor a list of rows");
  EXPECT_EQ(why(R"({"runs": [{"ms": 1}], "warm": [{"ms": 2}]})"),
            "several of its lists have rows with a time: runs, warm");
  EXPECT_EQ(why(R"({"runs": [{"ms": 1}, 2]})"), "a row is no object");
}

TEST(Stores, ThatAreObjectsAreToldFromSessions) {
  const QTemporaryDir dir;
  const QString file = dir.filePath("times.json");
  const auto opened = [&](const QByteArray& text) {
    put(file, text);
    return open_any(file.toStdString(), "cpu");
  };
  const auto store = opened(R"({"kernel": "x", "rows": [{"kernel": "softmax", "ms": 1}]})");
  ASSERT_TRUE(store) << store.error().text();
  ASSERT_TRUE(store->store);
  EXPECT_EQ(store->store->rows, 1u);
  EXPECT_EQ(store->store->about->kernel, "softmax");
  const auto neither = opened(R"({"rows": [{"node": 1}]})");
  ASSERT_FALSE(neither);
  EXPECT_NE(neither.error().why.find("not a Nautilus session"), std::string::npos);
  EXPECT_NE(neither.error().why.find("none of its lists has rows with a time: rows"),
            std::string::npos)
      << neither.error().text();
  const auto damaged = opened(R"({"nautilus_session": 2, "rows": [{"ms": 1}]})");
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().why.find("measurements"), std::string::npos) << damaged.error().text();
}

// Every reader knows the same columns, in the same order and units.
TEST(Stores, TimeColumnsAreKnownToEveryReader) {
  sched::Session s;
  s.kernel = "softmax";
  s.result.nodes.resize(1);
  const QTemporaryDir dir;
  for (const TimeColumn& c : kTimeColumns) {
    const std::string name(c.name);
    for (const std::string& text :
         {"node," + name + "\n0,1.5\n", "{\"rows\": [{\"node\": 0, \"" + name + "\": 1.5}]}"}) {
      const auto import = read_measurements(text, s, "x");
      ASSERT_TRUE(import) << import.error().text();
      ASSERT_EQ(import->rows.size(), 1u) << text;
      EXPECT_EQ(import->rows[0].measured.seconds, 1.5 / c.per_second) << text;
    }
  }
  EXPECT_EQ(time_column("mean"), nullptr);
  const auto why = [](const MeasurementRow& row) {
    const auto time = time_of(row);
    return time ? std::to_string(*time) : time.error().why;
  };
  EXPECT_EQ(why({{"ms", "2001"}, {"seconds", "2"}, {"median_seconds", ""}}), "2.000000");
  EXPECT_EQ(why({{"ms", "1"}, {"seconds", "2"}, {"median_seconds", ""}}),
            "its times differ: seconds 2, ms 1");
  EXPECT_EQ(why({{"median_ms", "soon"}, {"seconds", "2"}}),
            "median_ms 'soon' is no time that a kernel takes");
  EXPECT_EQ(why({{"node", "2"}, {"ms", ""}}), "it has no time");
}

// Whose columns may be told apart by nobody is refused; whose times differ in a row, that row.
TEST(Stores, AmbiguousColumnsAreRefused) {
  sched::Session s;
  s.kernel = "softmax";
  s.result.nodes.resize(3);
  const auto why = [&](const char* text) {
    const auto import = read_measurements(text, s, "x");
    return import ? std::string("understood") : import.error().why;
  };
  EXPECT_EQ(why("node,ms,\"ms\",node,right\n0,1,2,1,1\n"),
            "it has columns more than once: ms, node");
  EXPECT_EQ(why("node,ms,,\n0,1,,\n"), "understood");  // two without a name
  EXPECT_EQ(why(R"([{"node": 0, "ms": 1}, {"node": 1, "ms": 1, "ms": 2}])"),
            "an object has members more than once: ms");
  EXPECT_EQ(why(R"({"rows": [{"knobs": {"stages": 1, "stages": 2}, "seconds": 1}]})"),
            "an object has members more than once: stages");
  EXPECT_EQ(why(R"({"rows": [{"node": 0, "ms": 1}, {"node": 1, "ms": 1}], "more": {"node": 1}})"),
            "understood");
  for (const char* text :
       {"node,seconds,ms\n0,1e-3,1\n1,1e-3,2\n2,1e-3,\n",
        R"([{"node": 0, "seconds": 1e-3, "ms": 1}, {"node": 1, "seconds": 1e-3, "ms": 2},
            {"node": 2, "seconds": 1e-3}])"}) {
    const auto import = read_measurements(text, s, "x");
    ASSERT_TRUE(import) << import.error().text();
    ASSERT_EQ(import->rows.size(), 2u) << text;
    EXPECT_EQ(import->rows[1].node, 2);
    EXPECT_EQ(import->left_out, 1);
    EXPECT_TRUE(import->why.startsWith("row 2: its times differ: seconds "))
        << import->why.toStdString();
  }
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
  EXPECT_TRUE(import->rows[0].measured.right.holds());
  EXPECT_EQ(import->left_out, 1);
  for (size_t cut = 16; cut < content.size(); cut += 1111)  // damage is a refusal, or fewer rows
    (void)measurement_rows(content.substr(0, cut));
  std::string hurt = content;
  for (size_t k = 100; k < hurt.size(); k += 3) hurt[k] = static_cast<char>(k);
  (void)measurement_rows(hurt);
  const std::string none = database("CREATE TABLE t (a)", dir.filePath("b.sqlite")).toStdString();
  EXPECT_FALSE(measurement_rows(none));
}

// Wherever the file ends early; its head tells, so that fewer rows are never taken for all.
TEST(Stores, ADatabaseThatIsCutShortIsRefused) {
  const QTemporaryDir dir;
  const std::string content =
      database(
          "CREATE TABLE a (node, ms); INSERT INTO a VALUES (0, 1.5); CREATE TABLE b (node, ms);"
          "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 3000)"
          "INSERT INTO b SELECT k, 2 FROM n;",
          dir.filePath("a.db"))
          .toStdString();
  ASSERT_GT(content.size(), 5u * 4096);
  EXPECT_EQ(measurement_rows(content)->size(), 3001u);
  for (const size_t cut : {content.size() - 1, content.size() - 4096, size_t{2 * 4096}}) {
    const auto rows = measurement_rows(content.substr(0, cut));
    ASSERT_FALSE(rows) << cut;
    EXPECT_EQ(rows.error().why, "the SQLite database is cut short: it has " + std::to_string(cut) +
                                    " of " + std::to_string(content.size()) + " bytes");
  }
  // The largest pages, whose size does not fit its two bytes.
  const std::string large = database(
                                "PRAGMA page_size = 65536; CREATE TABLE a (node, ms);"
                                "INSERT INTO a VALUES (0, 1.5)",
                                dir.filePath("b.db"))
                                .toStdString();
  EXPECT_EQ(measurement_rows(large)->size(), 1u);
  EXPECT_FALSE(measurement_rows(large.substr(0, 65536)));
  // Whose count is an old one does not say how long it is.
  std::string old = content;
  old[95] = static_cast<char>(old[95] + 1);
  EXPECT_TRUE(measurement_rows(old));
  old[28] = 1;
  EXPECT_TRUE(measurement_rows(old));
}

// A program that was killed, or is at work, leaves its last rows in a log.
TEST(Stores, ADatabaseWithALogIsRefused) {
  const QTemporaryDir dir, elsewhere;
  const QString file = dir.filePath("store.db");
  sqlite3* d = nullptr;
  ASSERT_EQ(sqlite3_open(file.toUtf8().constData(), &d), SQLITE_OK);
  const auto run = [&](const char* statements) {
    EXPECT_EQ(sqlite3_exec(d, statements, nullptr, nullptr, nullptr), SQLITE_OK);
  };
  run("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE runs (node, ms);"
      "INSERT INTO runs VALUES (0, 1); PRAGMA wal_checkpoint(TRUNCATE);");
  EXPECT_TRUE(read_store(file.toStdString())) << "all is written back";
  run("INSERT INTO runs VALUES (1, 2)");
  ASSERT_GT(QFileInfo(file + "-wal").size(), 32);
  // As copied from there, into a folder that cannot be written to.
  for (const char* end : {"", "-wal"})
    ASSERT_TRUE(QFile::copy(file + end, elsewhere.filePath(QString("store.db") + end)));
  const QString link = dir.filePath("link.db");
  ASSERT_TRUE(QFile::link(file, link));
  QFile::setPermissions(elsewhere.path(), QFile::ReadOwner | QFile::ExeOwner);
  for (const QString& f : {file, link, elsewhere.filePath("store.db")}) {
    const auto content = read_store(f.toStdString());
    ASSERT_FALSE(content) << f.toStdString();
    EXPECT_NE(content.error().why.find("changes in store.db-wal beside it"), std::string::npos)
        << content.error().text();
    const auto opened = open_any(f.toStdString(), "cpu");
    ASSERT_FALSE(opened);
    EXPECT_NE(opened.error().text().find("wal_checkpoint"), std::string::npos)
        << opened.error().text();
  }
  QFile::setPermissions(elsewhere.path(), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
  sqlite3_close(d);  // writes it back
  const auto content = read_store(file.toStdString());
  ASSERT_TRUE(content) << content.error().text();
  EXPECT_EQ(measurement_rows(*content)->size(), 2u);
  const QString other = dir.filePath("times.csv");
  put(other, "node,ms\n0,1\n");
  put(other + "-wal", QByteArray(100, 'x'));
  EXPECT_TRUE(read_store(other.toStdString())) << "it is no database";
  // Of a writer that was killed; then of one that ended, and leaves its journal's head blank.
  put(file + "-journal", QByteArray("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8));
  EXPECT_FALSE(read_store(file.toStdString()));
  put(file + "-journal", QByteArray(512, '\0'));
  EXPECT_TRUE(read_store(file.toStdString()));
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

// By its size, whatever it calls itself: reading it all would take seconds.
TEST(Stores, FilesThatAreTooLargeAreRefusedAtOnce) {
  const QTemporaryDir dir;
  for (const auto& [name, head] :
       {std::pair("a.csv", "node,ms\n0,1\n"), std::pair("a.json", "[{\"node\": 0}]"),
        std::pair("a.nautilus.json", "{\"nautilus_session\": 2}"),
        std::pair("a.db", "SQLite format 3"), std::pair("a.spec.cpp", "#include"),
        std::pair("a.naut", "naut 1\n")}) {
    const QString file = dir.filePath(name);
    put(file, QByteArray(head) + '\0');
    std::filesystem::resize_file(file.toStdString(), uintmax_t{3} << 30);
    const auto start = std::chrono::steady_clock::now();
    const auto r = open_any(file.toStdString(), "h200");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1)) << name;
    ASSERT_FALSE(r) << name;
    EXPECT_NE(r.error().text().find("it has 3072 MB, more than the "), std::string::npos)
        << r.error().text();
  }
}

// Nobody writes to the pipe: it is refused, not waited for.
TEST(Stores, PipesAndDevicesAreNoFiles) {
  QTemporaryDir dir;
  const std::string pipe = dir.filePath("f.nautilus.json").toStdString();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    const auto r = open_any(path, "h200");
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().why,
              path == pipe ? "it is a pipe, not a file" : "it is a device, not a file");
  }
}

}  // namespace
}  // namespace nautilus::gui
