// Synchronization: what a warp publishes, and what it learns. mbarriers with phases (arrivals and
// bytes), named barriers, the block's barrier, fences.
#include <algorithm>

#include "compiler/memory/interpret_machine.h"

namespace nautilus::memory {

// What all lanes of a warp know and have done; what they do from now on is newer.
Clock Machine::publish(Warp& w) {
  Clock c = w.knows.clock;
  const Components& parts = history_.components();
  auto raise = [&](Part p, uint32_t v) {
    uint32_t& at = c[size_t(parts.of(id(w), p))];
    at = std::max(at, v);
  };
  raise(Part::Lanes, w.knows.stamp++);
  raise(Part::Copies, w.knows.copies_done);
  raise(Part::StoreReads, w.knows.store_reads_done);
  raise(Part::Stores, w.knows.stores_done);
  return c;
}

// What one elected lane knows: what its warp has synchronized, and its own bulk stores.
Clock Machine::publish_elected(Warp& w) const {
  Clock c = w.knows.clock;
  const Components& parts = history_.components();
  auto raise = [&](Part p, uint32_t v) {
    uint32_t& at = c[size_t(parts.of(id(w), p))];
    at = std::max(at, v);
  };
  raise(Part::StoreReads, w.knows.store_reads_done);
  raise(Part::Stores, w.knows.stores_done);
  return c;
}

void Machine::warp_sync(Warp& w) { join(w.knows.clock, publish(w)); }

// Writes of this warp before are ordered before engines after, wherever the fence is known.
void Machine::proxy_fence(Warp& w) {
  const Components& parts = history_.components();
  w.knows.clock[size_t(parts.of(id(w), Part::Fenced))] = w.knows.stamp++;
  w.knows.clock[size_t(parts.of(id(w), Part::FencedCopies))] = w.knows.copies_done;
}

// Ends the open phase of a slot if all arrivals and bytes are there.
void Machine::settle(const Step& s, int barrier, int64_t slot) {
  const MBarrier& b = kernel_->mbarriers[size_t(barrier)];
  PhaseSlot& p = phases_[size_t(barrier)][size_t(slot)];
  if (p.arrived < b.arrivals) return;
  auto name = [&] {
    return "phase " + std::to_string(p.phase) + " of " + b.name +
           (b.slots > 1 ? "[" + std::to_string(slot) + "]" : "");
  };
  if (p.bytes < 0)
    report(FaultKind::Deadlock, s,
           name() + ": " + std::to_string(-p.bytes) + " bytes more arrive than are expected");
  if (p.bytes != 0) return;
  if (p.copies > 0)
    report(FaultKind::InFlight, s,
           name() + " ends while " + std::to_string(p.copies) +
               " bulk copies that signal it are in flight: fewer bytes are expected than come");
  p.gathered[size_t(history_.components().barrier[size_t(barrier)]) + size_t(slot)] = ++p.phase;
  p.ends.push_back(p.gathered);
  p.arrived = 0;
  p.copies = 0;
}

// Arrive and ExpectBytes.
void Machine::arrive(Warp& w, const Step& s) {
  const bool bytes = s.instr->code == Code::ExpectBytes;
  if (bytes && w.index != 0) return;
  const MBarrier& b = kernel_->mbarriers[size_t(s.barrier)];
  int64_t slot = 0;
  if (!slot_of(w, s, s.slot, b.slots, b.name, slot)) return;
  PhaseSlot& p = phases_[size_t(s.barrier)][size_t(slot)];
  join(p.gathered, publish_elected(w));
  if (bytes) p.bytes += s.instr->count;
  p.arrived += bytes ? 1 : std::max<int64_t>(1, s.instr->count);
  if (p.arrived > b.arrivals)
    report(FaultKind::Deadlock, s,
           who(w) + ": arrival " + std::to_string(p.arrived) + " in phase " +
               std::to_string(p.phase) + " of " + b.name + ", which takes " +
               std::to_string(b.arrivals));
  settle(s, s.barrier, slot);
}

void Machine::wait(Warp& w, const Step& s) {
  const MBarrier& b = kernel_->mbarriers[size_t(s.barrier)];
  if (!slot_of(w, s, s.slot, b.slots, b.name, w.wait_slot)) return;
  w.wait_parity = uint32_t(s.parity.scalar(w.env)) & 1;
  w.blocked = Block::Phase;
  w.waits = &s;
  counts_["barrier_waits"] += 1;
}

// A wait for parity P passes where the open phase has the other parity. What it learns is what the
// earliest phase told at which it could have passed, given what the warp knew; that the barrier may
// be further on is luck. By two phases: it could be so that the wait hangs.
bool Machine::phase_open(Warp& w) {
  const Step& s = *w.waits;
  const PhaseSlot& p = phases_[size_t(s.barrier)][size_t(w.wait_slot)];
  uint32_t earliest =
      w.knows.clock[size_t(history_.components().barrier[size_t(s.barrier)]) + size_t(w.wait_slot)];
  if ((earliest & 1) == w.wait_parity) ++earliest;
  if (p.phase > earliest)
    report(FaultKind::Deadlock, s,
           who(w) + ": may miss the end of phase " + std::to_string(earliest - 1) + " of " +
               kernel_->mbarriers[size_t(s.barrier)].name + "; phase " +
               std::to_string(p.phase - 1) + " has ended too, and nothing kept it back");
  if ((p.phase & 1) == w.wait_parity) return false;
  if (earliest > 0) join(w.knows.clock, p.ends[earliest - 1]);
  w.blocked = Block::None;
  return true;
}

// A named barrier ends when its warps have come; those that sync learn what all of them published.
void Machine::named(Warp& w, const Step& s) {
  const NamedBarrier& b = kernel_->named[size_t(s.barrier)];
  NamedState& n = named_[size_t(s.barrier)];
  if (std::find(n.arrived.begin(), n.arrived.end(), id(w)) != n.arrived.end())
    report(FaultKind::Deadlock, s,
           who(w) + ": comes a second time to " + b.name + " before it has ended");
  join(n.gathered, publish(w));
  n.arrived.push_back(id(w));
  if (s.instr->code == Code::NamedSync) {
    n.waiting.push_back(id(w));
    w.blocked = Block::Named;
    w.waits = &s;
    counts_["barrier_waits"] += 1;
  }
  if (int(n.arrived.size()) < b.warps) return;
  for (int other : n.waiting) {
    join(warp(other).knows.clock, n.gathered);
    warp(other).blocked = Block::None;
  }
  n = {{}, {}, Clock(n.gathered.size(), 0)};
}

void Machine::block_sync(Warp& w, const Step& s) {
  join(all_.gathered, publish(w));
  all_.waiting.push_back(id(w));
  w.blocked = Block::All;
  w.waits = &s;
  counts_["barrier_waits"] += 1;
  if (all_.waiting.size() < warps_.size()) return;
  for (Warp& other : warps_) {
    join(other.knows.clock, all_.gathered);
    other.blocked = Block::None;
  }
  all_ = {{}, {}, Clock(all_.gathered.size(), 0)};
}

}  // namespace nautilus::memory
