// Measurements from a store (measurement_rows.h) to the candidates they belong to.
//
// A row tells a time (kTimeColumns) and whose it is:
// `node` (a candidate's number), or `knobs` ("tile.i=64 stages=2", in JSON also an object) that
// just one complete candidate has. With `kernel` or `sizes`, rows of others are left out. `right`
// (or `correct`: true, 1, yes) says that outputs equalled the reference's; `source` where it was
// measured.
#pragma once

#include "gui/models/document.h"

namespace nautilus::gui {

struct MeasuredRow {
  int node = -1;
  Measured measured;
};
struct Import {
  std::vector<MeasuredRow> rows;
  int left_out = 0;
  QString why;  // of the first rows left out; "" if none
};
// `origin`: of rows without a source (a file's name).
Expected<Import> read_measurements(const std::string& text, const sched::Session& session,
                                   const std::string& origin);

}  // namespace nautilus::gui
