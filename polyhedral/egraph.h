// A small e-graph with pattern rewriting and cost-based extraction (after egg, Willsey et al., POPL
// 2021). Language-agnostic: a node is an interned symbol with children. Shared by proofs and the
// tile rewriter.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "polyhedral/repair_types.h"

namespace nautilus::egraph {

using ClassId = uint32_t;
using Symbol = uint32_t;
Symbol intern(std::string_view name);  // thread-safe, stable within a process
const std::string& symbol_name(Symbol s);

struct ENode {
  Symbol symbol = 0;
  std::vector<ClassId> children;
  bool operator==(const ENode&) const = default;
};

class EGraph {
 public:
  ClassId add(ENode n);  // hash-consed; canonicalizes children
  ClassId add(std::string_view symbol, std::vector<ClassId> children = {});
  ClassId find(ClassId c) const;
  bool merge(ClassId a, ClassId b);  // true if they were apart; call rebuild() before matching
  void rebuild();                    // restores congruence
  bool same(ClassId a, ClassId b) const { return find(a) == find(b); }
  const std::vector<ENode>& nodes(ClassId c) const;  // of a canonical class; in order of insertion
  std::vector<ClassId> classes() const;              // canonical, ascending
  size_t node_count() const;
  // Analysis: a fact a class, made from a node's children, joined on merge (e.g. constant value,
  // sign).
  struct Analysis {
    std::function<std::optional<double>(const EGraph&, const ENode&)> constant;  // constant folding
    // Optional: the leaf that stands for a value; added to every class whose constant becomes
    // known.
    std::function<ENode(double)> leaf;
  };
  Analysis analysis;
  std::optional<double> constant(ClassId c) const;

 private:
  struct Hash {
    size_t operator()(const ENode& n) const;
  };
  using Use = std::pair<ENode, ClassId>;  // a node and the class it is in
  mutable std::vector<ClassId> parent_;   // union-find with path halving
  std::vector<std::vector<ENode>> nodes_;
  std::vector<std::vector<Use>> uses_;  // nodes that have the class as a child
  std::vector<std::optional<double>> constants_;
  std::vector<ClassId> pending_;  // merged since the last rebuild
  std::unordered_map<ENode, ClassId, Hash> memo_;
  size_t count_ = 0;
  ENode canonical(ENode n) const;
  void repair(ClassId c);
  void learn_constant(ClassId c, const ENode& n);
  void set_constant(ClassId c, double v);
};

// Patterns are S-expressions; "?x" matches any class: "(mul ?a (add ?b ?c))".
struct Pattern {
  Symbol symbol = 0;
  int variable = -1;  // >= 0: a variable
  std::vector<Pattern> children;
};
using Subst = std::map<std::string, ClassId>;
struct Rewrite {
  std::string name;
  poly::NumericTag tag = poly::NumericTag::Exact;
  std::string lhs = {}, rhs = {};  // patterns; rhs empty if `apply` is given
  std::function<bool(const EGraph&, const Subst&)> condition = {};  // optional
  std::function<std::optional<ClassId>(EGraph&, const Subst&)> apply =
      {};  // optional, instead of rhs
};

Pattern parse_pattern(std::string_view text,
                      std::vector<std::string>& variables);  // throws std::logic_error

enum class Stop : uint8_t { Saturated, NodeLimit, IterationLimit };
std::string_view stop_name(Stop s);
struct Limits {
  int iterations = 16;
  size_t nodes = 20'000;
};
struct RunReport {
  Stop stop = Stop::Saturated;
  int iterations = 0;
  std::map<std::string, int> fired;  // rule -> times it made a new equality
};
// Applies all rules at once, round by round, until nothing new is learned or a limit is met. A rule
// that matches too often sits out some rounds (egg's back-off), so that associativity cannot starve
// the others. `done`, if given, ends the run early (reported as Saturated), e.g. when what was to
// be proved holds.
RunReport saturate(EGraph& g, const std::vector<Rewrite>& rules, const Limits& limits = {},
                   const std::function<bool(const EGraph&)>& done = {});

// Cheapest node a class under a monotone cost: cost(node, cost of a child class) >= each child's.
class Extractor {
 public:
  using CostFn = std::function<double(const ENode&, const std::function<double(ClassId)>&)>;
  Extractor(const EGraph& g, CostFn cost);
  const ENode& best(ClassId c) const;
  double cost(ClassId c) const;

 private:
  const EGraph& g_;
  std::unordered_map<ClassId, std::pair<double, ENode>> best_;
};

}  // namespace nautilus::egraph
