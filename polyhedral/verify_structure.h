// Exact comparisons of two programs' definitions of one tensor, as relations for all sizes.
#pragma once

#include "polyhedral/verify_values.h"

namespace nautilus::poly::verifying {

using Names = std::set<std::string>;

// Which elements of given tensors the elements of the others are made of, through any number of
// statements.
class Support {
 public:
  Support(const Program& p, Names given) : p_(p), given_(std::move(given)) {}
  using Relations = std::map<std::string, isl::map>;  // by given tensor
  Relations of_tensor(const std::string& tensor);     // { tensor[..] -> given[..] }
  Relations of_instances(const Statement& s);         // { S[..] -> given[..] }
  bool cyclic() const { return cyclic_; }  // a tensor depends on itself: not all was followed

 private:
  const Program& p_;
  Names given_;
  std::map<std::string, Relations> known_;
  std::set<std::string> open_;  // being followed
  bool cyclic_ = false;
};

// What an element (or instance) was made of and is no more, in words.
std::optional<std::string> dropped(const Program& p, const Support::Relations& before,
                                   const Support::Relations& after);

// Whether the elements of a tensor that are written, and how often, differ.
std::optional<std::string> written_otherwise(const Program& origin, const Program& now,
                                             const std::string& tensor);

// Where `now` folds a tensor from partial reductions: whether these take every instance of the
// original reduction once. Instances are known by the given elements they read; where that does not
// tell the original ones apart, nothing is said.
std::optional<std::string> parts_differ(const Program& origin, const Program& now,
                                        const std::string& tensor, const Names& given);

std::vector<const Statement*> writers_of(const Program& p, const std::string& tensor);

}  // namespace nautilus::poly::verifying
