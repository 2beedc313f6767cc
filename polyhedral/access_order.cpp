#include "polyhedral/access_order.h"

namespace nautilus::poly {

isl::map restricted(const Program& p, const Statement& s, const Access& a) {
  return a.map.intersect_domain(s.domain).intersect_params(p.param_context);
}

bool overwrites(const Program& p, const Statement& s) {
  return !s.write.gathers.empty() || !restricted(p, s, s.write).is_injective();
}

std::vector<const Statement*> writers(const Program& p, const std::string& tensor) {
  std::vector<const Statement*> out;
  for (const Statement& s : p.statements)
    if (s.write.tensor == tensor) out.push_back(&s);
  return out;
}

OriginalOrder::OriginalOrder(const Program& p) : context_(p.context) {
  for (const isl::map& m : maps_of(p.original.map().intersect_domain(p.domain())))
    time_.emplace(tuple_name_in(m), m);
  // A statement without instances has no place in the order; give it an empty one.
  for (const Statement& s : p.statements) {
    if (time_.count(s.name)) continue;
    const unsigned length = time_.empty() ? 0 : n_out(time_.begin()->second);
    const isl::space range = isl::space::unit(s.domain.ctx()).add_unnamed_tuple(length);
    time_.emplace(s.name, isl::union_map::from_domain_and_range(
                              isl::set::universe(s.domain.space()), range.universe_set())
                              .as_map());
    time_.at(s.name) = time_.at(s.name).subtract(time_.at(s.name));
  }
}

const isl::map& OriginalOrder::time(const std::string& statement) const {
  return time_.at(statement);
}

isl::map OriginalOrder::before(const std::string& first, const std::string& second) const {
  return lex_before(time(first), time(second));
}

isl::map OriginalOrder::together(const std::string& first, const std::string& second) const {
  return same_time(time(first), time(second));
}

}  // namespace nautilus::poly
