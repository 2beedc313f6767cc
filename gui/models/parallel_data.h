// Parallel coordinates: candidates as lines over axes, and how densely lines lie between two axes.
// No window: positions run from 0 (bottom of an axis) to 1 (top), kMissing where there is no value.
#pragma once

#include <QImage>
#include <optional>
#include <vector>

#include "gui/models/candidate_columns.h"

namespace nautilus::gui {

inline constexpr float kMissing = -0.08F;
inline constexpr int kBins = 128;  // positions that density tells apart

struct AxisTick {
  double at = 0;  // position
  QString label;
};
struct ParallelAxis {
  Column column;
  bool log = false, flip = false;
  double low = 0, high = 1;                        // values at the ends
  std::vector<QString> categories;                 // an axis of texts: their order, bottom first
  std::vector<float> at;                           // by line
  std::vector<uint8_t> bin;                        // by line
  std::optional<std::pair<double, double>> brush;  // positions
  std::vector<AxisTick> ticks;
  double position(double value) const;
  double value(double position) const;
};

class ParallelData {
 public:
  // Lines are `nodes`; axes of the same columns keep their settings.
  void set(const Document& d, const std::vector<Column>& columns, std::vector<int> nodes);
  // The same in steps: lines without axes, then one axis at a time, set as in `before`.
  void begin(std::vector<int> nodes);
  void add(const Document& d, const Column& column, const std::vector<ParallelAxis>& before);
  const std::vector<ParallelAxis>& axes() const { return axes_; }
  const std::vector<int>& nodes() const { return nodes_; }
  int axis(const QString& column_id) const;  // -1: none
  void set_log(int axis, bool on);           // refused (unchanged) where a value is not positive
  void set_flip(int axis, bool on);
  void move(int from, int to);
  void remove(int axis);
  void set_brush(int axis, std::optional<std::pair<double, double>> span);
  bool brushed() const;
  void clear_brushes();
  // Which lines pass all brushes (and `also`, by line, where given).
  std::vector<uint8_t> lit(const std::vector<uint8_t>* also = nullptr) const;
  std::vector<int> nodes_of(const std::vector<uint8_t>& lit) const;
  // Line nearest to a point between axis `left` and the next (0 <= x <= 1), within `reach`
  // positions; -1: none. `lit`: only these.
  int nearest(int left, double x, double position, double reach,
              const std::vector<uint8_t>& lit) const;
  // Whether a column tells candidates apart.
  static bool worth_showing(const Document& d, const Column& c, const std::vector<int>& nodes);

 private:
  static void place(ParallelAxis& a, const std::vector<double>& values);
  static void ticks(ParallelAxis& a, const std::vector<double>& values);
  std::vector<double> values(const Document& d, ParallelAxis& a) const;
  std::vector<int> nodes_;
  std::vector<ParallelAxis> axes_;
  std::vector<std::vector<double>> values_;  // by axis
};

// How often lines join a bin of the left axis to one of the right: kBins * kBins counts.
std::vector<uint32_t> count_pairs(const ParallelAxis& left, const ParallelAxis& right,
                                  const std::vector<uint8_t>* lit);
// The field of lines between two axes as counts, `width` by `height`.
std::vector<uint32_t> density_field(const std::vector<uint32_t>& pairs, int width, int height);
// Counts as opacity of a colour, logarithmic; `most`: the count that is opaque.
void paint_density(QImage& on, int x, const std::vector<uint32_t>& field, int width,
                   const QColor& colour, uint32_t most);

}  // namespace nautilus::gui
