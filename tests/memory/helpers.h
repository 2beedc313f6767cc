// Modules for the tests of this folder, from text and from files.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "compiler/memory/ir.h"

namespace nautilus::memory {

inline std::string sample_text(const std::string& name) {
  std::ifstream in(std::string(NAUTILUS_SOURCE_DIR) + "/tests/memory/samples/" + name + ".mtile");
  if (!in) ADD_FAILURE() << "no sample " << name;
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

// The text with one piece replaced; the piece must be there.
inline std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "not in the text: " << from;
    return text;
  }
  return text.replace(at, from.size(), to);
}

// Why a module is refused; "" if it is not.
inline std::string why_not(const std::string& text) {
  auto m = parse(text);
  if (!m) return "parse: " + m.error().text();
  auto r = verify(*m);
  return r ? r->why : "";
}

}  // namespace nautilus::memory
