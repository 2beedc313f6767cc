// Cheap exact knowledge about one dependence: its affine equalities, used to see without isl that
// two schedule functions differ by a constant over all its pairs (most members of most
// dependences).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "polyhedral/dependence.h"

namespace nautilus::poly {

// A schedule function as integers, with its own parameter names.
struct MemberForm {
  explicit MemberForm(const isl::aff& a) : aff(linear_form(a)), params(param_names(a.domain())) {}
  LinearAff aff;
  std::vector<std::string> params;
};

class PairFacts {
 public:
  PairFacts(const Dependence& d, const std::vector<std::string>& params);

  // sink(t) - source(s) over all pairs (s, t): `constant` when it is one number; `at_least` when
  // only a lower bound is known (floors of numerators that differ by a constant).
  struct Distance {
    std::optional<int64_t> constant;
    std::optional<int64_t> at_least;
  };
  Distance distance(const MemberForm& source, const MemberForm& sink) const;

 private:
  using Row = std::vector<int64_t>;  // source dims, sink dims, params, constant
  struct Normal;
  size_t n_source_ = 0, n_sink_ = 0;
  std::vector<std::string> params_;
  std::vector<Row> rows_;  // equalities in reduced form: pivot coefficient 1, in no other row
  std::vector<size_t> pivots_;
  std::optional<Row> row(const std::vector<int64_t>& dims, const std::vector<int64_t>& params,
                         const std::vector<std::string>& names, int64_t constant, bool sink) const;
  bool reduce(Row& r) const;
  void add_equality(Row r);
  std::optional<Normal> normal(const MemberForm& f, bool sink) const;
};

}  // namespace nautilus::poly
