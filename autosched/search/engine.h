// The search itself: decisions taken, structures verified and costed, nodes recorded. What is done
// is cut into tasks that can be left and taken up again anywhere, so that a search in pieces is the
// same as one in one go.
#pragma once

#include <chrono>
#include <deque>
#include <unordered_map>
#include <variant>

#include "autosched/exploration.h"
#include "autosched/search/answer.h"
#include "autosched/search/frontier.h"
#include "autosched/search/knobs.h"
#include "polyhedral/deadline.h"

namespace nautilus::sched {

inline constexpr const char* kAsWritten = "leave the order as written";
using StatePtr = std::shared_ptr<const SearchState>;

// Verifies a structure, asks what it computes after lowering, and costs its numeric choices.
struct Evaluation {
  enum class Stage : uint8_t { Fresh, Verify, Lower, Choose, Best, Lazy, Others, Settle };
  int node = -1;
  StatePtr state;
  Stage stage = Stage::Fresh;
  StructureOps ops;
  std::optional<StructureModel> model;
  std::vector<std::vector<KernelChoice>> choices;  // by kernel
  std::vector<size_t> best;                        // by kernel
  size_t kernel = 0, choice = 0;                   // Others: the next
  int slot = -1;          // the plan that was recorded when time ended too early: to be replaced
  std::set<Knobs> known;  // plans that are on record
};
// Lists the decisions below a node.
struct Expansion {
  int node = -1;
  StatePtr state;
  int depth = 0, departures = 0;
  std::vector<Candidate> candidates;
  bool listed = false;
  size_t next = 0;
};
struct Decision {
  Pending pending;
};
// Another form of a decision that was tried: a sibling, taken right after it.
struct FollowUp {
  Pending of;
  Candidate also;
};
// Brings the engine to where recorded nodes were: what was seen, what is open. With another machine
// bounds and costs are computed again.
struct Replaying {
  bool new_machine = false;  // bounds are computed again
  bool cost_again = false;
  size_t next = 0;
  std::vector<int> depth, departures;
  std::vector<std::vector<int>> children;
};
using Task = std::variant<Evaluation, Expansion, Decision, FollowUp, Replaying>;

class Engine {
 public:
  Engine(poly::ProgramPtr program, const SearchOptions& options, OpsProvider& ops, EventSink sink);
  std::optional<Refusal> begin();                        // a new search
  std::optional<Refusal> take_over(SearchResult so_far);  // what another one recorded
  StopReason run(const Budget& budget);
  void close();
  std::optional<Refusal> explore_below(int node);
  Expected<int> add_by_hand(int parent, const std::vector<poly::TransformStep>& steps);
  std::optional<Refusal> set_machine(const Machine& machine, OpsProvider& ops);
  SearchResult& result() { return result_; }
  const SearchOptions& options() const { return options_; }
  const poly::ProgramPtr& program() const { return program_; }
  int root() const { return root_; }
  bool exhausted() const;

 private:
  using Clock = std::chrono::steady_clock;
  // engine.cpp: time, nodes and decisions
  bool stop();                           // sets stop_reason_ at the first budget that ran out
  bool cut(int node, const char* what);  // whether what is done to the node ended for lack of time
  double elapsed() const;
  Clock::time_point deadline() const;
  int add_node(int parent, const std::string& decision, double bound);
  void changed(int id, SearchEvent::Kind kind = SearchEvent::Kind::Changed);
  void set_state(int node, NodeState state, std::string reason);
  void push(Pending p);
  bool work(bool one_task = false);
  bool perform(Evaluation& e);
  bool perform(Expansion& e);
  bool perform(Decision& d);
  bool perform(FollowUp& f);
  bool perform(Replaying& r);
  bool decide_by_hand(const Pending& p);
  void expand_or_evaluate(int node, StatePtr state, const Pending& from);
  double threshold() const;  // bounds at or above it are cut
  bool below(int node, int root) const;

  // evaluate.cpp: structures and plans
  bool evaluate(Evaluation& e);
  bool evaluate_choices(Evaluation& e, Evaluator& evaluator);
  void try_lazy(Evaluation& e, Evaluator& evaluator);
  int record_plan(Evaluation& e, const std::vector<const KernelChoice*>& choice,
                  const StructureOps& ops, Evaluator& evaluator);
  void fill(SearchNode& n, const Cost& c);
  Expected<Cost> cost_of(const poly::Schedule& s, const Knobs& knobs);
  bool cost_again(int structure, const SearchState& state, const std::vector<int>& children);
  Evaluator& evaluator_for(const std::shared_ptr<const ProgramFacts>& facts);
  bool among_best(int structure) const;  // has a plan, one of the best that are asked for so far
  bool settle(int structure);

  // run.cpp: from the first node to the answer
  bool next_decision();
  void explore();
  void answer();
  void list_best();
  void mark(int node);  // before the answer changes it
  void take_back();     // the answer, to go on as if there had been none
  void answer_with_written();
  void reopen();  // what ended for lack of time

  // replay.cpp and by_hand.cpp: nodes back to states
  Expected<ProgramContextPtr> context();
  Expected<StatePtr> state_of(int node);
  bool revive(Pending& p);
  bool replay_node(Replaying& r, int id);
  bool replay_children(Replaying& r, int id, const StatePtr& state);
  void cost_by_hand(int node, const poly::Schedule& s);
  void enter_by_hand(int node, const poly::Schedule& s, bool standing);

  SearchOptions options_;
  OpsProvider* ops_;
  EventSink sink_;
  poly::ProgramPtr program_;
  Actions actions_;
  Frontier frontier_;
  std::mt19937_64 rng_;
  SearchResult result_;
  Budget budget_;
  std::optional<StopReason> stop_reason_;
  Clock::time_point start_{};
  double spent_ = 0, last_progress_ = 0;
  bool running_ = false;

  enum class Opening : uint8_t { Context, Written, Root, Done } opening_ = Opening::Context;
  std::shared_ptr<const ProgramFacts> facts_;
  ProgramContextPtr context_;
  std::deque<Task> agenda_, after_;  // what is under way; what the task in hand adds in front of it
  std::vector<Pending> aside_;       // outside the part that is explored
  int root_ = 0;
  std::map<const poly::Program*, std::unique_ptr<Evaluator>> evaluators_;
  std::unordered_map<uint64_t, int> seen_, structures_;
  std::unordered_multimap<uint64_t, int> by_hand_;  // structures of nodes made by hand
  std::map<int, StatePtr> known_states_;
  Standing standing_;
  std::set<int> settled_;  // plans that were verified at their own sizes
  int written_ = -1;       // the program's own order
  int written_slot_ = -1;  // its plan, if it was needed before it was evaluated

  struct Mark {  // a node as it was before
    int node;
    NodeState state;
    std::string reason;
  };
  std::optional<Standing> before_answer_;
  std::vector<Mark> answer_marks_;
  std::optional<Mark> cut_;
  std::vector<int> closed_;
};

std::string time_text(double seconds);
uint64_t state_key(const SearchState& s);

}  // namespace nautilus::sched
