// The part of a wrapper that is the same for all kernels.
#pragma once

#include <string_view>

namespace nautilus::torch {

extern const std::string_view kRuntimeText;

}  // namespace nautilus::torch
