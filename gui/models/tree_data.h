// A schedule tree as plain data, and what a transform would do to it: what the schedule view draws
// and edits. Made on the bench's thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gui/models/verdict_data.h"

namespace nautilus::gui {

struct TreeMember {
  std::string name, axis;
  poly::Mapping mapping = poly::Mapping::Serial;
  int64_t step = 1;
  // What it counts, by statement; statements with the same function together: {"S_a, S_b", "i"}.
  std::vector<std::pair<std::string, std::string>> functions;
};

// One node. Bare leaves are left out: a band or filter without children ends there.
struct TreeBox {
  poly::NodeId id = 0;
  poly::NodeKind kind = poly::NodeKind::Leaf;
  int parent = -1;   // row of the parent, -1: the root
  int position = 0;  // among the parent's children
  int depth = 0;
  int last = 0;                         // row of the last node below it (its own if none)
  std::vector<TreeMember> members;      // Band
  bool permutable = false;              // Band
  std::string text;                     // Filter: its instances; Mark: the mark
  std::vector<std::string> statements;  // below, in order of first execution
  std::vector<int> children;            // rows
  std::vector<RepairStory> repairs;     // at this band
};

struct TreePicture {
  std::vector<TreeBox> boxes;                               // preorder: a box's row is its index
  std::vector<std::pair<std::string, std::string>> scopes;  // temporaries: "P", "register"
  std::vector<std::string> statements, temporaries, axes;   // reduced axes first
  std::vector<std::pair<std::string, std::string>> feeds;   // statement, one that reads it
  std::vector<poly::TransformStep> script;                  // from the initial schedule
  int row_of(poly::NodeId id) const;                        // -1: none
};
TreePicture tree_picture(const poly::Schedule& s);
std::string box_title(const TreeBox& b);  // "band 26 [j0, j]"

// What a step would do.
struct Attempt {
  poly::TransformStep step;  // with what it left open filled in, once it was accepted
  VerdictStory verdict;
  TreePicture after;                  // of an accepted step, else empty
  std::string diff;                   // "+ 12: band ..." a line
  std::vector<poly::NodeId> touched;  // nodes of `after` that are new or differ
};
// Never throws; `deps` are those of s.program.
Attempt try_step(const poly::Schedule& s, const poly::DependenceSet& deps,
                 const poly::TransformStep& step);

// The fusion that a rolling update pays for, by itself.
poly::TransformStep plain_fusion(const poly::TransformStep& rolling);

// The order a step asks for, whether or not it is legal: what is drawn of a refused transform.
Expected<poly::Schedule> edit_only(const poly::Schedule& s, const poly::TransformStep& step);

}  // namespace nautilus::gui
