// A plan: everything that determines a kernel's text.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "autosched/machine.h"
#include "polyhedral/transforms/registry.h"

namespace nautilus::sched {

// Numeric choices by name: "tile.i", "tile.j", "threads", "stages", ...
using Knobs = std::map<std::string, int64_t>;

struct Plan {
  poly::Schedule schedule;                  // at these knobs
  std::vector<poly::TransformStep> script;  // reproduces schedule from the program's initial one
  Knobs knobs;
  std::string numerics = "reassociate";
};
// plan.json: program text hash, sizes, machine id, script, knobs. A plan read back replays to the
// same schedule.
nlohmann::json plan_to_json(const Plan& p);
nlohmann::json steps_to_json(
    const std::vector<poly::TransformStep>& steps);  // STEPS.json: [{"name", "params"}]
Expected<std::vector<poly::TransformStep>> steps_from_json(const nlohmann::json& j);
std::string text_hash(std::string_view text);  // FNV-1a, 16 digits: equal across runs and machines
Expected<Plan> plan_from_json(poly::ProgramPtr program, const nlohmann::json& j);
// The same decisions with other numbers: the script of `p` with the tile sizes of `knobs`.
Expected<Plan> with_knobs(const Plan& p, const poly::ProgramPtr& program, const Knobs& knobs);

}  // namespace nautilus::sched
