// Register fragments of the matrix instructions: PTX ISA, "Matrix fragments for mma.m16n8k16 with
// floating point type", "... for mma.m16n8k8", "Register fragments and shared memory matrix
// layouts" of wgmma. With groupID = lane / 4 and threadID = lane % 4: rows of A and D are groupID
// plus a register bit for 8, their columns threadID and register bits.
#include <stdexcept>

#include "compiler/memory/f2.h"

namespace nautilus::memory {
namespace {

// Inputs in this order, each of their bits on one bit of an axis or on none (axis "").
Linear assemble(const std::vector<std::pair<std::string, AxisBits>>& inputs,
                const std::vector<std::vector<Split>>& outputs) {
  std::vector<Bits> in, out;
  std::map<std::string, int> used;
  for (const auto& splits : outputs) bits_of(splits, used);
  for (const auto& splits : outputs)
    for (const Split& s : splits)
      if (auto it = used.find(s.axis); it != used.end()) {
        out.push_back({s.axis, it->second});
        used.erase(it);
      }
  std::vector<std::vector<uint32_t>> images;
  for (const auto& [name, bits] : inputs) {
    in.push_back({name, int(bits.size())});
    for (const AxisBit& b : bits) {
      std::vector<uint32_t> image;
      for (const Bits& o : out) image.push_back(o.name == b.axis ? uint32_t(1) << b.bit : 0);
      images.push_back(std::move(image));
    }
  }
  auto l = Linear::make(std::move(in), std::move(out), std::move(images));
  if (!l) throw std::invalid_argument(l.error().text());
  return *std::move(l);
}

// The bits of a matrix dimension, at least as many as an instruction has.
AxisBits dimension(const std::vector<Split>& splits, int instruction,
                   std::map<std::string, int>& used) {
  AxisBits bits = bits_of(splits, used);
  if (int(bits.size()) < log2_exact(instruction))
    throw std::invalid_argument("an operand of " + std::to_string(1 << bits.size()) +
                                " is smaller than the instruction's " +
                                std::to_string(instruction));
  return bits;
}

void append(AxisBits& to, const AxisBits& from, size_t first) {
  for (size_t n = first; n < from.size(); ++n) to.push_back(from[n]);
}

// Bits of the instruction in registers (named by dimension and bit), then what lies above it.
Linear fragment(Shape s, const std::vector<Split>& rows, const AxisBits& row, AxisBits lanes,
                AxisBits registers, const AxisBits& other, size_t other_used,
                const std::vector<Split>& others, bool rows_have_8, bool first_operand) {
  const ShapeSize size = shape_size(s);
  size_t rows_used = rows_have_8 ? 4 : 3;
  append(lanes, {row[0], row[1], row[2]}, 0);
  append(registers, other, other_used);
  AxisBits warps;
  if (size.warpgroup) {
    warps = {row[4], row[5]};
    rows_used = 6;
  }
  append(registers, row, rows_used);
  std::vector<std::pair<std::string, AxisBits>> inputs{{"register", registers}, {"lane", lanes}};
  if (size.warpgroup) inputs.emplace_back("warp", warps);
  return first_operand ? assemble(inputs, {rows, others}) : assemble(inputs, {others, rows});
}

}  // namespace

std::string_view shape_name(Shape s) {
  switch (s) {
    case Shape::M16N8K16:
      return "m16n8k16";
    case Shape::M16N8K8:
      return "m16n8k8";
    case Shape::M64NxK16:
      return "m64nxk16";
    case Shape::M64NxK8:
      return "m64nxk8";
  }
  return "?";
}

std::optional<Shape> shape_from_name(std::string_view name) {
  for (Shape s : {Shape::M16N8K16, Shape::M16N8K8, Shape::M64NxK16, Shape::M64NxK8})
    if (shape_name(s) == name) return s;
  return std::nullopt;
}

ShapeSize shape_size(Shape s) {
  switch (s) {
    case Shape::M16N8K16:
      return {16, 8, 16, false};
    case Shape::M16N8K8:
      return {16, 8, 8, false};
    case Shape::M64NxK16:
      return {64, 8, 16, true};
    case Shape::M64NxK8:
      return {64, 8, 8, true};
  }
  return {16, 8, 16, false};
}

Linear accumulator(Shape s, const std::vector<Split>& m, const std::vector<Split>& n) {
  const ShapeSize size = shape_size(s);
  std::map<std::string, int> used;
  const AxisBits row = dimension(m, size.m, used), col = dimension(n, size.n, used);
  return fragment(s, m, row, {col[1], col[2]}, {col[0], row[3]}, col, 3, n, true, true);
}

Linear operand_a(Shape s, const std::vector<Split>& m, const std::vector<Split>& k) {
  const ShapeSize size = shape_size(s);
  std::map<std::string, int> used;
  const AxisBits row = dimension(m, size.m, used), c = dimension(k, size.k, used);
  if (size.k == 16)
    return fragment(s, m, row, {c[1], c[2]}, {c[0], row[3], c[3]}, c, 4, k, true, true);
  return fragment(s, m, row, {c[0], c[1]}, {row[3], c[2]}, c, 3, k, true, true);
}

Linear operand_b(Shape s, const std::vector<Split>& n, const std::vector<Split>& k) {
  const ShapeSize size = shape_size(s);
  if (size.warpgroup)
    throw std::invalid_argument("the second operand of wgmma is in shared memory");
  std::map<std::string, int> used;
  const AxisBits col = dimension(n, size.n, used), c = dimension(k, size.k, used);
  if (size.k == 16) return fragment(s, n, col, {c[1], c[2]}, {c[0], c[3]}, c, 4, k, false, false);
  return fragment(s, n, col, {c[0], c[1]}, {c[2]}, c, 3, k, false, false);
}

// Bits go to vector, lanes, warps and then further registers; where there are too few, lanes and
// warps hold copies.
Linear blocked(const std::vector<Split>& axes, int vector_bits, int lane_bits, int warp_bits) {
  std::map<std::string, int> used;
  const AxisBits all = bits_of(axes, used);
  size_t at = 0;
  auto take = [&](int count, bool pad) {
    AxisBits out;
    for (int n = 0; n < count; ++n) {
      if (at < all.size())
        out.push_back(all[at++]);
      else if (pad)
        out.push_back({"", 0});
    }
    return out;
  };
  AxisBits registers = take(vector_bits, false);
  const AxisBits lanes = take(lane_bits, true), warps = take(warp_bits, true);
  append(registers, all, at);
  return assemble({{"register", registers}, {"lane", lanes}, {"warp", warps}}, {axes});
}

}  // namespace nautilus::memory
