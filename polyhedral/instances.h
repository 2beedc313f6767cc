// Running through the instances of a schedule in its order, and evaluating affine functions at
// them.
#pragma once

#include <functional>
#include <span>

#include "polyhedral/context.h"

namespace nautilus::poly {

// Calls visit(statement, dims) for every instance of a schedule without parameters, in order; stops
// when it returns false. A Refusal when isl cannot generate the loops or more than `max_steps` loop
// steps are taken.
using InstanceVisitor = std::function<bool(const std::string&, std::span<const int64_t>)>;
Expected<uint64_t> for_each_instance(const isl::schedule& order, uint64_t max_steps,
                                     const InstanceVisitor& visit);

// A quasi-affine function without parameters, compiled for evaluation.
class AffineFunction {
 public:
  explicit AffineFunction(const isl::aff& a);
  int64_t operator()(std::span<const int64_t> dims) const;

 private:
  LinearAff form_;
};

// A piecewise quasi-affine multi-function without parameters, compiled for evaluation.
class PiecewiseFunction {
 public:
  // `domain`: where it will be evaluated; a single piece that covers it needs no test.
  PiecewiseFunction(const isl::pw_multi_aff& f, const isl::set& domain);
  // Values at a point, or false where undefined.
  bool operator()(std::span<const int64_t> dims, std::vector<int64_t>& out) const;

 private:
  struct Piece {
    std::vector<LinearSet> where;  // empty: everywhere
    bool everywhere = false;
    std::vector<AffineFunction> values;
  };
  std::vector<Piece> pieces_;
};
bool contains(const LinearSet& s, std::span<const int64_t> dims);

}  // namespace nautilus::poly
