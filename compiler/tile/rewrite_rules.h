// Rules on the e-graph: each looks at one node and says what its class also is. One source file a
// family.
#pragma once

#include <vector>

#include "compiler/tile/rewrite_graph.h"

namespace nautilus::tile::rw {

// One look of a rule at a node.
struct Match {
  Graph& g;
  ClassId c;  // the node's class
  const ENode& n;
  const NodeInfo& i;
  std::vector<ClassId>& equal;                     // what the rule found: classes equal to c
  std::vector<std::pair<ClassId, ClassId>>& also;  // and other pairs

  bool map(nautilus::Op op) const { return i.kind == Kind::Map && i.op == op; }
  ClassId arg(size_t k) const { return n.children[k]; }
  Type elem(ClassId x) const { return g.at(x).elem; }
  std::optional<double> constant(ClassId x) const { return g.constant(x); }
  // Weight (lanes times executions) of a point-wise op on these.
  double weight(ClassId a, ClassId b) const;
  double weight() const { return g.weight(c); }
  void is(ClassId x) { equal.push_back(x); }
};

struct Rule {
  RuleInfo info;
  void (*apply)(
      Match&);  // null: carried out by the loop or placement passes, listed for the registry
  bool at_first_only = false;  // feeds on what other rules make of its results
};
using RuleList = std::vector<Rule>;
void add_identity_rules(RuleList& out);
void add_division_rules(RuleList& out);
void add_exponential_rules(RuleList& out);
void add_linear_rules(RuleList& out);
void add_reduction_rules(RuleList& out);
void add_contraction_rules(RuleList& out);
void add_control_rules(RuleList& out);
const RuleList& all_rules();
int rule_index(std::string_view name);
bool enabled(const RuleInfo& r, Numerics n);

// An equality that a rule found between a node and something that was there before.
struct Fact {
  ClassId c;
  ENode lhs;
  int rule;
};
struct Saturation {
  std::string stop;
  std::vector<Fact> facts;
};
// Applies all rules that the graph's numerics allows until nothing is new or a limit is reached.
void saturate(Graph& g, int max_iterations, int max_nodes, Saturation& out);

}  // namespace nautilus::tile::rw
