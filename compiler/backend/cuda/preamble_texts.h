// The texts of the helpers, in the order in which they are written out.
#pragma once

#include <string>
#include <vector>

#include "compiler/backend/cuda/preamble.h"

namespace nautilus::cuda {

struct Helper {
  std::string name, header;
  std::vector<std::string> needs;
  std::string text;
};
const std::vector<Helper>& ordinary_helpers();  // sm_80 and newer
const std::vector<Helper>& hopper_helpers();    // mbarriers, bulk copies, wgmma
Helper wgmma_helper(const std::string& name, const WgmmaKind& w);

}  // namespace nautilus::cuda
