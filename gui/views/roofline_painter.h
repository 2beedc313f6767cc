// Paints a roofline plot. Points are binned by a few pixels for every frame: what is painted is
// bounded by the screen, not by the number of candidates.
#pragma once

#include <QHash>
#include <QImage>
#include <QPainter>
#include <optional>

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
  void points_changed() { gathered_.reset(); }  // places, or which are lit
  void paint(QPainter& p, const Viewport& v, const RooflineLook& look);
  // The same in two layers: what neither selection nor mouse change, and what lies over it.
  void paint_base(QPainter& p, const Viewport& v, const RooflineLook& look);
  void paint_marks(QPainter& p, const Viewport& v, const RooflineLook& look);
  const Outside& outside() const { return outside_; }  // as of the last paint
  // Chips at the edges that tell of points outside: 'l', 'r', 'a', 'b', and '!' of points above a
  // roof; null where there is none.
  QRectF badge(char side) const { return badges_.value(side); }
  // Returns what it takes of `area`.
  QMarginsF paint_legend(QPainter& p, const QRectF& area, const RooflineLook& look);
  QColor colour(const RooflineLook& look, const CloudPoint& c) const;
  // The marker of a level at a place.
  using Mark = TimeMark;
  void marker(QPainter& p, QPointF at, int level, double size, const QColor& colour,
              Mark mark) const;

 private:
  struct Frame;
  struct Cells;
  struct Explained;
  std::vector<Explained> explained(const RooflineLook& look) const;
  double place(std::vector<Explained>& all, QSizeF room, bool beside) const;
  void explain(QPainter& p, const Explained& e) const;
  Frame begin(QPainter& p, const Viewport& v, const RooflineLook& look) const;
  void grid(Frame& f);
  void shading(Frame& f);
  void roofs(Frame& f);
  void labels(Frame& f);
  bool clear(const Frame& f, size_t roof, const QPolygonF& place) const;
  bool label_diagonal(Frame& f, size_t roof, const QString& text, const QLineF& line);
  bool label_flat(Frame& f, size_t roof, const QString& text, const QLineF& line);
  bool label(Frame& f, size_t roof, const QString& text, QPointF at, double angle);
  void cloud(Frame& f);
  void gather(const Frame& f);
  void bin(const Frame& f, const Cells& cells);
  template <class ColourOf>
  void fill(Frame& f, const Cells& cells, ColourOf colour_of);
  void dense(Frame& f, const Cells& cells);
  void suspects(Frame& f);
  void hovered_roof(Frame& f);
  void stamp(Frame& f, const CloudPoint& c, double size);
  void joins(Frame& f);
  void focus(Frame& f, int node, double size);
  void arrows(Frame& f);
  void arrow(Frame& f, const QLineF& chord);
  void numbers(Frame& f, const std::vector<QPointF>& stops);
  QRectF key_box(const Frame& f, size_t rows) const;
  void path_key(Frame& f);
  void key_row(Frame& f, size_t stop, const QRectF& row);
  void hover_lines(Frame& f);
  void axes(Frame& f);
  void edge_badges(Frame& f);
  QFont font(double pixels, bool bold = false) const;

  const Theme& theme_;
  Outside outside_;
  QHash<char, QRectF> badges_;
  QHash<quint64, QImage> stamps_;
  std::vector<uint32_t> bin_of_;  // cells of the plot: rank << 30 | point + 1
  std::vector<uint32_t> bins_;    // those that are not empty
  struct Spot {
    float x, y;
    uint32_t point;  // as in a bin
  };
  std::vector<Spot> spots_;      // of the levels in gathered_
  std::vector<int> suspicious_;  // points above a roof
  std::optional<uint32_t> gathered_;
  std::vector<int> suspects_;     // those in the plot
  std::vector<QPolygonF> taken_;  // by labels of the base
};

RooflinePainter::Mark mark_of(const CloudPoint& c);

}  // namespace nautilus::gui
