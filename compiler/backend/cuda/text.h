// Pieces of C++ text: identifiers, index expressions, functions over bits and tables.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "polyhedral/index_expr.h"

namespace nautilus::cuda {

// Unique C++ identifiers for names of the IR.
class Namer {
 public:
  Namer();
  // An identifier that resembles `wanted` and was not given out before.
  std::string fresh(const std::string& wanted);
  bool taken(const std::string& name) const { return used_.count(name) > 0; }

 private:
  std::set<std::string> used_;       // with what C++ and the helpers reserve
  std::map<std::string, int> last_;  // suffix given to a name: all up to it are used
};
std::string identifier(const std::string& name);  // letters, digits and _, not a digit first

std::vector<std::string> wrapped(const std::string& text, size_t width);  // lines, cut at spaces

std::string in_parens(const std::string& e);  // unless it is a name, a number, a call or in parens
std::string sum_text(const std::vector<std::string>& terms);  // "0" if empty; leaves out "0"

// What is known of the integers that names stand for.
struct Range {
  std::optional<int64_t> low, high;  // inclusive; unknown: no bound
};
struct Facts {
  std::map<std::string, Range> ranges;
  // Bounds of loop variables and grid indices over names bound further out, in order of binding.
  struct Bound {
    std::string name;
    IndexExpr low, high;  // inclusive
  };
  std::vector<Bound> bounds;
  std::map<std::string, int64_t> divisors;  // of every value of the name
  std::vector<IndexExpr> positive;          // >= 0 here: conditions of the branches around
  Range range(const IndexExpr& e) const;
  bool never_negative(const IndexExpr& e) const;
  bool always(const Cond::Atom& a) const;  // holds whatever the names stand for
  bool shown(const IndexExpr& e) const;    // >= 0 by ranges, or above what is positive
  int64_t divisor(const IndexExpr& e) const;
};

// C++ of an expression; `names`: text of each name (those missing stand for themselves). Division
// rounds down.
std::string index_text(const IndexExpr& e, const std::map<std::string, std::string>& names,
                       const Facts& facts);

// XOR of images[b] over the bits b of x that are set.
std::string bits_text(const std::string& x, const std::vector<uint64_t>& images);
// An expression in x that is values[x] for x in [0, n); nullopt if none is short.
std::optional<std::string> table_text(const std::vector<int64_t>& values, const std::string& x);

}  // namespace nautilus::cuda
