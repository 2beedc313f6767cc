// Where a leaf statement's instances lie relative to the loops above it and to its tile axes.
// Shared by loop generation, footprints and the lowering.
#pragma once

#include <memory>

#include "polyhedral/schedule.h"

namespace nautilus::poly {

// A band member above a leaf that is a loop (not mapped Tile), or a domain dim that no member
// determines and that therefore gets a loop of its own at the leaf (implicit).
struct LoopDim {
  std::string name;
  NodeId node = -1;
  Mapping mapping = Mapping::Serial;
  int64_t step = 1;
  bool implicit = false;
  std::string axis;  // the program axis
};

// t = floor((sign*x[dim] + offset)/tile) + shift (tile 1: no division), a loop that is a function
// of one dim.
struct OneDim {
  size_t dim;
  int64_t sign, offset, tile, shift;
  bool operator==(const OneDim&) const = default;
};

// One statement at one leaf. x are its domain dims, t its loop coordinates, a its tile axes.
struct LeafGeometry {
  std::string stmt;
  NodeId leaf = -1;
  std::string label;                         // tuple name of t, unique in the tree
  std::vector<LoopDim> loops;                // outermost first
  std::vector<std::optional<OneDim>> forms;  // per loop
  isl::set domain;  // { stmt[x] }: instances at this leaf, sizes substituted
  isl::map coords;  // { stmt[x] -> label[t] } on domain
  isl::set times;   // { label[t] }: non-empty tiles
  // x[k] = base[k](t) + a[axis of k]; every point of the box of axes is visited, `inside` says
  // which count.
  std::vector<isl::aff> base;     // over label[t]
  std::vector<std::string> axis;  // per domain dim: axis name, or ""
  std::vector<int64_t> extent;    // per domain dim: 1 without axis
  std::vector<std::string> axes;  // the non-empty names of `axis`, in order of dims
  isl::set inside;           // { label[t, a] }: the valid points, simplified under box and times
  isl::set box;              // { label[t, a] : t in times, 0 <= a < extent }
  bool always_full = false;  // inside holds on all of box

  std::vector<std::string> loop_names() const;
  std::vector<std::string> point_names() const;  // loop names, then axes
};
using LeafPtr = std::shared_ptr<const LeafGeometry>;

// Tiles of the leaf whose box lies wholly inside the domain: { label[t] }.
isl::set full_tiles(const LeafGeometry& g);

// One top-level part of the schedule: the subtree and the geometry of its non-empty leaves, in tree
// order.
struct KernelTree {
  NodePtr root;
  std::vector<LeafPtr> leaves;
  // The leaves at leaf node `leaf` (several statements may share one).
  std::vector<LeafPtr> at(NodeId leaf) const;
};
// Values of the parameters that the program's context fixes.
Sizes bound_sizes(const Program& p);

// Top-level children of the root sequence (the whole tree if the root is no sequence). A Refusal
// names a Tile member that is not a dimension of its statement or whose extent is not constant.
Expected<std::vector<KernelTree>> kernel_trees(const Schedule& s);
// Same, at given sizes.
Expected<std::vector<KernelTree>> kernel_trees(const Schedule& s, const Sizes& sizes);

}  // namespace nautilus::poly
