// A verdict as plain data: what the schedule tree, Why and lessons say of a transform. Made on the
// bench's thread, read on the interface's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "polyhedral/transforms/registry.h"

namespace nautilus::gui {

std::string kind_words(poly::DepKind k);  // "flow", "anti", "output", "reduction"

// Two instances that a schedule would run the wrong way round.
struct WitnessStory {
  std::string source, sink;  // statements
  std::vector<std::string> source_dims, sink_dims;
  std::vector<int64_t> source_at, sink_at;
  std::string tensor;
  std::vector<int64_t> element;
  std::string kind;  // of dependence, in words
  std::vector<std::pair<std::string, int64_t>> sizes;
  std::string text;
};
std::string instance_text(const std::string& statement, const std::vector<std::string>& dims,
                          const std::vector<int64_t>& at);  // "S_P[i=0, j=64]"
std::string element_text(const std::string& tensor,
                         const std::vector<int64_t>& element);  // "P_max[0, 3]"

struct DerivationStory {
  std::string method;
  std::vector<std::string> steps;
  std::string result;  // the correction; may be empty
};
struct ObligationStory {
  std::string claim, method;
  bool discharged = false;
};
// A rolling update, told.
struct RepairStory {
  poly::NodeId band = -1;
  std::vector<std::string> targets, sources, via;
  std::string term;
  std::vector<std::pair<std::string, std::string>> corrections;  // tensor, expression
  std::vector<DerivationStory> derivations;
  std::vector<ObligationStory> obligations;
  std::string numerics, lazy, note;  // lazy: what a stale reference may do, or ""
};

struct VerdictStory {
  poly::VerdictKind kind = poly::VerdictKind::Unknown;
  bool malformed = false;  // the request itself made no sense; `why` says so
  std::string why, suggest;
  std::vector<WitnessStory> witness;  // none or one
  std::vector<RepairStory> repairs;
  std::vector<std::string> relaxations;
  bool accepted() const {
    return kind == poly::VerdictKind::Legal || kind == poly::VerdictKind::Repairable;
  }
};

RepairStory tell(const poly::Repair& r);
WitnessStory tell(const poly::Program& p, const poly::Witness& w);
VerdictStory tell(const poly::Program& p, const poly::Outcome& o);
// One sentence: "legal", "illegal: ...", "would be legal with a correction of P_sum: ...".
std::string headline(const VerdictStory& v);

// The outcome without what an earlier step had already accepted and paid for.
poly::Outcome added_by(poly::Outcome o, const poly::Schedule& before);
// "fuse depth=1 first=0 last=2 node=35": a step in one line.
std::string step_text(const poly::TransformStep& step);

}  // namespace nautilus::gui
