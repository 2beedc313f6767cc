// Groups of copies, and barriers.
#include "compiler/backend/cuda/emitter.h"

namespace nautilus::cuda {

std::string KernelEmitter::barrier_slot(const std::string& name, const IndexExpr& slot) {
  const std::string s = uniform(slot);
  return buffers_.at(name) + (s == "0" ? "" : " + 8 * " + in_parens(s));
}

// One lane of the role's first warp.
std::string KernelEmitter::elected() const {
  return role_->warps == 1 ? "lane == 0" : "warp == 0 && lane == 0";
}

void KernelEmitter::synchronize(const Instr& i) {
  switch (i.code) {
    case Code::CopyCommit:
      return line(helpers_.use("copy_commit") + "();");
    case Code::CopyWait:
      return line(helpers_.use("copy_wait") + "<" + std::to_string(i.count) + ">();");
    case Code::BlockSync:
      return line(k_.roles.size() == 1 ? "__syncthreads();" : helpers_.use("block_sync") + "();");
    case Code::WarpSync:
      return line("__syncwarp();");
    case Code::NamedSync:
    case Code::NamedArrive: {
      const memory::NamedBarrier& b = *memory::find_named(k_, i.barrier);
      return line(helpers_.use(i.code == Code::NamedSync ? "named_sync" : "named_arrive") + "<" +
                  std::to_string(b.id) + ", " + std::to_string(32 * b.warps) + ">();  // " +
                  b.name);
    }
    case Code::Arrive:
      return line("if (lane == 0) " + helpers_.use("mbarrier_arrive") + "(" +
                  barrier_slot(i.barrier, i.slot) +
                  (i.count == 1 ? "" : ", " + std::to_string(i.count)) + ");");
    case Code::ExpectBytes:
      return line("if (" + elected() + ") " + helpers_.use("mbarrier_expect") + "(" +
                  barrier_slot(i.barrier, i.slot) + ", " + std::to_string(i.count) + ");");
    case Code::Wait:
      return line(helpers_.use("mbarrier_wait") + "(" + barrier_slot(i.barrier, i.slot) + ", " +
                  uniform(i.parity) + ");");
    case Code::BulkCommit:
      return line(helpers_.use("bulk_commit") + "();");
    case Code::BulkWait:
      return line(helpers_.use(i.read ? "bulk_wait_read" : "bulk_wait") + "<" +
                  std::to_string(i.count) + ">();");
    case Code::MmaFence:
      return line(helpers_.use("mma_fence") + "();");
    case Code::MmaCommit:
      return line(helpers_.use("mma_commit") + "();");
    case Code::ProxyFence:
      return line(helpers_.use("proxy_fence") + "();");
    case Code::SetRegisters: {
      // What a thread has at launch: the multiprocessor's 65536 over its threads.
      const int64_t launched =
          std::min<int64_t>(255, 65536 / (k_.threads() * k_.blocks_per_sm)) / 8 * 8;
      if (i.count != launched)
        line(helpers_.use(i.count > launched ? "more_registers" : "fewer_registers") + "<" +
             std::to_string(i.count) + ">();");
      return;
    }
    default:
      return refuse(i, "has no translation");
  }
}

}  // namespace nautilus::cuda
