// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), seeded by a number and a name.
#pragma once

#include <cstdint>
#include <string_view>

namespace nautilus::runtime {

__extension__ typedef unsigned __int128 Wide;

class Random {
 public:
  explicit Random(uint64_t seed, std::string_view name = "")
      : state_(seed * 0x9e3779b97f4a7c15u + 1) {
    for (const char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    next();
  }
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) {
    return static_cast<uint64_t>((static_cast<Wide>(next()) * n) >> 64);
  }

 private:
  uint64_t state_;
};

}  // namespace nautilus::runtime
