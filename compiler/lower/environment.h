// Tensors whose current tile is an SSA value: which elements the value holds, and how a statement's
// own axes name them.
#pragma once

#include "compiler/lower/range.h"
#include "compiler/tile/ir.h"

namespace nautilus::lower {

// Elements of a tensor that a tile holds: dim d covers base[d] + [0, extent[d]) along axis[d] (""
// with extent 1: a single index).
struct Shape {
  std::vector<IndexExpr> base;
  std::vector<std::string> axis;
  std::vector<int64_t> extent;
  Type elem = Type::F32;

  tile::TileType type() const;
  std::vector<IndexExpr> index() const;  // base + axis
};

// The shape of a tensor access whose index expressions are over loop variables and `axes` (name ->
// extent). Nothing if a dim is no plain index or base + axis, or one axis appears twice.
std::optional<Shape> shape_of(const std::vector<IndexExpr>& index,
                              const std::map<std::string, int64_t>& axes, Type elem);

using Renames = std::vector<std::pair<std::string, std::string>>;
struct AxisMatch {
  Renames renames;                // axes of `from` as `to` names them
  std::vector<std::string> drop;  // axes of extent 1 that `to` has not
};
// How a value of shape `from` is seen with the names of `to`: both must hold the same elements.
// Otherwise a sentence that says which dim differs.
Expected<AxisMatch> match(const Shape& from, const Shape& to);

struct Entry {
  tile::ValueId value = -1;  // -1: not written yet
  bool identity = false;     // the value is the reduction's identity, nothing was folded in
  Shape shape;
  std::string tensor;
  tile::ValueId tested = -1;  // of a reference that may be stale: the source's value that it was
                              // last compared with
};
// By tensor name; references of repairs under "#<repair>:<source tensor>".
using Env = std::map<std::string, Entry>;

}  // namespace nautilus::lower
