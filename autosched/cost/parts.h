// Seconds of one kernel by unit and by level, before they are put together.
#pragma once

#include "autosched/cost.h"

namespace nautilus::sched {

inline double get(const std::map<std::string, double>& m, const std::string& k) {
  const auto at = m.find(k);
  return at == m.end() ? 0 : at->second;
}

// Four warps of 32 threads: the smallest group that fills a unit's four schedulers, and the
// warpgroup of Hopper's products.
inline constexpr double kWarpgroup = 128;
// A group of warps takes at least 32 registers of 4 bytes a thread.
inline constexpr double kLeastRegisters = kWarpgroup * 32 * 4;

struct TimeParts {
  std::map<std::string, double> units, levels;
  double fixed = 0, latency = 0;
  double resident = 1;  // blocks that take turns on one unit
};
TimeParts time_parts(const ResourceProfile& r, const Machine& m);
double combined_seconds(const TimeParts& p, const ResourceProfile& r, const Machine& m);

// Operations weighted by how badly they fill the unit.
double issued(const ResourceProfile& r, const std::string& unit);
double matrix_rate_of(const ResourceProfile& r, const Machine& m);

// How many blocks a unit holds at once: by registers of tiles and of warps that only copy, scratch
// and threads.
double resident_blocks(const ResourceProfile& r, const Machine& m);

}  // namespace nautilus::sched
