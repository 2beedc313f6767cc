// The GPU of this host, and what plans for it are made for.
#pragma once

#include "compiler/driver/common.h"

namespace nautilus::driver {

struct HostGpu {
  std::string name, target, machine;  // "NVIDIA H200", sm_90a, h200
  sched::Machine description;
};
// `target`, `machine`: as asked for, or "" for the device's own. Without a device, or where what is
// asked for is none, prints why, of `asked`, and sets `status`.
std::optional<HostGpu> host_gpu(const std::string& asked, const std::string& target,
                                const std::string& machine, bool json, int& status);

}  // namespace nautilus::driver
