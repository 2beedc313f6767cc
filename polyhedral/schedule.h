// In which order: an immutable schedule tree with stable node ids, and everything a plan has
// decided about order, storage and repair. (architecture.md stage 3)
//
// The tree is our own persistent value, exactly convertible to and from isl schedule trees. Own
// nodes, because transforms must keep ids stable, share structure between thousands of candidates,
// and edit per-statement affine functions; isl's cursor rebuilds the spine and forgets identity.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "polyhedral/program.h"
#include "polyhedral/repair_types.h"

namespace nautilus::poly {

using NodeId = int;  // unique in a tree; survives every transform that does not delete the node

enum class Mapping : uint8_t {
  Serial,     // an ordinary loop
  Grid,       // blocks in parallel, no order between them
  Warpgroup,  // parallel inside a block
  Tile,       // not a loop: a dimension of the tile value that the leaf statement computes at once
  Unroll,     // serial, unrolled
};
std::string_view mapping_name(Mapping m);
std::optional<Mapping> mapping_from_name(std::string_view s);

// One dimension of a band: for each statement below, an affine (quasi-affine: floor, mod) function
// of its domain dims and the parameters.
struct BandMember {
  std::string name;                          // "i0": for people, unique in the tree
  std::map<std::string, isl::aff> schedule;  // statement -> { S[..] -> [(e)] }
  Mapping mapping = Mapping::Serial;
  int64_t step = 1;  // tile size when this is a tile loop (value counts tiles), else 1
  std::string axis;  // the program axis it iterates over ("i"), kept through tiling
};

enum class NodeKind : uint8_t { Band, Sequence, Filter, Mark, Leaf };

// A node's hashes, with and without tile sizes.
class HashCache {
 public:
  uint64_t get(bool ignore_sizes) const { return value_[ignore_sizes].get(); }
  void set(bool ignore_sizes, uint64_t h) const { value_[ignore_sizes].set(h); }

 private:
  HashOnce value_[2];
};

// Something derived from a node that another file computes once and keeps with it. Not copied, like
// the hash; nodes stay within one thread, as isl objects must.
struct DerivedCache {
  DerivedCache() = default;
  DerivedCache(const DerivedCache&) {}
  DerivedCache& operator=(const DerivedCache&) { return value.reset(), *this; }
  mutable std::shared_ptr<const void> value;
};

struct Node;
using NodePtr = std::shared_ptr<const Node>;
// Build nodes with make_* below (they fill in what is derived).
struct Node {
  Node() = default;
  Node(const Node& o);  // isl refuses to copy a null filter
  Node& operator=(const Node&) = delete;
  NodeId id = 0;
  NodeKind kind = NodeKind::Leaf;
  std::vector<BandMember> members;  // Band
  bool permutable = false;  // Band: every dependence it carries is non-negative in each member
  isl::union_set filter;  // Filter: the instances that pass (a statement may be split over filters)
  std::string mark;       // Mark
  std::vector<NodePtr> children;  // Sequence: Filters; Band/Filter/Mark: exactly one; Leaf: none
  // Derived by make_*:
  std::map<std::string, isl::set> parts;  // Filter: its sets by statement
  std::vector<std::string>
      statements;  // statements below, in order of first execution (a bare Leaf: none)
  HashCache hash;
  DerivedCache forms;  // Band: members as integers, made by the legality walk
};

// Where a tensor lives. Registers: an SSA tile value (carried by loops); Shared: a block's scratch
// buffer; Global: memory.
enum class Scope : uint8_t { Global, Shared, Register };
std::string_view scope_name(Scope s);
std::optional<Scope> scope_from_name(std::string_view s);

// One step of a script: a transform's name with its parameters, as in STEPS.json.
struct TransformStep {
  std::string name;
  std::string params;  // JSON object text, canonical (sorted keys)
};

// A state of scheduling. A value: copying shares everything. The program may differ from the first
// one (recompute, split-k and families add statements); what it must compute stays `origin`, set
// once by initial_schedule and only read by the verifier.
struct Schedule {
  ProgramPtr program;  // first: holds the context
  ProgramPtr origin;
  NodePtr root;        // over the whole domain of program
  NodeId next_id = 1;
  std::map<std::string, Scope> scopes;  // Temps only; absent means Global
  std::vector<Repair> repairs;          // accepted algebraic repairs (rolling updates)
  std::vector<TransformStep> script;    // how it came to be, from the initial schedule
};

// The program's original order as a tree.
Schedule initial_schedule(ProgramPtr p);

// --- looking at a tree ---------------------------------------------------------------------
const Node* find(const Schedule& s, NodeId id);  // nullptr if absent
std::vector<const Node*> path_to(const Schedule& s,
                                 NodeId id);  // root first, node last; empty if absent
std::vector<const Node*> preorder(const Schedule& s);
isl::union_set instances_below(const Schedule& s,
                               NodeId id);  // domain after all filters above and at id
std::vector<std::string> statements_below(const Schedule& s,
                                          NodeId id);  // in order of first execution
// Flattened order of one statement's instances: { S[..] -> [t0, t1, ...] }: sequence positions and
// band members, padded with zeros to a common length over the tree.
isl::union_map flat_schedule(const Schedule& s);
// Bands and filters above (and including, if `inclusive`) node `id`: { S[..] -> [members...] } for
// that statement.
isl::multi_aff prefix(const Schedule& s, NodeId id, const std::string& stmt, bool inclusive);

// --- editing (used by transforms; they do not decide legality) -------------------------------
NodePtr make_band(std::vector<BandMember> members, NodePtr child, NodeId id);
NodePtr make_sequence(std::vector<NodePtr> filters, NodeId id);
NodePtr make_filter(isl::union_set filter, NodePtr child, NodeId id);
NodePtr make_mark(std::string text, NodePtr child, NodeId id);
NodePtr make_leaf(NodeId id);
Schedule replace(const Schedule& s, NodeId id, NodePtr by);  // returns a new tree; shares the rest
NodePtr with_children(const Node& n, std::vector<NodePtr> children);      // same id and contents
NodePtr with_members(const Node& band, std::vector<BandMember> members);  // same id and child
const Node* parent_of(const Schedule& s, NodeId id);  // nullptr for the root or if absent
// `base` if no band of s has a member of that name (nor `taken`), else base_2, base_3, ...
std::string unique_member_name(const Schedule& s, const std::string& base,
                               const std::vector<std::string>& taken = {});
// The same subtree with the instances of `only` (statements without instances are dropped); every
// node gets a fresh id from next_id unless keep_ids. Null if nothing is left.
NodePtr restrict_subtree(const NodePtr& n, const isl::union_set& only, NodeId& next_id,
                         bool keep_ids);
// The dims of S and constants as affine functions on its space.
isl::aff dim_aff(const isl::set& domain, unsigned k);
isl::aff constant_aff(const isl::set& domain, int64_t value);

// --- conversions ---------------------------------------------------------------------------
isl::schedule to_isl(const Schedule& s);  // mappings, scopes and repairs become marks
Expected<NodePtr> from_isl(const Program& p, const isl::schedule& sched, NodeId& next_id);
std::string to_text(const Schedule& s);  // indented, for people: one node a line with its id
nlohmann::json to_json(const Schedule& s);
std::string diff(const Schedule& before,
                 const Schedule& after);  // lines "- ", "+ ", "~ " by node id
// Hash of tree + scopes + repairs, independent of node ids and of how it was reached. With
// `ignore_tile_sizes`, rectangular tile sizes do not matter (they do not change legality).
uint64_t canonical_hash(const Schedule& s, bool ignore_tile_sizes = false);

}  // namespace nautilus::poly
