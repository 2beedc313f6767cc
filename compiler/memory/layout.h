// Layouts as linear maps over bits (F2): a register fragment (register, lane, warp) -> (axes), a
// swizzled shared tile offset -> (axes), a vector width. One module serves copies and products:
// equality of two maps means that data lies right; else the composed map says which exchange is
// needed; bank conflicts are a rank. Source: "Linear Layouts", arXiv 2505.23819;
// pipelining-and-synchronization.md, "Layouts are linear maps over bits".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polyhedral/expected.h"

namespace nautilus::memory {

// A dimension of 2^bits points.
struct Bits {
  std::string name;
  int bits = 0;
  bool operator==(const Bits&) const = default;
};

// A linear map over F2. Inputs and outputs are lists of named dimensions; the image of one input
// bit is a coordinate per output (XOR of images gives every other point). Values are immutable.
class Linear {
 public:
  Linear() = default;  // no inputs, no outputs
  // images[k][o]: of input bit k (lowest bit of in[0] first) in output o. Refuses a bit beyond an
  // output's size or a wrong number of images.
  static Expected<Linear> make(std::vector<Bits> in, std::vector<Bits> out,
                               std::vector<std::vector<uint32_t>> images);
  // 2^bits points of `in` onto `out`, bit for bit.
  static Linear identity(const std::string& in, const std::string& out, int bits);
  // Points of `in` that all map to 0 of no output: replication.
  static Linear zeros(const std::string& in, int bits);

  const std::vector<Bits>& in() const { return in_; }
  const std::vector<Bits>& out() const { return out_; }
  int in_bits(std::string_view name) const;   // 0 if there is none
  int out_bits(std::string_view name) const;  // 0 if there is none
  uint32_t image(std::string_view in, int bit, std::string_view out) const;
  // Coordinates of one point; inputs left out are 0.
  std::map<std::string, int64_t> apply(const std::map<std::string, int64_t>& at) const;

  // This, then `o` beside it: dimensions of the same name grow, the bits of `o` above those of
  // this.
  Linear operator*(const Linear& o) const;
  Linear after(const Linear& f) const;    // x -> this(f(x)); f's outputs are this's inputs
  std::optional<Linear> inverse() const;  // of a bijection
  // A map g with this(g(y)) = y; of several preimages the one with the fewest bits set in the
  // earliest inputs. nullopt if not surjective.
  std::optional<Linear> right_inverse() const;
  Linear without_output(std::string_view name) const;  // projection: its bits replicate
  Linear renamed(const std::map<std::string, std::string>& names) const;  // inputs and outputs
  Linear in_order(const std::vector<std::string>& in, const std::vector<std::string>& out) const;
  int rank() const;
  bool injective() const;
  bool surjective() const;
  // Input bits without effect: copies of the same data.
  std::vector<std::pair<std::string, int>> free_bits() const;
  // The same function, whatever the order of the dimensions; dimensions of 0 bits do not count.
  bool operator==(const Linear& o) const;

 private:
  std::vector<Bits> in_, out_;
  std::vector<std::vector<uint32_t>> images_;
};
std::string to_string(
    const Linear& l);  // "register: j=1 j=8 i=8; lane: j=2 j=4 i=1 i=2 i=4; warp: i=16"
Expected<Linear> parse_linear(std::string_view text);  // exact round trip, sizes included

struct Extent {
  std::string axis;
  int64_t count = 1;
  bool operator==(const Extent&) const = default;
};

// Where the elements of a tile lie: a power-of-two block by a linear map, and repeats of the block
// along axes (any count: a head of 96 is three blocks of 32), the first the slowest. Coordinates:
// axis = repeat index * block extent + map(...)[axis]. A fragment's inputs are "register", "lane"
// (5 bits) and "warp"; repeats take more registers. A shared tile's input is "offset" (elements);
// repeats follow one another.
struct Placement {
  Linear map;
  std::vector<Extent> repeats;  // axes of the map's outputs, or axes of one point in the block
  bool operator==(const Placement&) const = default;
  int64_t block(const std::string& axis) const;   // 2^bits of that output, 1 if none
  int64_t extent(const std::string& axis) const;  // block times repeats
  int64_t repeat_count() const;                   // product
  int64_t registers() const;                      // a thread; of a fragment
  int64_t elements() const;               // of a shared tile, with its padding to powers of two
  int warps() const;                      // 2^bits of "warp"
  std::vector<std::string> axes() const;  // sorted
};
std::string to_string(const Placement& p);
Expected<Placement> parse_placement(std::string_view text);

// --- fragments of the instructions (PTX ISA, "Warp-level matrix fragments" and "Register fragments
// for wgmma"). `rows`, `cols`: axes that the instruction's rows and columns run over, lowest bits
// first, with their power-of-two extents: m = (i: 8, g: 2) has 16 rows. ---
struct Split {
  std::string axis;
  int64_t extent = 1;
};
enum class Shape : uint8_t {
  M16N8K16,  // f16, bf16 (mma.sync)
  M16N8K8,   // tf32 (mma.sync)
  M64NxK16,  // f16, bf16 (wgmma), n a multiple of 8
  M64NxK8,   // tf32 (wgmma)
};
Linear accumulator(Shape s, const std::vector<Split>& m, const std::vector<Split>& n);
Linear operand_a(Shape s, const std::vector<Split>& m, const std::vector<Split>& k);
Linear operand_b(Shape s, const std::vector<Split>& n, const std::vector<Split>& k);  // mma.sync
// Consecutive lanes on consecutive elements of the first axis, `vector` elements a lane.
Linear blocked(const std::vector<Split>& axes, int vector_bits, int lane_bits, int warp_bits);

// --- shared tiles ---
// Row-major rows of 2^col_bits elements; 16-byte chunks of a row XORed with row bits so that eight
// rows of one chunk column, and eight chunks of a row, lie in different banks; 2^swizzle chunks
// take part (0: none, 1: 32 B, 2: 64 B, 3: 128 B, the modes of a bulk tensor copy).
Linear swizzled(const std::vector<Split>& rows, const std::vector<Split>& cols, int element_bytes,
                int swizzle);

// --- questions ---
// Registers that a lane finds at consecutive offsets (log2), up to 16 bytes: the widest vector of
// an access of `fragment` to `shared`.
int vector_bits(const Linear& fragment, const Linear& shared, int element_bytes);
// Passes that one warp-wide access of 2^vector elements a lane takes through 32 banks of 4 bytes: 1
// is free of conflicts for up to 4 bytes a lane; 8 and 16 bytes take 2 and 4 at least.
int bank_passes(const Linear& fragment, const Linear& shared, int element_bytes, int vector_bits);
enum class Exchange : uint8_t { None, Registers, Shuffle, Shared };
// What turns data that lies as `from` into `to` (same axes): nothing, another register of the same
// lane, another lane of the same warp, or another warp.
Exchange exchange(const Placement& from, const Placement& to);

}  // namespace nautilus::memory
