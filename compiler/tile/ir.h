// The tile IR (text form `.tile`): SSA over tile values, loops as expressions. Tiles have NAMED
// axes: a point-wise op's result has the union of its operands' axes (missing axes broadcast), a
// reduction removes axes, a dot contracts them. No placement: that is the memory IR's.
// (architecture.md stage 8)
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "polyhedral/index_expr.h"
#include "polyhedral/schedule.h"

namespace nautilus::tile {

using ValueId = int;  // unique in a kernel

struct Axis {
  std::string name;
  int64_t extent = 1;
  bool operator==(const Axis&) const = default;
};
struct TileType {
  Type elem = Type::F32;
  std::vector<Axis> axes;  // sorted by name; empty: a scalar
  bool operator==(const TileType&) const = default;
};

enum class Code : uint8_t {
  Const,  // value: a rank-0 tile
  Iota,   // index[0]: integer tile (I32) of the expression's values; its axes are those named in it
  Load,   // tensor, index per tensor dim, mask; masked-out lanes give `value`. Gathered dims take
          // operands. elem: the tensor's; axes: those in index and mask, and of the gathers
  Store,  // operands: [value, gathers...]; lanes outside mask are not written. The value has the
          // tensor's elem (emit() inserts the Cast); lanes: axes of the operands and `span`
  Map,    // scalar op (nautilus::Op, all but leaves and Cast); point-wise
  Cast,   // to elem
  Mask,   // operands [a, b]: a where cond, else b (cond over axes, loop variables, sizes)
  Reduce,  // reduce: removes `axes` of operand 0
  Dot,  // operands [a, b]: sum over `axes` (in both) of a*b, accumulated in result elem (F32 or F64
        // or I32)
  Rename,  // axes renamed; no data movement
  For,     // iv from lower to upper; operands: initial values; region args: [carried...]; results:
        // last yields. A result has its arg's type; initial values and yields have its elem and may
        // lack axes (broadcast)
  If,  // cond over loop variables and sizes, or operand 0 (a scalar bool: a branch on data; cond is
       // always); two regions without args; results: yields (axes: their union)
  Barrier,  // Shared buffers written before are visible after (no-op where a block is one thread)
};
std::string_view code_name(Code c);

struct Instr;
struct Region {
  std::vector<ValueId> args;
  std::vector<Instr> body;
  std::vector<ValueId> yields;
};
struct Instr {
  Code code = Code::Const;
  std::vector<ValueId> results;  // 1 for pure ops; 0 for Store/Barrier; n for For/If
  std::vector<ValueId> operands;
  double value = 0;  // Const; Load: fill for masked-out lanes (identity of its use, default 0)
  nautilus::Op op = nautilus::Op::Add;  // Map
  std::string tensor;                   // Load, Store
  std::vector<IndexExpr>
      index;                   // Load, Store: per tensor dim (ignored for gathered dims); Iota: [0]
  std::vector<int> gather;     // Load, Store: per tensor dim, operand position or -1; empty: none
  Cond cond = Cond::always();  // Load/Store mask; Mask; If
  poly::ReduceOp reduce = poly::ReduceOp::Sum;
  Expr combine, identity;         // Reduce with User
  std::vector<std::string> axes;  // Reduce, Dot: removed axes
  std::vector<Axis> span;  // Store, Reduce: axes that no operand has (the operand is broadcast over
                           // them); sorted. emit() fills it from Builder::axis_extents
  std::vector<std::pair<std::string, std::string>> renames;  // Rename: from -> to
  std::string iv;                                            // For
  IndexExpr lower, upper;
  int64_t step = 1;
  std::vector<Region> regions;  // For: 1; If: 2
  std::string origin;           // statement of the program it computes ("" if none)
  int node = -1;                // schedule tree node
};

struct TensorDecl {
  std::string name;
  Type type = Type::F32;
  poly::TensorKind kind = poly::TensorKind::Temp;  // Temp: global scratch between kernels
  poly::Scope scope = poly::Scope::Global;         // Shared: one copy a grid block
  std::vector<IndexExpr> extents;                  // over sizes; row-major
};
struct GridDim {
  std::string iv;
  IndexExpr extent;         // iv in [0, extent), over sizes
  bool descending = false;  // memory IR: blocks of the last points start first
  // Memory IR: so many points of the last dim before this one that has more than one start
  // together, at each point of this one; divides that dim's extent.
  int64_t together = 1;
};
struct Kernel {
  std::string name;
  std::vector<GridDim> grid;          // no order between grid points; empty: one block
  std::vector<TensorDecl> shared;     // block-local buffers
  Region body;                        // args empty, yields empty
  std::map<ValueId, TileType> types;  // of every value
  ValueId next_value = 0;
  std::string comment;
};
struct Module {
  std::string name;
  std::vector<std::string> sizes;            // parameters still symbolic (others are substituted)
  std::map<std::string, int64_t> multiples;  // of sizes: what divides every value, above 1
  std::vector<TensorDecl> tensors;           // inputs, outputs, global temps
  std::vector<Kernel> kernels;               // run in this order
  std::vector<std::string> rewrites;  // rules applied, "name (tag)": for the plan and explain
  std::vector<std::string> notes;     // what the program assumes, in words for its user
};

// Builds instructions with inferred types; used by the lowering, the parser and the rewriter.
class Builder {
 public:
  Builder(Kernel& k, Region& at) : k_(&k), at_(&at) {}
  // Appends i with inferred result type(s); For/If need regions complete. Returns results[0] or -1.
  // Results that are given keep their types (fresh()). A malformed instruction gets a scalar f32:
  // verify() says what is wrong.
  ValueId emit(Instr i);
  ValueId emit(
      Instr i,
      Type elem);  // with the elem of the result: Const, Cast, Dot; Load if `module` is null
  ValueId constant(double v, Type t = Type::F32);
  ValueId map(nautilus::Op op, std::vector<ValueId> args);
  ValueId cast(ValueId a, Type t);
  ValueId reduce(poly::ReduceOp op, ValueId a, std::vector<std::string> axes);
  ValueId dot(ValueId a, ValueId b, std::vector<std::string> axes, Type acc);
  ValueId mask(Cond c, ValueId a, ValueId b);
  ValueId rename(ValueId a, std::vector<std::pair<std::string, std::string>> r);
  ValueId fresh(TileType t);
  Kernel& kernel() { return *k_; }
  Region& region() { return *at_; }
  std::string origin;  // stamped on what is emitted
  int node = -1;
  // Extents of axes in scope for Iota/Load (name -> extent); the lowering sets it.
  std::map<std::string, int64_t> axis_extents;
  // Where Load and Store find their tensor's type (besides the kernel's shared buffers); may be
  // null.
  const Module* module = nullptr;

