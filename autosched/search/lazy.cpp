#include "autosched/search/lazy.h"

#include <set>

namespace nautilus::sched {

std::optional<LazySchedule> with_lazy_references(const poly::Schedule& s) {
  std::set<poly::NodeId> bands;
  for (const poly::Repair& r : s.repairs)
    if (r.lazy_bound > 0 && !r.lazy) bands.insert(r.band);
  LazySchedule out{s, {}};
  for (poly::NodeId band : bands) {
    const nlohmann::json params = {{"node", band}};
    if (auto next = poly::apply_unchecked(out.schedule, "lazy_reference", params)) {
      out.schedule = *std::move(next);
      out.steps.push_back({"lazy_reference", params.dump()});
    }
  }
  if (out.steps.empty()) return std::nullopt;
  return out;
}

}  // namespace nautilus::sched
