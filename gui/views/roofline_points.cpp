#include "gui/views/roofline_points.h"

#include <algorithm>
#include <cmath>

#include "gui/views/roofline_geometry.h"

namespace nautilus::gui {
namespace {

constexpr size_t kMostLevels = 32;  // those that are shown are bits of a word

bool drawable(const sched::RooflinePoint& p) {
  return p.intensity > 0 && p.achieved > 0 && std::isfinite(p.intensity) &&
         std::isfinite(p.achieved);
}

// The structure a plan belongs to.
int structure_of(const sched::SearchNode& n) {
  return n.parent >= 0 && !n.knobs.empty() ? n.parent : n.id;
}

// What most of the families decided at one end tells none from another.
void drop_common(std::vector<QStringList>& families, bool front) {
  auto end_of = [front](const QStringList& w) { return front ? w.front() : w.back(); };
  for (;;) {
    if (families.size() < 2 || families[0].size() < 2) return;
    const QString word = end_of(families[0]);
    auto shares = [&](const QStringList& w) { return w.size() > 1 && end_of(w) == word; };
    const auto sharing = std::count_if(families.begin(), families.end(), shares);
    if (5 * sharing < 3 * static_cast<std::ptrdiff_t>(families.size())) return;
    for (QStringList& w : families)
      if (shares(w)) w.removeAt(front ? 0 : w.size() - 1);
  }
}

// Those that had a colour keep it, so that a growing search does not change colours.
void keep_colours(std::vector<Family>& families, const std::unordered_map<int, uint8_t>& before) {
  std::vector<Family> placed(families.size());
  std::vector<bool> used(families.size(), false);
  std::vector<Family> fresh;
  for (Family& f : families) {
    auto old = before.find(f.node);
    if (old != before.end() && old->second < placed.size() && !used[old->second]) {
      used[old->second] = true;
      placed[old->second] = std::move(f);
    } else {
      fresh.push_back(std::move(f));
    }
  }
  size_t slot = 0;
  for (Family& f : fresh) {
    while (used[slot]) ++slot;
    used[slot] = true;
    placed[slot] = std::move(f);
  }
  families = std::move(placed);
}

}  // namespace

void RooflineCloud::build(const Document& d) {
  begin(d);
  advance(d, static_cast<int>(d.nodes().size()));
  find_families(d);
}

void RooflineCloud::begin(const Document& d) {
  *this = {};
  const sched::Machine& machine = d.session().options.machine;
  arithmetic_ = highest_arithmetic(machine);
  for (const sched::MemoryLevel& l : machine.levels) {
    if (levels.size() == kMostLevels) break;
    levels.push_back(l.name);
    bandwidth_.push_back(l.best_bandwidth());
  }
}

bool RooflineCloud::advance(const Document& d, int at_most) {
  const auto& nodes = d.nodes();
  const int size = static_cast<int>(nodes.size()), end = std::min(size, next_ + at_most);
  for (; next_ < end; ++next_) {
    count(nodes[next_]);
    add(d, nodes[next_]);
  }
  return next_ < size;
}

void RooflineCloud::count(const sched::SearchNode& n) {
  if (n.points.empty()) return;
  Family& f = all_[structure_of(n)];
  f.node = structure_of(n);
  ++f.plans;
  f.consider(n);
}

// What does not fit is no plan of the structure, however fast it would be.
void Family::consider(const sched::SearchNode& n) {
  if (n.state == sched::NodeState::OverCapacity) return;
  if (n.seconds <= 0 || n.points.empty() || (best >= 0 && n.seconds >= best_seconds)) return;
  best_seconds = n.seconds;
  best = n.id;
}

void RooflineCloud::recount(const Document& d, const sched::SearchNode& changed) {
  Family& f = all_[structure_of(changed)];
  if (f.best != changed.id) return f.consider(changed);
  f.best = -1;
  f.best_seconds = 0;
  if (const sched::SearchNode* n = d.node(f.node)) f.consider(*n);
  for (int id : d.children(f.node))
    if (const sched::SearchNode& n = *d.node(id); structure_of(n) == f.node) f.consider(n);
}

void RooflineCloud::add(const Document& d, const sched::SearchNode& n) {
  const size_t begin = points.size();
  make_points(d, n, points);
  if (points.size() == begin) return;
  if (first_point_.size() <= static_cast<size_t>(n.id)) first_point_.resize(n.id + 1, -1);
  first_point_[n.id] = static_cast<int>(begin);
  ++candidates;
}

void RooflineCloud::make_points(const Document& d, const sched::SearchNode& n,
                                std::vector<CloudPoint>& to) {
  if (n.points.empty()) return;
  const auto found = d.measured(n.id);
  const bool counts = found && !found->right.fails();
  const double slower =
      counts && found->seconds > 0 && n.seconds > 0 ? found->seconds / n.seconds : 1;
  auto family = family_of_.find(structure_of(n));
  const size_t begin = to.size();
  for (const sched::RooflinePoint& p : n.points) {
    if (!drawable(p)) continue;
    size_t level = 0;
    while (level < levels.size() && levels[level] != p.level) ++level;
    if (level == kMostLevels) continue;
    if (level == levels.size()) levels.push_back(p.level), bandwidth_.push_back(0);
    const double achieved = p.achieved / slower;
    const double bound = attainable(bandwidth_[level], arithmetic_, p.intensity);
    const QPointF at = roofline_point(p.intensity, achieved);
    CloudPoint c;
    c.x = static_cast<float>(at.x());
    c.y = static_cast<float>(at.y());
    c.predicted_y = slower == 1 ? c.y : static_cast<float>(-std::log10(p.achieved));
    c.node = n.id;
    c.level = static_cast<uint8_t>(level);
    c.family = family == family_of_.end() ? kOtherFamilies : family->second;
    c.state = n.state;
    c.measured = found.has_value();
    c.right = found && found->right.holds();
    c.wrong = found && found->right.fails();
    c.suspicious = achieved > 1.001 * std::max(p.roof, bound);
    to.push_back(c);
    marks |= 1U << static_cast<unsigned>(time_mark_of(found));
    // Its prediction is drawn beside it.
    if (c.measured && c.predicted_y != c.y) marks |= 1U << static_cast<unsigned>(TimeMark::Hollow);
    states |= 1U << static_cast<unsigned>(c.state);
  }
  std::stable_sort(to.begin() + static_cast<std::ptrdiff_t>(begin), to.end(),
                   [](auto& a, auto& b) { return a.level < b.level; });
}

void RooflineCloud::refresh(const Document& d, int node) {
  const sched::SearchNode* n = d.node(node);
  if (!n || node >= next_) return;
  auto [begin, end] = of(node);
  if (!begin) {
    count(*n);
    return add(d, *n);
  }
  recount(d, *n);
  const size_t known = levels.size();
  std::vector<CloudPoint> fresh;
  make_points(d, *n, fresh);
  if (fresh.size() == static_cast<size_t>(end - begin) && levels.size() == known)
    std::copy(fresh.begin(), fresh.end(), points.begin() + (begin - points.data()));
  else
    build(d);
}

// The fastest structures get a colour of their own. A family's name leaves out what all of them
// decided.
void RooflineCloud::find_families(const Document& d) {
  families.clear();
  for (auto& [node, f] : all_)
    if (f.best >= 0) families.push_back(f);
  auto faster = [](const Family& a, const Family& b) {
    return std::pair(a.best_seconds == 0 ? INFINITY : a.best_seconds, a.node) <
           std::pair(b.best_seconds == 0 ? INFINITY : b.best_seconds, b.node);
  };
  const size_t k = std::min<size_t>(families.size(), kOtherFamilies);
  std::partial_sort(families.begin(), families.begin() + static_cast<std::ptrdiff_t>(k),
                    families.end(), faster);
  families.resize(k);
  keep_colours(families, family_of_);
  std::vector<QStringList> decisions;
  for (const Family& f : families) {
    QStringList words;
    for (int id : d.path(f.node))
      if (const sched::SearchNode* n = d.node(id); n && id != 0)
        words << QString::fromStdString(n->decision);
    decisions.push_back(words);
  }
  for (bool front : {true, false}) drop_common(decisions, front);
  family_of_.clear();
  for (size_t i = 0; i < k; ++i) {
    families[i].name = decisions[i].join(QStringLiteral(" \u203a "));
    family_of_[families[i].node] = static_cast<uint8_t>(i);
  }
  int last = -1;
  uint8_t family = kOtherFamilies;
  for (CloudPoint& p : points) {
    if (p.node != last) {
      const sched::SearchNode* n = d.node(last = p.node);
      auto found = n ? family_of_.find(structure_of(*n)) : family_of_.end();
      family = found == family_of_.end() ? kOtherFamilies : found->second;
    }
    p.family = family;
  }
}

std::pair<const CloudPoint*, const CloudPoint*> RooflineCloud::of(int node) const {
  if (node < 0 || node >= static_cast<int>(first_point_.size()) || first_point_[node] < 0)
    return {nullptr, nullptr};
  const CloudPoint* begin = points.data() + first_point_[node];
  const CloudPoint* end = begin;
  while (end != points.data() + points.size() && end->node == node) ++end;
  return {begin, end};
}

QRectF RooflineCloud::bounds(uint32_t shown) const {
  double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9;
  for (const CloudPoint& p : points) {
    if (!p.lit || !(shown >> p.level & 1)) continue;
    left = std::min<double>(left, p.x);
    right = std::max<double>(right, p.x);
    top = std::min<double>(top, p.y);
    bottom = std::max<double>(bottom, p.y);
  }
  return left > right ? QRectF() : QRectF(QPointF(left, top), QPointF(right, bottom));
}

int RooflineCloud::nearest(QPointF world, double radius, uint32_t shown) const {
  const auto x = static_cast<float>(world.x()), y = static_cast<float>(world.y());
  float best = static_cast<float>(radius * radius);
  int found = -1;
  for (size_t i = 0; i < points.size(); ++i) {
    const CloudPoint& p = points[i];
    if (!(shown >> p.level & 1)) continue;
    const float dx = p.x - x, dy = p.y - y, d = dx * dx + dy * dy;
    if (d < best || (d == best && found >= 0 && p.lit && !points[found].lit)) {
      best = d;
      found = static_cast<int>(i);
    }
  }
  return found;
}

std::vector<PathStop> path_stops(const Document& d, int node) {
  const auto& nodes = d.nodes();
  const std::vector<int> path = d.path(node);
  if (path.empty()) return {};
  std::vector<int> rank(nodes.size(), -1);  // how far along the path a candidate goes
  std::vector<int> plan(path.size(), -1);
  for (size_t k = 0; k < path.size(); ++k) rank[path[k]] = static_cast<int>(k);
  for (const sched::SearchNode& n : nodes) {
    if (n.id >= static_cast<int>(rank.size())) continue;
    if (rank[n.id] < 0 && n.parent >= 0) rank[n.id] = rank[n.parent];
    const int k = rank[n.id];
    if (k < 0 || n.points.empty() || n.seconds <= 0) continue;
    const bool itself = n.id == path[k];
    if (!itself && n.state == sched::NodeState::OverCapacity) continue;
    int& best = plan[k];
    if (itself || best < 0)
      best = n.id;
    else if (k > 0 && best != path[k] && n.seconds < nodes[best].seconds)
      best = n.id;
  }
  std::vector<PathStop> stops;
  for (size_t k = 0; k < path.size(); ++k)
    if (plan[k] >= 0 && (stops.empty() || stops.back().plan != plan[k]))
      stops.push_back({path[k], plan[k]});
  return stops;
}

}  // namespace nautilus::gui
