// Rules of barriers, fences and register budgets.
#include "compiler/memory/checks.h"

namespace nautilus::memory {

std::string check_sync(const Scope& s, const Instr& i) {
  if (!i.operands.empty() || !i.results.empty()) return "has no operands and results";
  switch (i.code) {
    case Code::Arrive:
    case Code::ExpectBytes:
    case Code::Wait: {
      if (s.target.capability < 90) return "mbarriers with phases need sm_90";
      const MBarrier* b = find_mbarrier(s.kernel, i.barrier);
      if (!b) return "unknown mbarrier " + i.barrier;
      if (std::string why = check_slot(s, i.slot, b->slots, b->name); !why.empty()) return why;
      if (i.code == Code::Wait) {
        if (i.parity.is_const() && i.parity.constant() != 0 && i.parity.constant() != 1)
          return "a parity is 0 or 1";
        return check_names(s, i.parity, {});
      }
      return i.count < 1 ? "nothing arrives" : "";
    }
    case Code::NamedSync:
    case Code::NamedArrive:
      return find_named(s.kernel, i.barrier) ? "" : "unknown named barrier " + i.barrier;
    case Code::BlockSync:
      return s.divergence == Scope::Divergence::None
                 ? ""
                 : "a block barrier where warps of the role part";
    case Code::ProxyFence:
      return s.target.capability < 90 ? "proxies need sm_90" : "";
    case Code::SetRegisters:
      if (s.target.capability < 90 || !s.target.exact) return "setmaxnreg needs sm_90a";
      if (s.role->warps % 4 || s.role->first_warp % 4 || s.divergence == Scope::Divergence::Warps)
        return "setmaxnreg is executed by whole warpgroups";
      return i.count < 24 || i.count > 256 || i.count % 8
                 ? "registers a thread are 24 to 256, a multiple of 8"
                 : "";
    default:
      return "";
  }
}

}  // namespace nautilus::memory
