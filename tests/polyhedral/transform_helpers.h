// Walking and applying in tests.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "polyhedral/transforms/registry.h"
#include "tests/polyhedral/schedule_programs.h"

namespace nautilus::poly::testing_programs {

using nlohmann::json;

// A program with its dependences and the schedule so far.
struct Session {
  explicit Session(ProgramPtr p) : program(p), deps(*dependences(*p)), s(initial_schedule(p)) {}
  ProgramPtr program;
  DependenceSet deps;
  Schedule s;

  // Applies and keeps the result if accepted.
  Outcome apply(const std::string& name, const json& params) {
    Outcome o = poly::apply(s, deps, name, params);
    if (o.schedule) s = *o.schedule;
    return o;
  }
  void must(const std::string& name, const json& params) {
    Outcome o = apply(name, params);
    EXPECT_TRUE(o.accepted()) << name << " " << params.dump() << ": "
                              << (o.refusal ? o.refusal->text()
                                            : std::string(verdict_name(o.verdict.kind)) + " " +
                                                  o.verdict.why)
                              << "\n"
                              << to_text(s);
  }
  // The innermost band with all of these statements below and a member of this axis.
  NodeId band(const std::string& stmt, const std::string& axis = "") const {
    NodeId out = -1;
    for (const Node* n : preorder(s))
      if (n->kind == NodeKind::Band && n->members[0].schedule.count(stmt))
        for (const BandMember& m : n->members)
          if (axis.empty() || m.axis == axis) out = n->id;
    return out;
  }
  NodeId filter(const std::string& stmt) const {
    NodeId out = -1;
    for (const Node* n : preorder(s))
      if (n->kind == NodeKind::Filter && n->parts.count(stmt)) out = n->id;
    return out;
  }
  NodeId root() const { return s.root->id; }
};

// { a -> b : a runs before b }
inline isl::union_map order(const Schedule& s) {
  isl::union_map flat = flat_schedule(s);
  unsigned n = 0;
  for (const isl::map& m : maps_of(flat)) n = n_out(m);
  std::string a, b, before, equal;
  for (unsigned k = 0; k < n; ++k) {
    const std::string x = "a" + std::to_string(k), y = "b" + std::to_string(k);
    a += (k ? ", " : "") + x;
    b += (k ? ", " : "") + y;
    before += (k ? " or (" : "(") + equal + x + " < " + y + ")";
    equal += x + " = " + y + " and ";
  }
  before = "{ [" + a + "] -> [" + b + "] : " + before + " }";
  return flat.apply_range(isl::union_map(flat.ctx(), before)).apply_range(flat.reverse());
}
inline bool same_order(const Schedule& a, const Schedule& b) { return order(a).is_equal(order(b)); }

}  // namespace nautilus::poly::testing_programs
