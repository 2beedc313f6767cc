// What the emitter knows about one kernel before it writes text: definitions and uses, the form in
// which each value exists, the order of its axes in memory, and which values share storage.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/backend/cpu/cpu.h"

namespace nautilus::cpu {

using tile::Axis;
using tile::Code;
using tile::Instr;
using tile::Kernel;
using tile::Region;
using tile::TileType;
using tile::ValueId;

// How a value exists in the text.
enum class Form : uint8_t {
  Literal,  // a constant
  Scalar,   // rank 0: a C variable
  Inline,   // computed element by element where it is used
  Buffer,   // an array of its element type's C type
  Fused,    // a product that its only user, an addition, accumulates into its own array
};

struct Def {
  const Instr* instr = nullptr;    // of a region argument: the loop
  const Region* region = nullptr;  // where it is visible
  int position = -1;               // in region's body; -1: argument
  int index = 0;                   // which result or argument
};
struct Use {
  const Instr* instr;  // of a yield: the loop or branch that yields
  const Region* region;
  int position;  // in region's body; body.size(): a yield
  int operand;
};
struct Place {  // where a region hangs
  const Instr* parent = nullptr;
  const Region* region = nullptr;
  int position = -1;
};

// A tensor as the kernel sees it.
struct TensorView {
  std::string pointer;  // C name
  Type type = Type::F32;
  std::vector<int64_t> extents, strides;  // elements
  bool stored = false;                    // by this kernel
  bool block_local = false;
};

class KernelInfo {
 public:
  KernelInfo(const tile::Module& m, const Kernel& k, const EmitOptions& options);

  const Kernel& kernel;
  EmitOptions options;
  std::map<ValueId, Def> defs;
  std::map<ValueId, std::vector<Use>> uses;
  std::map<const Region*, Place> places;
  std::map<const Region*, double> trips;  // executions of a region, estimated
  std::map<std::string, TensorView> tensors;
  std::map<ValueId, Form> forms;
  std::map<ValueId, std::vector<std::string>>
      order;  // axes of a value, outermost first, innermost contiguous

  const TileType& type(ValueId v) const { return kernel.types.at(v); }
  int64_t lanes(ValueId v) const;
  int64_t extent(ValueId v, const std::string& axis) const;  // 0 if it has no such axis
  bool has_axis(ValueId v, const std::string& axis) const { return extent(v, axis) > 0; }
  // Elements a value's axis moves by in its own array.
  int64_t stride(ValueId v, const std::string& axis) const;
  // Element stride in memory of a Load's or Store's axis; nothing if it is gathered or not linear.
  std::optional<int64_t> memory_stride(const Instr& i, const std::string& axis) const;

  // The non-inline values that an instruction of a region reads when its text runs; position
  // body.size(): yields.
  const std::set<ValueId>& reads(const Region* r, int position) const;
  bool read_after(const Region* r, int position, ValueId v) const;
  void leaves(ValueId v, std::set<ValueId>& out) const;

 private:
  void scan(const Region& r, double trip);
  void choose_forms();
  Form choose(ValueId v, const Def& d) const;
  bool may_read_in_place(const Instr& load) const;
  int inline_cost(ValueId v) const;
  void collect_reads(const Region& r);
  void reads_of(const Instr& i, std::set<ValueId>& out) const;
  std::map<const Region*, std::vector<std::set<ValueId>>> reads_;
};

// Chooses KernelInfo::order (layout.cpp), and with it which loads are read in place.
void choose_layouts(KernelInfo& k);

// Axes of a product by role.
struct DotAxes {
  std::vector<std::string> batch, only_a, only_b, summed;
};
DotAxes dot_axes(const KernelInfo& k, const Instr& dot);
// Follows renames to a value that is not one; `names` maps its axis names to those of v.
ValueId base_of(const KernelInfo& k, ValueId v, std::map<std::string, std::string>& names);

std::string c_type(Type t);        // of computed values: float, double, int
std::string storage_type(Type t);  // in memory
bool same_representation(Type t);  // memory holds computed values as they are

}  // namespace nautilus::cpu
