#include "autosched/search/answer.h"

#include <algorithm>
#include <tuple>

namespace nautilus::sched {

bool Standing::enter(const Footing& f) {
  plans.push_back(f);
  const auto found = of_structure.find(f.structure);
  if (found != of_structure.end()) {
    if (!(f.seconds < found->second.seconds)) return false;
    best.erase({found->second.seconds, f.structure});
  }
  of_structure[f.structure] = {f.seconds, f.node};
  best.insert({f.seconds, f.structure});
  return true;
}

void Standing::forget(int structure, bool another) {
  const auto found = of_structure.find(structure);
  if (found == of_structure.end()) return;
  const int node = found->second.node;
  std::erase_if(plans, [&](const Footing& f) {
    return f.node == node || (!another && f.structure == structure);
  });
  choose(structure);
}

void Standing::withdraw(int node) {
  const auto it = std::find_if(plans.begin(), plans.end(),
                               [&](const Footing& f) { return f.node == node; });
  settled.erase(node);
  if (it == plans.end()) return;
  const int structure = it->structure;
  plans.erase(it);
  choose(structure);
}

void Standing::adopt(int structure, int orphan) {
  for (Footing& f : plans)
    if (f.structure == orphan) f.structure = structure;
  choose(orphan);
  choose(structure);
}

// The first of the fastest plans that the structure has left.
void Standing::choose(int structure) {
  if (const auto found = of_structure.find(structure); found != of_structure.end()) {
    best.erase({found->second.seconds, structure});
    of_structure.erase(found);
  }
  const Footing* next = nullptr;
  for (const Footing& f : plans)
    if (f.structure == structure && (!next || f.seconds < next->seconds)) next = &f;
  if (!next) return;
  of_structure[structure] = {next->seconds, next->node};
  best.insert({next->seconds, structure});
}

// Plans that no other beats in time, shared memory and registers at once.
std::vector<int> Standing::pareto() const {
  std::vector<std::tuple<double, double, double, int>> all;
  for (const Footing& f : plans) all.emplace_back(f.seconds, f.shared, f.registers, f.node);
  std::sort(all.begin(), all.end());
  std::vector<int> out;
  std::vector<std::pair<double, double>> kept;
  for (auto& [seconds, shared, registers, id] : all) {
    bool beaten = false;
    for (auto& [s, r] : kept) beaten |= s <= shared && r <= registers;
    if (beaten) continue;
    kept.push_back({shared, registers});
    out.push_back(id);
  }
  return out;
}

}  // namespace nautilus::sched
