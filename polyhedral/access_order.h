// Accesses and the original order of a program as relations: shared by dependences, validation and
// demand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "polyhedral/program.h"

namespace nautilus::poly {

// { S[..] -> T[..] } restricted to the statement's domain and the program's parameter context.
isl::map restricted(const Program& p, const Statement& s, const Access& a);

// True if two different instances of s may write one element.
bool overwrites(const Program& p, const Statement& s);

// Statements that write a tensor, in program order.
std::vector<const Statement*> writers(const Program& p, const std::string& tensor);

// The original order: time of every instance, and which of two instances comes first.
class OriginalOrder {
 public:
  explicit OriginalOrder(const Program& p);
  // { S[..] -> [t0, t1, ..] }, all of one length.
  const isl::map& time(const std::string& statement) const;
  isl::map before(const std::string& first,
                  const std::string& second) const;  // { a -> b : a before b }
  isl::map together(const std::string& first,
                    const std::string& second) const;  // { a -> b : same time }

 private:
  HeldContext context_;
  std::map<std::string, isl::map> time_;
};

}  // namespace nautilus::poly
