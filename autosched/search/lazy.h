// Stale references of rolling updates as a choice of plans: the knob "lazy".
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::sched {

inline constexpr const char* kLazyKnob = "lazy";

// The schedule with every repair that allows it keeping stale references, and the steps that make
// it; nothing if no repair does.
struct LazySchedule {
  poly::Schedule schedule;
  std::vector<poly::TransformStep> steps;
};
std::optional<LazySchedule> with_lazy_references(const poly::Schedule& s);

}  // namespace nautilus::sched
