#include "gui/models/text_diff.h"

#include <QHash>
#include <algorithm>
#include <unordered_map>

namespace nautilus::gui {

namespace {

constexpr int kMostEdits = 1500;  // beyond: by lines that are unique

// Myers, "An O(ND) difference algorithm and its variations", 1986, on lines as numbers.
class Differ {
 public:
  Differ(std::vector<int> a, std::vector<int> b) : a_(std::move(a)), b_(std::move(b)) {}

  // Matching pairs in order.
  std::vector<std::pair<int, int>> run() {
    range(0, int(a_.size()), 0, int(b_.size()), true);
    return std::move(pairs_);
  }

 private:
  const std::vector<int> a_, b_;
  std::vector<std::pair<int, int>> pairs_;

  void range(int a0, int a1, int b0, int b1, bool anchors) {
    while (a0 < a1 && b0 < b1 && a_[size_t(a0)] == b_[size_t(b0)]) pairs_.emplace_back(a0++, b0++);
    int same = 0;
    while (a1 - same > a0 && b1 - same > b0 &&
           a_[size_t(a1 - same - 1)] == b_[size_t(b1 - same - 1)])
      ++same;
    if (a0 < a1 - same && b0 < b1 - same && !shortest(a0, a1 - same, b0, b1 - same) && anchors)
      by_anchors(a0, a1 - same, b0, b1 - same);
    for (; same > 0; --same) pairs_.emplace_back(a1 - same, b1 - same);
  }

  // False: too many edits.
  bool shortest(int a0, int a1, int b0, int b1) {
    const int n = a1 - a0, m = b1 - b0, most = std::min(n + m, kMostEdits);
    std::vector<std::vector<int>> trace;
    std::vector<int> v(size_t(2 * most + 3), 0);
    const auto at = [&](int k) -> int& { return v[size_t(k + most + 1)]; };
    for (int d = 0; d <= most; ++d) {
      trace.emplace_back(v.begin() + (most + 1 - d), v.begin() + (most + 2 + d));
      for (int k = -d; k <= d; k += 2) {
        int x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
        while (x < n && x - k < m && a_[size_t(a0 + x)] == b_[size_t(b0 + x - k)]) ++x;
        at(k) = x;
        if (x >= n && x - k >= m) return backtrack(trace, n, m, a0, b0), true;
      }
    }
    return false;
  }

  // trace[d] holds v[-d..d] before round d.
  void backtrack(const std::vector<std::vector<int>>& trace, int x, int y, int a0, int b0) {
    std::vector<std::pair<int, int>> found;
    for (int d = int(trace.size()) - 1; d >= 0; --d) {
      const auto at = [&](int k) { return k < -d || k > d ? -1 : trace[size_t(d)][size_t(k + d)]; };
      const int k = x - y;
      const bool down = k == -d || (k != d && at(k - 1) < at(k + 1));
      const int before = down ? k + 1 : k - 1;
      const int px = d == 0 ? 0 : at(before), py = d == 0 ? 0 : px - before;
      while (x > px && y > py && x > 0 && y > 0 && a_[size_t(a0 + x - 1)] == b_[size_t(b0 + y - 1)])
        found.emplace_back(a0 + --x, b0 + --y);
      if (d > 0) x = px, y = py;
    }
    pairs_.insert(pairs_.end(), found.rbegin(), found.rend());
  }

  // Lines that occur once on both sides hold the texts together; between them it is tried again.
  void by_anchors(int a0, int a1, int b0, int b1) {
    QHash<int, std::pair<int, int>> left, right;  // line -> how often, where
    for (int n = a0; n < a1; ++n) left[a_[size_t(n)]].first++, left[a_[size_t(n)]].second = n;
    for (int n = b0; n < b1; ++n) right[b_[size_t(n)]].first++, right[b_[size_t(n)]].second = n;
    std::vector<std::pair<int, int>> chain;  // increasing on both sides
    int from = b0;
    for (int n = a0; n < a1; ++n) {
      const auto l = left.value(a_[size_t(n)]), r = right.value(a_[size_t(n)]);
      if (l.first != 1 || r.first != 1 || r.second < from) continue;
      // One that would skip most of the rest is not worth it.
      if (r.second - from > (n - a0) + (b1 - b0) / 2) continue;
      chain.emplace_back(n, r.second);
      from = r.second + 1;
    }
    int a = a0, b = b0;
    for (const auto& [n, m] : chain) {
      range(a, n, b, m, false);
      pairs_.emplace_back(n, m);
      a = n + 1, b = m + 1;
    }
    range(a, a1, b, b1, false);
  }
};

}  // namespace

std::vector<DiffRow> diff_lines(const QStringList& left, const QStringList& right) {
  std::unordered_map<QString, int> numbers;
  const auto numbered = [&](const QStringList& lines) {
    std::vector<int> out;
    for (const QString& l : lines)
      out.push_back(numbers.try_emplace(l, int(numbers.size())).first->second);
    return out;
  };
  std::vector<int> a = numbered(left), b = numbered(right);
  auto pairs = Differ(std::move(a), std::move(b)).run();
  pairs.emplace_back(int(left.size()), int(right.size()));
  std::vector<DiffRow> rows;
  int l = 0, r = 0;
  for (const auto& [x, y] : pairs) {
    while (l < x && r < y) rows.push_back({DiffKind::Changed, l++, r++});
    while (l < x) rows.push_back({DiffKind::Removed, l++, -1});
    while (r < y) rows.push_back({DiffKind::Added, -1, r++});
    if (x < left.size()) rows.push_back({DiffKind::Same, l++, r++});
  }
  return rows;
}

DiffSpan diff_span(const QString& left, const QString& right) {
  const int n = int(left.size()), m = int(right.size());
  int begin = 0, end = 0;
  while (begin < n && begin < m && left[begin] == right[begin]) ++begin;
  while (end < n - begin && end < m - begin && left[n - 1 - end] == right[m - 1 - end]) ++end;
  return {begin, n - end, begin, m - end};
}

}  // namespace nautilus::gui
