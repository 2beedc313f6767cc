// Rows of the tables in an SQLite database that have a column with a time.
#pragma once

#include "gui/models/measurement_rows.h"

namespace nautilus::gui {

// `content`: of the database's file.
Expected<std::vector<MeasurementRow>> rows_of_sqlite(const std::string& content);

}  // namespace nautilus::gui
