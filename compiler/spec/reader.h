// Reads *.spec.cpp with Clang libTooling (spec-language.md); never executes it.
#pragma once

#include <string>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::spec {

struct SpecResult {
  std::vector<poly::Program> kernels;  // all that are without error, in order
  std::string diagnostics;             // Clang-style text with carets; empty if none
  bool ok = false;                     // no error at all
};
// `include_dir`: where nautilus/spec.h lies (empty: the installed or source location).
SpecResult read_spec(poly::ContextPtr ctx, const std::string& path,
                     const std::string& include_dir = "");
SpecResult read_spec_text(poly::ContextPtr ctx, const std::string& text, const std::string& name,
                          const std::string& include_dir = "");
// *.naut or *.spec.cpp by extension. All programs of the file (at least one), all without error.
Expected<std::vector<poly::Program>> load_programs(poly::ContextPtr ctx, const std::string& path);
// One of them. `kernel` chooses by name, and then errors of the others do not matter; "": the only
// one, and several are refused by their names.
Expected<poly::Program> load_program(poly::ContextPtr ctx, const std::string& path,
                                     const std::string& kernel = "");

}  // namespace nautilus::spec
