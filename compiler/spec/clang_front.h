// Runs Clang over a spec; free of Clang itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/spec/ast.h"

namespace nautilus::spec {

// Called once with what was read, while Clang can still show source lines; answers what else is
// wrong.
using Checker = std::function<std::vector<Diag>(const SpecFile&)>;
struct FrontResult {
  std::string diagnostics;
  bool ok = false;  // no error
};
// Parses `path` (or `text`, if given, under that name) and hands its kernels to `check`. Kernels
// with an error reported by Clang inside are marked broken.
FrontResult run_clang(const std::string& path, const std::string* text,
                      const std::string& include_dir, const Checker& check);

}  // namespace nautilus::spec
