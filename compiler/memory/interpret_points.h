// Index expressions and conditions over a list of points (the elements that one warp holds or
// copies), with their names resolved once: the interpreter's inner loops.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "polyhedral/index_expr.h"

namespace nautilus::memory {

// Uniform integers of a warp (sizes, grid coordinates, loop variables, "warp"), by slot.
struct Names {
  std::map<std::string, int> slots;
  int slot(const std::string& name);  // made on first use
};
using Env = std::vector<int64_t>;  // a value per slot

// Points in axes: at[axis][point].
struct Points {
  std::vector<std::string> axes;
  std::vector<std::vector<int32_t>> at;
  size_t count = 0;
};

class PointIndex {
 public:
  PointIndex() = default;
  PointIndex(const IndexExpr& e, const std::vector<std::string>& axes, Names& names);
  bool uniform() const { return uniform_; }  // names no axis
  int64_t scalar(const Env& env) const;      // of a uniform one
  void evaluate(const Env& env, const Points& points, std::vector<int64_t>& out) const;

 private:
  struct Inner;
  int64_t constant_ = 0;
  bool uniform_ = true;
  std::vector<std::pair<int64_t, int>> scalars_, axes_;  // coefficient, slot or axis
  std::vector<std::pair<int64_t, std::shared_ptr<const Inner>>> inner_;
  void add(const IndexExpr& e, int64_t scale, const std::vector<std::string>& axes, Names& names);
};

class PointCond {
 public:
  PointCond() = default;
  PointCond(const Cond& c, const std::vector<std::string>& axes, Names& names);
  bool always() const { return always_; }
  bool scalar(const Env& env) const;  // of one that names no axis
  void evaluate(const Env& env, const Points& points, std::vector<uint8_t>& out) const;

 private:
  struct Atom {
    PointIndex value;
    bool equality;
  };
  std::vector<std::vector<Atom>> any_;
  bool always_ = true, uniform_ = true;
};

}  // namespace nautilus::memory
