// What the schedule tree, Why and the iteration space ask the bench: jobs that make plain data of
// schedules. Each runs on the bench's thread.
#pragma once

#include "gui/models/bench.h"
#include "gui/models/iteration_data.h"
#include "gui/models/tree_data.h"
#include "gui/models/why_data.h"

namespace nautilus::gui {

using Path = std::vector<sched::SearchNode>;  // from the root of the search to a node

// The schedule tree of a candidate. Of one that was refused: the order that its steps ask for, as
// far as it can be made.
struct TreeAnswer {
  TreePicture tree;
  std::string remark;  // what is special about it; "" if nothing
  bool made = false;   // false: `remark` says why there is none
};
TreeAnswer tree_job(const Workpiece& w, const Path& path);

// What a step below a candidate would do.
Attempt attempt_job(const Workpiece& w, const Path& path, const poly::TransformStep& step);

struct IterationAnswer {
  IterationPicture picture;
  std::string why;  // there is none: why
};
// `wanted.steps` are the path's.
IterationAnswer iteration_job(const Workpiece& w, const CancelToken& c, const Path& path,
                              IterationRequest wanted);

Why why_job(const Workpiece& w, const CancelToken& c, const Path& path, const WhyContext& context);

// The nodes that steps by hand add below path.back(): ids and parents are those of a document that
// has `count` nodes. A Refusal: the request means nothing.
Expected<std::vector<sched::SearchNode>> hand_job(const Workpiece& w, const Path& path,
                                                  const std::vector<poly::TransformStep>& steps,
                                                  int count);

}  // namespace nautilus::gui
