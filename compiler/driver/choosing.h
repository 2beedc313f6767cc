// Which plans a verb works on: the search's best, one from a file, or the program's own order.
#pragma once

#include "compiler/driver/searching.h"

namespace nautilus::driver {

struct ChoiceFlags {
  std::string schedule = "best", plan;  // plan: a file of explore --plan or compile
};
void add_choice_flags(CLI::App& app, ChoiceFlags& f);

struct Choice {
  sched::Plan plan;  // its numerics are the ones to use
  // What is told of it: "plan" in words, and of a search's also "predicted_seconds", "limiter",
  // "knobs", "note".
  nlohmann::json about = nlohmann::json::object();
  std::string note = "";  // of what was done otherwise than the plan says; else ""
};
// How many plans are tried until one can be lowered: as many as asked for, or (0) 5, and 40 where
// sizes are open, since many of the best plans hold an axis in one tile, which then cannot be open.
size_t most_choices(size_t asked, bool open);
// At least one, best first, at most `most` of a search's. On failure prints why and sets `status`.
std::optional<std::vector<Choice>> choose(const Loaded& in, const SearchFlags& search,
                                          const ChoiceFlags& f, size_t most, bool json,
                                          int& status);

}  // namespace nautilus::driver
