// Small integer expressions over named variables (loop variables, tile axes, sizes), free of isl:
// what the loop AST and the tile IR compute addresses, bounds and masks with.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polyhedral/expected.h"

namespace nautilus {

// Immutable; cheap to copy. floordiv/mod round toward minus infinity and take positive constants.
class IndexExpr {
 public:
  enum class Kind : uint8_t { Const, Var, Add, Mul, FloorDiv, Mod, Min, Max };
  IndexExpr() : IndexExpr(0) {}
  IndexExpr(int64_t c);
  static IndexExpr var(std::string name);
  static IndexExpr floordiv(IndexExpr a, int64_t d);
  static IndexExpr mod(IndexExpr a, int64_t d);
  static IndexExpr min(IndexExpr a, IndexExpr b);
  static IndexExpr max(IndexExpr a, IndexExpr b);
  friend IndexExpr operator+(IndexExpr a, IndexExpr b);  // folds constants, collects like terms
  friend IndexExpr operator-(IndexExpr a, IndexExpr b);
  friend IndexExpr operator*(IndexExpr a, int64_t c);
  bool operator==(const IndexExpr& o) const;  // structural, after normalization
  Kind kind() const;
  int64_t constant() const;                    // Const: value; Mul/FloorDiv/Mod: the constant
  const std::string& name() const;             // Var
  const std::vector<IndexExpr>& args() const;  // Add: n-ary; Mul: one; Min/Max: two
  bool is_const() const { return kind() == Kind::Const; }
  int64_t evaluate(
      const std::map<std::string, int64_t>& env) const;  // throws std::out_of_range: unbound name
  IndexExpr substitute(const std::map<std::string, IndexExpr>& by) const;
  void collect_vars(std::vector<std::string>& out) const;
  int64_t coefficient(
      const std::string& name) const;  // of an affine term; 0 if absent or under div/mod
 private:
  struct Node;
  static IndexExpr make(Kind k, int64_t c, std::vector<IndexExpr> args);
  static IndexExpr sum(std::vector<std::pair<int64_t, IndexExpr>> terms,
                       int64_t constant);  // normal form
  explicit IndexExpr(std::shared_ptr<const Node> n) : node_(std::move(n)) {}
  std::shared_ptr<const Node> node_;
};
std::string to_string(const IndexExpr& e);  // "64*i0 + i + 3", "floor(h/4)", "min(a, b)"
Expected<IndexExpr> parse_index(std::string_view text);

// A condition: a disjunction of conjunctions of  expr >= 0  or  expr == 0. Empty `any` is false;
// one empty conjunction is true.
struct Cond {
  struct Atom {
    IndexExpr expr;
    bool equality = false;
    bool operator==(const Atom& o) const { return equality == o.equality && expr == o.expr; }
  };
  using Conj = std::vector<Atom>;
  std::vector<Conj> any;
  static Cond always() { return Cond{{Conj{}}}; }
  bool is_always() const;
  bool evaluate(const std::map<std::string, int64_t>& env) const;
  Cond substitute(const std::map<std::string, IndexExpr>& by) const;
  bool operator==(const Cond& o) const { return any == o.any; }
};
std::string to_string(const Cond& c);  // "j <= i + 3 and 0 <= j or ..."
Expected<Cond> parse_cond(std::string_view text);

// Division that rounds toward minus infinity; d > 0.
inline int64_t floor_div(int64_t a, int64_t d) { return a / d - (a % d != 0 && a < 0); }

}  // namespace nautilus
