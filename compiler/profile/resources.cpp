#include "compiler/profile/resources.h"

#include <algorithm>

namespace nautilus::profile {

// The model divides the register file by `register_bytes` over the share of it that tiles get
// ("register_room"): so many bytes that the quotient is the number of blocks that registers and
// threads allow.
sched::ResourceProfile with_resources(sched::ResourceProfile p, const sched::Machine& m,
                                      const std::vector<cuda::Launch>& launches,
                                      const std::vector<cuda::Resources>& kernels) {
  if (m.kind != "gpu" || kernels.size() != launches.size()) return p;
  std::vector<sched::ResourceProfile*> parts;
  for (sched::ResourceProfile& part : p.parts) parts.push_back(&part);
  if (parts.empty()) parts.push_back(&p);
  if (parts.size() != kernels.size()) return p;
  const double room = m.figure("register_room"), file = m.registers_per_unit.value;
  double registers = 0, shared = 0;
  for (size_t k = 0; k < parts.size(); ++k) {
    const double threads = launches[k].threads;
    const double held = 4.0 * kernels[k].registers * threads;
    const double by_threads = file * threads / m.max_threads_per_unit;
    parts[k]->register_bytes = room * std::max(held, by_threads);
    parts[k]->copier_bytes = 0;  // they are among the threads
    parts[k]->shared_bytes = static_cast<double>(kernels[k].shared_bytes);
    registers = std::max(registers, parts[k]->register_bytes);
    shared = std::max(shared, parts[k]->shared_bytes);
  }
  p.register_bytes = registers;
  p.shared_bytes = shared;
  return p;
}

}  // namespace nautilus::profile
