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
// bit is a coordinate per output (XOR of images gives every other point). Values are immutable. At
// most 30 bits a dimension and 62 bits of inputs or outputs together. Compositions that make no
// sense (a bit that the next map lacks) throw std::invalid_argument: they are bugs of the caller.
class Linear {
 public:
  Linear() = default;  // no inputs, no outputs
  // images[k][o]: of input bit k (lowest bit of in[0] first) in output o. Refuses a bit beyond an
  // output's size or a wrong number of images.
  static Expected<Linear> make(std::vector<Bits> in, std::vector<Bits> out,
                               std::vector<std::vector<uint32_t>> images);
  // 2^bits points of `in` onto `out`, bit for bit.
  static Linear identity(const std::string& in, const std::string& out, int bits);
  // Points of `in` without an output: replication.
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
  // A map g with this(g(y)) = y; of several preimages the lexicographically smallest, where the
  // first bit of the first input counts most. nullopt if not surjective.
  std::optional<Linear> right_inverse() const;
  Linear without_output(std::string_view name) const;  // projection: its bits replicate
  Linear renamed(const std::map<std::string, std::string>& names) const;  // inputs and outputs
  // The same function with its dimensions in this order: those named first (of 0 bits where there
  // is none), the others after them.
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
// "register: j=1 j=8 i=8; lane: j=2 j=4 i=1 i=2 i=4; warp: i=16"; an image in several outputs is
// "i=1+j=8", one in none "0". " -> i: 32, j: 16" follows where the outputs are not just what the
// images reach, in order of appearance.
std::string to_string(const Linear& l);
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
  std::vector<std::string> axes() const;  // sorted; those of extent 1 too
  // Coordinates of a register of a thread, or of an offset of a shared tile (lane = warp = 0):
  // axis -> coordinate.
  std::map<std::string, int64_t> at(int64_t register_or_offset, int lane = 0, int warp = 0) const;
};
std::string to_string(const Placement& p);  // "repeat (d: 3) register: ...; lane: ..."
Expected<Placement> parse_placement(std::string_view text);
// Placement of a tile that lacks `axes`, so that each lane keeps what it needs of them: point-wise
// operands that broadcast, and results of reductions. Lanes and warps along `axes` hold copies; of
// registers that become copies of each other the first is kept. Without any axis left: Placement{}.
Placement without(const Placement& p, const std::vector<std::string>& axes);
Placement renamed(const Placement& p, const std::map<std::string, std::string>& names);
// Data lies alike: equal up to lane and warp bits that are left out or say nothing.
bool alike(const Placement& a, const Placement& b);

// --- fragments of the instructions (PTX ISA, "Warp-level matrix fragments" and "Register fragments
// for wgmma"). `rows`, `cols`: axes that the instruction's rows and columns run over, lowest bits
// first, with their power-of-two extents: m = (i: 8, g: 2) has 16 rows. They may run over several
// instructions (n, k, m above the instruction's): the bits above take registers, k or n before m.
// Register bits of one instruction come first. wgmma's warps take bits 4 and 5 of the rows. ---
struct Split {
  std::string axis;
  int64_t extent = 1;
};
enum class Shape : uint8_t {  // text: "m16n8k16" "m16n8k8" "m64nxk16" "m64nxk8"
  M16N8K16,                   // f16, bf16 (mma.sync)
  M16N8K8,                    // tf32 (mma.sync)
  M64NxK16,                   // f16, bf16 (wgmma), n a multiple of 8
  M64NxK8,                    // tf32 (wgmma)
};
std::string_view shape_name(Shape s);
std::optional<Shape> shape_from_name(std::string_view name);
struct ShapeSize {
  int m, n, k;  // of one instruction; n of wgmma: its granule
  bool warpgroup;
};
ShapeSize shape_size(Shape s);
Linear accumulator(Shape s, const std::vector<Split>& m, const std::vector<Split>& n);
Linear operand_a(Shape s, const std::vector<Split>& m, const std::vector<Split>& k);
Linear operand_b(Shape s, const std::vector<Split>& n, const std::vector<Split>& k);  // mma.sync
// Consecutive lanes on consecutive elements of the first axis, `vector` elements a lane.
Linear blocked(const std::vector<Split>& axes, int vector_bits, int lane_bits, int warp_bits);

// --- shared tiles ---
// Row-major rows of 2^col_bits elements; 16-byte chunks of a row XORed with row bits so that eight
// rows of one chunk column, and eight chunks of a row, lie in different banks; 2^swizzle chunks
// take part (0: none, 1: 32 B, 2: 64 B, 3: 128 B, the modes of a bulk tensor copy; no more than a
// row has). In rows of up to 128 bytes that is address bits 4.. XOR address bits 7.., as the
// hardware has it; longer rows XOR with their lowest row bits, and a bulk copy wants them as panels
// instead: repeats (of the column axis) of blocks whose rows are 16 << swizzle bytes.
Linear swizzled(const std::vector<Split>& rows, const std::vector<Split>& cols, int element_bytes,
                int swizzle);
// The mode 0..3 in which the hardware (bulk tensor copies, wgmma descriptors) reads a block of this
// tile, whose rows run along `inner`; nullopt if it cannot. Rows of mode 1..3 are 16 << mode bytes;
// those of mode 0 are dense (and 16 bytes for wgmma); longer rows are panels: repeats of `inner`.
std::optional<int> hardware_swizzle(const Placement& tile, int element_bytes,
                                    const std::string& inner);
// Who touches what when a fragment of 16-bit or 32-bit elements is loaded by ldmatrix or stored by
// stmatrix: registers are the 16 bytes of a row that a lane addresses, lanes 0..7 the rows of the
// first 8x8 matrix, 8..15 those of the second... For vector_bits and bank_passes: the instruction
// fits where 16 bytes of a row are consecutive. nullopt: not a fragment of whole 8x8 matrices.
std::optional<Linear> matrix_access(const Linear& fragment, int element_bytes, bool transposed);

// --- questions ---
// Registers that a lane finds at consecutive offsets (log2), up to 16 bytes: the widest vector of
// an access of `fragment` to `shared`.
int vector_bits(const Linear& fragment, const Linear& shared, int element_bytes);
// Passes that one warp-wide access of 2^vector elements a lane takes through 32 banks of 4 bytes: 1
// is free of conflicts for up to 4 bytes a lane; 8 and 16 bytes take 2 and 4 at least.
int bank_passes(const Linear& fragment, const Linear& shared, int element_bytes, int vector_bits);
enum class Exchange : uint8_t { None, Registers, Shuffle, Shared };
// What turns data that lies as `from` into `to` (same axes): nothing, another register of the same
// lane, another lane of the same warp, or another warp. Warp bits that are left out: every warp has
// a copy.
Exchange exchange(const Placement& from, const Placement& to);
// Of an exchange inside a warp: the most registers of `from` among which lanes pick one register of
// `to`. Each is a shuffle and a selection for every register of `to`. nullopt: lanes and registers
// are no affine functions of the thread's bits, or the data is in another warp.
std::optional<int> sources_a_register(const Placement& from, const Placement& to);

}  // namespace nautilus::memory
