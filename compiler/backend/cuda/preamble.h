// Device functions that emitted kernels call: only those that a source uses are written into it.
#pragma once

#include <set>
#include <string>

namespace nautilus::cuda {

class Helpers {
 public:
  // Notes that the source calls a helper (and what that calls); its name.
  std::string use(const std::string& name);
  std::string text() const;  // includes and definitions
 private:
  std::set<std::string> used_;
};

}  // namespace nautilus::cuda
