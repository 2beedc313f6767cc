// Multiplying an expression by a factor so that the factor disappears.
#pragma once

#include <map>
#include <set>

#include "compiler/tile/rewrite_graph.h"

namespace nautilus::tile::rw {

// f or 1/f.
struct Factor {
  ClassId f = 0;
  bool inverse = false;
};

// c is f, or select(f == 0, constant, f): a divisor that is guarded where f is 0.
bool is_guarded(const Graph& g, ClassId c, ClassId f);

// In a loop that carries x (and z = x * old, where old is the factor's value before the iteration),
// rewrites v * now as an expression without the factor and without x: the factor cancels against a
// quotient, is folded into a constant, or turns x into z.
class Pusher {
 public:
  Pusher(Graph& g, ClassId x, ClassId z, Factor old) : g_(g), x_(g.find(x)), z_(z), old_(old) {
    find_free();
  }
  std::optional<ClassId> push(ClassId v, Factor now) { return push(v, now, false); }
  bool free_of_x(ClassId c) const { return free_[g_.find(c)]; }

 private:
  // One factor of a product, with its exponent's sign.
  struct Term {
    ClassId c;
    bool inverse;
  };
  using Terms = std::vector<Term>;
  struct Key {
    ClassId v, f;
    bool inverse, assumed;
    auto operator<=>(const Key&) const = default;
  };
  Graph& g_;
  ClassId x_, z_;
  Factor old_;
  std::vector<char> free_;  // by class: has a form without x
  std::map<Key, std::optional<ClassId>> done_;
  std::set<Key> busy_;
  std::set<ClassId> chosen_;  // the choices that push_product is within
  int64_t choices_cut_ = 0;   // how often it did not go into one for that
  mutable std::map<std::tuple<ClassId, bool, int>, std::vector<Terms>> products_;

  void find_free();
  bool same(ClassId a, ClassId b) const { return g_.find(a) == g_.find(b); }
  std::optional<ClassId> push(ClassId v, Factor now, bool assumed);
  std::optional<ClassId> push_new(ClassId v, Factor now, bool assumed);
  std::optional<ClassId> push_node(ClassId v, const ENode& n, Factor now, bool assumed);
  std::optional<ClassId> push_constant(ClassId v, Factor now);
  std::optional<ClassId> push_x(Factor now, int depth);
  std::optional<ClassId> push_product(Terms terms, Factor now, bool assumed);
  const std::vector<Terms>& products(ClassId v, bool inverse, int depth) const;
  std::vector<Terms> new_products(ClassId v, bool inverse, int depth) const;
  std::optional<std::pair<ClassId, ClassId>> guarded_quotient(ClassId c) const;
  bool guards_equality(ClassId guard, ClassId a, ClassId b, int depth = 0) const;
  std::vector<ClassId> equals(ClassId guard, ClassId a, int depth = 0) const;
  ClassId build(const Terms& terms, Type elem);
};

}  // namespace nautilus::tile::rw
