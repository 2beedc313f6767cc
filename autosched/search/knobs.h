// Numeric choices of a verified structure: tile sizes and stages, costed kernel by kernel.
#pragma once

#include <random>

#include "autosched/cost/evaluate.h"
#include "autosched/search.h"

namespace nautilus::sched {

// One choice for one kernel.
struct KernelChoice {
  Knobs knobs;              // with the kernel's prefix
  ResourceProfile profile;  // of this kernel
  double seconds = 0;
  bool fits = true;
};
// Powers of two from 8 (or less for short axes) to 256, for every tiled axis of the kernel, and
// stages. All combinations, or `limit` of them: random ones and a descent along single knobs from
// the best. `domains` restricts the values.
std::vector<KernelChoice> kernel_choices(const StructureModel& m, int kernel,
                                         const ProgramAxes& axes, const StructureOps& ops,
                                         Evaluator& evaluator, std::mt19937_64& rng, size_t limit,
                                         const KnobDomains& domains = {});

}  // namespace nautilus::sched
