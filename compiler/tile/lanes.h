// Index expressions and conditions evaluated for all lanes of a tile at once (the interpreter's
// inner loops).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/tile/ir.h"

namespace nautilus::tile {

// The lanes of a tile: row-major over its axes in order, last axis fastest.
struct LaneSpace {
  std::vector<Axis> axes;
  int64_t lanes = 1;
  explicit LaneSpace(const std::vector<Axis>& a = {});
};

// Loop variables, grid coordinates and sizes, by slot.
struct Scalars {
  std::map<std::string, int> slots;
  std::vector<int64_t> values;
  int slot(const std::string& name);  // made on first use
};

// An index expression with its names resolved: constant + scalars + axes + coefficient * (floor,
// mod, min, max).
class LaneIndex {
 public:
  LaneIndex() = default;
  LaneIndex(const IndexExpr& e, const LaneSpace& space, Scalars& scalars);
  bool uniform() const { return uniform_; }  // the same in every lane
  int64_t scalar(const Scalars& s) const;    // of a uniform one
  void evaluate(const Scalars& s, const LaneSpace& space, int64_t* out) const;  // out[lanes]

 private:
  struct Inner;
  int64_t constant_ = 0;
  bool uniform_ = true;
  std::vector<std::pair<int64_t, int>> scalars_,
      axes_;  // coefficient, slot or position of the axis
  std::vector<std::pair<int64_t, std::shared_ptr<const Inner>>> inner_;
  void add(const IndexExpr& e, int64_t scale, const LaneSpace& space, Scalars& scalars);
};

class LaneCond {
 public:
  LaneCond() = default;
  LaneCond(const Cond& c, const LaneSpace& space, Scalars& scalars);
  bool always() const { return always_; }
  bool uniform() const { return uniform_; }
  bool scalar(const Scalars& s) const;
  void evaluate(const Scalars& s, const LaneSpace& space, uint8_t* out) const;  // 1 where it holds

 private:
  struct Atom {
    LaneIndex value;
    bool equality;
  };
  std::vector<std::vector<Atom>> any_;
  bool always_ = true, uniform_ = true;
};

// For each lane of `space` the lane of a value with a subset of its axes; empty if they are the
// same lanes, one entry if the value is a scalar.
std::vector<int32_t> broadcast_table(const std::vector<Axis>& of, const LaneSpace& space);

}  // namespace nautilus::tile
