// Where the boxes of a schedule tree stand: one below the other, indented by depth, in preorder.
#pragma once

#include <QFontMetricsF>
#include <QRectF>
#include <QString>
#include <vector>

#include "gui/models/tree_data.h"

namespace nautilus::gui {

constexpr double kTreePadX = 10, kTreePadY = 4;  // within a box

struct TreeLine {
  QString text;  // as it is drawn
  bool strong = false, muted = false;
  int member = -1;  // of a band
};
struct TreeRow {
  QRectF rect;
  std::vector<TreeLine> lines;
};
struct TreeLayout {
  std::vector<TreeRow> rows;      // one a box
  std::vector<TreeLine> storage;  // below the tree: where temporaries live
  QRectF storage_rect, bounds;
  double line_height = 0;
  // The row at a point, -1: none; and the band member whose line it is, -1: none.
  int row_at(QPointF p) const;
  int member_at(int row, QPointF p) const;
  // Rows whose boxes may be seen between two heights: [first, second).
  std::pair<int, int> rows_between(double top, double bottom) const;
};
TreeLayout lay_out(const TreePicture& tree, const QFontMetricsF& font, const QFontMetricsF& mono);

QString kind_glyph(poly::NodeKind k);  // "↻" band, "≡" sequence, "▽" filter, "⚑" mark
QString mapping_glyph(poly::Mapping m);  // "▦" grid, "▤" warpgroup, "▣" tile, "⇊" unroll, "" serial
QString member_text(const TreeMember& m);            // "j0 ×64 ▦ grid = floor(j/64)"
QString row_text(const TreePicture& tree, int row);  // all of a box in words, for tool tips

}  // namespace nautilus::gui
