// What one call of SearchTreePainter::paint works with.
#pragma once

#include <algorithm>

#include "gui/views/search_tree_painter.h"

namespace nautilus::gui {

struct SearchTreePainter::Frame {
  QPainter& p;
  const Viewport& view;
  const TreeLook& look;
  const SearchTreePicture& picture;
  QRectF visible;               // of the world
  QTransform base;              // of the painter
  int best;                     // candidate, or -1
  std::vector<int> best_items;  // from the best plan's to the root's

  bool on_best_path(int item) const {
    return std::find(best_items.begin(), best_items.end(), item) != best_items.end();
  }
  // Whether the search had made it by then.
  bool there(int item) const {
    const TreeItem& it = picture.items[item];
    const int born = it.fold == Group::None ? it.node : picture.hidden[it.hidden_begin];
    return born < look.limit;
  }
  // Distance of the world that must lie between two painted things: none, or a pixel when rows are
  // thinner than that.
  double step() const { return view.scale * 26 < 1.3 ? 1 / view.scale : 0; }
  int after(int item, int end) const {
    const double d = step();
    if (d == 0) return item + 1;
    auto from = picture.y.begin() + item + 1, to = picture.y.begin() + end;
    return static_cast<int>(std::lower_bound(from, to, picture.y[item] + d) - picture.y.begin());
  }
  std::pair<int, int> columns() const {
    const auto& x = picture.column_x;
    const auto& w = picture.column_width;
    int first = 0, last = static_cast<int>(x.size());
    while (first < last && x[first] + w[first] < visible.left()) ++first;
    while (last > first && x[last - 1] > visible.right()) --last;
    return {first, last};
  }
  template <class F>
  void each_visible(F visit) const {
    auto [first, last] = columns();
    for (int level = first; level < last; ++level) {
      auto [i, end] = picture.range(level, visible.top(), visible.bottom());
      for (; i < end; i = after(i, end)) visit(i);
    }
  }
};

}  // namespace nautilus::gui
