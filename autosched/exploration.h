// A search that lives: it runs for a while, is looked at, resumed and steered. sched::search is one
// run of it. Everything here belongs to the thread of the program's isl context.
#pragma once

#include <memory>

#include "autosched/search.h"

namespace nautilus::sched {

class Engine;

// When a run ends; 0: no limit. All but `decisions` are totals over the life of the exploration.
struct Budget {
  double seconds = 0;
  int nodes = 0, plans = 0;
  int64_t decisions = 0;  // of this run alone
};

class Exploration {
 public:
  // `ops` must outlive the exploration, `options.stop` too: while it is set, a run ends.
  static Expected<std::unique_ptr<Exploration>> start(poly::ProgramPtr program,
                                                      const SearchOptions& options,
                                                      OpsProvider& ops, EventSink sink = {});
  // Goes on where a search ended, was interrupted or crashed: what is Open or Budget in `so_far` is
  // tried (again). States are replayed from the nodes, when they are first needed.
  static Expected<std::unique_ptr<Exploration>> resume(poly::ProgramPtr program,
                                                       const SearchOptions& options,
                                                       SearchResult so_far, OpsProvider& ops,
                                                       EventSink sink = {});
  ~Exploration();

  // Until a budget is spent, the stop flag is set or nothing is left; then `result` has the best
  // plans so far, verified at their sizes. A run that was cut short anywhere goes on there, and gives
  // what one long run would have given.
  StopReason run(const Budget& budget);
  StopReason run();   // within the budgets of the options
  StopReason step();  // takes one decision
  const SearchResult& result() const;
  SearchResult release() &&;
  const SearchOptions& options() const;
  const poly::ProgramPtr& program() const;  // with sizes bound
  bool exhausted() const;                   // nothing below root() is left to try
  // Gives up what is still open (state Budget), and answers at least with the order as written. A
  // later run takes it up again.
  void close();

  // Only what lies below `node` is tried from now on, and compared with plans below it; also below
  // what was pruned or made by hand. 0: everything again. A duplicate stands for its original.
  std::optional<Refusal> explore_below(int node);
  int root() const;

  // A child of `parent` with transforms applied by hand, whatever the verdict: Illegal nodes have the
  // witness as their reason. A Refusal is a request that means nothing (no such band, a bad size).
  Expected<int> add_by_hand(int parent, const std::vector<poly::TransformStep>& steps);

  // Costs all plans again and takes up what was cut by the old machine's figures. The stop flag ends
  // it early; the next run does the rest.
  std::optional<Refusal> set_machine(const Machine& machine, OpsProvider& ops);

 private:
  explicit Exploration(std::unique_ptr<Engine> engine);
  std::unique_ptr<Engine> engine_;
};

}  // namespace nautilus::sched
