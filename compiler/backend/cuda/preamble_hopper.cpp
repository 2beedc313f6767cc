// Helpers for sm_90 and newer.
#include "compiler/backend/cuda/preamble_texts.h"

namespace nautilus::cuda {

const std::vector<Helper>& hopper_helpers() {
  static const std::vector<Helper> all{};
  return all;
}

}  // namespace nautilus::cuda
