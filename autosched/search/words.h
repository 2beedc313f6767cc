// Decisions in words.
#pragma once

#include <string>
#include <vector>

#include "autosched/search/state.h"

namespace nautilus::sched {

std::string list(const std::vector<std::string>& names);  // "a, b, c"
// Tensors that a run of statements writes: "S_sum, S, m", "S_sum .. O" when there are many.
std::string tensors(const ProgramContext& p, const std::vector<std::string>& stmts);

}  // namespace nautilus::sched
