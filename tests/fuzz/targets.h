// Fuzz targets: each takes arbitrary bytes and must come back, whatever they are. Run by libFuzzer
// (./nautilus fuzz) and, on seeds and simple mutations of them, by the ordinary tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

namespace nautilus::fuzz {

// Returns whether the bytes were accepted (read as what the target takes).
struct Target {
  const char* name;
  bool (*run)(const uint8_t* data, size_t size);
};
bool fuzz_naut(const uint8_t* data,
               size_t size);  // .naut program text: parse, validate, dependences, print
bool fuzz_session(const uint8_t* data, size_t size);  // session JSON
bool fuzz_spec(const uint8_t* data, size_t size);     // spec text through Clang
bool fuzz_tile(const uint8_t* data,
               size_t size);  // .tile module text: parse, verify, print, rewrite
bool fuzz_memory(const uint8_t* data,
                 size_t size);                       // .mtile module text: parse, verify, print
bool fuzz_script(const uint8_t* data, size_t size);  // transform scripts on a small program
bool fuzz_lesson(const uint8_t* data, size_t size);  // a lesson: JSON, a line "%%", Markdown
std::vector<Target> targets();
inline void PrintTo(const Target& t, std::ostream* out) { *out << t.name; }

}  // namespace nautilus::fuzz
