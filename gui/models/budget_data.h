// What a plan takes of a multiprocessor: registers by value, shared memory by buffer, and how many
// blocks fit beside each other. Counted from the memory IR; predicted, where no compiler was asked.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "gui/models/plan_stages.h"
#include "gui/models/timeline.h"

namespace nautilus::gui {

struct RegisterValue {
  int value = -1;  // %value of the memory IR; -1: what is beside tiles
  QString type, statement;
  int node = -1;
  int64_t registers = 0;  // a thread
};
// Registers that tiles take behind one instruction.
struct PressurePoint {
  int64_t registers = 0;
  QString instruction, statement;
  int node = -1;
};
struct SharedBlock {
  QString name, type;
  int slots = 1;
  int64_t slot_bytes = 0, offset = 0, bytes = 0;
  double first = 0, last = 1;  // of the kernel's instructions in order: when it is live
  QString statement;           // that fills it
  int node = -1;
};
// What the number of blocks on a unit comes from.
struct OccupancyLimit {
  QString what;  // "registers", "shared memory", "threads", "blocks"
  double blocks = 0;
};
struct KernelBudget {
  QString name, comment;
  int threads = 0, warps = 0, blocks_per_unit = 1;
  int64_t grid = 1;
  int64_t tile_registers = 0;       // a thread, where most are live
  int64_t registers = 0;            // with what addresses and temporaries take; at most 255
  std::vector<RegisterValue> live;  // there, largest first
  size_t peak = 0;                  // position in pressure
  std::vector<PressurePoint> pressure;
  std::vector<SharedBlock> shared;
  int64_t shared_bytes = 0, barrier_bytes = 0, shared_capacity = 0;
  double occupancy = 0;
  std::vector<OccupancyLimit> limits;  // the least first
  Timeline timeline;
};
struct Budget {
  int node = -1;
  QString machine, target;
  std::vector<QString> statements;  // as PlanStages has them, for colours
  QString lowered_with;             // likewise
  std::vector<KernelBudget> kernels;
  std::optional<Refusal> refusal;  // there is no memory IR, and why
  std::optional<sched::Cost> cost;
};

inline constexpr int64_t kRegistersOfThread = 255;
// Registers that addresses and temporaries take beside tiles, as the lowering assumes.
inline constexpr int64_t kRegistersBeside = 64;

Budget make_budget(const PlanStages& p, const sched::Machine& m);
KernelBudget kernel_budget(const memory::Module& module, const memory::Kernel& k,
                           const sched::Machine& m);

}  // namespace nautilus::gui
