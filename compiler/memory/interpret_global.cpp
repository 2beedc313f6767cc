// Global memory: tensors, who touched their elements, and the instructions between them and
// registers. Blocks have no order between them, so what one block writes no other may touch in the
// same kernel.
#include <limits>

#include "compiler/memory/interpret_machine.h"

namespace nautilus::memory {

std::string Machine::element_text(const Global& t, int64_t element) const {
  std::string s;
  for (size_t d = t.extents.size(); d-- > 0; element /= t.extents[d])
    s = std::to_string(element % t.extents[d]) + (s.empty() ? "" : ", ") + s;
  return t.decl->name + "[" + s + "]";
}

// mask_: positions that take part; address_: their elements. Positions outside the tensor are a
// fault and take no part.
bool Machine::addresses(Warp& w, const Step& s) {
  const Held& h = s.frag->of(w.index);
  const Global& t = tensors_[size_t(s.tensor)];
  s.cond.evaluate(w.env, h.points, mask_);
  for (size_t p = 0; p < mask_.size(); ++p) mask_[p] = mask_[p] && h.logical[p] >= 0;
  address_.assign(mask_.size(), 0);
  for (size_t d = 0; d < s.index.size(); ++d) {
    const int g = s.instr->gather.empty() ? -1 : s.instr->gather[d];
    if (g >= 0) {
      const std::vector<double>& in = w.values[size_t(s.in[size_t(g)])].at;
      const std::vector<int32_t>& at = s.align[size_t(g)]->of(w.index);
      index_.assign(mask_.size(), 0);
      for (size_t p = 0; p < mask_.size(); ++p)
        if (mask_[p]) index_[p] = int64_t(in[at.empty() ? p : size_t(at[p])]);
    } else {
      s.index[d].evaluate(w.env, h.points, index_);
    }
    for (size_t p = 0; p < mask_.size(); ++p) {
      if (!mask_[p]) continue;
      if (index_[p] < 0 || index_[p] >= t.extents[d]) {
        mask_[p] = 0;
        if (!news(FaultKind::OutOfBounds, s)) continue;
        report(FaultKind::OutOfBounds, s,
               who(w) + " lane " + std::to_string(p % kLanes) + ": index " +
                   std::to_string(index_[p]) + " is outside dimension " + std::to_string(d) +
                   " of " + t.decl->name + " (extent " + std::to_string(t.extents[d]) + ")");
        continue;
      }
      address_[p] = address_[p] * t.extents[d] + index_[p];
    }
  }
  return !stop_;
}

// Checks a read of a tensor that this module writes.
void Machine::read_cell(const Step& s, int64_t element, const Access& a) {
  Global& t = tensors_[size_t(s.tensor)];
  if (t.cells.empty()) return;
  Global::Cell& c = t.cells[size_t(element)];
  auto text = [&] { return element_text(t, element); };
  if (!t.accumulates && c.writes == 0 && whole_ && news(FaultKind::Unwritten, s))
    report(
        FaultKind::Unwritten, s,
        text() + ": " + who(history_.event(a.event), a.lane) + " reads what nothing has written");
  if (c.block != block_) {
    if (c.block >= kernel_first_block_ && c.wrote && news(FaultKind::Race, s))
      report(FaultKind::Race, s,
             text() + ": " + who(history_.event(a.event), a.lane) +
                 " reads what another block of this kernel writes");
    c.records = {}, c.block = block_, c.wrote = false, c.atomic = false;
  }
  if (auto found = history_.read(c.records, a)) conflict(s, *found, a, false, text);
}

void Machine::write_cell(const Step& s, int64_t element, const Access& a, bool atomic) {
  Global& t = tensors_[size_t(s.tensor)];
  if (t.cells.empty()) return;
  Global::Cell& c = t.cells[size_t(element)];
  auto text = [&] { return element_text(t, element); };
  const bool output = t.decl->kind == poly::TensorKind::Output && !t.accumulates;
  const bool twice = output && c.writes > 0 && whole_ && news(FaultKind::Uncovered, s);
  if (c.block != block_) {
    if (twice)
      report(FaultKind::Uncovered, s,
             text() + ": " + who(history_.event(a.event), a.lane) +
                 " writes what another block wrote before");
    else if (c.block >= kernel_first_block_ && !(atomic && c.atomic) && !(output && c.writes > 0) &&
             news(FaultKind::Race, s))
      report(FaultKind::Race, s,
             text() + ": " + who(history_.event(a.event), a.lane) +
                 " writes what another block of this kernel touches");
    c.records = {}, c.block = block_, c.wrote = false, c.atomic = atomic;
  } else if (twice) {
    report(FaultKind::Uncovered, s,
           text() + ": " + who(history_.event(a.event), a.lane) +
               " writes an output element a second time");
  }
  const bool both_atomic = atomic && c.records.write >= 0 && c.records.reads < 0 &&
                           history_.event(c.records.write).instr->code == Code::AtomicAdd;
  if (auto found = history_.write(c.records, a); found && !both_atomic)
    conflict(s, *found, a, true, text);
  c.wrote = true;
  c.atomic = c.atomic && atomic;
  c.writes = uint8_t(std::min(2, c.writes + 1));
}

void Machine::load_global(Warp& w, const Step& s) {
  if (!addresses(w, s)) return;
  const Global& t = tensors_[size_t(s.tensor)];
  const double fill = round(s.instr->value, s.elem);
  const int e = t.cells.empty()
                    ? -1
                    : event(w, s, history_.components().of(id(w), Part::Lanes), w.knows.stamp);
  std::vector<double>& out = define(w, s);
  int64_t bytes = 0;
  for (size_t p = 0; p < out.size(); ++p) {
    out[p] = fill;
    if (!mask_[p]) continue;
    if (e >= 0) read_cell(s, address_[p], {&w.knows, e, int(p % kLanes)});
    out[p] = t.data[size_t(address_[p])];
    bytes += type_bytes(s.elem);
  }
  counts_["global_read_bytes"] += bytes;
}

// Each element once: of its copies the first writes, and the others must agree.
void Machine::store_global(Warp& w, const Step& s) {
  if (!addresses(w, s)) return;
  Global& t = tensors_[size_t(s.tensor)];
  const Held& h = s.frag->of(w.index);
  const std::vector<double>& in = w.values[size_t(s.in[0])].at;
  const int e = event(w, s, history_.components().of(id(w), Part::Lanes), w.knows.stamp);
  int64_t bytes = 0;
  for (size_t p = 0; p < mask_.size(); ++p) {
    if (!mask_[p]) continue;
    const double v = round(in[p], t.decl->type),
                 first = round(in[size_t(h.first[p])], t.decl->type);
    if (v != first && (v == v || first == first))
      report(FaultKind::Disagreement, s,
             element_text(t, address_[p]) + ": " + who(w) + " lane " + std::to_string(p % kLanes) +
                 " holds " + std::to_string(v) + ", its copy in lane " +
                 std::to_string(h.first[p] % kLanes) + " " + std::to_string(first));
    if (h.first[p] != int32_t(p)) continue;
    if (!h.owner[p]) {
      copies_to_check_.push_back({&s, address_[p], v, id(w)});
      continue;
    }
    write_cell(s, address_[p], {&w.knows, e, int(p % kLanes)}, false);
    t.data[size_t(address_[p])] = v;
    bytes += type_bytes(t.decl->type);
  }
  counts_["global_write_bytes"] += bytes;
}

// The first copy adds; the value before goes to all copies that this warp holds.
void Machine::atomic_add(Warp& w, const Step& s) {
  if (!addresses(w, s)) return;
  Global& t = tensors_[size_t(s.tensor)];
  const Held& h = s.frag->of(w.index);
  const std::vector<double>& in = w.values[size_t(s.in[0])].at;
  const int e = event(w, s, history_.components().of(id(w), Part::Lanes), w.knows.stamp);
  std::vector<double> before(mask_.size(), 0.0);
  for (size_t p = 0; p < mask_.size(); ++p) {
    if (!mask_[p] || !h.owner[p] || h.first[p] != int32_t(p)) continue;
    write_cell(s, address_[p], {&w.knows, e, int(p % kLanes)}, true);
    double& at = t.data[size_t(address_[p])];
    before[p] = at;
    const double args[2] = {at, in[p]};
    at = round(apply_op(nautilus::Op::Add, args, t.decl->type), t.decl->type);
    counts_["atomics"] += 1;
  }
  if (s.out.empty()) return;
  std::vector<double>& out = define(w, s);
  for (size_t p = 0; p < out.size(); ++p) out[p] = before[size_t(h.first[p])];
}

// After all blocks: what no block wrote of the outputs.
void Machine::check_coverage() {
  if (!whole_ || !faults_.empty()) return;
  for (const Global& t : tensors_) {
    if (t.decl->kind != poly::TensorKind::Output || t.accumulates) continue;
    int64_t missing = 0, first = -1;
    for (size_t e = 0; e < t.cells.size(); ++e)
      if (t.cells[e].writes == 0 && missing++ == 0) first = int64_t(e);
    if (missing == 0) continue;
    faults_.push_back({FaultKind::Uncovered,
                       element_text(t, first) + ": no block writes it (" + std::to_string(missing) +
                           " of " + std::to_string(t.cells.size()) + " elements)",
                       "",
                       {}});
  }
}

}  // namespace nautilus::memory
