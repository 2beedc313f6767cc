#include "compiler/driver/host_gpu.h"

#include "compiler/driver/gpu_code.h"
#include "compiler/runtime/gpu/driver.h"
#include "compiler/runtime/gpu/execute.h"

namespace nautilus::driver {

std::optional<HostGpu> host_gpu(const std::string& asked, const std::string& target,
                                const std::string& machine, bool json, int& status) {
  const auto refuse = [&](const Refusal& r, int as) {
    status = fail(json, r, as);
    return std::nullopt;
  };
  auto driver = gpu::Driver::open();
  if (!driver) {
    Refusal r = driver.error();
    r.asked = asked;
    return refuse(r, kEnvironment);
  }
  const auto device = gpu::device_info(**driver);
  if (!device) return refuse(device.error(), kEnvironment);
  HostGpu out{device->name, target.empty() ? gpu::target_of(*device) : target, machine, {}};
  if (auto t = memory::parse_target(out.target); !t)
    return refuse(t.error(), target.empty() ? kEnvironment : kBadInput);
  if (machine.empty()) out.machine = machine_of_target(out.target, device->name);
  auto description = find_gpu(out.machine);
  if (!description) return refuse(description.error(), kBadInput);
  out.description = *std::move(description);
  return out;
}

}  // namespace nautilus::driver
