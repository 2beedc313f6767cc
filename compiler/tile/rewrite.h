// Algebraic rewriting of tile programs by equality saturation with cost-based extraction.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/tile/ir.h"
#include "polyhedral/loops.h"
#include "polyhedral/repair_types.h"

namespace nautilus::tile {

enum class Numerics : uint8_t {
  Strict,
  Reassociate,
  Fast
};  // Exact | +Reassociates | +Approximates
std::optional<Numerics> numerics_from_name(std::string_view s);

struct RuleInfo {
  std::string name, doc;
  poly::NumericTag tag;
  std::string bound;  // Approximates: the error bound
};
const std::vector<RuleInfo>& rules();  // the registry: one source file a rule family

// Cost of one scalar operation by unit, in issue cycles a lane (from the machine description).
struct OpCosts {
  double fma = 1, special = 4, divide = 8, convert = 1, compare = 1, matrix = 0.05, load = 2;
  double split_dot = 2;  // passes of the matrix unit for a wide and a narrow operand
};
// A branch on data guards what is seldom needed: the share of its executions in which the first
// side is assumed to run, wherever costs are estimated.
inline constexpr double kTakenShare = 0.125;

struct RewriteOptions {
  Numerics numerics = Numerics::Reassociate;
  OpCosts costs;
  int max_iterations = 12;
  int max_nodes = 20'000;
};
struct RewriteReport {
  std::vector<std::string>
      applied;  // rule names with their tag, in order of first use in what was extracted
  double cost_before = 0, cost_after = 0;
  std::string stop_reason;  // "saturated" | "node limit" | "iteration limit" | "time limit"
};
// Loop-invariant motion, exp -> exp2 with the scale folded in, division deferred out of loops and
// cancelled across iterations, common subexpressions, strength reduction, dot recognition.
Module rewrite(const Module& m, const RewriteOptions& options, RewriteReport* report = nullptr);

// What one scalar operation takes, by unit: the one place where costs of operations are known.
struct UnitOps {
  const char* unit;
  double per_lane;
};
std::vector<UnitOps> op_units(nautilus::Op op);
// A dot is matrix work if both operands are of 16 bits or fewer, else multiply-adds.
bool is_matrix_dot(Type a, Type b);
// One operand is wide: it is split into halves of the narrow type.
bool is_split_dot(Type a, Type b);

// Operations by unit of a module, one entry a (statement, unit, axes, loops, tiles, tensor). A
// product used only by one sum over the same lanes is part of a multiply-add. Of two paths of a
// block, or two loops that share the iterations of one, that with more masks is for partial tiles,
// the other for full ones; where neither is, what both do counts once. `axes` and `loops` let the
// cost model re-evaluate at other tile sizes without lowering again.
struct OpCount {
  std::string origin;  // statement
  std::string unit;  // "matrix" | "split" (a wide operand: two passes of the matrix unit) | "fma" |
                     // "special" | "divide" | "convert" | "compare" | "load" | "store"
  double per_lane = 0;  // operations a lane; matrix: 2 (FLOP) for one multiply-add; in a branch on
                        // data: times its share of executions
  std::vector<std::string> axes;   // tile axes it spans: names of the kernel's values, which after
                                   // rewriting may be members of another statement
  std::vector<std::string> loops;  // ivs of the enclosing loops and grid dims
  poly::Tiles tiles = poly::Tiles::All;
  std::string tensor;  // load/store: which
};
std::vector<OpCount> count_ops(const Module& m);

}  // namespace nautilus::tile
