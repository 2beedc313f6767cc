// Rules of single instructions, used by verify(). Each answers why the instruction is wrong, or "".
#pragma once

#include <set>

#include "compiler/memory/ir.h"

namespace nautilus::memory {

// What the text around an instruction fixes.
struct Scope {
  const Module& module;
  const Kernel& kernel;
  const Role* role = nullptr;
  Target target;
  std::map<std::string, int64_t>
      uniform;  // loop variables, sizes, "warp" -> a divisor of its values
  // Warps of the role may go different ways here: at most warpgroups, or any.
  enum class Divergence : uint8_t { None, Warpgroups, Warps } divergence = Divergence::None;

  const FragmentType& type(ValueId v) const { return kernel.types.at(v); }
};

std::string list_names(const std::vector<std::string>& names);
std::vector<std::string> names_of(const std::vector<Axis>& axes);
// Names in an expression that are neither axes nor uniform.
std::string check_names(const Scope& s, const IndexExpr& e, const std::vector<Axis>& axes);
std::string check_names(const Scope& s, const Cond& c, const std::vector<Axis>& axes);
// What a reduction combines two values with: Sum -> Add ...; nothing for User.
std::optional<nautilus::Op> combining(poly::ReduceOp op);
// The largest number known to divide every value; 0: of 0.
int64_t divisor(const IndexExpr& e, const std::map<std::string, int64_t>& known);
// e is one axis plus what is uniform: that axis.
std::optional<std::string> plain_axis(const IndexExpr& e, const std::vector<Axis>& axes);
// A slot that is known to lie outside the ring.
std::string check_slot(const Scope& s, const IndexExpr& slot, int slots, const std::string& name);
// Axes sorted, extents positive, axes of the map known and covered.
std::string check_axes(const std::vector<Axis>& axes, const Placement& place);
std::string check_fragment(const Scope& s, const FragmentType& t);

std::string check_registers(const Scope& s, const Instr& i);  // Const .. Rename
std::string check_global(const Scope& s, const Instr& i);     // LoadGlobal .. AtomicAdd
std::string check_shared(const Scope& s, const Instr& i);     // LoadShared, StoreShared
std::string check_copy(const Scope& s, const Instr& i);       // CopyPlain .. BulkWait
std::string check_product(const Scope& s, const Instr& i);    // Mma .. MmaWait
std::string check_sync(const Scope& s, const Instr& i);       // Arrive .. SetRegisters
// An operand that is broadcast to `into`: no other axes, data in the same lanes.
std::string check_broadcast(const FragmentType& operand, const FragmentType& into);
// Tensor, ranks, gathers (from operand `first` on), names over these axes.
std::string check_element(const Scope& s, const Instr& i, size_t first,
                          const std::vector<Axis>& axes);

}  // namespace nautilus::memory
