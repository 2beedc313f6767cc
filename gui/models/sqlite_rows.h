// Rows of the tables in an SQLite database that have a column with a time.
#pragma once

#include "gui/models/measurement_rows.h"

namespace nautilus::gui {

// Refuses a database beside which lies a log (-wal, or the -journal of a writer that did not end)
// with changes that are not in its file, or that the file has in part.
std::optional<Refusal> log_beside(const std::string& path);
// `content`: of the database's file.
Expected<std::vector<MeasurementRow>> rows_of_sqlite(const std::string& content);

}  // namespace nautilus::gui
