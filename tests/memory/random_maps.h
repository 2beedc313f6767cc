// Random linear maps for the tests of this folder; the seed decides everything.
#pragma once

#include <random>

#include "compiler/memory/layout.h"

namespace nautilus::memory {

using Rng = std::mt19937_64;

inline int below(Rng& rng, int n) { return int(rng() % uint64_t(n)); }

inline Linear random_map(Rng& rng, const std::vector<Bits>& in, const std::vector<Bits>& out) {
  std::vector<std::vector<uint32_t>> images;
  for (const Bits& d : in)
    for (int b = 0; b < d.bits; ++b) {
      std::vector<uint32_t> image;
      for (const Bits& o : out) image.push_back(uint32_t(rng() & ((uint64_t(1) << o.bits) - 1)));
      images.push_back(std::move(image));
    }
  return *Linear::make(in, out, images);
}

inline std::vector<Bits> random_dims(Rng& rng, const std::vector<std::string>& names, int most) {
  std::vector<Bits> dims;
  for (const std::string& n : names)
    if (below(rng, 4)) dims.push_back({n, below(rng, most + 1)});
  return dims;
}

// A bijection of `bits` bits of in onto out, each cut into two dimensions at random.
inline Linear random_bijection(Rng& rng, int bits) {
  const int a = below(rng, bits + 1), b = below(rng, bits + 1);
  for (;;) {
    Linear l = random_map(rng, {{"x", a}, {"y", bits - a}}, {{"u", b}, {"v", bits - b}});
    if (l.injective()) return l;
  }
}

// Every point of the dimensions.
inline std::vector<std::map<std::string, int64_t>> points(const std::vector<Bits>& dims) {
  std::vector<std::map<std::string, int64_t>> all{{}};
  for (const Bits& d : dims) {
    std::vector<std::map<std::string, int64_t>> next;
    for (const auto& p : all)
      for (int64_t x = 0; x < int64_t(1) << d.bits; ++x) {
        next.push_back(p);
        next.back()[d.name] = x;
      }
    all = std::move(next);
  }
  return all;
}

}  // namespace nautilus::memory
