// Fuzz targets: each takes arbitrary bytes and must come back, whatever they are. Run by libFuzzer
// (./nautilus fuzz) and, on seeds and simple mutations of them, by the ordinary tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nautilus::fuzz {

struct Target {
  const char* name;
  void (*run)(const uint8_t* data, size_t size);
};
void fuzz_naut(const uint8_t* data, size_t size);     // .naut program text: parse, validate, dependences, print
void fuzz_session(const uint8_t* data, size_t size);  // session JSON
void fuzz_spec(const uint8_t* data, size_t size);     // spec text through Clang
void fuzz_tile(const uint8_t* data, size_t size);     // .tile module text: parse, verify, print, rewrite
void fuzz_script(const uint8_t* data, size_t size);   // transform scripts on a small program
std::vector<Target> targets();

}  // namespace nautilus::fuzz
