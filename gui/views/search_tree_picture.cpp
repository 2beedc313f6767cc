#include "gui/views/search_tree_picture.h"

#include <algorithm>
#include <map>

#include "gui/models/quantity.h"
#include "gui/views/search_tree_shape.h"

namespace nautilus::gui {
namespace {

using sched::NodeState;
constexpr float kOneLine = 24, kTwoLines = 38, kColumnGap = 46;

float toggle_width(const TreeItem& it) {
  if (it.fold != Group::None || (it.below == 0 && !it.open)) return 0;
  const size_t digits = it.open ? 0 : std::to_string(it.below).size();
  return kToggleWidth + 7 * static_cast<float>(digits);
}

// Letters are counted, not measured: fonts belong to the interface thread.
void size_item(const TreeQuestion& q, SearchTreePicture& p, int i) {
  const TreeItem& it = p.items[i];
  const TreeFact& f = q.facts[it.node];
  int letters = f.letters;
  float extra = kGlyphWidth + 10;
  if (it.fold != Group::None) {
    letters = static_cast<int>(fold_text(p, q.facts, i, static_cast<int>(q.facts.size())).size());
  } else {
    if (f.seconds > 0 || (!it.open && it.below > 0 && it.best_below > 0)) extra += kTimeWidth;
    extra += toggle_width(it);
  }
  const bool one = letters <= kLineLetters;
  const int longest = one ? letters : std::min(kLineLetters, letters * 5 / 8);
  p.width[i] = extra + kLetterWidth * static_cast<float>(longest);
  p.height[i] = one ? kOneLine : kTwoLines;
}

}  // namespace

TreeFact fact_of(const sched::SearchNode& n, double measured_seconds) {
  TreeFact f;
  f.parent = n.parent;
  f.duplicate_of = n.duplicate_of;
  f.seconds = static_cast<float>(measured_seconds > 0 ? measured_seconds : n.seconds);
  f.letters = static_cast<uint16_t>(std::min<size_t>(n.decision.size(), 400));
  f.state = n.state;
  return f;
}

SearchTreePicture make_tree_picture(const TreeQuestion& q) {
  SearchTreePicture p;
  shape_tree(q, p);
  const int n = p.size();
  if (n == 0) return p;
  p.x.resize(n);
  p.width.resize(n);
  p.height.resize(n);
  for (int i = 0; i < n; ++i) size_item(q, p, i);
  p.y = tidy_layout(p.tree, p.height, {.siblings = 6, .cousins = 14});
  double bottom = 0;
  float x = 0;
  for (int level = 0; level < p.tree.levels(); ++level) {
    float widest = 0;
    for (int i = p.tree.level_begin[level]; i < p.tree.level_begin[level + 1]; ++i) {
      p.x[i] = x;
      widest = std::max(widest, p.width[i]);
      bottom = std::max(bottom, p.y[i] + p.height[i] / 2.0);
    }
    p.column_x.push_back(x);
    p.column_width.push_back(widest);
    x += widest + kColumnGap;
  }
  p.bounds = QRectF(0, 0, x - kColumnGap, bottom);
  return p;
}

QRectF SearchTreePicture::box(int i) const {
  return {x[i], y[i] - height[i] / 2.0, width[i], height[i]};
}

QRectF SearchTreePicture::toggle_box(int i) const {
  const double w = toggle_width(items[i]);
  const QRectF b = box(i);
  return w > 0 ? QRectF(b.right() - w, b.top(), w, b.height()) : QRectF();
}

std::pair<int, int> SearchTreePicture::range(int level, double top, double bottom) const {
  const int begin = tree.level_begin[level], end = tree.level_begin[level + 1];
  auto first = std::partition_point(y.begin() + begin, y.begin() + end, [&](const double& m) {
    return m + height[&m - y.data()] / 2.0 < top;
  });
  auto last = std::partition_point(first, y.begin() + end, [&](const double& m) {
    return m - height[&m - y.data()] / 2.0 <= bottom;
  });
  return {static_cast<int>(first - y.begin()), static_cast<int>(last - y.begin())};
}

int SearchTreePicture::at(QPointF p) const {
  auto column = std::upper_bound(column_x.begin(), column_x.end(), static_cast<float>(p.x()));
  if (column == column_x.begin()) return -1;
  const int level = static_cast<int>(column - column_x.begin()) - 1;
  for (auto [i, end] = range(level, p.y(), p.y()); i < end; ++i)
    if (box(i).contains(p)) return i;
  return -1;
}

QString fold_text(const SearchTreePicture& picture, const std::vector<TreeFact>& facts, int item,
                  int limit) {
  const TreeItem& it = picture.items[item];
  std::map<NodeState, int> states;
  int members = 0;
  float fastest = 0, slowest = 0;
  for (int k = it.hidden_begin; k < it.hidden_begin + it.below; ++k) {
    const int node = picture.hidden[k];
    if (node >= limit) break;
    const TreeFact& f = facts[node];
    ++members;
    ++states[f.state];
    if (f.seconds <= 0) continue;
    fastest = fastest == 0 ? f.seconds : std::min(fastest, f.seconds);
    slowest = std::max(slowest, f.seconds);
  }
  const QString sign = it.open ? QStringLiteral("\u2212") : QStringLiteral("+");
  const QString number = sign + count_text(members);
  if (it.fold == Group::Waiting) return number + QStringLiteral(" waiting");
  if (it.fold == Group::Plans)
    return number + QStringLiteral(" slower plans, ") + seconds_text(fastest) +
           QStringLiteral(" to ") + seconds_text(slowest);
  static const std::pair<NodeState, const char*> words[] = {
      {NodeState::Illegal, "illegal"},       {NodeState::Unknown, "unknown"},
      {NodeState::OverCapacity, "capacity"}, {NodeState::Dominated, "dominated"},
      {NodeState::Bounded, "bounded"},       {NodeState::Duplicate, "duplicate"},
      {NodeState::Failed, "failed"},         {NodeState::Budget, "not tried"}};
  if (states.size() == 1 && states.begin()->first == NodeState::Budget)
    return number + QStringLiteral(" not tried");
  QStringList parts;
  std::vector<std::pair<int, const char*>> sorted;
  for (auto& [state, word] : words)
    if (auto found = states.find(state); found != states.end())
      sorted.emplace_back(found->second, word);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto& a, auto& b) { return a.first > b.first; });
  for (auto& [k, word] : sorted) parts << QString::fromLatin1(word) + u' ' + count_text(k);
  return number + QStringLiteral(" pruned (") + parts.join(QStringLiteral(", ")) + u')';
}

}  // namespace nautilus::gui
