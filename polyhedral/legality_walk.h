// The walk of one dependence down a schedule tree.
#pragma once

#include <map>
#include <memory>

#include "polyhedral/legality.h"
#include "polyhedral/legality_facts.h"

namespace nautilus::poly {

// Walks dependences of one schedule. What it derives of bands and dependences stays with them.
class TreeWalk {
 public:
  explicit TreeWalk(const Schedule& s) : s_(s) {}
  // Appends what d loses. Returns whether a reduction's updates are reordered (Reduction
  // dependences only).
  bool walk(const Dependence& d, std::vector<Violation>& out);

 private:
  struct State;
  const Schedule& s_;
  void node(const Node& n, isl::set pairs, std::vector<const Node*> above, State& state);
  void band(const Node& n, isl::set pairs, std::vector<const Node*>& above, State& state);
  void sequence(const Node& n, isl::set pairs, std::vector<const Node*>& above, State& state);
  int payer(const std::vector<const Node*>& above, const Node& band, const BandMember& m,
            const Dependence& d);
  bool aligned(size_t repair);
  bool used_within(const BandMember& m, const Repair& r, const std::string& via) const;
  static void withdraw(const Dependence& d, std::vector<Violation>& out, size_t from);
  std::map<size_t, bool> aligned_;
};

}  // namespace nautilus::poly
