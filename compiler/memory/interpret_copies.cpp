// Copies between global and shared memory: by lanes, by their asynchronous copies in groups, and by
// the bulk engine. What an engine moves is moved at once here, and known to be there only where its
// completion is known.
#include <algorithm>

#include "compiler/memory/interpret_machine.h"

namespace nautilus::memory {

// mask_: elements of the share that come from inside the tensor; address_: where.
void Machine::copy_addresses(Warp& w, const Step& s, const Share& share) {
  const Global& t = tensors_[size_t(s.tensor)];
  s.cond.evaluate(w.env, share.points, mask_);
  address_.assign(mask_.size(), 0);
  for (size_t d = 0; d < s.index.size(); ++d) {
    const int g = s.instr->gather.empty() ? -1 : s.instr->gather[d];
    if (g >= 0) {
      const std::vector<double>& in = w.values[size_t(s.in[size_t(g)])].at;
      const std::vector<int32_t>& at = s.gather_at[size_t(g)][size_t(w.index)];
      index_.resize(mask_.size());
      for (size_t p = 0; p < mask_.size(); ++p) index_[p] = int64_t(in[size_t(at[p])]);
    } else {
      s.index[d].evaluate(w.env, share.points, index_);
    }
    for (size_t p = 0; p < mask_.size(); ++p) {
      mask_[p] = mask_[p] && index_[p] >= 0 && index_[p] < t.extents[d];
      if (mask_[p]) address_[p] = address_[p] * t.extents[d] + index_[p];
    }
  }
}

// By lanes: at once (CopyPlain) or in the open group of the warp (CopyAsync).
void Machine::copy(Warp& w, const Step& s) {
  const Shared& b = buffers_[size_t(s.buffer)];
  const Global& t = tensors_[size_t(s.tensor)];
  const Share& share = (*s.shares)[size_t(w.index)];
  const Components& parts = history_.components();
  int64_t slot = 0;
  if (!slot_of(w, s, s.slot, b.decl->slots, b.decl->name, slot)) return;
  copy_addresses(w, s, share);
  const bool async = s.instr->code == Code::CopyAsync;
  const int read = event(w, s, parts.of(id(w), Part::Lanes), w.knows.stamp);
  const int write =
      async ? event(w, s, parts.of(id(w), Part::Copies), w.copies_committed + 1) : read;
  int64_t bytes = 0;
  for (size_t p = 0; p < mask_.size(); ++p) {
    double v = 0;
    if (mask_[p]) {
      read_cell(s, address_[p], {&w.knows, read, share.lane[p]});
      v = t.data[size_t(address_[p])];
      bytes += type_bytes(s.elem);
    }
    write_shared(s, b, slot, share.logical[p], v, {&w.knows, write, share.lane[p]});
  }
  counts_["global_read_bytes"] += bytes;
  counts_["shared_write_bytes"] += int64_t(mask_.size()) * type_bytes(s.elem);
}

void Machine::copy_commit(Warp& w) { ++w.copies_committed; }

// Each lane knows then of its own copies; the others learn it from a barrier or a WarpSync.
void Machine::copy_wait(Warp& w, const Step& s) {
  const int64_t done = int64_t(w.copies_committed) - s.instr->count;
  w.knows.copies_done = uint32_t(std::max<int64_t>(w.knows.copies_done, done));
}

// By one lane of the role's first warp. Its bytes count in the phase of the barrier that is open
// now; that this phase has ended is how anyone knows that the copy is done.
void Machine::copy_bulk(Warp& w, const Step& s) {
  if (w.index != 0) return;
  const Shared& b = buffers_[size_t(s.buffer)];
  const Global& t = tensors_[size_t(s.tensor)];
  const Share& share = (*s.shares)[0];
  const MBarrier& barrier = kernel_->mbarriers[size_t(s.barrier)];
  int64_t slot = 0, phase_slot = 0;
  if (!slot_of(w, s, s.slot, b.decl->slots, b.decl->name, slot) ||
      !slot_of(w, s, s.slot_b, barrier.slots, barrier.name, phase_slot))
    return;
  PhaseSlot& phase = phases_[size_t(s.barrier)][size_t(phase_slot)];
  copy_addresses(w, s, share);
  const Components& parts = history_.components();
  const int read = event(w, s, parts.of(id(w), Part::Lanes), w.knows.stamp);
  const int write =
      event(w, s, parts.barrier[size_t(s.barrier)] + int(phase_slot), phase.phase + 1);
  for (size_t p = 0; p < mask_.size(); ++p) {
    if (mask_[p]) read_cell(s, address_[p], {&w.knows, read, 0});
    write_shared(s, b, slot, share.logical[p], mask_[p] ? t.data[size_t(address_[p])] : 0.0,
                 {&w.knows, write, 0, true});
  }
  const int64_t bytes = int64_t(mask_.size()) * type_bytes(s.elem);
  counts_["global_read_bytes"] += bytes;
  counts_["shared_write_bytes"] += bytes;
  ++phase.copies;
  phase.counted = phase.phase + 1;
  phase.last_copy = &s;
  bulk_.push_back({&s, s.barrier, phase_slot, bytes, phase.phase, id(w)});
}

// A bulk copy has arrived: its bytes count in the phase that is open now.
void Machine::land(size_t copy) {
  const BulkCopy c = bulk_[copy];
  bulk_.erase(bulk_.begin() + ptrdiff_t(copy));
  PhaseSlot& phase = phases_[size_t(c.barrier)][size_t(c.slot)];
  phase.bytes -= c.bytes;
  if (phase.phase == c.phase) --phase.copies;
  settle(*c.step, c.barrier, c.slot);
}

// Shared to global by one lane of the role's first warp, in its open group.
void Machine::bulk_store(Warp& w, const Step& s) {
  if (w.index != 0) return;
  const Shared& b = buffers_[size_t(s.buffer)];
  Global& t = tensors_[size_t(s.tensor)];
  const Share& share = (*s.shares)[0];
  int64_t slot = 0;
  if (!slot_of(w, s, s.slot, b.decl->slots, b.decl->name, slot)) return;
  copy_addresses(w, s, share);
  const Components& parts = history_.components();
  const uint32_t group = w.stores_committed + 1;
  const int read = event(w, s, parts.of(id(w), Part::StoreReads), group);
  const int write = event(w, s, parts.of(id(w), Part::Stores), group);
  int64_t bytes = 0;
  for (size_t p = 0; p < mask_.size(); ++p) {
    const double v = read_shared(s, b, slot, share.logical[p], {&w.knows, read, 0, true});
    if (!mask_[p]) continue;
    write_cell(s, address_[p], {&w.knows, write, 0, true}, false);
    t.data[size_t(address_[p])] = round(v, t.decl->type);
    bytes += type_bytes(s.elem);
  }
  w.open_stores = true;
  w.last_store = &s;
  counts_["shared_read_bytes"] += bytes;
  counts_["global_write_bytes"] += bytes;
}

void Machine::bulk_commit(Warp& w) {
  if (w.index != 0) return;
  ++w.stores_committed;
  w.open_stores = false;
}

void Machine::bulk_wait(Warp& w, const Step& s) {
  if (w.index != 0) return;
  const int64_t done = int64_t(w.stores_committed) - s.instr->count;
  auto raise = [&](uint32_t& known) { known = uint32_t(std::max<int64_t>(known, done)); };
  raise(w.knows.store_reads_done);
  if (!s.instr->read) raise(w.knows.stores_done);
}

}  // namespace nautilus::memory
