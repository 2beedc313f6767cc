// The instructions that one role of one block runs, in order, with their loops unrolled.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/memory/ir.h"

namespace nautilus::gui {

struct TraceStep {
  const memory::Instr* instr = nullptr;
  int iteration = -1;  // of the outermost loop
  int64_t slot = 0, slot_b = 0, parity = 0;
};
struct Trace {
  std::vector<TraceStep> steps;
  std::string loop;  // outermost with most instructions
  int64_t trips = 0, shown = 0;
  bool cut = false;  // some loop has more iterations than were run
};
using Environment = std::map<std::string, int64_t>;  // sizes and grid variables

// At most `iterations` of every loop. A branch on data takes its second side, which is the usual
// one.
Trace trace_role(const memory::Role& r, const Environment& block, int iterations);

}  // namespace nautilus::gui
