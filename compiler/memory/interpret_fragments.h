// Tiles in registers and in shared memory as tables, made once a kernel: which element lies where
// in each warp, and how the elements of one tile find those of another.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "compiler/memory/interpret_points.h"
#include "compiler/memory/ir.h"

namespace nautilus::memory {

inline constexpr int kLanes = 32;

// What one warp holds of a tile. Positions are register * 32 + lane.
struct Held {
  std::vector<int32_t> logical;  // row-major element of the tile, -1: padding
  std::vector<int32_t> first;    // position of the first copy in this warp (its own, as a rule)
  std::vector<uint8_t> owner;    // no earlier warp of the tile holds this element
  Points points;                 // coordinates, of padding too
};

// A placement with its axes. `of(w)`: what warp w of a role holds; every 2^b warps hold a tile.
struct Fragment {
  std::vector<Axis> axes;
  Placement place;
  size_t positions = 0;
  int64_t elements = 1;
  std::vector<Held> held;
  const Held& of(int warp) const { return held[size_t(warp) % held.size()]; }
};

// A position in `from` for each position of `to`; empty: the same position. -1: no need (padding).
struct Alignment {
  std::vector<std::vector<int32_t>> at;  // a warp
  const std::vector<int32_t>& of(int warp) const { return at[size_t(warp) % at.size()]; }
};

// The order in which a reduction takes elements: for result element r, runs of positions that lie
// in one lane; first each run in order, then the runs' values pairwise, as shuffles do.
struct Fold {
  struct Warp {
    std::vector<int32_t> order;       // positions of the operand
    std::vector<int32_t> run_end;     // in `order`
    std::vector<int32_t> result_end;  // in `run_end`
    std::vector<int32_t> result_of;   // position of the result -> result, -1: padding
  };
  std::vector<Warp> warps;
  const Warp& of(int warp) const { return warps[size_t(warp) % warps.size()]; }
};

// c + a*b in one warp: rows m, columns n, terms k of the elements that the warp holds.
struct Product {
  struct Warp {
    int m = 0, n = 0, k = 0;
    std::vector<int32_t> c;     // position of c -> row * n + column, -1: padding
    std::vector<int32_t> a, b;  // [row * k + term], [term * n + column] -> position; empty: shared
    Points a_points, b_points;  // the same, as points in the product's axes (shared operands)
  };
  std::vector<Warp> warps;
  const Warp& of(int warp) const { return warps[size_t(warp) % warps.size()]; }
};

// The position of each point in what warp w holds of a tile, by the tile's axes; nullopt: a point
// that it lacks.
std::optional<std::vector<int32_t>> positions(const Fragment& f, int w, const Points& points);

// Tables, shared by all values of one placement.
class Fragments {
 public:
  const Fragment& of(const FragmentType& t);
  // Elements of `to`, less the axes that `from` lacks, at their place in `from`: in the same lane,
  // or in any lane of the warp. Refused: one that is not there.
  // `starts`: `to` is the part of `from` from there on, an axis of it; empty: from 0.
  Expected<const Alignment*> align(const Fragment& from, const Fragment& to, bool any_lane,
                                   const std::vector<int64_t>& starts = {});
  Expected<const Fold*> fold(const Fragment& from, const Fragment& to);
  // `a`, `b`: null when in shared memory; `b_axes`: axes that b's elements depend on.
  Expected<const Product*> product(const Fragment& c, const Fragment* a, const Fragment* b,
                                   const std::vector<Axis>& contracted,
                                   const std::vector<std::string>& b_axes);

 private:
  std::vector<std::unique_ptr<Fragment>> fragments_;
  std::map<std::tuple<const Fragment*, const Fragment*, bool, std::vector<int64_t>>, Alignment>
      alignments_;
  std::map<std::pair<const Fragment*, const Fragment*>, Fold> folds_;
  std::vector<std::unique_ptr<Product>> products_;
  std::map<std::string, const Product*> product_keys_;
};

// The slots of a shared buffer.
struct BufferTable {
  std::vector<int64_t> extents, strides;  // of the tile's elements, row-major
  std::vector<int32_t> offset;            // element -> offset in the slot
  std::vector<int32_t> logical;           // offset -> element, -1: padding
  int64_t elements() const { return int64_t(offset.size()); }
};
BufferTable buffer_table(const SharedBuffer& b);

// What one warp moves in a copy to or from a buffer: elements in order of their offset.
struct Share {
  std::vector<int32_t> logical;
  std::vector<uint8_t> lane;
  Points points;  // in the buffer's axes
};
// Chunks of `vector` bytes go round the threads of `warps` warps; 0: an element is a chunk. With
// warps = 0: everything by lane 0 (a bulk copy).
Share copy_share(const SharedBuffer& b, const BufferTable& t, int vector, int warps, int warp);

}  // namespace nautilus::memory
