// Paints the iterations of one or two statements: a grid of cells each, tiles around them, arrows
// between dependent instances. Used by the iteration space and by Why.
#pragma once

#include <QHash>
#include <QPainter>
#include <QRectF>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gui/models/iteration_data.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

// What is seen of one statement: two dimensions, and values for others ("" left out: all).
struct PanelChoice {
  int x = -1, y = -1;
  std::map<int, int64_t> fixed;  // dimension, value
};

struct Panel {
  int statement = 0;
  PanelChoice choice;
  QRectF grid;  // of the bounding box of the points, in world units
  int64_t x0 = 0, y0 = 0, columns = 1, rows = 1;
  std::vector<int> points;                                        // that are seen
  std::map<std::pair<int64_t, int64_t>, std::vector<int>> cells;  // by (x, y), in order of time
  std::vector<TileRect> tiles;
};

// How the scene looks at one moment.
struct SceneState {
  int step = -1;                  // of the animation; -1: everything has run
  int hovered = -1, chosen = -1;  // points
  bool kept = true;               // draw dependences that are kept, too

  int only_arrow = -1;  // Why: just this one, and its ends marked
};

class IterationScene {
 public:
  static constexpr double kCell = 24;
  // Of one fate: of more arrows than that, every so manieth is drawn.
  static constexpr size_t kFewArrows = 160;
  // Panels from left to right, one a statement; an empty `choices`: the best dimensions.
  void set(const IterationPicture& p, std::vector<PanelChoice> choices, bool blocks_together);
  const IterationPicture& picture() const { return picture_; }
  const std::vector<Panel>& panels() const { return panels_; }
  const std::vector<int>& steps() const { return steps_; }
  int step_count() const { return step_count_; }
  QRectF bounds() const { return bounds_; }
  bool empty() const { return panels_.empty(); }
  bool visible(int point) const { return at_.contains(point); }
  QPointF position(int point) const { return at_.value(point); }
  int point_at(QPointF world) const;                 // the first of the cell's, or -1
  const std::vector<int>& cell_of(int point) const;  // all that are drawn where it is
  int neighbour(int point, int dx, int dy) const;    // the next point that way, across panels
  // Arrows of a point, both ways: indices.
  std::vector<int> arrows_of(int point) const;

  void paint(QPainter& p, const Theme& theme, const QRectF& seen, double scale,
             const SceneState& state) const;
  int drawn_arrows() const { return drawn_; }  // by the last paint
  // Below the picture: what colours and glyphs mean.
  static QString legend();

 private:
  void make_panel(int statement, const PanelChoice& choice, double left);
  void paint_panel(QPainter& p, const Theme& theme, const Panel& panel, const QRectF& seen,
                   double scale, const SceneState& state) const;
  void paint_axes(QPainter& p, const Theme& theme, const Panel& panel, double scale) const;
  void paint_cell(QPainter& p, const Theme& theme, const std::vector<int>& points, QRectF cell,
                  QColor colour, double scale, const SceneState& state) const;
  void paint_arrows(QPainter& p, const Theme& theme, const QRectF& seen, double scale,
                    const SceneState& state) const;
  bool arrow_seen(int k, const QRectF& seen) const;

  IterationPicture picture_;
  std::vector<Panel> panels_;
  std::vector<int> steps_;
  std::map<int, std::vector<int>> by_point_;  // arrows
  QHash<int, QPointF> at_;
  QRectF bounds_;
  int step_count_ = 0;
  mutable int drawn_ = 0;
};

// "S_P[i=3, j=5]": a point in words.
QString point_text(const IterationPicture& p, int point);
QColor fate_colour(Fate f, const Theme& theme);
// The choice to begin with: the best dimensions, others that are not reduced at their lowest value.
PanelChoice first_choice(const IterStatement& s);

}  // namespace nautilus::gui
