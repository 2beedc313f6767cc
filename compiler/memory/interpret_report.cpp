// Faults in the words of the kernel: who, where in which loops, against what.
#include "compiler/memory/interpret_machine.h"

namespace nautilus::memory {

std::string_view fault_name(FaultKind k) {
  switch (k) {
    case FaultKind::Race:
      return "race";
    case FaultKind::Unwritten:
      return "unwritten";
    case FaultKind::InFlight:
      return "in_flight";
    case FaultKind::MissingFence:
      return "missing_fence";
    case FaultKind::OutOfBounds:
      return "out_of_bounds";
    case FaultKind::Deadlock:
      return "deadlock";
    case FaultKind::Uncovered:
      return "uncovered";
    case FaultKind::Disagreement:
      return "disagreement";
    case FaultKind::Budget:
      return "budget";
  }
  return "?";
}

// One fault a kind and pair of instructions; enough of them end the run.
void Machine::report(FaultKind kind, const Step& s, const std::string& text, const Instr* other) {
  if (stop_ || !reported_.emplace(int(kind), s.instr, other).second) return;
  Fault f{kind, text, s.instr ? print(*s.instr, *kernel_) : "", at_};
  faults_.push_back(std::move(f));
  if (int(faults_.size()) >= options_.max_faults || kind == FaultKind::Budget) stop_ = true;
}

int Machine::event(Warp& w, const Step& s, int component, uint32_t stamp) {
  return history_.add({s.instr, id(w), component, stamp, w.iteration});
}

// "k0=3, j=1": the loop variables around an access.
std::string Machine::iteration_text(int iteration) const {
  std::string s;
  if (iteration < 0) return s;
  for (const auto& [slot, value] : iterations_[size_t(iteration)])
    for (const auto& [name, at] : names_.slots)
      if (at == slot) s += (s.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return s;
}

std::string Machine::who(const Warp& w) const {
  std::string s = kernel_->roles[size_t(w.role)].name + " warp " + std::to_string(w.index);
  const std::string at = iteration_text(w.iteration);
  return at.empty() ? s : s + " (" + at + ")";
}

std::string Machine::who(const Event& e, int lane) const {
  const Warp& w = warps_[size_t(e.warp)];
  std::string s = std::string(code_name(e.instr->code)) + " by " +
                  kernel_->roles[size_t(w.role)].name + " warp " + std::to_string(w.index);
  if (lane != kWholeWarp) s += " lane " + std::to_string(lane);
  const std::string at = iteration_text(e.iteration);
  return at.empty() ? s : s + " (" + at + ")";
}

// Two accesses of one element that are not ordered as they must be.
void Machine::conflict(const Step& s, const Conflict& c, const Access& a, bool write,
                       const std::function<std::string()>& element) {
  const Event& earlier = history_.event(c.event);
  if (!news(c.kind, s, earlier.instr)) return;
  const std::string now = who(history_.event(a.event), a.lane), then = who(earlier, c.lane);
  std::string text = element() + ": " + now + (write ? " writes" : " reads");
  if (c.kind == FaultKind::InFlight)
    text += " what " + then + " is not known to have finished with";
  else if (c.kind == FaultKind::MissingFence)
    text += " through the asynchronous proxy what " + then +
            " wrote; no proxy fence of the writing warp lies between";
  else
    text += "; nothing orders it after " + then;
  report(c.kind, s, text, earlier.instr);
}

}  // namespace nautilus::memory
