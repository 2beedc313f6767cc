// What the verifier samples with: its own arithmetic (long double), data and points. Shares nothing
// with the derivation of repairs, nor with the interpreter.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::poly::verifying {

using Element = std::vector<int64_t>;
using Elements = std::map<std::string, isl::set>;  // by tensor
using Real = long double;

// Thrown where a sample cannot answer: too much work, a tensor that depends on itself, unbounded
// sets.
struct Undecided {
  std::string why;
};

// The value of an expression; casts between floating types are the identity.
struct Operands {
  std::function<Real(int)> read;
  std::function<Real(int)> index;
  const std::map<std::string, Real>* vars = nullptr;
  const Sizes* sizes = nullptr;
};
Real number(const Expr& e, const Operands& operands);
Real combined(const Reduction& r, Real a, Real b);

// Equal up to rounding, relative to `scale`; NaN equals NaN.
bool close(Real a, Real b, Real scale = 1);

// Values of given tensors: a function of seed, tensor and element.
class Data {
 public:
  // Floating values lie between low and high.
  Data(uint64_t seed, double low, double high) : seed_(seed), low_(low), high_(high) {}
  // Integers of a tensor are below this (its values index an extent, or compare with one).
  void limit(const std::string& tensor, int64_t below);
  // One value for all elements, or for one.
  void fix(const std::string& tensor, Real v) { fixed_[tensor] = v; }
  void fix(const std::string& tensor, const Element& e, Real v) { single_[{tensor, e}] = v; }
  Real at(const Tensor& t, const Element& e) const;

 private:
  uint64_t seed_;
  double low_, high_;
  std::map<std::string, int64_t> limits_;
  std::map<std::string, Real> fixed_;
  std::map<std::pair<std::string, Element>, Real> single_;
};
// Limits from the gathers and extents of a program without parameters.
void limit_integers(Data& data, const Program& bound);

// Reads one point of a set, dim by dim: the smallest, the largest or any value that is left.
class Picker {
 public:
  enum class Mode { Low, High, Any, Mixed };
  Picker(Mode mode, uint64_t seed) : mode_(mode), random_(seed) {}
  // Nothing if the set is empty. Throws Undecided if it is unbounded.
  std::optional<Element> operator()(isl::set s);

 private:
  Mode mode_;
  std::mt19937_64 random_;
  int64_t value(int64_t low, int64_t high);
};

// Every point; throws Undecided beyond `most`.
std::vector<Element> points(const isl::set& s, size_t most);
// { [e] } in this space, with the box of a radius around it.
isl::set at_element(const isl::space& space, const Element& e, int64_t radius = 0);

// Sizes to sample a program at: small ones (0, 1, primes) where its facts allow any, else one that
// they do; and where a statement has instances at all, sizes at which it has some.
std::vector<Sizes> sample_sizes(const Program& p);

std::string text(Real v);

}  // namespace nautilus::poly::verifying
