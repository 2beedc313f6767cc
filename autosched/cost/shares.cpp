#include "autosched/cost/shares.h"

#include <algorithm>

namespace nautilus::sched {
namespace {

std::vector<TileCoordinate> named_coordinates(const StmtModel& s,
                                              const std::vector<std::string>& loops) {
  std::vector<TileCoordinate> out;
  for (const LoopDim& l : s.loops)
    if (std::find(loops.begin(), loops.end(), l.member) != loops.end())
      out.push_back({l.e, l.step});
  return out;
}

std::set<std::string> names_of(const StructureOps::Entry& e) {
  return {e.loops.begin(), e.loops.end()};
}

}  // namespace

Shares::Shares(const StructureOps& ops, TileCounter& counter) : counter_(counter) {
  for (const StructureOps::Entry& e : ops.entries)
    if (e.tiles == poly::Tiles::Full) full_[e.stmt].insert(names_of(e));
}

double Shares::times(const StructureOps::Entry& e, const StmtModel& s) const {
  const auto coords = named_coordinates(s, e.loops);
  const double any = counter_.nonempty(s, coords);
  if (e.tiles == poly::Tiles::Full) return counter_.full(s, coords);
  const auto full = full_.find(e.stmt);
  if (e.tiles == poly::Tiles::All || full == full_.end()) return any;
  const std::set<std::string> loops = names_of(e);
  double most = any;  // of tiles that are written out beside the loop of the full ones
  for (const auto& of : full->second) {
    if (std::includes(loops.begin(), loops.end(), of.begin(), of.end()))
      return any - counter_.full(s, coords);
    if (!std::includes(of.begin(), of.end(), loops.begin(), loops.end())) continue;
    const auto tiles = named_coordinates(s, {of.begin(), of.end()});
    most = std::min(most, counter_.nonempty(s, tiles) - counter_.full(s, tiles));
  }
  return most;
}

}  // namespace nautilus::sched
