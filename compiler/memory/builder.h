// Builds memory IR: results get the types and placements that their operands decide.
#pragma once

#include <functional>

#include "compiler/memory/ir.h"

namespace nautilus::memory {

// Type of an instruction's result from those of its operands: Map, Cast, Mask, Reduce, Rename, Mma.
// Point-wise: the placement of the operand that has all axes. `elem`: of a Cast. Refused where the
// operands do not decide it (no operand has all axes; operands lie differently).
Expected<FragmentType> infer_type(const Kernel& k, const Instr& i, Type elem = Type::F32);
// Gives names ("l0", "l1"...) to placements of values and buffers that have none, in order of use.
void name_layouts(Kernel& k);

class Builder {
 public:
  Builder(Kernel& k, Region& at) : k_(&k), at_(&at) {}
  std::string origin;  // stamped on what is emitted
  int node = -1;
  std::string note;  // of the next instruction

  Kernel& kernel() { return *k_; }
  Instr& last() { return at_->body.back(); }  // emitted
  const FragmentType& type(ValueId v) const { return k_->types.at(v); }
  ValueId fresh(FragmentType t);
  void emit(Instr i);                          // as it stands
  ValueId emit(Instr i, FragmentType result);  // with one result
  // With an inferred type. A malformed instruction gets a single value: verify() says what is
  // wrong.
  ValueId emit_inferred(Instr i, Type elem = Type::F32);

  ValueId constant(double v, FragmentType t);
  ValueId iota(IndexExpr e, std::vector<Axis> axes, Placement place);
  ValueId map(nautilus::Op op, std::vector<ValueId> operands);
  ValueId cast(ValueId a, Type t);  // a itself where it has that type
  ValueId mask(Cond c, ValueId a, ValueId b);
  ValueId reduce(poly::ReduceOp op, ValueId a, std::vector<std::string> axes);
  ValueId rename(ValueId a, std::vector<std::pair<std::string, std::string>> names);
  ValueId exchange(ValueId a, Placement to);  // a itself where it lies so
  ValueId mma(Shape s, ValueId c, ValueId a, ValueId b, std::vector<std::string> axes);
  // The first product's operand in registers; or (a < 0) both in shared memory.
  struct SharedTile {
    std::string buffer;
    IndexExpr slot;
    std::vector<IndexExpr> index;
  };
  ValueId wgmma(Shape s, ValueId c, ValueId a, SharedTile b, std::vector<Axis> contracted);
  ValueId wgmma(Shape s, ValueId c, SharedTile a, SharedTile b, std::vector<Axis> contracted);

  ValueId load_shared(SharedTile from, FragmentType t, bool matrix = false, bool transposed = false,
                      int vector = 0);
  void store_shared(SharedTile to, ValueId v, bool matrix = false, int vector = 0);
  ValueId load_global(std::string tensor, std::vector<IndexExpr> index, FragmentType t,
                      Cond cond = Cond::always(), double fill = 0, int vector = 0);
  void store_global(std::string tensor, std::vector<IndexExpr> index, ValueId v,
                    Cond cond = Cond::always(), int vector = 0);
  // CopyPlain, CopyAsync, BulkStore.
  void copy(Code code, std::string buffer, IndexExpr slot, std::string tensor,
            std::vector<IndexExpr> index, Cond cond = Cond::always(), int vector = 0);
  void copy_bulk(std::string buffer, IndexExpr slot, std::string tensor,
                 std::vector<IndexExpr> index, std::string barrier, IndexExpr barrier_slot);
  // Instructions of a count or of nothing: commits, waits for groups, fences, BlockSync...
  void plain(Code code, int64_t count = 0);
  std::vector<ValueId> mma_wait(int64_t count, std::vector<ValueId> accumulators);
  void arrive(std::string barrier, IndexExpr slot, int64_t count = 1);
  void expect_bytes(std::string barrier, IndexExpr slot, int64_t bytes);
  void wait(std::string barrier, IndexExpr slot, IndexExpr parity);
  void named(Code code, std::string barrier);  // NamedSync, NamedArrive

  // Bodies get a builder of their region and answer what it yields.
  using Values = std::vector<ValueId>;
  Values loop(std::string iv, IndexExpr lower, IndexExpr upper, int64_t step, Values initial,
              const std::function<Values(Builder&, const Values& carried)>& body);
  Values branch(Cond cond, const std::function<Values(Builder&)>& then,
                const std::function<Values(Builder&)>& otherwise);

 private:
  Kernel* k_;
  Region* at_;
};

}  // namespace nautilus::memory
