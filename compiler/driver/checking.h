// Every kernel passes the memory interpreter before it leaves the compiler: races, deadlocks, reads
// of what nothing wrote, accesses out of bounds, and values against the tile program's.
#pragma once

#include "compiler/driver/choosing.h"
#include "compiler/driver/open.h"
#include "compiler/memory/lower.h"

namespace nautilus::driver {

// How plans are lowered: what `compile` and `run --on gpu` share with the checks.
struct PlanLowering {
  tile::RewriteOptions rewriting;
  memory::LowerOptions memory;
  // After stages on the tile program ("lower", "rewrite"); may be null.
  std::function<void(const std::string& stage, const tile::Module&)> after;
};
struct LoweredPlan {
  tile::Module tile;  // rewritten
  tile::RewriteReport report;
  memory::Module memory;
  std::vector<std::string> notes;
};
Expected<LoweredPlan> lower_plan(const poly::Schedule& s, const PlanLowering& how);

// What was checked. A plan for large sizes is lowered again for small ones, by the same steps, at
// which its tiles are full and partial as before; there its blocks are run, all of them or those at
// the corners of the grid. Where the kernel is another one at small sizes, its own blocks at the
// corners of the grid are run as well.
struct KernelCheck {
  bool done = false;  // blocks of every kernel ran without a fault
  poly::Sizes sizes;
  std::vector<poly::Sizes> others;  // of kernels with open sizes
  bool reduced = false;             // not only at the sizes asked for
  bool every_block = false;         // else some, at the corners of the grid first
  bool values = false;              // outputs compared with what the tile program computes
  uint64_t operations = 0;
  double seconds = 0;
  std::string left_out;  // what was not checked and why; "" if nothing
};
// Sizes for the check of a plan, none larger than asked for: an axis with tiles keeps what is left
// over beside a few full tiles (`times` as many), an axis that only counts blocks is cut short,
// every other stays. Sizes that are equal stay equal if `together`: masks compare their axes.
poly::Sizes small_sizes(const Loaded& in, const sched::Plan& plan, const memory::Module& kernels,
                        int64_t times = 1, bool together = true);
// Refused: a fault. Not possible or not in time is no refusal but said in `left_out`.
Expected<KernelCheck> check_kernels(const Loaded& in, const sched::Plan& plan,
                                    const PlanLowering& how, const LoweredPlan& own);

// Of kernels that leave sizes open: all blocks at several values of them, with full and cut tiles,
// with less than a tile, and with nothing.
Expected<KernelCheck> check_open_kernels(const Loaded& in, const OpenProgram& open,
                                         const sched::Plan& plan, const LoweredPlan& own);

// Of a memory program as it stands, at these sizes; without a value for each it is not checked.
Expected<KernelCheck> check_kernels(const memory::Module& m, const poly::Sizes& sizes);

nlohmann::json to_json(const KernelCheck& c);
std::string to_text(const KernelCheck& c);  // one line

}  // namespace nautilus::driver
