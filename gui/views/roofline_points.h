// The candidates on a roofline: one point a memory level, as plain arrays, so that 100,000
// candidates can be gone through for every frame.
#pragma once

#include <QPointF>
#include <QRectF>
#include <QString>
#include <map>
#include <unordered_map>
#include <vector>

#include "gui/models/document.h"
#include "gui/models/theme.h"

namespace nautilus::gui {

struct CloudPoint {
  float x = 0, y = 0;     // of the world: see roofline_geometry.h
  float predicted_y = 0;  // of a measured candidate: where it was expected
  int node = 0;
  uint8_t level = 0;   // of RooflineCloud::levels
  uint8_t family = 0;  // of RooflineCloud::families; kOtherFamilies: none of these
  sched::NodeState state = sched::NodeState::Complete;
  bool measured = false, right = false, wrong = false;  // neither: not compared
  bool suspicious = false;                              // above a roof of the machine
  bool lit = true;
};
inline constexpr uint8_t kOtherFamilies = 8;

// Plans of one structure that differ in numbers alone: children of one candidate.
struct Family {
  int node = 0;
  QString name;  // the decisions that tell it from the other families
  double best_seconds = 0;
  int best = -1;  // the plan that takes them
  int plans = 0;
  void consider(const sched::SearchNode& n);  // for the best
};

struct RooflineCloud {
  std::vector<std::string> levels;  // outermost first
  std::vector<CloudPoint> points;   // those of one candidate are contiguous, outermost level first
  std::vector<Family> families;     // the fastest few
  int candidates = 0;               // with points
  uint32_t marks = 0;               // how times are known: those that occur, a bit each
  uint32_t states = 0;              // that occur, a bit each

  // Everything anew: `begin`, then `advance` until nothing is left, then `find_families`.
  void build(const Document& d);
  void begin(const Document& d);
  // Adds candidates that are not here yet, some at a time; whether there are more.
  bool advance(const Document& d, int at_most);
  void refresh(const Document& d, int node);  // its numbers or its measurement changed
  void find_families(const Document& d);
  // The points of one candidate; empty if it has none.
  std::pair<const CloudPoint*, const CloudPoint*> of(int node) const;
  QRectF bounds(uint32_t levels_shown) const;  // of lit points; null if there are none
  // Index of the nearest point within `radius` (of the world), or -1.
  int nearest(QPointF world, double radius, uint32_t levels_shown) const;

 private:
  void add(const Document& d, const sched::SearchNode& n);
  void make_points(const Document& d, const sched::SearchNode& n, std::vector<CloudPoint>& to);
  void count(const sched::SearchNode& n);
  void recount(const Document& d, const sched::SearchNode& changed);
  std::vector<int> first_point_;                // by candidate; -1: none
  std::vector<double> bandwidth_;               // by level
  double arithmetic_ = 0;                       // the machine's highest roof
  int next_ = 0;                                // candidate
  std::unordered_map<int, Family> all_;         // by structure; no names
  std::unordered_map<int, uint8_t> family_of_;  // of the fastest few, by structure
};

// The path of transforms to a candidate: plans that stand for its decisions. A decision that was
// never costed by itself is represented by the fastest plan that takes it but not the next one; the
// root by the first plan that was costed, the program as written. Consecutive equal ones are one.
struct PathStop {
  int node = 0;  // on the path
  int plan = 0;  // with points: stands for it
};
std::vector<PathStop> path_stops(const Document& d, int node);

}  // namespace nautilus::gui
