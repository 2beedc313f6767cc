// Device functions that emitted kernels call: only those that a source uses are written into it.
#pragma once

#include <map>
#include <set>
#include <string>

namespace nautilus::cuda {

class Helpers {
 public:
  explicit Helpers(bool contract = true) : contract(contract) {}
  const bool contract;  // whether products may become part of sums (EmitOptions)
  // Notes that the source calls a helper (and what that calls); its name.
  std::string use(const std::string& name);
  // wgmma of this kind (preamble_texts.h).
  std::string use_wgmma(int n, const std::string& type, bool registers, int transposed_a,
                        int transposed_b);
  std::string text() const;  // includes and definitions
 private:
  std::set<std::string> used_;
  std::map<std::string, std::string> made_;  // name -> definition
};

}  // namespace nautilus::cuda
