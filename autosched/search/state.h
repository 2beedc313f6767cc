// A state of the search: a schedule and what has been decided so far, in canonical order:
// producers that are recomputed where they are used; kernels from the outputs back; for each its
// grid and tiled axes; then, statement by statement, the serial tile loops inside the block
// (phases), and last what becomes a tile and where temporaries live.
#pragma once

#include <memory>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>
#include "autosched/axes.h"
#include "autosched/cost/counts.h"
#include "autosched/search.h"

namespace nautilus::sched {

// What belongs to one program (families and split-k make another one of it).
struct ProgramContext {
  poly::ProgramPtr program;
  std::shared_ptr<const ProgramFacts> facts;
  ProgramAxes axes;
  poly::DependenceSet deps;
  std::vector<StatementWork> work;                   // by statement
  std::vector<std::map<std::string, double>> reads;  // by statement: distinct bytes of each tensor
  std::vector<double> written;                       // by statement: distinct bytes
};
using ProgramContextPtr = std::shared_ptr<const ProgramContext>;
Expected<ProgramContextPtr> program_context(poly::ProgramPtr p, unsigned long quota);
Expected<ProgramContextPtr> program_context(std::shared_ptr<const ProgramFacts> facts,
                                            unsigned long quota);

struct SearchState {
  poly::Schedule schedule;  // first: holds the context
  ProgramContextPtr program;
  int last = -1;                    // statements 0..last (in program order) are in no kernel yet
  std::vector<std::string> kernel;  // statements of the kernel in hand, in order; empty: none
  std::vector<int> grid, tiled;     // its program axes
  int recomputed = -1;              // producers up to here were decided on: recompute or keep
  bool split = false;               // a reduced axis was cut into parts
  size_t next = 0;                  // first statement of it that is in no phase yet
  double closed_bound = 0;          // of the kernels that are done
  double kernel_bound = 0;          // of the one in hand
  std::set<std::string> pinned;     // statements whose order a person chose: kept as they are
  bool complete() const { return last < 0 && kernel.empty(); }
};

// One decision that may be taken in a state.
struct Candidate {
  enum class Kind : uint8_t { Recompute, Split, Kernel, Loop, Finish } kind = Kind::Kernel;
  int first = 0,
      last = 0;  // Kernel: statements; Loop: positions in the kernel; Recompute: the producer
  std::vector<int> grid, tiled;  // Kernel
  int axis = -1;                 // Loop: shared serial tile loop; -1: the statement by itself
  bool rolling = false;          // Loop: repair what a plain fusion breaks
  bool whole = false;            // Loop: no serial loops, each statement is one tile
  int64_t parts = 0;             // Split: of the reduced axis
  bool far = false;              // Finish: what is no register tile goes to memory, not to scratch
  std::string decision;          // in words
  double bound = 0;              // admissible, of every plan below
};

// What taking a decision gave.
struct Taken {
  std::optional<SearchState> state;
  std::vector<poly::TransformStep> steps;  // up to and including the one that failed
  poly::VerdictKind verdict = poly::VerdictKind::Legal;
  NodeState node = NodeState::Open;  // Illegal, Unknown, Failed when there is no state
  std::string reason;
  std::optional<Candidate> also;  // another form of the same decision, to be tried as well
};

// Steps that were accepted once, to be repeated without asking again.
using Record = std::vector<poly::TransformStep>;

// Applies registry transforms one after the other; stops at the first that is not accepted. With a
// record it repeats what is written there.
class Stepper {
 public:
  Stepper(poly::Schedule s, const poly::DependenceSet& deps, const Record* record = nullptr)
      : schedule(std::move(s)), deps_(deps), record_(record) {}
  bool apply(const char* name, const nlohmann::json& params);
  bool attempt(const char* name, const nlohmann::json& params);  // a refusal leaves no trace
  Taken failed() const;
  poly::Schedule schedule;
  std::vector<poly::TransformStep> steps;
  poly::VerdictKind verdict = poly::VerdictKind::Legal;
  NodeState node = NodeState::Open;
  std::string reason, note;

 private:
  bool repeat(const char* name, const nlohmann::json& params);
  const poly::DependenceSet& deps_;
  const Record* record_;
};

class Actions {
 public:
  Actions(const SearchOptions& options) : options_(options), machine_(options.machine) {}
  std::vector<Candidate> candidates(const SearchState& s) const;
  // With the steps that the decision was recorded with, they are repeated without verdicts.
  Taken take(const SearchState& s, const Candidate& c, const Record* record = nullptr) const;
  double bound(const SearchState& s) const;

 private:
  void recompute_candidates(const SearchState& s, std::vector<Candidate>& out) const;
  void split_candidates(const SearchState& s, std::vector<Candidate>& out) const;
  Taken changed_program(const SearchState& s, const Stepper& step, int recomputed,
                        bool split) const;
  Taken take_split(const SearchState& s, const Candidate& c, const Record* record) const;
  Taken take_recompute(const SearchState& s, const Candidate& c, const Record* record) const;
  void kernel_candidates(const SearchState& s, std::vector<Candidate>& out) const;
  void loop_candidates(const SearchState& s, std::vector<Candidate>& out) const;
  Taken take_kernel(const SearchState& s, const Candidate& c, const Record* record) const;
  Taken take_loop(const SearchState& s, const Candidate& c, const Record* record) const;
  Taken take_finish(const SearchState& s, const Candidate& c, const Record* record) const;
  double kernel_bound(const ProgramContext& p, int first, int last) const;
  // With its grid known: what every block must load for itself (GPU).
  double grid_bound(const ProgramContext& p, int first, int last, const std::vector<int>& grid,
                    const std::vector<int>& tiled) const;
  double crossing_bound(const SearchState& s, size_t boundary) const;
  bool fits_scratch(const SearchState& s, const std::string& tensor) const;
  bool fits_whole(const SearchState& s) const;
  bool has_serial_loops(const SearchState& s, const std::string& stmt) const;
  bool open(const StmtModel& m, size_t dim) const;        // its extent is to stay open
  bool needs_loop(const StmtModel& m, size_t dim) const;  // outside the grid, and not one tile
  int64_t loop_tile(const StmtModel& m, size_t dim, int64_t extent) const;
  const SearchOptions& options_;
  const Machine& machine_;
  mutable std::map<poly::ProgramPtr, TileCounter> counters_;
};

// Helpers on trees.
const poly::Node* root_child_of(const poly::Schedule& s, const std::string& stmt, int* index);
const poly::Node* innermost_band(const poly::Schedule& s,
                                 const std::string& stmt);  // nullptr: none (scalar)
const poly::Node* kernel_sequence(const poly::Schedule& s,
                                  const std::string& stmt);  // the block's sequence, or null
int member_axis(const ProgramAxes& axes, const poly::BandMember& m, const std::string& stmt);
int member_axis(const ProgramContext& p, const poly::BandMember& m, const std::string& stmt);
int64_t default_tile(int64_t extent);
SearchState start_state(ProgramContextPtr p);
// What is left to decide below a schedule that a person made: statements as the program has them
// may still become kernels, kernels that have no tiles yet get them.
SearchState state_by_hand(const poly::Schedule& s, ProgramContextPtr p);
// The next kernel that a person began and that has no tiles yet becomes the one in hand.
void take_unfinished(SearchState& s);
// Drops pinned statements from the end of what is in no kernel yet.
void skip_pinned(SearchState& s);
// Some decisions have another form, tried after them: by rolling update, without scratch.
std::optional<std::string> plain_decision(const std::string& other);
std::optional<Candidate> other_form(const Candidate& c);

}  // namespace nautilus::sched
