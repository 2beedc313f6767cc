#include "compiler/memory/interpret_history.h"

#include <algorithm>

namespace nautilus::memory {

void join(Clock& a, const Clock& b) {
  for (size_t c = 0; c < b.size(); ++c) a[c] = std::max(a[c], b[c]);
}

void History::reset(Components c) {
  components_ = std::move(c);
  events_.clear();
  reads_.clear();
  free_ = -1;
}

int History::add(const Event& e) {
  events_.push_back(e);
  return int(events_.size()) - 1;
}

// Whether the access `e` by `lane` has happened before `a`: known to the whole warp, or by program
// order of one lane (of its asynchronous copies: once it has waited for them).
bool History::ordered(const Event& e, int lane, const Access& a) const {
  const Knowledge& k = *a.by;
  if (k.clock[size_t(e.component)] >= e.stamp) return true;
  if (e.warp != k.warp || lane != a.lane || lane == kWholeWarp || components_.is_phase(e.component))
    return false;
  switch (components_.part(e.component)) {
    case Part::Lanes:
      return true;
    case Part::Copies:
      return k.copies_done >= e.stamp;
    case Part::StoreReads:
      return k.store_reads_done >= e.stamp;
    case Part::Stores:
      return k.stores_done >= e.stamp;
    default:
      return false;
  }
}

// The conflict of `a` with an earlier access, if any. A write through the generic proxy must be
// fenced before an engine touches the element.
std::optional<Conflict> History::after(int32_t event, int lane, bool was_write,
                                       const Access& a) const {
  const Event& e = events_[size_t(event)];
  const bool phase = components_.is_phase(e.component);
  const Part part = phase ? Part::Stores : components_.part(e.component);
  if (!ordered(e, lane, a)) {
    bool done = part == Part::Lanes;
    if (part == Part::Copies && e.warp == a.by->warp) done = a.by->copies_done >= e.stamp;
    return Conflict{done ? FaultKind::Race : FaultKind::InFlight, event, lane};
  }
  if (!a.engine || !was_write || phase || (part != Part::Lanes && part != Part::Copies))
    return std::nullopt;
  const Part fence = part == Part::Lanes ? Part::Fenced : Part::FencedCopies;
  if (a.by->clock[size_t(components_.of(e.warp, fence))] >= e.stamp) return std::nullopt;
  return Conflict{FaultKind::MissingFence, event, lane};
}

std::optional<Conflict> History::read(Records& r, const Access& a) {
  std::optional<Conflict> conflict;
  if (r.write >= 0) conflict = after(r.write, r.write_lane, true, a);
  const Event& e = events_[size_t(a.event)];
  for (int32_t n = r.reads; n >= 0; n = reads_[size_t(n)].next) {
    Read& old = reads_[size_t(n)];
    if (events_[size_t(old.event)].component != e.component) continue;
    // The newest read stands for the older ones; several lanes are the whole warp.
    const uint32_t known = a.by->clock[size_t(e.component)];
    if (old.lane != a.lane && events_[size_t(old.event)].stamp > known)
      old.lane = kWholeWarp;
    else if (old.event != a.event)
      old.lane = uint8_t(a.lane);
    old.event = a.event;
    return conflict;
  }
  if (free_ < 0) {
    free_ = int32_t(reads_.size());
    reads_.push_back({0, -1, 0});
  }
  const int32_t n = free_;
  free_ = reads_[size_t(n)].next;
  reads_[size_t(n)] = {a.event, r.reads, uint8_t(a.lane)};
  r.reads = n;
  return conflict;
}

std::optional<Conflict> History::write(Records& r, const Access& a) {
  std::optional<Conflict> conflict;
  if (r.write >= 0) conflict = after(r.write, r.write_lane, true, a);
  while (r.reads >= 0) {
    const int32_t n = r.reads;
    const Read old = reads_[size_t(n)];
    if (!conflict) conflict = after(old.event, old.lane, false, a);
    r.reads = old.next;
    reads_[size_t(n)].next = free_;
    free_ = n;
  }
  r.write = a.event;
  r.write_lane = uint8_t(a.lane);
  return conflict;
}

}  // namespace nautilus::memory
