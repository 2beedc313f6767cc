// Program axes: dims of different statements that run over the same thing, found from what the
// statements read of each other (and, where that says nothing, from equal names and extents).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "autosched/cost/structure.h"

namespace nautilus::sched {

struct ProgramAxes {
  std::map<std::string, std::vector<int>> of;        // statement -> axis of each dim
  std::vector<std::string> names;                    // by axis; unique
  std::vector<int64_t> extents;                      // largest extent of its dims
  int axis(const std::string& stmt, int dim) const;  // -1 if unknown
  int dim(const std::string& stmt, int axis) const;  // -1 if the statement lacks it
};
// Never puts two dims of one statement on one axis.
ProgramAxes program_axes(const ProgramFacts& facts);

}  // namespace nautilus::sched
