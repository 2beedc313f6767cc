// How densely lines lie between two axes. Lines that join the same bins are one line that counts
// for many, so the work is bounded by bins and pixels, not by candidates.
#include <algorithm>
#include <cmath>

#include "gui/models/parallel_data.h"

namespace nautilus::gui {

std::vector<uint32_t> count_pairs(const ParallelAxis& left, const ParallelAxis& right,
                                  const std::vector<uint8_t>* lit) {
  std::vector<uint32_t> pairs(size_t(kBins) * kBins);
  const size_t count = left.bin.size();
  const uint8_t *a = left.bin.data(), *b = right.bin.data();
  if (!lit)
    for (size_t n = 0; n < count; ++n) ++pairs[size_t(a[n]) * kBins + b[n]];
  else
    for (size_t n = 0; n < count; ++n) pairs[size_t(a[n]) * kBins + b[n]] += (*lit)[n];
  return pairs;
}

std::vector<uint32_t> density_field(const std::vector<uint32_t>& pairs, int width, int height) {
  std::vector<uint32_t> field(size_t(std::max(0, width)) * size_t(std::max(0, height)));
  if (width < 1 || height < 1) return field;
  const double scale = double(height - 1) / (kBins - 1);
  for (int a = 0; a < kBins; ++a)
    for (int b = 0; b < kBins; ++b) {
      const uint32_t weight = pairs[size_t(a) * kBins + size_t(b)];
      if (weight == 0) continue;
      // Rows from the top, in 16.16 fixed point.
      const double from = (kBins - 1 - a) * scale, to = (kBins - 1 - b) * scale;
      int64_t y = int64_t((from + 0.5) * 65536);
      const int64_t step = width > 1 ? int64_t((to - from) * 65536 / (width - 1)) : 0;
      for (int x = 0; x < width; ++x, y += step)
        field[size_t(std::clamp<int64_t>(y >> 16, 0, height - 1)) * size_t(width) + size_t(x)] +=
            weight;
    }
  return field;
}

void paint_density(QImage& on, int x, const std::vector<uint32_t>& field, int width,
                   const QColor& colour, uint32_t most) {
  if (width < 1 || most == 0) return;
  const int height = int(field.size()) / width;
  constexpr uint32_t kLevels = 1024;
  std::vector<QRgb> levels(kLevels + 1);
  const double full = std::log1p(double(most));
  for (uint32_t c = 1; c <= kLevels; ++c) {
    const double count = most <= kLevels ? c : double(c) * most / kLevels;
    const double alpha = 0.18 + 0.82 * std::min(1.0, std::log1p(count) / full);
    QColor shade = colour;
    shade.setAlphaF(float(alpha * colour.alphaF()));
    levels[c] = qPremultiply(shade.rgba());
  }
  const int left = std::max(0, -x), right = std::min(width, on.width() - x);
  for (int r = 0; r < std::min(height, on.height()); ++r) {
    auto* line = reinterpret_cast<QRgb*>(on.scanLine(r));
    const uint32_t* counts = field.data() + size_t(r) * size_t(width);
    for (int c = left; c < right; ++c)
      if (const uint32_t n = counts[c]) {
        const uint32_t level =
            most <= kLevels ? n : std::max<uint32_t>(1, uint32_t(uint64_t(n) * kLevels / most));
        line[x + c] = levels[std::min(level, kLevels)];
      }
  }
}

}  // namespace nautilus::gui
