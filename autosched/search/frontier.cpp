#include <algorithm>
#include <tuple>

#include "autosched/search/frontier.h"

namespace nautilus::sched {

// Best first: by bound, made worse by a tenth for every step away from the first choices, so that
// bounds that say little do not send the search through every variant of one bad beginning. Cutting
// uses the bound itself.
void Frontier::push(Pending p) {
  Key key{p.candidate.bound * (1 + 0.1 * p.departures), p.depth, p.order};
  if (strategy_ == Strategy::Exhaustive)
    key = {0, p.depth, p.order};  // depth first, in the order of the decisions
  if (strategy_ == Strategy::BestFirst) deepest_.insert(key);
  if (strategy_ == Strategy::Random) any_.push_back(key);
  (strategy_ == Strategy::Beam ? next_ : open_).emplace(key, std::move(p));
}

Pending Frontier::take(std::map<Key, Pending>::iterator it) {
  deepest_.erase(it->first);
  Pending p = std::move(it->second);
  open_.erase(it);
  return p;
}

// Beam: level by level; of each only the `beam` best bounds go on.
std::optional<Pending> Frontier::pop(std::vector<Pending>& cut) {
  if (open_.empty() && !next_.empty()) {
    open_.swap(next_);
    while (static_cast<int>(open_.size()) > std::max(1, beam_))
      cut.push_back(take(std::prev(open_.end())));
  }
  if (open_.empty()) return std::nullopt;
  // Every other time the deepest one is taken (the best of them), so that complete plans come early
  // and cut.
  if (strategy_ == Strategy::BestFirst && ++popped_ % 2 == 0)
    return take(open_.find(*deepest_.begin()));
  if (strategy_ == Strategy::Random) {
    std::swap(any_[rng_() % any_.size()], any_.back());
    const Key key = any_.back();
    any_.pop_back();
    return take(open_.find(key));
  }
  return take(open_.begin());
}

std::vector<Pending> Frontier::drain() {
  std::vector<Pending> out;
  for (auto* m : {&open_, &next_}) {
    for (auto& [k, p] : *m) out.push_back(std::move(p));
    m->clear();
  }
  deepest_.clear();
  any_.clear();
  return out;
}

}  // namespace nautilus::sched
