// Line by line: what two texts have in common.
#pragma once

#include <QStringList>
#include <vector>

namespace nautilus::gui {

enum class DiffKind : uint8_t { Same, Changed, Removed, Added };
// One row of two texts side by side: lines by number from 0, -1 where that side has none.
struct DiffRow {
  DiffKind kind = DiffKind::Same;
  int left = -1, right = -1;
  bool operator==(const DiffRow&) const = default;
};
// Every line of both texts once, in order. Removed and added lines that stand at the same place are
// paired as changed. Shortest where few lines differ; of very different texts only lines that occur
// once in each are matched.
std::vector<DiffRow> diff_lines(const QStringList& left, const QStringList& right);

// The part of a changed line that differs: [begin, end) in each.
struct DiffSpan {
  int left_begin = 0, left_end = 0, right_begin = 0, right_end = 0;
};
DiffSpan diff_span(const QString& left, const QString& right);

}  // namespace nautilus::gui
