#include "gui/models/sqlite_rows.h"

#include <filesystem>
#include <fstream>

#ifdef NAUTILUS_HAVE_SQLITE
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#endif

namespace nautilus::gui {

// Whether they hold anything is for their size and first byte to say: a log that was written back
// is empty or ends at its head, a journal that was ended has zeros there.
std::optional<Refusal> log_beside(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr uintmax_t kHead = 32;  // bytes
  std::error_code ec;
  const fs::path real = fs::canonical(path, ec);  // a link's logs are beside what it leads to
  const std::string file = ec ? path : real.string();
  const auto bytes = [](const std::string& f) {
    std::error_code none;
    const uintmax_t n = fs::file_size(f, none);
    return none ? 0 : n;
  };
  std::string log = file + "-wal";
  if (bytes(log) <= kHead) {
    log = file + "-journal";
    if (bytes(log) == 0 || std::ifstream(log, std::ios::binary).get() == 0) return std::nullopt;
  }
  return no_measurements("the SQLite database has changes in " + fs::path(log).filename().string() +
                             " beside it that are not in its file yet",
                         "end the program that writes it; if none does, open it with sqlite3 where "
                         "it may be written: PRAGMA wal_checkpoint(TRUNCATE)");
}

#ifdef NAUTILUS_HAVE_SQLITE
namespace {

struct Close {
  void operator()(sqlite3* d) const { sqlite3_close(d); }
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Query = std::unique_ptr<sqlite3_stmt, Close>;

// How many bytes the head says there are; 0: it does not say. The count of pages is that of whoever
// wrote last where two counters of changes agree: older writers know but one of them.
// https://www.sqlite.org/fileformat.html#in_header_database_size
uint64_t told_size(const std::string& content) {
  constexpr size_t kHead = 100, kPageSize = 16, kChanges = 24, kPages = 28, kCountedAt = 92;
  if (content.size() < kHead) return 0;
  const auto number = [&](size_t at, size_t bytes) {  // big-endian
    uint64_t v = 0;
    for (size_t k = 0; k < bytes; ++k) v = v << 8 | static_cast<unsigned char>(content[at + k]);
    return v;
  };
  if (number(kChanges, 4) != number(kCountedAt, 4)) return 0;
  const uint64_t page = number(kPageSize, 2);
  return (page == 1 ? 65536 : page) * number(kPages, 4);
}

// Of the bytes alone: nothing beside the file is read or written.
Database database_of(const std::string& content) {
  sqlite3* opened = nullptr;
  sqlite3_open(":memory:", &opened);
  Database d(opened);
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(content.size()));
  if (!d || !copy) return nullptr;
  std::copy(content.begin(), content.end(), copy);
  constexpr size_t kJournal = 18;  // two bytes: a write-ahead log, which there is none of here
  if (content.size() > kJournal + 1) copy[kJournal] = copy[kJournal + 1] = 1;
  const auto size = static_cast<sqlite3_int64>(content.size());
  constexpr unsigned kHow = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY;
  return sqlite3_deserialize(d.get(), "main", copy, size, size, kHow) == SQLITE_OK ? std::move(d)
                                                                                   : nullptr;
}

Query query(const Database& d, const std::string& text) {
  sqlite3_stmt* made = nullptr;
  sqlite3_prepare_v2(d.get(), text.c_str(), -1, &made, nullptr);
  return Query(made);
}

std::string value(const Query& q, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(q.get(), column));
  return text ? std::string(text, static_cast<size_t>(sqlite3_column_bytes(q.get(), column))) : "";
}

std::string quoted(const std::string& name) {
  std::string out = "\"";
  for (char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// False: the table cannot be read to its end.
bool read_table(const Database& d, const std::string& table, std::vector<MeasurementRow>& rows) {
  const Query q = query(d, "SELECT * FROM " + quoted(table));
  if (!q) return false;
  std::vector<std::string> columns;
  bool timed = false;
  for (int c = 0; c < sqlite3_column_count(q.get()); ++c) {
    columns.emplace_back(sqlite3_column_name(q.get(), c));
    timed |= time_column(columns.back()) != nullptr;
  }
  if (!timed) return true;
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(q.get())) == SQLITE_ROW) {
    MeasurementRow row;
    for (size_t c = 0; c < columns.size(); ++c) row[columns[c]] = value(q, static_cast<int>(c));
    rows.push_back(std::move(row));
  }
  return step == SQLITE_DONE;
}

}  // namespace

Expected<std::vector<MeasurementRow>> rows_of_sqlite(const std::string& content) {
  // SQLite itself reads what pages there are, and may find a table whole that has lost its rows.
  if (const uint64_t told = told_size(content); content.size() < told)
    return no_measurements("the SQLite database is cut short: it has " +
                               std::to_string(content.size()) + " of " + std::to_string(told) +
                               " bytes",
                           "copy it again");
  const Database d = database_of(content);
  if (!d) return no_measurements("the SQLite database cannot be opened");
  const auto damaged = [&](const std::string& what) {
    return no_measurements("the SQLite database is damaged: " + what + ": " +
                           sqlite3_errmsg(d.get()));
  };
  const Query names = query(d, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
  if (!names) return damaged("its list of tables");
  std::vector<MeasurementRow> rows;
  while (sqlite3_step(names.get()) == SQLITE_ROW)
    if (const std::string table = value(names, 0); !read_table(d, table, rows))
      return damaged("table " + table);
  if (rows.empty()) return no_measurements("no table of the SQLite database has rows with a time");
  return rows;
}
#else
Expected<std::vector<MeasurementRow>> rows_of_sqlite(const std::string&) {
  return Refusal{"import measurements", "", "it is an SQLite database, and this build reads none",
                 "build with SQLite, or export its table as CSV"};
}
#endif

}  // namespace nautilus::gui