 private:
  Kernel* k_;
  Region* at_;
};

// Result types of an instruction from those of its operands (in k.types). `axes`: extents of the
// axes that index expressions and conditions may name; `elem`: for Const, Load, Cast and Dot.
Expected<std::vector<TileType>> infer_types(const Kernel& k, const Instr& i,
                                            const std::map<std::string, int64_t>& axes, Type elem);
Type map_type(nautilus::Op op,
              const std::vector<Type>& operands);  // element type of a Map's result
int64_t lanes(const TileType& t);                  // product of the extents
std::string to_string(const TileType& t);          // "f32[i: 64, j: 64]"
const TensorDecl* find_tensor(const Module& m, const Kernel& k, const std::string& name);
std::string print(const Instr& i, const Kernel& k);  // one instruction, without its regions

std::string print(const Module& m);
Expected<Module> parse(std::string_view text, const std::string& file = "");  // exact round trip
// Everything a malformed module could break later: SSA dominance, types, axes, tensors, yields,
// index ranks.
std::optional<Refusal> verify(const Module& m);
// Runs a module on the CPU in double precision per op, rounding each value to its elem type; masked
// lanes never touch memory; out-of-bounds accesses are a Refusal naming the instruction.
// Branches on data: how often one was reached, and how often its first side ran, by origin.
struct BranchCount {
  uint64_t reached = 0, taken = 0;
};
struct InterpretOptions {
  bool round_values = true;
  uint64_t max_ops = 500'000'000;
  std::map<std::string, BranchCount>* branches = nullptr;  // added to
};
Expected<poly::Buffers> interpret(const Module& m, const poly::Sizes& sizes,
                                  const poly::Buffers& inputs,
                                  const InterpretOptions& options = {});

}  // namespace nautilus::tile
