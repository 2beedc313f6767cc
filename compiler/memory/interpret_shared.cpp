// Shared memory: slots of rings in bytes that buffers may share, every access ordered against the
// earlier ones, and the instructions between it and registers.
#include <algorithm>
#include <array>

#include "compiler/memory/interpret_machine.h"

namespace nautilus::memory {

std::string Machine::element_text(const Shared& b, int64_t slot, int32_t element) const {
  std::string s = b.decl->name + "[";
  for (size_t a = 0; a < b.decl->axes.size(); ++a)
    s += (a ? ", " : "") + b.decl->axes[a].name + "=" +
         std::to_string(element / b.table.strides[a] % b.table.extents[a]);
  return s + "]" + (b.decl->slots > 1 ? " slot " + std::to_string(slot) : "");
}

// The slot that an instruction names; false (and a fault) if the ring has no such slot.
bool Machine::slot_of(Warp& w, const Step& s, const PointIndex& slot, int slots,
                      const std::string& what, int64_t& out) {
  out = slot.scalar(w.env);
  if (out >= 0 && out < slots) return true;
  report(FaultKind::OutOfBounds, s,
         who(w) + ": slot " + std::to_string(out) + " of " + what + ", which has " +
             std::to_string(slots));
  return false;
}

double Machine::read_shared(const Step& s, const Shared& b, int64_t slot, int32_t element,
                            const Access& a) {
  const int buffer = int(&b - buffers_.data());
  const int64_t cell =
      b.base + slot * b.slot_cells + int64_t(b.table.offset[size_t(element)]) * b.granules;
  for (int g = 0; g < b.granules; ++g) {
    SharedCell& c = cells_[size_t(cell + g)];
    if (c.tag != buffer * 8 + g && news(FaultKind::Unwritten, s)) {
      std::string text = element_text(b, slot, element) + ": " +
                         who(history_.event(a.event), a.lane) + " reads what nothing has written";
      if (c.tag >= 0)
        text += "; its bytes hold an element of " + buffers_[size_t(c.tag / 8)].decl->name;
      report(FaultKind::Unwritten, s, text);
    }
    if (auto found = history_.read(c.records, a))
      conflict(s, *found, a, false, [&] { return element_text(b, slot, element); });
  }
  return cells_[size_t(cell)].value;
}

void Machine::write_shared(const Step& s, const Shared& b, int64_t slot, int32_t element, double v,
                           const Access& a) {
  const int buffer = int(&b - buffers_.data());
  const int64_t cell =
      b.base + slot * b.slot_cells + int64_t(b.table.offset[size_t(element)]) * b.granules;
  for (int g = 0; g < b.granules; ++g) {
    SharedCell& c = cells_[size_t(cell + g)];
    if (auto found = history_.write(c.records, a))
      conflict(s, *found, a, true, [&] { return element_text(b, slot, element); });
    c.tag = buffer * 8 + g;
  }
  cells_[size_t(cell)].value = v;
}

// address_: the buffer's element of each point that is wanted (all: null); a point outside is a
// fault and gets -1, as do those not wanted.
bool Machine::buffer_elements(Warp& w, const Step& s, const Shared& b,
                              const std::vector<PointIndex>& index, const Points& points,
                              const std::vector<uint8_t>* wanted) {
  address_.assign(points.count, 0);
  if (wanted)
    for (size_t p = 0; p < points.count; ++p)
      if (!(*wanted)[p]) address_[p] = -1;
  for (size_t a = 0; a < index.size(); ++a) {
    index[a].evaluate(w.env, points, index_);
    for (size_t p = 0; p < points.count; ++p) {
      if (address_[p] < 0) continue;
      if (index_[p] < 0 || index_[p] >= b.table.extents[a]) {
        address_[p] = -1;
        if (!news(FaultKind::OutOfBounds, s)) continue;
        report(FaultKind::OutOfBounds, s,
               who(w) + ": " + b.decl->axes[a].name + "=" + std::to_string(index_[p]) +
                   " is outside " + b.decl->name + " (extent " +
                   std::to_string(b.table.extents[a]) + ")");
        address_[p] = -1;
        continue;
      }
      address_[p] += index_[p] * b.table.strides[a];
    }
  }
  return !stop_;
}

void Machine::load_shared(Warp& w, const Step& s) {
  const Shared& b = buffers_[size_t(s.buffer)];
  const Held& h = s.frag->of(w.index);
  int64_t slot = 0;
  std::vector<double>& out = define(w, s);
  if (!slot_of(w, s, s.slot, b.decl->slots, b.decl->name, slot)) {
    out.assign(out.size(), 0.0);
    return;
  }
  s.cond.evaluate(w.env, h.points, mask_);
  for (size_t p = 0; p < mask_.size(); ++p) mask_[p] = mask_[p] && h.logical[p] >= 0;
  if (!buffer_elements(w, s, b, s.index, h.points, &mask_)) return;
  count_banks(w, s, b);
  Access a{&w.knows, event(w, s, history_.components().of(id(w), Part::Lanes), w.knows.stamp)};
  const double fill = round(s.instr->value, s.elem);
  int64_t bytes = 0;
  for (size_t p = 0; p < out.size(); ++p) {
    out[p] = fill;
    if (address_[p] < 0) continue;
    a.lane = s.instr->matrix ? kWholeWarp : int(p % kLanes);
    out[p] = read_shared(s, b, slot, int32_t(address_[p]), a);
    bytes += type_bytes(b.decl->elem);
  }
  counts_["shared_read_bytes"] += bytes;
}

// Of the copies of an element the first is written; the others must agree.
void Machine::store_shared(Warp& w, const Step& s) {
  const Shared& b = buffers_[size_t(s.buffer)];
  const Held& h = s.frag->of(w.index);
  int64_t slot = 0;
  if (!slot_of(w, s, s.slot, b.decl->slots, b.decl->name, slot)) return;
  s.cond.evaluate(w.env, h.points, mask_);
  for (size_t p = 0; p < mask_.size(); ++p) mask_[p] = mask_[p] && h.logical[p] >= 0;
  if (!buffer_elements(w, s, b, s.index, h.points, &mask_)) return;
  count_banks(w, s, b);
  Access a{&w.knows, event(w, s, history_.components().of(id(w), Part::Lanes), w.knows.stamp)};
  const std::vector<double>& in = w.values[size_t(s.in[0])].at;
  int64_t bytes = 0;
  for (size_t p = 0; p < in.size(); ++p) {
    if (address_[p] < 0) continue;
    const double v = in[p], first = in[size_t(h.first[p])];
    if (v != first && (v == v || first == first))
      report(FaultKind::Disagreement, s,
             element_text(b, slot, int32_t(address_[p])) + ": " + who(w) + " lane " +
                 std::to_string(p % kLanes) + " holds " + std::to_string(v) +
                 ", its copy in lane " + std::to_string(h.first[p] % kLanes) + " " +
                 std::to_string(first));
    if (!h.owner[p] || h.first[p] != int32_t(p)) continue;
    a.lane = s.instr->matrix ? kWholeWarp : int(p % kLanes);
    write_shared(s, b, slot, int32_t(address_[p]), round(v, b.decl->elem), a);
    bytes += type_bytes(b.decl->elem);
  }
  counts_["shared_write_bytes"] += bytes;
}

// Passes through the 32 banks of 4 bytes, from the addresses of the first execution (address_):
// each group of registers that is one access goes in phases of lanes that can move 128 bytes
// between them; in each the fullest bank says how often. At best: the distinct words over 32.
void Machine::count_banks(Warp& w, const Step& s, const Shared& b) {
  auto [it, fresh] = banks_.try_emplace({&s, w.index});
  auto& [passes, best] = it->second;
  if (fresh) {
    const int bytes = type_bytes(b.decl->elem);
    const int access = s.instr->matrix ? 4 : std::max(bytes, s.instr->vector);
    const size_t registers = size_t(std::max(1, access / bytes));
    const size_t lanes = size_t(std::clamp(128 / std::max(4, access), 1, kLanes));
    std::vector<int64_t> words;
    for (size_t r = 0; r * kLanes < address_.size(); r += registers)
      for (size_t lane = 0; lane < kLanes; lane += lanes) {
        words.clear();
        for (size_t q = r; q < std::min(address_.size() / kLanes, r + registers); ++q)
          for (size_t l = lane; l < lane + lanes; ++l)
            if (const int64_t e = address_[q * kLanes + l]; e >= 0)
              words.push_back(int64_t(b.table.offset[size_t(e)]) * bytes / 4);
        std::sort(words.begin(), words.end());
        words.erase(std::unique(words.begin(), words.end()), words.end());
        std::array<int64_t, 32> bank{};
        for (int64_t word : words) ++bank[size_t(word % 32)];
        passes += *std::max_element(bank.begin(), bank.end());
        best += (int64_t(words.size()) + 31) / 32;
      }
  }
  counts_["bank_passes"] += passes;
  counts_["bank_passes_at_best"] += best;
}

}  // namespace nautilus::memory
