#include "gui/views/roofline_program.h"

#include "autosched/cost.h"

namespace nautilus::gui {

ProgramUse program_use(const Workpiece& w) {
  ProgramUse use;
  if (!w.program) return use;
  for (const poly::Tensor& t : w.program->tensors)
    if (t.kind == poly::TensorKind::Input) use.types.insert(std::string(type_name(t.type)));
  sched::Plan as_written{poly::initial_schedule(w.program), {}, {}, w.options.numerics};
  auto ops = sched::direct_ops_provider()->structure_ops(as_written.schedule);
  if (!ops) return use;
  auto profile = sched::profile(as_written, w.options.machine, *ops);
  if (!profile) return use;
  auto special = profile->ops.find("special");
  if (special != profile->ops.end() && special->second > 0)
    use.flops_per_special = profile->useful_flops / special->second;
  return use;
}

}  // namespace nautilus::gui
