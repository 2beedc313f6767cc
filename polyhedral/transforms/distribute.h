// Distributing a band over the sequence below it (loop fission).
#pragma once

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly {

// A band over a sequence becomes a sequence of filters, each over its own copy of the band.
Expected<Schedule> distribute(const Schedule& s, NodeId band);

TransformInfo info_distribute();

}  // namespace nautilus::poly
