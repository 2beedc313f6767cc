// Why a candidate is what it is, as plain data: the steps that led to it with their verdicts, the
// one that failed, and the numbers of one that was pruned. Made on the bench's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autosched/search.h"
#include "gui/models/iteration_data.h"
#include "gui/models/verdict_data.h"

namespace nautilus::gui {

// One step from the parent, told with its verdict.
struct WhyStep {
  poly::TransformStep step;
  VerdictStory verdict;
  std::vector<VerdictStory> plain;  // none or one: the plain fusion in place of a rolling update
  std::string diff;                 // of the tree
};
// "predicted", 3.7e-6, "s": a number that a decision of the search rests on. `limit`: what it is
// compared with, in the same unit.
struct WhyNumber {
  std::string name, unit;
  double value = 0;
  std::optional<double> limit;
  std::string limit_name;
  bool over() const { return limit && value > *limit; }
};

struct Why {
  int node = -1;
  sched::NodeState state = sched::NodeState::Open;
  std::string decision, reason;
  std::vector<WhyStep> steps;          // up to and including the first that was refused
  int refused = -1;                    // index into steps: the one that was, or -1
  std::vector<RepairStory> inherited;  // corrections that steps before this node rest on
  std::vector<WhyNumber> numbers;
  std::vector<std::string> remarks;  // what could not be found out again, and why
  // The witness's two statements at small sizes, in the order that was asked for.
  std::optional<IterationPicture> picture;
  int arrow = -1;  // of the picture: an instance of the violation

  const WhyStep* failing() const {
    return refused < 0 ? nullptr : &steps[static_cast<size_t>(refused)];
  }
};

// What the document knows of a node besides the node itself.
struct WhyContext {
  double best_seconds = 0;    // of the best other plan; 0: there is none
  int same_as = -1;           // Duplicate: of which node
  std::string same_decision;  // and how that came to be
  std::optional<sched::MeasuredPlan> measured;
  std::vector<std::pair<int, std::string>> repaired_at;  // nodes above it that needed corrections
  bool wrong() const { return measured && measured->right.fails(); }
};

// Explains path.back(). The parent is replayed without checks; the steps of the node are checked
// again, so that the whole verdict is there. `program`: at the real sizes, with its dependences;
// `general`: sizes free, or null.
struct WhyInput {
  poly::ProgramPtr program, general;
  const poly::DependenceSet* dependences = nullptr;
  sched::SearchOptions options;
  std::vector<sched::SearchNode> path;  // root first
  WhyContext context;
};
Why explain(const WhyInput& in, const std::atomic<bool>* stop = nullptr);

bool was_refused(const sched::SearchNode& n);  // illegal, or not known to be legal

// The state in a sentence a newcomer understands: "Not looked at yet: ...".
std::string state_sentence(const sched::SearchNode& n, const WhyContext& c);
std::string measured_sentence(const WhyContext& c);  // "" if it was not measured

// The script of a node as it is replayed: with the tile sizes of its knobs. The steps of a refused
// node come after those of its parent.
Expected<std::vector<poly::TransformStep>> script_of(const poly::ProgramPtr& program,
                                                     const std::vector<sched::SearchNode>& path);

}  // namespace nautilus::gui
