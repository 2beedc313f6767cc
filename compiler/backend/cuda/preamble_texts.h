// The texts of the helpers, in the order in which they are written out.
#pragma once

#include <string>
#include <vector>

namespace nautilus::cuda {

struct Helper {
  std::string name, header;
  std::vector<std::string> needs;
  std::string text;
};
const std::vector<Helper>& ordinary_helpers();  // sm_80 and newer
const std::vector<Helper>& hopper_helpers();    // mbarriers, bulk copies, wgmma
// c[64, n] += a b of one wgmma instruction; transposed: rows run along m or n instead of k.
Helper wgmma_helper(const std::string& name, int n, const std::string& type, bool registers,
                    int transposed_a, int transposed_b);

}  // namespace nautilus::cuda
