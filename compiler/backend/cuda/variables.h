// Which values of a role share one variable of the source: what a loop carries, what a product adds
// to and what a branch yields stay in the same registers wherever no value is lost by it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/memory/ir.h"

namespace nautilus::cuda {

class Variables {
 public:
  // `unnamed`: values without a variable (constants; tiles that a product loads as it needs them).
  Variables(const memory::Kernel& k, const memory::Region& body, std::set<int> unnamed);
  bool named(int value) const { return !unnamed_.count(value); }
  int of(int value) const;  // the variable, by the first of its values
  // Values of a variable, those of the outermost region first.
  const std::vector<int>& values(int variable) const { return members_.at(variable); }
  // Variables to declare before instruction n of a region.
  std::vector<int> declared(const memory::Region& r, size_t n) const;

 private:
  using Place = std::pair<const memory::Region*, size_t>;
  using Live = std::set<int>;
  const memory::Kernel& k_;
  std::set<int> unnamed_;
  std::map<int, std::set<int>> clash_;               // value -> values that it must not share with
  std::vector<std::pair<int, int>> loops_, wishes_;  // to share: results of loops first
  std::map<int, std::vector<Place>> places_;  // value -> where it is defined, outermost first
  std::vector<Place> path_;
  mutable std::map<int, int> leader_;
  std::map<int, std::vector<int>> members_;
  std::map<Place, std::vector<int>> declared_;

  Live region(const memory::Region& r, Live after, bool record);
  void instruction(const memory::Instr& i, Live& live, bool record);
  void clash(int a, const Live& with);
  void defined(int value);
  void share();
  void place();
  int find(int v) const;
};

}  // namespace nautilus::cuda
