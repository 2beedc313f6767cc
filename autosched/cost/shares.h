// Code that is split into full and partial tiles: how many tiles run each part.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "autosched/cost.h"
#include "autosched/cost/counts.h"

namespace nautilus::sched {

class Shares {
 public:
  Shares(const StructureOps& ops, TileCounter& counter);
  // How often an entry of the operations, which is the statement's, is carried out.
  double times(const StructureOps::Entry& e, const StmtModel& s) const;

 private:
  TileCounter& counter_;
  std::map<std::string, std::set<std::set<std::string>>> full_;  // loops of such entries
};

}  // namespace nautilus::sched
