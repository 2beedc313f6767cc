// The pipeline of one block in time: what is copied, computed and waited for in each iteration, by
// role of warps. The memory IR's instructions are run in order with the durations that the
// machine's figures give them; asynchronous copies and products run beside. A prediction: one block
// alone on a unit, its warps in step.
#pragma once

#include <QString>
#include <vector>

#include "autosched/machine.h"
#include "compiler/memory/ir.h"

namespace nautilus::gui {

enum class Work : uint8_t { Copy, Matrix, Lanes, Special, Shared, Global, Wait };
QString work_name(Work w);

struct TimelineBar {
  int row = 0;
  double begin = 0, end = 0;  // seconds from the start of the block
  Work work = Work::Lanes;
  QString what;        // "mma S_S_sum"
  int iteration = -1;  // of the outermost loop; -1: before or after it
  int slot = -1;       // of a copy's ring
  int node = -1;
  QString statement;
};
struct TimelineRow {
  QString role, title;
};
struct Timeline {
  std::vector<TimelineRow> rows;
  std::vector<TimelineBar> bars;  // by begin
  double seconds = 0;
  QString loop;             // variable of the outermost loop
  int64_t trips = 0;        // of it, of the block shown
  int64_t shown_trips = 0;  // those run here; the rest repeats
  bool stuck = false;       // no role could go on: the program's barriers do not match
  QString note;
};

Timeline simulate(const memory::Module& module, const memory::Kernel& k, const sched::Machine& m,
                  int iterations = 8);

}  // namespace nautilus::gui
