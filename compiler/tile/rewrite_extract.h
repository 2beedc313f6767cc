// Which member of each class to compute: cost by lanes and executions, with sharing.
#pragma once

#include <set>
#include <vector>

#include "compiler/tile/rewrite_graph.h"

namespace nautilus::tile::rw {

// Carried variables that may not be used: (loop, slot).
using Disabled = std::set<std::pair<int, int>>;

struct Extraction {
  bool ok = false;
  double cost = 0;                 // of everything computed, each value once
  std::vector<const ENode*> best;  // by class (canonical ids); null: not needed or impossible
  std::vector<ClassId> order;      // the classes needed, operands before users
};

// Cost of one node a block, in cycles, if its value has these lanes and runs `executions` times.
double own_cost(const Graph& g, const ENode& n, AxisMask axes, double executions,
                const OpCosts& costs);

// Cheapest choice under `disabled`: by tree cost for every class, then, if `refine`, improved one
// class at a time by the cost with sharing.
Extraction extract(const Graph& g, const OpCosts& costs, const Disabled& disabled, bool refine);

// The choice between every carried variable and its changes of variable, by the cost of the whole
// kernel.
Extraction extract_best(const Graph& g, const OpCosts& costs);

}  // namespace nautilus::tile::rw
