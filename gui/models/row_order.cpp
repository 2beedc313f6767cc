#include "gui/models/row_order.h"

#include <algorithm>
#include <cmath>

namespace nautilus::gui {
namespace {

constexpr size_t kStep = 256;  // candidates

}  // namespace

void RowOrder::begin(const Wish& wish) {
  wish_ = wish;
  stage_ = Stage::Find;
  next_ = next_key_ = 0;
  front_ = wish.show == Show::Pareto ? document_.session().result.pareto : std::vector<int>();
  found_.clear(), without_.clear(), rows_.clear();
  texts_.clear(), text_of_.clear();
  text_order_ = {}, order_ = {};
}

bool RowOrder::step() {
  switch (stage_) {
    case Stage::Find:
      find();
      return true;
    case Stage::Choose:
      choose();
      return true;
    case Stage::Key:
      key();
      return true;
    case Stage::Texts:
      rank_texts();
      return true;
    case Stage::Sort:
      if (order_.step()) return true;
      end();
      return false;
  }
  return false;
}

void RowOrder::find() {
  const auto& nodes = document_.nodes();
  if (wish_.show == Show::Pareto) {
    for (int n : front_)
      if (document_.node(n) && filters_.passes(n)) found_.push_back(n);
    next_ = nodes.size();
  }
  const size_t end = std::min(nodes.size(), next_ + kStep);
  for (; next_ < end; ++next_) {
    const sched::SearchNode& n = nodes[next_];
    if (filters_.passes(n.id) && (wish_.show == Show::All || n.seconds > 0)) found_.push_back(n.id);
  }
  if (next_ >= nodes.size()) stage_ = Stage::Choose;
}

void RowOrder::choose() {
  stage_ = Stage::Key;
  const auto top = static_cast<size_t>(std::max(0, wish_.top));
  if (wish_.show != Show::Top || found_.size() <= top) return;
  std::vector<std::pair<double, int>> by_time;
  by_time.reserve(found_.size());
  for (int n : found_) by_time.emplace_back(document_.node(n)->seconds, n);
  std::nth_element(by_time.begin(), by_time.begin() + static_cast<std::ptrdiff_t>(top),
                   by_time.end());
  found_.clear();
  for (size_t k = 0; k < top; ++k) found_.push_back(by_time[k].second);
}

void RowOrder::enter(int node, double key) {
  if (std::isnan(key))
    without_.push_back(node);
  else
    order_.add({wish_.descending ? -key : key, node});
}

void RowOrder::key() {
  const size_t first = next_key_;
  next_key_ = std::min(found_.size(), first + kStep);
  const std::vector<int> nodes(found_.begin() + static_cast<std::ptrdiff_t>(first),
                               found_.begin() + static_cast<std::ptrdiff_t>(next_key_));
  if (!wish_.by) {
    for (int n : nodes) enter(n, n);
  } else if (wish_.by->numeric()) {
    const std::vector<double> numbers = numbers_of(document_, nodes, *wish_.by);
    for (size_t k = 0; k < nodes.size(); ++k) enter(nodes[k], numbers[k]);
  } else {
    for (int n : nodes) {
      const std::string_view text = text_of(*document_.node(n), *wish_.by);
      auto at = texts_.find(text);
      if (at == texts_.end()) {
        at = texts_.emplace(text, texts_.size()).first;
        text_order_.add({at->first, at->second});
      }
      text_of_.emplace_back(at->second, n);
    }
  }
  if (next_key_ >= found_.size()) stage_ = text_of_.empty() ? Stage::Sort : Stage::Texts;
}

void RowOrder::rank_texts() {
  if (text_order_.step()) return;
  std::vector<double> rank(texts_.size());
  double next = 0;
  for (const auto& [text, number] : text_order_.take())
    rank[number] = text.empty() ? std::nan("") : next++;
  for (const auto& [number, node] : text_of_) enter(node, rank[number]);
  stage_ = Stage::Sort;
}

void RowOrder::end() {
  for (const auto& [key, node] : order_.take()) rows_.push_back(node);
  std::sort(without_.begin(), without_.end());
  rows_.insert(rows_.end(), without_.begin(), without_.end());
}

}  // namespace nautilus::gui
