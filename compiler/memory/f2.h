// Vectors over F2 packed into words, and subspaces of them. Shared by the files of this folder.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "compiler/memory/layout.h"

namespace nautilus::memory {

constexpr int kMaxDimensionBits = 30, kMaxBits = 62;

// A subspace spanned by what was added, in echelon form; knows which of the added vectors (bit n of
// a combination: the n-th call of add) sum to a vector of it.
class Basis {
 public:
  // False if v depends on what is there; then it is not kept.
  bool add(uint64_t v) {
    uint64_t combination = uint64_t(1) << added_++;
    for (; v;) {
      const int top = 63 - std::countl_zero(v);
      if (!rows_[size_t(top)]) {
        rows_[size_t(top)] = v;
        combinations_[size_t(top)] = combination;
        ++rank_;
        return true;
      }
      v ^= rows_[size_t(top)];
      combination ^= combinations_[size_t(top)];
    }
    return false;
  }
  std::optional<uint64_t> solve(uint64_t v) const {
    uint64_t combination = 0;
    while (v) {
      const int top = 63 - std::countl_zero(v);
      if (!rows_[size_t(top)]) return std::nullopt;
      v ^= rows_[size_t(top)];
      combination ^= combinations_[size_t(top)];
    }
    return combination;
  }
  bool contains(uint64_t v) const { return solve(v).has_value(); }
  int rank() const { return rank_; }

 private:
  std::array<uint64_t, 64> rows_{}, combinations_{};
  int added_ = 0, rank_ = 0;
};

// f(t) = base ^ the images of the bits that are set in t.
struct Affine {
  uint64_t base = 0;
  std::vector<uint64_t> images;
};
// Such a map that takes each t < f.size() (a power of two) to f[t], whatever it does where f[t] is
// negative; nullopt if there is none.
inline std::optional<Affine> affine(const std::vector<int>& f) {
  const int bits = std::countr_zero(f.size());
  struct Row {
    uint64_t in = 0, out = 0;  // the sum of the images of `in` is `out`; bit `bits` is the base
  };
  std::vector<Row> rows(size_t(bits) + 1);
  for (size_t t = 0; t < f.size(); ++t) {
    if (f[t] < 0) continue;
    Row r{uint64_t(t) | uint64_t(1) << bits, uint64_t(f[t])};
    while (r.in) {
      Row& known = rows[size_t(63 - std::countl_zero(r.in))];
      if (!known.in) {
        known = r;
        break;
      }
      r.in ^= known.in;
      r.out ^= known.out;
    }
    if (!r.in && r.out) return std::nullopt;
  }
  std::vector<uint64_t> images;
  for (size_t b = 0; b < rows.size(); ++b) {
    uint64_t image = rows[b].out;
    for (size_t c = 0; c < b; ++c)
      if (rows[b].in >> c & 1) image ^= images[c];
    images.push_back(image);
  }
  Affine a{images.back(), std::move(images)};
  a.images.pop_back();
  return a;
}

// Where each output of a map starts in a packed vector; outputs that are not there have no bits.
class Packing {
 public:
  explicit Packing(const std::vector<Bits>& dims) {
    for (const Bits& d : dims) {
      place_[d.name] = {bits_, d.bits};
      bits_ += d.bits;
    }
  }
  int bits() const { return bits_; }
  int bits(const std::string& name) const {
    auto it = place_.find(name);
    return it == place_.end() ? 0 : it->second.second;
  }
  // A coordinate at its place; bits beyond the dimension are left out.
  uint64_t put(const std::string& name, uint64_t value) const {
    auto it = place_.find(name);
    if (it == place_.end()) return 0;
    return (value & ((uint64_t(1) << it->second.second) - 1)) << it->second.first;
  }
  uint32_t get(const std::string& name, uint64_t packed) const {
    auto it = place_.find(name);
    if (it == place_.end()) return 0;
    return uint32_t((packed >> it->second.first) & ((uint64_t(1) << it->second.second) - 1));
  }
  // Image of one input bit of a map (0 where the map has no such bit).
  uint64_t image(const Linear& l, std::string_view in, int bit) const {
    uint64_t v = 0;
    if (bit < l.in_bits(in))
      for (const Bits& o : l.out()) v |= put(o.name, l.image(in, bit, o.name));
    return v;
  }

 private:
  std::map<std::string, std::pair<int, int>> place_;
  int bits_ = 0;
};

// The k-th input bit of a map, over all inputs: its dimension and place in it.
inline std::vector<std::pair<std::string, int>> input_bits(const Linear& l) {
  std::vector<std::pair<std::string, int>> out;
  for (const Bits& d : l.in())
    for (int b = 0; b < d.bits; ++b) out.emplace_back(d.name, b);
  return out;
}

inline int log2_exact(int64_t n) {
  return n > 0 && std::has_single_bit(uint64_t(n)) ? std::countr_zero(uint64_t(n)) : -1;
}

struct AxisBit {
  std::string axis;
  int bit;
};
using AxisBits = std::vector<AxisBit>;

// Bits of a matrix dimension that runs over these axes, lowest first. An axis may come twice: its
// second part lies above the first (also when the first is in another dimension).
inline AxisBits bits_of(const std::vector<Split>& splits, std::map<std::string, int>& used) {
  AxisBits out;
  for (const Split& s : splits) {
    const int bits = log2_exact(s.extent);
    if (bits < 0)
      throw std::invalid_argument("extent " + std::to_string(s.extent) + " of axis " + s.axis +
                                  " is not a power of two");
    for (int b = 0; b < bits; ++b) out.push_back({s.axis, used[s.axis]++});
  }
  return out;
}

}  // namespace nautilus::memory
