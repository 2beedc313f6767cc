// Paints a roofline plot. Points are binned by a few pixels for every frame: what is painted is
// bounded by the screen, not by the number of candidates.
#pragma once

#include <QHash>
#include <QImage>
#include <QPainter>

#include "gui/models/selection.h"
#include "gui/models/theme.h"
#include "gui/views/roofline_geometry.h"
#include "gui/views/roofline_points.h"
#include "gui/views/viewport.h"

namespace nautilus::gui {

enum class ColourBy : uint8_t { Family, State };

struct RooflineLook {
  const RooflineCloud& cloud;
  const std::vector<Roof>& roofs;
  const Document& document;
  const Selection& selection;
  QRectF plot;            // of the screen: where there are points
  uint32_t levels = ~0U;  // shown, a bit each
  ColourBy colour = ColourBy::Family;
  int best = -1;                 // candidate
  std::vector<PathStop> path{};  // drawn as arrows
  int hovered = -1;              // index of a point under the mouse
  int hovered_roof = -1;
  bool as_text = false;  // vectors: no cached pictures
};

// Points that are not in the plot, by the side at which they lie.
struct Outside {
  int left = 0, right = 0, above = 0, below = 0, suspicious = 0;
};

class RooflinePainter {
 public:
  explicit RooflinePainter(const Theme& theme) : theme_(theme) {}
  void theme_changed() { stamps_.clear(); }
  void paint(QPainter& p, const Viewport& v, const RooflineLook& look);
  const Outside& outside() const { return outside_; }  // as of the last paint
  // Chips at the edges that tell of points outside: 'l', 'r', 'a', 'b', and '!' of points above a
  // roof; null where there is none.
  QRectF badge(char side) const { return badges_.value(side); }
  double paint_legend(QPainter& p, const QRectF& area, const RooflineLook& look);
  QColor colour(const RooflineLook& look, const CloudPoint& c) const;
  // The marker of a level at a place: hollow, filled or ringed.
  enum class Mark : uint8_t { Hollow, Filled, Ringed, Wrong };
  void marker(QPainter& p, QPointF at, int level, double size, const QColor& colour,
              Mark mark) const;

 private:
  struct Frame;
  void grid(Frame& f);
  void shading(Frame& f);
  void roofs(Frame& f);
  void labels(Frame& f);
  void cloud(Frame& f);
  void dense(Frame& f, const std::vector<int>& bins);
  void stamp(Frame& f, const CloudPoint& c, double size);
  void joins(Frame& f);
  void focus(Frame& f, int node, double size);
  void arrows(Frame& f);
  void path_key(Frame& f);
  void hover_lines(Frame& f);
  void axes(Frame& f);
  void edge_badges(Frame& f);
  QFont font(double pixels, bool bold = false) const;

  const Theme& theme_;
  Outside outside_;
  QHash<char, QRectF> badges_;
  QHash<quint64, QImage> stamps_;
  std::vector<int> bin_of_;  // cells of the plot: point + 1
};

RooflinePainter::Mark mark_of(const CloudPoint& c);

}  // namespace nautilus::gui
