// From loops and tiles to resources: operations by unit and bytes by level, one kernel after the
// other.
#pragma once

#include "autosched/axes.h"
#include "autosched/cost/counts.h"
#include "autosched/cost/shares.h"

namespace nautilus::sched {

// Operations and element accesses from the statements' own expressions (no rewriting), at the names
// of `m`.
StructureOps direct_ops(const StructureModel& m);

// Knobs are named "tile.<axis>" where there is one kernel, "<tensor>.tile.<axis>" by the last
// tensor that the kernel writes where there are several. Sets the steps of all tile loops that have
// a knob.
std::string knob_prefix(const StructureModel& m, int kernel);
StructureModel with_knobs(StructureModel m, const ProgramAxes& axes, const Knobs& knobs);

// Counts are cached across calls, so keep one evaluator for many sizes of many structures of one
// program.
class Evaluator {
 public:
  Evaluator(std::shared_ptr<const ProgramFacts> facts, const Machine& machine)
      : facts_(std::move(facts)), machine_(machine) {}
  ResourceProfile profile(const StructureModel& m, const StructureOps& ops, int stages = 2);
  ResourceProfile kernel(const StructureModel& m, int kernel, const StructureOps& ops, int stages);
  ResourceProfile total(std::vector<ResourceProfile> kernels, const StructureOps& ops) const;
  TileCounter& counter() { return counter_; }
  const Machine& machine() const { return machine_; }
  const ProgramFacts& facts() const { return *facts_; }

 private:
  std::shared_ptr<const ProgramFacts> facts_;
  Machine machine_;
  TileCounter counter_;
};

// A temporary of up to this share of a cache stays in it until it is read; the rest is for what
// passes by meanwhile. GPU: also the partition of the L2 that one unit reads. The search's bound
// assumes the same, so that it stays below the cost.
inline constexpr double kCacheForTemps = 0.5;

// Geometry of one statement's tile, shared by the parts of the evaluator.
int64_t tile_extent(const StmtModel& s, const TileDim& t);
double tile_lanes(const StmtModel& s);
// Lanes of tile axes as counted operations name them. Rewriting gives axes that are the same one
// name, which may be the tile member of another statement of the kernel.
double lanes_of(const StructureModel& m, const StmtModel& s, const std::vector<std::string>& axes);
// A product's tile: rows (only in the first operand), columns (only in the second), depth
// (reduced), batch (both).
struct ProductShape {
  double m = 1, n = 1, k = 1, batch = 1;
};
ProductShape product_shape(const StmtModel& s);
// Whether the machine's matrix instructions are those of a warpgroup (64 rows) and the tile is one
// that they take: narrow operands, one axis of rows, of columns and of depth, no padding. Others
// are left to single warps.
bool by_warpgroups(const StmtModel& s, const Machine& machine);
// Rows of one matrix instruction of this product.
double instruction_rows(const StmtModel& s, const Machine& machine);
// Range of a dim during one iteration of the first `depth` loops (tile sizes bound it; else its
// extent).
double dim_range(const StmtModel& s, int dim, size_t depth);
// Elements of an access touched while each dim runs over `range`; whole cache lines of `line`
// bytes.
double touched_elements(const AccessModel& a, const std::vector<double>& range,
                        const StructureModel& m, double line);
std::vector<TileCoordinate> coordinates(const StmtModel& s, size_t depth);
std::vector<TileCoordinate> grid_coordinates(const StmtModel& s);
// How many of the loops an access must stay inside of: one past the innermost loop it depends on.
size_t hoisted_depth(const StmtModel& s, const AccessModel& a);

struct LiveTiles {
  double register_bytes = 0, shared_bytes = 0;
};
// Largest sum of register tiles alive at one statement, and scratch buffers of one block of a
// kernel.
LiveTiles live_tiles(const StructureModel& m, int kernel, int stages);

// Adds the bytes that one kernel moves at every level of the machine.
void add_traffic(const StructureModel& m, int kernel, const StructureOps& ops,
                 const Machine& machine, TileCounter& counter, const Shares& shares,
                 ResourceProfile& out);

}  // namespace nautilus::sched
