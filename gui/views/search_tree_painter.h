// Paints a search tree's picture: what is off the screen costs nothing, and what is smaller than a
// pixel is painted once a pixel, so that a frame's time does not grow with the tree.
#pragma once

#include <QHash>
#include <QPainter>
#include <array>

#include "gui/models/document.h"
#include "gui/models/filter_stack.h"
#include "gui/models/selection.h"
#include "gui/models/theme.h"
#include "gui/views/search_tree_picture.h"
#include "gui/views/text_cache.h"
#include "gui/views/viewport.h"

namespace nautilus::gui {

// Below these scales text, then frames, are too small to be told apart.
inline constexpr double kTextScale = 0.42, kFrameScale = 0.1;

// What is painted besides the picture.
struct TreeLook {
  const SearchTreePicture& picture;
  const std::vector<TreeFact>& facts;
  const Document& document;
  const FilterStack& filters;
  const Selection& selection;
  int limit = 0;         // replay: candidates from here on are not there yet
  int cursor = -1;       // item the keyboard is at
  bool as_text = false;  // text as characters (SVG, PDF)
  int best() const;      // the fastest plan below `limit`, or -1
};

class SearchTreePainter {
 public:
  explicit SearchTreePainter(const Theme& theme);
  void theme_changed();
  void picture_changed() { folds_.clear(); }
  void paint(QPainter& p, const Viewport& v, const TreeLook& look);
  // One or more lines at the bottom of `area`; returns the height they take.
  double paint_legend(QPainter& p, const QRectF& area, const TreeLook& look);

 private:
  struct Frame;  // of one call of paint
  struct Explained;
  std::vector<Explained> explained(const TreeLook& look) const;
  static QString different() { return QStringLiteral("\u2260"); }  // a wrong result's glyph
  void edges(Frame& f);
  void bars(Frame& f);
  void nodes(Frame& f);
  void node(Frame& f, int item);
  void candidate(Frame& f, int item, const QRectF& r, bool lit);
  void fold(Frame& f, int item, const QRectF& r);
  void marks(Frame& f, int item, const QRectF& r);
  double time_mark(Frame& f, int item, const QRectF& r, double right);
  void toggle(Frame& f, int item, const QRectF& r);
  void best_path(Frame& f);
  void ghosts(Frame& f);
  bool lit(const Frame& f, int item) const;
  QColor strip(const Frame& f, int item, bool lit) const;
  QString text_of_fold(const Frame& f, int item);

  const Theme& theme_;
  TextCache text_, bold_, small_;
  std::array<QColor, 11> state_, state_dim_;
  QHash<std::pair<int, int>, QString> folds_;
};

}  // namespace nautilus::gui
