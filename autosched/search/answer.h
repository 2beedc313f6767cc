// Which plans are the best so far: one a structure, in order of time, and the Pareto front.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace nautilus::sched {

struct Standing {
  struct Best {
    double seconds;
    int node;
  };
  // A complete plan.
  struct Footing {
    int node, structure;
    double seconds, shared, registers;
  };
  std::map<int, Best> of_structure;       // by the structure's node
  std::set<std::pair<double, int>> best;  // (seconds, structure)
  std::vector<Footing> plans;
  std::set<int> settled;  // plans that were verified at their own sizes

  // Whether it is the best of its structure now.
  bool enter(const Footing& f);
  // Takes a structure's best plan out of what may be handed out; its next best one takes the place,
  // if `another` may.
  void forget(int structure, bool another);
  void withdraw(int node);  // as if the plan had never been entered
  // Plans of a structure that another one turned out to equal belong to that one.
  void adopt(int structure, int orphan);
  std::vector<int> pareto() const;

 private:
  void choose(int structure);
};

}  // namespace nautilus::sched
