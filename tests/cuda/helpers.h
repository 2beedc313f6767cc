// Modules for the tests of this folder, and what is asked of sources.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "compiler/backend/cuda/cuda.h"

namespace nautilus::cuda {

inline memory::Module sample(const std::string& name) {
  std::ifstream in(std::string(NAUTILUS_SOURCE_DIR) + "/tests/memory/samples/" + name + ".mtile");
  if (!in) ADD_FAILURE() << "no sample " << name;
  std::stringstream s;
  s << in.rdbuf();
  auto m = memory::parse(s.str(), name);
  if (!m) {
    ADD_FAILURE() << m.error().text();
    return {};
  }
  return *m;
}

inline Source source_of(const memory::Module& m) {
  auto s = emit(m);
  if (!s) {
    ADD_FAILURE() << s.error().text();
    return {};
  }
  return *s;
}

inline int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size()))
    ++n;
  return n;
}

}  // namespace nautilus::cuda
