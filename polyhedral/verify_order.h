// The verifier's own view of dependences and orders: whole relations, compared lexicographically. Shares nothing
// with legality*.cpp and dependence.cpp on purpose.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "polyhedral/legality.h"

namespace nautilus::poly::verifying {

// One dimension of a flattened execution time.
struct TimeDim {
  NodeId node = 0;
  Mapping mapping = Mapping::Serial;
  bool sequence = false;
};

// The execution time of some instances of one statement: all that reach one leaf.
struct Timed {
  std::string stmt;
  isl::map time;               // { S[..] -> [t0, ...] }, padded with zeros to the common length
  std::vector<TimeDim> dims;   // of the unpadded part
};

// Every leaf of the tree, flattened.
std::vector<Timed> flatten(const Schedule& s, unsigned& length);

// Relations between times of one length, made once.
class Lex {
 public:
  explicit Lex(isl::ctx ctx, unsigned length) : ctx_(ctx), length_(length) {}
  const isl::map& before();              // a < b
  const isl::map& not_before();          // a >= b
  const isl::map& later_at(unsigned k);  // equal before k, a_k > b_k
  const isl::map& apart_at(unsigned k);  // equal before k, a_k != b_k

 private:
  isl::ctx ctx_;
  unsigned length_;
  std::map<std::string, isl::map> made_;
  const isl::map& relation(const std::string& key, const std::vector<std::string>& disjuncts);
  std::string equal_before(unsigned k) const;
};

// Two statements that touch one element, in the order of the original program; memory-based, so stricter than
// a value-based analysis in form but equal in what it forbids.
struct Pair {
  DepKind kind;
  std::string source, sink, tensor;
  isl::map relation;  // { source -> sink }
};
// Throws isl::exception.
std::vector<Pair> all_pairs(const Program& p);

// { a -> b : both ends at times related by `relation` }, within `pairs`.
isl::map related(const isl::map& pairs, const Timed& source, const isl::map& relation, const Timed& sink);

std::optional<Witness> sample_witness(const Program& p, const Pair& pair, const isl::map& broken);

}  // namespace nautilus::poly::verifying
