// Sizes that stay open in the kernels of `compile` and `run --on gpu` (--symbolic): one kernel
// serves every value of them.
#pragma once

#include "compiler/driver/common.h"

namespace nautilus::driver {

struct OpenProgram {
  std::vector<std::string> sizes;  // in order of declaration
  poly::ProgramPtr program;        // demanded instances; the other sizes are bound
  Cond facts = Cond::always();     // what the spec says of the open sizes
  std::set<std::string> dims;      // whose lengths they decide: a search keeps them in loops
};
// Names of the statements' dims whose length a size decides.
std::set<std::string> dims_of(const poly::Program& p, const poly::Sizes& sizes,
                              const std::string& size);
// Nothing for no names. Refused: a name that is no size, facts that no arithmetic of the sizes
// decides.
Expected<std::optional<OpenProgram>> open_program(const Loaded& in,
                                                  const std::vector<std::string>& names);
void add_open_flag(CLI::App& app, std::vector<std::string>& names);

}  // namespace nautilus::driver
