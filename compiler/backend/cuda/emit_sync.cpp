// Groups of copies, and barriers.
#include "compiler/backend/cuda/emitter.h"

namespace nautilus::cuda {

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
    default:
      return refuse(i, "has no translation");
  }
}

}  // namespace nautilus::cuda
