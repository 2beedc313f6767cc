#include "gui/models/lesson_layout.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "compiler/memory/layout.h"

namespace nautilus::gui {

std::optional<double> layout_number(const std::string& what) {
  std::array<char, 16> how{};
  int rows = 0, cols = 0, bytes = 0, swizzle = 0, used = 0;
  if (std::sscanf(what.c_str(), "bank_passes.%15[a-z].%dx%d.%d.%d%n", how.data(), &rows, &cols,
                  &bytes, &swizzle, &used) != 5 ||
      used != static_cast<int>(what.size()))
    return std::nullopt;
  const auto power = [](int n) { return n > 0 && (n & (n - 1)) == 0 && n <= 256; };
  if (!power(rows) || !power(cols) || (bytes != 2 && bytes != 4) || swizzle < 0 || swizzle > 3)
    return std::nullopt;
  const std::string kind = how.data();
  const memory::Linear tile =
      memory::swizzled({{"i", rows}}, {{"j", cols}}, bytes, swizzle);
  if (kind == "ldmatrix") {
    if (bytes != 2 || rows < 16 || cols < 16) return std::nullopt;
    const memory::Linear fragment =
        memory::operand_a(memory::Shape::M16N8K16, {{"i", rows}}, {{"j", cols}});
    const auto access = memory::matrix_access(fragment, bytes, false);
    if (!access) return std::nullopt;
    return memory::bank_passes(*access, tile, bytes,
                               memory::vector_bits(*access, tile, bytes));
  }
  if ((kind != "column" && kind != "row") || rows < 32 || cols < 32) return std::nullopt;
  const memory::Linear lanes =
      kind == "column" ? memory::blocked({{"i", rows}, {"j", cols}}, 0, 5, 0)
                       : memory::blocked({{"j", cols}, {"i", rows}}, 0, 5, 0);
  return memory::bank_passes(lanes, tile, bytes, 0);
}

}  // namespace nautilus::gui
