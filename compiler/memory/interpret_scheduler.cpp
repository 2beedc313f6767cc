// Blocks one after another; in a block every warp of every role is a coroutine (a stack of frames)
// that takes one instruction at a time, and each bulk copy in flight may land at any time. The seed
// decides who is next.
#include <algorithm>

#include "compiler/memory/interpret_machine.h"

namespace nautilus::memory {

void Machine::run_kernel(const Kernel& k) {
  load_kernel(k);
  if (error_) return;
  std::vector<int64_t> extents;
  sizes_.resize(names_.slots.size(), 0);
  for (const GridDim& g : k.grid)
    extents.push_back(PointIndex(g.extent, {}, names_).scalar(sizes_));
  kernel_first_block_ = block_;
  at_.assign(extents.size(), 0);
  const bool one = options_.only_block.size() == extents.size() && !options_.only_block.empty();
  bool more = std::all_of(extents.begin(), extents.end(), [](int64_t e) { return e > 0; });
  while (more && !stop_) {
    if (one ? at_ == options_.only_block : !options_.which || options_.which(at_, extents)) {
      begin_block();
      run_block();
      end_block();
      ++block_;
    }
    more = false;
    for (size_t d = at_.size(); d-- > 0 && !more;) {
      more = ++at_[d] < extents[d];
      if (!more) at_[d] = 0;
    }
  }
}

// Nothing written, nothing known, every warp at its first instruction.
void Machine::begin_block() {
  std::fill(cells_.begin(), cells_.end(), SharedCell{});
  Components parts;
  for (const Role& r : kernel_->roles) parts.warps += r.warps;
  parts.count = parts.warps * kParts;
  for (const MBarrier& b : kernel_->mbarriers) {
    parts.barrier.push_back(parts.count);
    parts.count += b.slots;
  }
  const Clock zero(size_t(parts.count), 0);
  history_.reset(parts);
  phases_.clear();
  for (const MBarrier& b : kernel_->mbarriers) {
    PhaseSlot slot;
    slot.gathered = zero;
    phases_.emplace_back(size_t(b.slots), slot);
  }
  named_.assign(kernel_->named.size(), {{}, {}, zero});
  all_ = {{}, {}, zero};
  bulk_.clear();
  iterations_.clear();
  copies_to_check_.clear();
  for (size_t d = 0; d < at_.size(); ++d) sizes_[size_t(names_.slot(kernel_->grid[d].iv))] = at_[d];
  std::vector<std::vector<Value>> values;  // keep their storage from block to block
  for (Warp& w : warps_) values.push_back(std::move(w.values));
  warps_.clear();
  for (size_t r = 0; r < roles_.size(); ++r)
    for (int i = 0; i < kernel_->roles[r].warps; ++i) {
      Warp w;
      w.role = int(r);
      w.index = i;
      w.knows.warp = int(warps_.size());
      w.knows.clock = zero;
      w.env = sizes_;
      w.env[size_t(names_.slot("warp"))] = i;
      if (warps_.size() < values.size()) w.values = std::move(values[warps_.size()]);
      w.values.resize(value_fragments_.size());
      w.stack.push_back({&roles_[r], 0, nullptr, 0, 0});
      warps_.push_back(std::move(w));
    }
}

void Machine::run_block() {
  std::vector<size_t> able;
  while (!stop_) {
    able.clear();
    bool all_done = true;
    for (size_t w = 0; w < warps_.size(); ++w) {
      all_done = all_done && warps_[w].done;
      if (runnable(warps_[w])) able.push_back(w);
    }
    if (all_done) return;
    const size_t choices = able.size() + bulk_.size();
    if (choices == 0) return deadlock();
    const size_t pick = choices == 1 ? 0 : size_t(rng_() % choices);
    if (pick < able.size())
      advance(warps_[able[pick]]);
    else
      land(pick - able.size());
  }
}

bool Machine::runnable(Warp& w) {
  if (w.done) return false;
  if (w.blocked == Block::None) return true;
  return w.blocked == Block::Phase && phase_open(w);
}

// One instruction, or one step from a region to what follows.
void Machine::advance(Warp& w) {
  Warp::Frame& f = w.stack.back();
  if (f.pc == f.seq->steps.size()) return leave(w);
  const Step& s = f.seq->steps[f.pc++];
  if (!spend(s, s.frag ? s.frag->positions : s.shares ? (*s.shares)[0].points.count : 0)) return;
  if (s.instr->code == Code::For || s.instr->code == Code::If) return enter(w, s);
  execute(w, s);
}

void Machine::enter(Warp& w, const Step& s) {
  if (s.instr->code == Code::If) {
    const bool first = s.in.empty() ? s.cond.scalar(w.env) : any_held(w, s);
    w.stack.push_back({&s.blocks[first ? 0 : 1], 0, &s, 0, 0});
    return;
  }
  const int64_t lower = s.lower.scalar(w.env), upper = s.upper.scalar(w.env);
  const Sequence& body = s.blocks[0];
  const std::vector<int>& into = lower < upper ? body.args : s.out;
  for (size_t n = 0; n < s.in.size(); ++n) w.values[size_t(into[n])] = w.values[size_t(s.in[n])];
  if (lower >= upper) return;
  w.env[size_t(s.iv)] = lower;
  w.stack.push_back({&body, 0, &s, lower, upper});
  note_iteration(w);
}

void Machine::leave(Warp& w) {
  Warp::Frame& f = w.stack.back();
  if (f.owner == nullptr) {
    w.done = true;
    return;
  }
  const Step& s = *f.owner;
  const bool loop = s.instr->code == Code::For;
  const bool again = loop && f.upper - f.at > s.instr->step;
  std::vector<Value> next;
  for (int y : f.seq->yields) next.push_back(w.values[size_t(y)]);
  const std::vector<int>& into = again ? f.seq->args : s.out;
  for (size_t n = 0; n < next.size(); ++n) w.values[size_t(into[n])] = std::move(next[n]);
  if (again) {
    f.at += s.instr->step;
    f.pc = 0;
    w.env[size_t(s.iv)] = f.at;
  } else {
    w.stack.pop_back();
  }
  if (loop) note_iteration(w);
}

// Names the values of the warp's loop variables for the events to come.
void Machine::note_iteration(Warp& w) {
  std::vector<std::pair<int, int64_t>> at;
  for (const Warp::Frame& f : w.stack)
    if (f.owner && f.owner->instr->code == Code::For) at.emplace_back(f.owner->iv, f.at);
  w.iteration = at.empty() ? -1 : int(iterations_.size());
  if (!at.empty()) iterations_.push_back(std::move(at));
}

bool Machine::spend(const Step& s, size_t n) {
  ops_ += uint64_t(n) + 1;
  if (ops_ <= options_.max_ops) return true;
  report(FaultKind::Budget, s, "more than " + std::to_string(options_.max_ops) + " operations");
  stop_ = true;
  return false;
}

void Machine::execute(Warp& w, const Step& s) {
  const Code code = s.instr->code;
  if (code != Code::Wgmma && code != Code::MmaWait)
    for (int v : s.in) ready(w, s, v);
  switch (code) {
    case Code::Const:
      return constant(w, s);
    case Code::Iota:
      return iota(w, s);
    case Code::Map:
    case Code::Cast:
      return map(w, s);
    case Code::Mask:
      return mask(w, s);
    case Code::Reduce:
      return reduce(w, s);
    case Code::Exchange:
    case Code::Rename:
    case Code::Slice:
      return move(w, s);
    case Code::LoadGlobal:
      return load_global(w, s);
    case Code::StoreGlobal:
      return store_global(w, s);
    case Code::AtomicAdd:
      return atomic_add(w, s);
    case Code::LoadShared:
      return load_shared(w, s);
    case Code::StoreShared:
      return store_shared(w, s);
    case Code::CopyPlain:
    case Code::CopyAsync:
      return copy(w, s);
    case Code::CopyCommit:
      return copy_commit(w);
    case Code::CopyWait:
      return copy_wait(w, s);
    case Code::CopyBulk:
      return copy_bulk(w, s);
    case Code::BulkStore:
      return bulk_store(w, s);
    case Code::BulkCommit:
      return bulk_commit(w);
    case Code::BulkWait:
      return bulk_wait(w, s);
    case Code::Mma:
      return mma(w, s);
    case Code::Wgmma:
      return wgmma(w, s);
    case Code::MmaFence:
      w.fenced_serial = w.serial;
      return;
    case Code::MmaCommit:
      ++w.products_committed;
      return;
    case Code::MmaWait:
      return mma_wait(w, s);
    case Code::Arrive:
    case Code::ExpectBytes:
      return arrive(w, s);
    case Code::Wait:
      return wait(w, s);
    case Code::NamedSync:
    case Code::NamedArrive:
      return named(w, s);
    case Code::BlockSync:
      return block_sync(w, s);
    case Code::WarpSync:
      return warp_sync(w);
    case Code::ProxyFence:
      return proxy_fence(w);
    case Code::SetRegisters:
    case Code::For:
    case Code::If:
      return;
  }
}

// No warp can run and nothing is in flight: who waits where, for what.
void Machine::deadlock() {
  std::string text = "no warp can run:";
  const Step* first = nullptr;
  for (const Warp& w : warps_) {
    if (w.done) {
      text += "\n  " + who(w) + " is done";
      continue;
    }
    const Step& s = *w.waits;
    if (!first) first = &s;
    text += "\n  " + who(w) + " waits at " + print(*s.instr, *kernel_);
    if (w.blocked == Block::Phase) {
      const PhaseSlot& p = phases_[size_t(s.barrier)][size_t(w.wait_slot)];
      text += ": phase " + std::to_string(p.phase) + " has " + std::to_string(p.arrived) + " of " +
              std::to_string(kernel_->mbarriers[size_t(s.barrier)].arrivals) + " arrivals";
      if (p.bytes != 0) text += ", " + std::to_string(p.bytes) + " bytes short";
    } else if (w.blocked == Block::Named) {
      text += ": " + std::to_string(named_[size_t(s.barrier)].arrived.size()) + " of " +
              std::to_string(kernel_->named[size_t(s.barrier)].warps) + " warps have come";
    } else {
      text += ": " + std::to_string(all_.waiting.size()) + " of " + std::to_string(warps_.size()) +
              " warps have come";
    }
  }
  if (first) report(FaultKind::Deadlock, *first, text);
  stop_ = true;
}

// Shared memory goes with the block: engines must be done with it. Copies of an element in several
// warps must have held what the one that stored it held.
void Machine::end_block() {
  if (stop_) return;
  for (size_t b = 0; b < phases_.size(); ++b)
    for (size_t slot = 0; slot < phases_[b].size(); ++slot) {
      const PhaseSlot& p = phases_[b][slot];
      const size_t component = size_t(history_.components().barrier[b]) + slot;
      if (p.last_copy && std::none_of(warps_.begin(), warps_.end(), [&](const Warp& w) {
            return w.knows.clock[component] >= p.counted;
          }))
        report(FaultKind::InFlight, *p.last_copy,
               "the block ends without a wait for the bulk copy that phase " +
                   std::to_string(p.counted - 1) + " of " + kernel_->mbarriers[b].name + " counts");
    }
  for (const Warp& w : warps_)
    if (w.last_store && w.knows.store_reads_done < w.stores_committed + (w.open_stores ? 1 : 0))
      report(FaultKind::InFlight, *w.last_store,
             who(w) + ": the block ends while this bulk store reads shared memory");
  for (const CopyToCheck& c : copies_to_check_) {
    const Global& t = tensors_[size_t(c.step->tensor)];
    const double v = t.data[size_t(c.element)];
    if (t.cells[size_t(c.element)].writes == 1 && v != c.value && (v == v || c.value == c.value))
      report(FaultKind::Disagreement, *c.step,
             element_text(t, c.element) + ": " + who(warp(c.warp)) + " holds " +
                 std::to_string(c.value) + ", the warp that stored it " + std::to_string(v));
  }
}

}  // namespace nautilus::memory
