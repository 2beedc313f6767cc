// Device functions that emitted kernels call: only those that a source uses are written into it.
#pragma once

#include <map>
#include <set>
#include <string>

namespace nautilus::cuda {

// Where an instruction's n-th accumulator of a thread is among registers: `together` in a row, then
// the next ones at a distance from the first.
struct Spacing {
  int together = 0, distance = 0;
  int at(int n) const { return n / together * distance + n % together; }
  bool operator==(const Spacing&) const = default;
};

// One wgmma: c[64, columns] += a b.
struct WgmmaKind {
  int columns = 8;
  Spacing c;
  std::string type;        // of the factors: "f16" | "bf16" | "tf32"
  bool registers = false;  // the first factor in registers (4 of 32 bits), else by descriptor
  bool transposed_a = false, transposed_b = false;  // rows run along m or n instead of k
  bool first = false;                               // c = a b
};

class Helpers {
 public:
  explicit Helpers(bool contract = true) : contract(contract) {}
  const bool contract;  // whether products may become part of sums (EmitOptions)
  // Notes that the source calls a helper (and what that calls); its name.
  std::string use(const std::string& name);
  std::string use_wgmma(const WgmmaKind& w);
  std::string text() const;  // includes and definitions
 private:
  std::set<std::string> used_;
  std::map<std::string, std::string> made_;  // name -> definition
};

}  // namespace nautilus::cuda
