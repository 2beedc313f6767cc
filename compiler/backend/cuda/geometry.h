// A register tile as its threads see it: coordinates of each register, and how lanes and warps move
// them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/memory/ir.h"

namespace nautilus::cuda {

struct Geometry {
  Geometry(const memory::Placement& p, const std::vector<memory::Axis>& axes);
  explicit Geometry(const memory::FragmentType& t) : Geometry(t.place, t.axes) {}

  memory::Placement place;
  std::vector<memory::Axis> axes;
  int registers = 1;
  std::map<std::string, std::vector<int64_t>> at;           // axis -> register, at lane 0 of warp 0
  std::map<std::string, std::vector<uint64_t>> lane, warp;  // axis -> images of their bits
  // Bits of the coordinate that lanes and warps decide.
  uint64_t thread_bits(const std::string& axis) const;
  // Registers decide other bits: the coordinate is a sum of both parts.
  bool apart(const std::string& axis) const;
  int64_t extent(const std::string& axis) const;  // of the tile, without padding
  bool padded(const std::string& axis) const { return place.extent(axis) > extent(axis); }
  // Coordinates of a register (lane 0, warp 0), on some axes.
  std::vector<int64_t> point(int r, const std::vector<memory::Axis>& on) const;
};

// Registers of `operand` that the registers of `result` read: same coordinates on the operand's
// axes.
std::vector<int> aligned(const Geometry& operand, const Geometry& result);

// Lane and warp bits whose setting gives copies of what others hold: masks of lane and warp.
struct Copies {
  uint32_t lanes = 0, warps = 0;
};
Copies copies_of(const Geometry& g);

// Registers that are consecutive along one axis, or in shared memory: register bits of a vector,
// lowest first.
struct Vector {
  int elements = 1;
  std::string axis;        // along which, where a caller knows it
  std::vector<int> bits;   // register bit of each bit of the vector
  std::vector<int> bases;  // registers whose vector bits are 0, in order
  int element(int base, int e) const;
};
// From what each register bit moves (1, 2, 4... elements on: part of a vector), at most `most`
// elements; `registers` with repeats.
Vector find_vector(const std::vector<uint64_t>& register_moves, uint64_t thread_moves,
                   int register_bits, int registers, int most);

}  // namespace nautilus::cuda
