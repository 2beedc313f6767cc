// The auto-scheduler: a tree of plans, edges are transforms with verdicts. (search.md)
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "autosched/cost.h"
#include "autosched/file.h"

namespace nautilus::sched {

enum class NodeState : uint8_t {
  Open,
  Expanded,
  Complete,
  Illegal,
  Unknown,
  OverCapacity,
  Dominated,
  Bounded,
  Duplicate,
  Budget,
  Failed
};
std::string_view state_name(NodeState s);

// A recorded node. Schedules are not stored: a node is replayed from the transforms on its path.
struct SearchNode {
  int id = 0, parent = -1;
  std::vector<poly::TransformStep> steps;  // from the parent (one decision may be several steps)
  std::string decision;  // in words: "fuse row max and sum at j by rolling update"
  NodeState state = NodeState::Open;
  std::string reason;  // why pruned, with numbers or the witness
  poly::VerdictKind verdict = poly::VerdictKind::Legal;
  int duplicate_of = -1;                // Duplicate: the node with the same canonical state
  double seconds = 0, lower_bound = 0;  // predicted; 0 if none
  std::string limiter;
  std::vector<RooflinePoint> points;
  Knobs knobs;                                  // Complete nodes
  double shared_bytes = 0, register_bytes = 0;  // of one block, predicted
  bool by_hand = false;                         // a person applied the steps
  double made_at = -1;                          // seconds of search until then; < 0: not recorded
};

enum class StopReason : uint8_t {
  Exhausted,
  TimeBudget,
  NodeBudget,
  PlanBudget,
  Interrupted,
  OperationBudget  // isl operations ran out before there was anything to search in
};
std::string_view stop_reason_name(StopReason r);

enum class Strategy : uint8_t { BestFirst, Beam, Random, Exhaustive };

// Values that the search may give its knobs; empty: all that it knows (powers of two from 8 to 256
// for tiles, 1 to 3 stages).
struct KnobDomains {
  std::vector<int64_t> tiles, stages;
};

struct SearchOptions {
  poly::Sizes sizes;
  Machine machine;
  uint64_t seed = 1;
  Strategy strategy = Strategy::BestFirst;
  int beam = 64;
  double seconds = 10;  // budgets; 0: none. Cooperative: what is under way when it ends is cut
  int max_nodes = 100'000;
  int max_plans = 20'000;                         // plans costed
  unsigned long isl_quota = poly::kDefaultQuota;  // of one step
  int top = 10;
  std::string numerics = "reassociate";
  KnobDomains knobs;
  // Dims of statements with these names get tile loops however short they are: a plan whose sizes
  // are to stay open (open_sizes.h) may not hold them in one tile.
  std::set<std::string> open_dims;
  std::atomic<bool>* stop = nullptr;  // set by Ctrl-C or a pause
};
struct SearchEvent {
  enum class Kind : uint8_t { Added, Changed, Best, Progress } kind;
  const SearchNode* node = nullptr;
  int plans_costed = 0, structures_verified = 0;
  double elapsed = 0;
};
struct SearchResult {
  std::vector<SearchNode> nodes;
  std::vector<int> best;    // node ids, best first, structurally different
  std::vector<int> pareto;  // time, shared memory, registers
  int plans_costed = 0, structures_verified = 0, duplicates = 0;
  double seconds = 0, first_plan_seconds = 0;
  StopReason stop_reason = StopReason::Exhausted;
  std::string note;  // what the user should know of the answer, in words; "" if nothing
};
using EventSink = std::function<void(const SearchEvent&)>;

// `program`: with sizes bound. Every structurally distinct plan that is kept was verified by
// poly::verify; the program's own order is a plan by definition, and the answer when the budget
// ends before another one is complete (`note` says so). Time counts as a budget only: until it runs
// out the result depends on the program, the options and the seed alone.
Expected<SearchResult> search(poly::ProgramPtr program, const SearchOptions& options,
                              OpsProvider& ops, const EventSink& sink = {});
// The plan of a node: replays the steps on its path.
Expected<Plan> plan_of(poly::ProgramPtr program, const SearchResult& r, int node);

// Whether a run's outputs equalled the reference's, where somebody compared them.
class Comparison {
 public:
  Comparison() = default;  // nobody did
  Comparison(bool equal) : made_(true), equal_(equal) {}
  bool made() const { return made_; }
  bool holds() const { return made_ && equal_; }
  bool fails() const { return made_ && !equal_; }
  bool operator==(const Comparison&) const = default;

 private:
  bool made_ = false, equal_ = false;
};
// No kernel takes longer, in seconds: what says so is damaged, or has another unit.
inline constexpr double kLongestTime = 1e6;
// Whether a kernel can take that long: more than nothing, finite, at most kLongestTime.
inline bool is_kernel_time(double seconds) { return seconds > 0 && seconds <= kLongestTime; }

// Session files (*.nautilus.json), versioned, written atomically.
struct MeasuredPlan {
  double seconds = 0;  // median
  Comparison right = {};
  std::string source;  // where it was measured, in words
};
struct Session {
  std::string spec_path, spec_text, spec_hash, program_naut, kernel;
  SearchOptions options;
  SearchResult result;
  std::map<int, std::string> notes;      // by node
  std::map<int, MeasuredPlan> measured;  // by node
  std::vector<int> pins;                 // nodes, in the order of pinning
  std::string viewport;                  // JSON of the explorer's views; "" if none
};
nlohmann::json session_to_json(const Session& s);
// Damage is refused: what, and where; a predicted time that is none is damage. Measurements with a
// time that no kernel takes are left out, and `result.note` says whose.
Expected<Session> session_from_json(const nlohmann::json& j);
Expected<Session> load_session(const std::string& path);
std::optional<Refusal> save_session(const Session& s, const std::string& path,
                                    const WriteOptions& how = {});

}  // namespace nautilus::sched
