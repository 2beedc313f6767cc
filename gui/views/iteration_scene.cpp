#include "gui/views/iteration_scene.h"

#include <algorithm>
#include <cmath>

#include "gui/models/verdict_data.h"

namespace nautilus::gui {
namespace {

constexpr double kCellSize = IterationScene::kCell, kBetween = 4 * kCellSize,
                 kNarrowestPanel = 6 * kCellSize;

bool is_shown(const IterPoint& p, const PanelChoice& c) {
  return std::all_of(c.fixed.begin(), c.fixed.end(), [&](const auto& f) {
    return f.first >= static_cast<int>(p.at.size()) ||
           p.at[static_cast<size_t>(f.first)] == f.second;
  });
}

int64_t coordinate(const IterPoint& p, int dim) {
  return dim < 0 ? 0 : p.at[static_cast<size_t>(dim)];
}

}  // namespace

QString point_text(const IterationPicture& p, int point) {
  const IterPoint& at = p.points[static_cast<size_t>(point)];
  const IterStatement& s = p.statements[static_cast<size_t>(at.statement)];
  return QString::fromStdString(instance_text(s.name, s.dims, at.at));
}

QColor fate_colour(Fate f, const Theme& theme) {
  switch (f) {
    case Fate::Kept:
      return theme.muted();
    case Fate::Paid:
      return theme.warning();
    case Fate::Violated:
      break;
  }
  return theme.bad();
}

PanelChoice first_choice(const IterStatement& s) {
  PanelChoice out{s.x, s.y, {}};
  for (size_t d = 0; d < s.dims.size() && d < s.low.size(); ++d)
    if (static_cast<int>(d) != s.x && static_cast<int>(d) != s.y && !s.reduced[d])
      out.fixed[static_cast<int>(d)] = s.low[d];
  return out;
}

QString IterationScene::legend() {
  return QObject::tr(
      "● has run   ◉ runs now   ○ to come   shaded: no instance   frame: tile   "
      "grey arrow: kept   dashed: out of order, paid by a correction   red ✗: out of order");
}

void IterationScene::set(const IterationPicture& p, std::vector<PanelChoice> choices,
                         bool blocks_together) {
  picture_ = p;
  panels_.clear();
  by_point_.clear();
  at_.clear();
  bounds_ = QRectF();
  steps_ = steps_of(picture_, blocks_together);
  step_count_ = steps_.empty() ? 0 : 1 + *std::max_element(steps_.begin(), steps_.end());
  double left = 0;
  for (size_t k = 0; k < picture_.statements.size(); ++k) {
    make_panel(static_cast<int>(k),
               k < choices.size() ? choices[k] : first_choice(picture_.statements[k]), left);
    const QRectF& grid = panels_.back().grid;
    left = std::max(grid.right(), grid.left() + kNarrowestPanel) + kBetween;
  }
  for (size_t k = 0; k < picture_.arrows.size(); ++k) {
    const IterArrow& a = picture_.arrows[k];
    if (!at_.contains(a.from) || !at_.contains(a.to)) continue;
    by_point_[a.from].push_back(static_cast<int>(k));
    by_point_[a.to].push_back(static_cast<int>(k));
  }
}

void IterationScene::make_panel(int statement, const PanelChoice& choice, double left) {
  const IterStatement& s = picture_.statements[static_cast<size_t>(statement)];
  Panel panel;
  panel.statement = statement;
  panel.choice = choice;
  const bool any = !s.low.empty();
  auto range = [&](int dim, int64_t& low, int64_t& count) {
    if (dim < 0 || !any) return;
    low = s.low[static_cast<size_t>(dim)];
    count = s.high[static_cast<size_t>(dim)] - low + 1;
  };
  range(choice.x, panel.x0, panel.columns);
  range(choice.y, panel.y0, panel.rows);
  panel.grid = QRectF(left, 0, static_cast<double>(panel.columns) * kCell,
                      static_cast<double>(panel.rows) * kCell);
  for (size_t k = 0; k < picture_.points.size(); ++k) {
    const IterPoint& p = picture_.points[k];
    if (p.statement != statement || !is_shown(p, choice)) continue;
    const int64_t x = coordinate(p, choice.x), y = coordinate(p, choice.y);
    panel.points.push_back(static_cast<int>(k));
    panel.cells[{x, y}].push_back(static_cast<int>(k));
    at_.insert(static_cast<int>(k),
               panel.grid.topLeft() + QPointF((static_cast<double>(x - panel.x0) + 0.5) * kCell,
                                              (static_cast<double>(y - panel.y0) + 0.5) * kCell));
  }
  panel.tiles = tile_rects(picture_, statement, choice.x, choice.y, panel.points);
  QRectF around = panel.grid.adjusted(-2 * kCell, -2 * kCell, kCell, kCell);
  around.setWidth(std::max(around.width(), kNarrowestPanel + 3 * kCell));
  bounds_ = bounds_.united(around);
  panels_.push_back(std::move(panel));
}

int IterationScene::point_at(QPointF world) const {
  for (const Panel& panel : panels_) {
    if (!panel.grid.contains(world)) continue;
    const QPointF in = (world - panel.grid.topLeft()) / kCell;
    const auto cell = panel.cells.find(
        {panel.x0 + static_cast<int64_t>(in.x()), panel.y0 + static_cast<int64_t>(in.y())});
    if (cell != panel.cells.end()) return cell->second.front();
  }
  return -1;
}

const std::vector<int>& IterationScene::cell_of(int point) const {
  static const std::vector<int> none;
  if (!at_.contains(point)) return none;
  const IterPoint& p = picture_.points[static_cast<size_t>(point)];
  const Panel& panel = panels_[static_cast<size_t>(p.statement)];
  const auto cell =
      panel.cells.find({coordinate(p, panel.choice.x), coordinate(p, panel.choice.y)});
  return cell == panel.cells.end() ? none : cell->second;
}

int IterationScene::neighbour(int point, int dx, int dy) const {
  if (!at_.contains(point)) {
    for (const Panel& panel : panels_)
      if (!panel.points.empty()) return panel.points.front();
    return -1;
  }
  const QPointF from = at_.value(point);
  int best = -1;
  double least = 0;
  for (auto it = at_.begin(); it != at_.end(); ++it) {
    const QPointF d = it.value() - from;
    const double along = d.x() * dx + d.y() * dy,
                 across = std::abs(d.x() * dy) + std::abs(d.y() * dx);
    if (along < kCell / 2) continue;
    const double far = along + 3 * across;
    if (best < 0 || far < least || (far == least && it.key() < best)) best = it.key(), least = far;
  }
  return best < 0 ? point : cell_of(best).front();
}

std::vector<int> IterationScene::arrows_of(int point) const {
  std::vector<int> out;
  for (int p : cell_of(point))
    if (const auto at = by_point_.find(p); at != by_point_.end())
      out.insert(out.end(), at->second.begin(), at->second.end());
  return out;
}

}  // namespace nautilus::gui
