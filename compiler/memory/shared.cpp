// Swizzled shared tiles; vector widths and bank conflicts of accesses to them.
#include <stdexcept>

#include "compiler/memory/f2.h"

namespace nautilus::memory {
namespace {

// Where each bit of an input of `fragment` goes in the shared tile; axes and bits that the tile
// does not have are left out (another block of it, or a uniform part of the index).
std::vector<uint64_t> offsets(const Linear& fragment, const Linear& shared,
                              const std::string& input) {
  std::vector<uint64_t> out;
  const auto where = shared.right_inverse();
  for (int b = 0; b < fragment.in_bits(input); ++b) {
    uint64_t offset = 0;
    for (const Bits& o : fragment.out()) {
      const uint32_t v = fragment.image(input, b, o.name);
      for (int n = 0; where && n < where->in_bits(o.name); ++n)
        if (v >> n & 1) offset ^= where->image(o.name, n, "offset");
    }
    out.push_back(offset);
  }
  return out;
}

}  // namespace

Linear swizzled(const std::vector<Split>& rows, const std::vector<Split>& cols, int element_bytes,
                int swizzle) {
  const int element_bits = log2_exact(element_bytes);
  if (element_bits < 0 || element_bits > 4 || swizzle < 0 || swizzle > 3)
    throw std::invalid_argument("elements of 1, 2, 4, 8 or 16 bytes, swizzle 0..3");
  std::map<std::string, int> used;
  const auto col = bits_of(cols, used), row = bits_of(rows, used);
  const int first_chunk = 4 - element_bits;             // column bit of the first chunk bit
  const int row_bits = int(col.size()) + element_bits;  // log2 of the bytes of a row
  const int first_row = std::max(0, 7 - row_bits);      // row bit at address bit 7
  std::vector<Bits> out;
  for (const auto& [axis, bits] : used) out.push_back({axis, bits});
  auto image = [&](const AxisBits& bits) {
    std::vector<uint32_t> v;
    for (const Bits& o : out) {
      uint32_t x = 0;
      for (const AxisBit& b : bits)
        if (b.axis == o.name) x |= uint32_t(1) << b.bit;
      v.push_back(x);
    }
    return v;
  };
  std::vector<std::vector<uint32_t>> images;
  for (const AxisBit& c : col) images.push_back(image({c}));
  for (int r = 0; r < int(row.size()); ++r) {
    const int t = r - first_row;  // the chunk bit that this row bit flips
    if (t >= 0 && t < swizzle && first_chunk + t < int(col.size()))
      images.push_back(image({row[size_t(r)], col[size_t(first_chunk + t)]}));
    else
      images.push_back(image({row[size_t(r)]}));
  }
  const int bits = int(images.size());
  auto l = Linear::make({{"offset", bits}}, std::move(out), std::move(images));
  if (!l) throw std::invalid_argument(l.error().text());
  return *std::move(l);
}

// The swizzle of address bits undone, what is left must be dense rows along `inner`.
std::optional<int> hardware_swizzle(const Placement& tile, int element_bytes,
                                    const std::string& inner) {
  const Linear& l = tile.map;
  const int element_bits = log2_exact(element_bytes), cols = l.out_bits(inner);
  const int row_bits = cols + element_bits, bits = l.in_bits("offset");
  const Packing p(l.out());
  if (element_bits < 0 || row_bits < 4 || l.rank() != bits || !l.surjective()) return std::nullopt;
  auto dense = [&](int mode) {
    for (int b = 0; b < bits; ++b) {
      uint64_t v = p.image(l, "offset", b);
      const int t = b + element_bits - 7;
      if (t >= 0 && t < mode) v ^= p.image(l, "offset", 4 + t - element_bits);
      if (!std::has_single_bit(v)) return false;
      if (b < cols && v != p.put(inner, uint64_t(1) << b)) return false;
    }
    return true;
  };
  const int mode = row_bits - 4;
  if (mode >= 1 && mode <= 3 && dense(mode)) return mode;
  if (dense(0)) return 0;
  return std::nullopt;
}

std::optional<Linear> matrix_access(const Linear& fragment, int element_bytes, bool transposed) {
  using Source = std::pair<std::string, int>;
  const int registers = fragment.in_bits("register");
  const bool pairs = element_bytes == 2;
  if (fragment.in_bits("lane") != 5 || (element_bytes != 2 && element_bytes != 4) ||
      (pairs && registers < 1) || (transposed && !pairs))
    return std::nullopt;
  std::vector<Source> inside, across{{"lane", 2}, {"lane", 3}, {"lane", 4}};  // a row; the rows
  if (pairs) inside.push_back({"register", 0});
  inside.push_back({"lane", 0});
  inside.push_back({"lane", 1});
  std::vector<Source> vector = transposed ? across : inside, lanes = transposed ? inside : across;
  int next = pairs ? 1 : 0;
  for (int n = 0; n < 2; ++n, ++next) lanes.push_back({"register", next});  // up to four matrices
  for (; next < registers; ++next) vector.push_back({"register", next});
  std::vector<Bits> in{{"register", int(vector.size())}, {"lane", 5}};
  std::vector<std::vector<uint32_t>> images;
  auto add = [&](const std::string& name, int bit) {
    std::vector<uint32_t> image;
    for (const Bits& o : fragment.out())
      image.push_back(bit < fragment.in_bits(name) ? fragment.image(name, bit, o.name) : 0);
    images.push_back(std::move(image));
  };
  for (const Source& s : vector) add(s.first, s.second);
  for (const Source& s : lanes) add(s.first, s.second);
  if (const int warps = fragment.in_bits("warp")) {
    in.push_back({"warp", warps});
    for (int b = 0; b < warps; ++b) add("warp", b);
  }
  auto l = Linear::make(std::move(in), fragment.out(), std::move(images));
  if (!l) return std::nullopt;
  return *std::move(l);
}

int vector_bits(const Linear& fragment, const Linear& shared, int element_bytes) {
  const auto registers = offsets(fragment, shared, "register");
  int best = 0;
  for (int v = 1; (element_bytes << v) <= 16; ++v) {
    const uint64_t low = (uint64_t(1) << v) - 1;
    uint64_t found = 0;
    bool aligned = true;
    for (uint64_t o : registers) {
      const bool part = std::has_single_bit(o) && (o & low) && !(found & o);
      if (part)
        found |= o;
      else
        aligned = aligned && !(o & low);
    }
    for (const char* input : {"lane", "warp"})
      for (uint64_t o : offsets(fragment, shared, input)) aligned = aligned && !(o & low);
    if (found != low || !aligned) break;
    best = v;
  }
  return best;
}

// Lanes that are served together span a space of words; as many of its words fall into one bank as
// its dimension exceeds that of its banks.
int bank_passes(const Linear& fragment, const Linear& shared, int element_bytes, int vector_bits) {
  const int element_bits = log2_exact(element_bytes);
  if (element_bits < 0) throw std::invalid_argument("elements of 1, 2, 4, 8 or 16 bytes");
  const int phase_bits = std::max(0, vector_bits + element_bits - 2);  // log2 of the phases
  Basis words, banks;
  auto add = [&](uint64_t offset) {
    const uint64_t word =
        element_bits >= 2 ? offset << (element_bits - 2) : offset >> (2 - element_bits);
    words.add(word);
    banks.add(word & 31);
  };
  for (int v = 0; v < vector_bits; ++v) add(uint64_t(1) << v);
  for (int w = 0; w < element_bits - 2; ++w) {
    words.add(uint64_t(1) << w);
    banks.add(uint64_t(1) << w);
  }
  const auto lanes = offsets(fragment, shared, "lane");
  for (int b = 0; b < int(lanes.size()) - phase_bits; ++b) add(lanes[size_t(b)]);
  return 1 << (phase_bits + words.rank() - banks.rank());
}

}  // namespace nautilus::memory
