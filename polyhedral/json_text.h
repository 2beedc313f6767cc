// JSON from outside: files and parameters that anybody may have written.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace nautilus::poly {

// Reading, copying and printing JSON take a stack frame a level; nothing written here nests a tenth
// as deep.
constexpr int kMaxJsonDepth = 500;

// Whether lists and objects nest deeper than that. Of text that is no JSON the answer is as good as
// any: it is refused either way.
inline bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t n = 0; n < text.size(); ++n) {
    const char c = text[n];
    if (quoted && c == '\\') ++n;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxJsonDepth) return true;
  }
  return false;
}

// A discarded value where the text is not JSON or nests too deeply.
inline nlohmann::json read_json(std::string_view text) {
  if (nests_too_deeply(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace nautilus::poly
