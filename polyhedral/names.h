// Lists of names, and which statements read a tensor.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::poly {

using Names = std::vector<std::string>;

inline bool in(const Names& v, const std::string& s) {
  return std::find(v.begin(), v.end(), s) != v.end();
}
inline void add(Names& v, const std::string& s) {
  if (!in(v, s)) v.push_back(s);
}
inline bool reads(const Statement& s, const std::string& tensor) {
  return std::any_of(s.reads.begin(), s.reads.end(),
                     [&](const Access& a) { return a.tensor == tensor; });
}

}  // namespace nautilus::poly
