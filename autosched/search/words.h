// Decisions in words.
#pragma once

#include <string>
#include <vector>

#include "autosched/search/state.h"

namespace nautilus::sched {

inline constexpr const char* kRolling = " by rolling update";  // how other forms of a decision end
inline constexpr const char* kNoScratch = ", no scratch";
std::string list(const std::vector<std::string>& names);  // "a, b, c"
// Tensors that a run of statements writes: "S_sum, S, m", "S_sum .. O" when there are many.
std::string tensors(const ProgramContext& p, const std::vector<std::string>& stmts);

}  // namespace nautilus::sched
