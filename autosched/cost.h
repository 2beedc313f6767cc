// What a plan costs, from sets. Time in seconds, work in operations, traffic in bytes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autosched/plan.h"
#include "polyhedral/loops.h"

namespace nautilus::sched {

// Resource use of one plan at one set of sizes, after lowering and rewriting.
struct ResourceProfile {
  std::map<std::string, double> ops;    // by unit: "matrix" (FLOP, useful ones), "fma", "special",
                                        // "divide", "convert", "compare"
  std::map<std::string, double> bytes;  // by level name of the machine
  double compulsory_bytes = 0;          // each input read once, each output written once
  double useful_flops = 0;              // operations of the mathematics (roofline height)
  double blocks = 1;                    // grid size (all kernels summed); >= 1
  int kernels = 1;
  double register_bytes = 0;          // live tiles of one block
  double shared_bytes = 0;            // scratch of one block
  double imbalance = 1;               // longest block over mean
  std::vector<std::string> rewrites;  // algebra used
  // Refinements (a hand-made profile may leave them out):
  std::map<std::string, double>
      issue;                 // by unit: operations weighted by how badly they fill it; >= ops
  double matrix_rate = 0;    // FLOP/s of the matrix unit for these operand types; 0: f16's or FMA's
  double steps = 0;          // serial loop iterations of the longest block
  int stages = 2;            // copies in flight ahead of use; 1: none overlap
  double groups = 2;         // groups of warps of one block that take turns on the matrix unit
  bool fed = false;          // by warps that only copy, through rings as deep as fits
  double copier_bytes = 0;   // registers of those warps of one block
  double most_resident = 0;  // blocks that share a unit at most; 0: as many as fit
  bool chained = false;      // products of a step wait for each other
  double flight_bytes = 0;   // loads of one block that are under way at once; 0: enough
  std::vector<ResourceProfile> parts;  // one a kernel; the totals above are their sums or maxima
};

// Declared here, implemented above (compiler): lowering and rewriting decide what is really
// computed. Per statement: scalar operations an instance by unit, after rewriting, where the count
// of a hoisted operation is spread over fewer instances.
struct StructureOps {
  struct Entry {
    std::string stmt, unit;
    double per_lane;
    std::vector<std::string> axes, loops;  // as tile::OpCount
    poly::Tiles tiles;
    std::string tensor;
  };
  std::vector<Entry> entries;
  std::vector<std::string> rewrites;
  double live_register_elems = 0;
};
class OpsProvider {
 public:
  virtual ~OpsProvider() = default;
  // Of this structure (tile sizes as they are in s). A Refusal when it cannot be lowered.
  virtual Expected<StructureOps> structure_ops(const poly::Schedule& s) = 0;
};
std::unique_ptr<OpsProvider>
direct_ops_provider();  // from the statements' expressions, without rewriting

struct RooflinePoint {
  std::string level;
  double intensity = 0;  // useful FLOP per byte at that level
  double achieved = 0;   // useful FLOP/s
  double roof = 0;       // min(bandwidth * intensity, peak)
};
struct Cost {
  double seconds = 0;                          // predicted
  double lower_bound = 0;                      // admissible: compulsory traffic and operations only
  std::map<std::string, double> unit_seconds;  // by unit and by level
  std::string limiter;                         // "special-function bound: 46 % of cycles in exp2"
  std::vector<RooflinePoint> points;           // one a memory level
  ResourceProfile profile;
  bool fits = true;
  std::string over_capacity;  // which capacity, by how much
};
// Counts exactly where the sets allow it. With empty `ops` the statements' own expressions are
// counted.
Expected<ResourceProfile> profile(const Plan& p, const Machine& m, const StructureOps& ops);
Cost cost(const ResourceProfile& r, const Machine& m);

}  // namespace nautilus::sched
