#include "autosched/open_sizes.h"

namespace nautilus::sched {

Expected<poly::Schedule> with_open_sizes(const Plan& p, const poly::ProgramPtr& open) {
  const poly::Replay r = poly::replay(open, p.script);
  if (r.schedule) return *r.schedule;
  const size_t step = r.outcomes.empty() ? 0 : r.outcomes.size() - 1;
  Refusal out{"use the plan with open sizes", "", "the program has no schedule",
              "another plan, or bind the sizes"};
  if (step < p.script.size())
    out.where = "step " + std::to_string(step + 1) + ": " + p.script[step].name + " " +
                p.script[step].params;
  if (r.outcomes.empty()) return out;
  const poly::Outcome& o = r.outcomes.back();
  out.why = o.refusal ? o.refusal->why : o.verdict.why;
  if (o.verdict.witness)
    out.why += " (" + o.verdict.witness->text + poly::with_sizes(o.verdict.witness->sizes) + ")";
  return out;
}

}  // namespace nautilus::sched
