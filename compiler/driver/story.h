// The discovery of a plan told step by step: what was tried, the verdict, what a repair rests on,
// what it saves.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "autosched/plan.h"
#include "compiler/profile/profile.h"

namespace nautilus::driver {

struct StoryStep {
  poly::TransformStep step;
  std::string decision;  // the search's words for the decision this step belongs to ("" if none)
  poly::Verdict verdict;
  std::optional<poly::Verdict>
      plain;  // for a repaired step: the verdict of the plain transform on the same nodes
  double bytes_before = 0, bytes_after = 0;  // global memory traffic
  std::string diff;                          // of the tree
};
struct Story {
  std::vector<StoryStep> steps;
  poly::Schedule final;
  poly::Verification verification;
  double bytes_unfused = 0, bytes_final = 0;
  profile::Traffic traffic_unfused, traffic_final;
};

// Replays the script with every verdict. `decisions[i]` names the decision of script step i (may be
// shorter).
Expected<Story> tell(poly::ProgramPtr program, const std::vector<poly::TransformStep>& script,
                     const std::vector<std::string>& decisions, const poly::Sizes& sizes);

// What a step adds to the verdict of a schedule that already carries repairs: those accepted before
// are left out, and a step that needs no new one is Legal.
poly::Verdict added_by(const poly::Verdict& v, const poly::Schedule& before);
// One sentence for a step: "fuse children 2..6 of node 4 at 1 member".
std::string describe(const poly::TransformStep& step);
nlohmann::json to_json(const StoryStep& s);
std::string to_text(const poly::Repair& r, const std::string& indent);

}  // namespace nautilus::driver
