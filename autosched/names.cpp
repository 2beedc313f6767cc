#include "autosched/search.h"

namespace nautilus::sched {

std::string_view state_name(NodeState s) {
  switch (s) {
    case NodeState::Open:
      return "open";
    case NodeState::Expanded:
      return "expanded";
    case NodeState::Complete:
      return "complete";
    case NodeState::Illegal:
      return "illegal";
    case NodeState::Unknown:
      return "unknown";
    case NodeState::OverCapacity:
      return "over capacity";
    case NodeState::Dominated:
      return "dominated";
    case NodeState::Bounded:
      return "bounded";
    case NodeState::Duplicate:
      return "duplicate";
    case NodeState::Budget:
      return "budget";
    case NodeState::Failed:
      return "failed";
  }
  return "?";
}

std::string_view stop_reason_name(StopReason r) {
  switch (r) {
    case StopReason::Exhausted:
      return "exhausted";
    case StopReason::TimeBudget:
      return "time budget";
    case StopReason::NodeBudget:
      return "node budget";
    case StopReason::PlanBudget:
      return "plan budget";
    case StopReason::Interrupted:
      return "interrupted";
    case StopReason::OperationBudget:
      return "isl operation budget";
  }
  return "?";
}

}  // namespace nautilus::sched
