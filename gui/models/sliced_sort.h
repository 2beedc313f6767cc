// Sorting in steps of about a millisecond, between events: runs are sorted one by one, then merged
// two by two.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

namespace nautilus::gui {

template <class T, class Less = std::less<T>>
class SlicedSort {
 public:
  void add(T value) { items_.push_back(std::move(value)); }
  // False: what was added is in order.
  bool step() {
    const size_t n = items_.size();
    if (width_ == 0) {
      const auto from = at(next_), to = at(std::min(n, next_ + kRun));
      std::sort(from, to, Less());
      next_ += kRun;
      if (next_ >= n) begin_merging(kRun);
    } else if (width_ < n) {
      const auto from = at(next_), middle = at(std::min(n, next_ + width_)),
                 to = at(std::min(n, next_ + 2 * width_));
      std::merge(std::make_move_iterator(from), std::make_move_iterator(middle),
                 std::make_move_iterator(middle), std::make_move_iterator(to),
                 std::back_inserter(merged_), Less());
      next_ += 2 * width_;
      if (next_ < n) return true;
      items_.swap(merged_);
      begin_merging(2 * width_);
    }
    return width_ == 0 || width_ < n;
  }
  std::vector<T> take() { return std::exchange(*this, {}).items_; }

 private:
  auto at(size_t k) { return items_.begin() + static_cast<std::ptrdiff_t>(k); }
  void begin_merging(size_t width) {
    width_ = width;
    next_ = 0;
    merged_.clear();
    merged_.reserve(items_.size());
  }
  static constexpr size_t kRun = 1024;
  std::vector<T> items_, merged_;
  size_t width_ = 0;  // of the runs that are in order; 0: they are still sorted
  size_t next_ = 0;
};

}  // namespace nautilus::gui
