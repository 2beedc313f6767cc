// The verifier's own view of dependences and orders: whole relations, compared lexicographically.
// Shares nothing with legality*.cpp and dependence.cpp on purpose.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polyhedral/legality.h"

namespace nautilus::poly::verifying {

// One dimension of a flattened execution time.
struct TimeDim {
  NodeId node = 0;
  Mapping mapping = Mapping::Serial;
  int child = -1;  // of a sequence: the position; otherwise a band member
  isl::aff value;  // { S[..] -> [t] }
};

// The execution time of some instances of one statement: all that reach one leaf.
struct Timed {
  std::string stmt;
  isl::set instances;
  std::vector<TimeDim> dims;
  isl::map time(
      const std::vector<unsigned>& positions) const;  // { S[..] -> [those dims] } on the instances
};

// Every leaf of the tree, flattened.
std::vector<Timed> flatten(const Schedule& s);

// What two leaves have in common: loops of the same nodes, outermost first, up to where a sequence
// parts them.
struct Common {
  std::vector<unsigned> loops;  // positions, the same in both
  int parted = 0;  // -1: the first leaf comes first in that sequence, 1: second; 0: the same leaf
};
Common common(const Timed& a, const Timed& b);

// Relations between times of one length, made once a context.
class Lex {
 public:
  Lex(Context& context, unsigned length) : context_(context), length_(length) {}
  const isl::map& before();              // a < b
  const isl::map& not_before();          // a >= b
  const isl::map& after();               // a > b
  const isl::map& not_after();           // a <= b
  const isl::map& later_at(unsigned k);  // equal before k, a_k > b_k
  const isl::map& apart_at(unsigned k);  // equal before k, a_k != b_k

 private:
  Context& context_;
  unsigned length_;
  std::map<std::string, std::shared_ptr<const isl::map>> made_;
  const isl::map& relation(const std::string& key, const std::vector<std::string>& disjuncts);
  std::string equal_before(unsigned k) const;
};

// Two statements that touch one element, in the order of the original program; memory-based, so
// stricter than a value-based analysis in form but equal in what it forbids.
struct Pair {
  DepKind kind;
  std::string source, sink, tensor;
  isl::map relation;  // { source -> sink }
};
// Kept in the context, by the contents of the program. Throws isl::exception.
std::shared_ptr<const std::vector<Pair>> all_pairs(const Program& p);

// Pairs whose ends are at times related by `relation`, by the given dims.
isl::map related(const isl::map& pairs, const Timed& source, const isl::map& relation,
                 const Timed& sink, const std::vector<unsigned>& dims);

std::optional<Witness> sample_witness(const Program& p, const Pair& pair, const isl::map& broken);

}  // namespace nautilus::poly::verifying
