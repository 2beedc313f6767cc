// Writes one kernel. One file a concept implements it: emit_kernel (roles, regions, loops),
// emit_frame (signature, constants of a thread), emit_values (variables, loops over registers),
// emit_registers, emit_reduce, emit_exchange, emit_conditions, emit_global, emit_shared,
// emit_copies, emit_mma, emit_sync, emit_bulk, emit_wgmma.
#pragma once

#include <functional>
#include <memory>

#include "compiler/backend/cuda/cuda.h"
#include "compiler/backend/cuda/geometry.h"
#include "compiler/backend/cuda/preamble.h"
#include "compiler/backend/cuda/text.h"
#include "compiler/backend/cuda/variables.h"

namespace nautilus::cuda {

using memory::Axis;
using memory::Code;
using memory::FragmentType;
using memory::Instr;
using memory::Kernel;
using memory::Module;
using memory::Placement;
using memory::Region;
using memory::Role;
using memory::SharedBuffer;
using tile::TensorDecl;

struct Line {
  std::string text;
  int node = -1;  // schedule tree node
};

// Registers that a loop variable of the source walks over; without a variable just one. In two
// loops: `inner` registers for each step of the outer variable.
struct Pick {
  std::string var;
  std::vector<int> regs;
  std::string outer = {};
  int inner = 0;
  Pick through(const std::vector<int>& table) const;  // table[register] for each
};

// Names that a source's kernels share.
struct SourceNames {
  Namer namer;
  std::map<std::string, std::string> tensors, sizes;  // IR name -> identifier
  std::map<std::string, std::string> kernels;
};

class KernelEmitter {
 public:
  KernelEmitter(const Module& m, const Kernel& k, const memory::Target& target,
                const SourceNames& names, Helpers& helpers);
  std::optional<Refusal> emit();
  const std::vector<Line>& lines() const { return lines_; }
  Launch launch() const { return launch_; }

 private:
  struct Variable {
    std::string name;
    Type elem = Type::F32;
    int registers = 1, words = 1;
    bool scalar = false;  // declared without []
  };
  // An index expression as a sum of what is uniform and multiples of axes.
  struct Affine {
    bool affine = true;
    IndexExpr uniform;
    std::map<std::string, int64_t> axes;
  };
  // A condition ready to be tested for registers: text of each, "" where it always holds.
  using Test = std::function<std::string(const Pick&)>;
  // An address: the pointer or shared address of the thread, and what registers add.
  struct Place {
    std::string base;
    std::function<std::string(const Pick&)> add;  // "0" for nothing
    std::string at(const Pick& p) const;          // sum of both
  };
  // Text of a coordinate on an axis.
  using Coordinate = std::function<std::string(const std::string& axis)>;

  const Module& m_;
  const Kernel& k_;
  memory::Target target_;
  const SourceNames& source_;
  Helpers& helpers_;
  Launch launch_;
  std::vector<Line> lines_;     // of the kernel
  std::vector<Line> prologue_;  // of the kernel: constants of a thread
  std::vector<Line> role_prologue_, body_;
  std::map<std::string, std::string> role_hoisted_;         // type and expression -> name
  std::vector<std::map<std::string, std::string>> locals_;  // a region: declaration -> name
  Namer names_;
  std::map<std::string, std::string> text_;  // IR name -> text: sizes, loop variables, warp
  Facts facts_;
  const Role* role_ = nullptr;
  std::unique_ptr<Variables> variables_;
  std::map<int, Variable> declared_;
  std::map<int, double> constants_;       // values that are one number
  std::map<int, const Instr*> deferred_;  // loads that their product makes
  std::map<std::string, std::unique_ptr<Geometry>> geometries_;
  std::map<std::string, std::string> layout_names_;  // placement text -> name
  std::map<std::string, std::string> buffers_;       // buffer, barrier -> its shared address
  std::map<const Instr*, std::vector<const Instr*>> loads_of_;  // of a product
  std::set<std::string> written_, read_;                        // tensors that the kernel touches
  std::optional<Refusal> error_;
  int indent_ = 1, node_ = -1;

  // emit_frame
  void find_touched(const Region& r);
  void signature();
  void frame();

  // emit_kernel
  void role(const Role& r, bool only);
  void region(const Region& r);
  void instruction(const Instr& i);
  void loop(const Instr& i);
  void branch(const Instr& i);
  std::string any_held(int value);
  void moves(const std::vector<std::pair<int, int>>& to_from);  // values, in parallel
  void find_constants(const Region& r);
  void find_deferred(const Region& r);
  void refuse(const Instr& i, const std::string& why);

  // emit_values
  void line(const std::string& text);
  void open(const std::string& text);
  void close(const std::string& text = "}");
  void unrolled(const Pick& over, const std::string& statement);
  void unrolled(const std::string& var, int count, const std::function<void()>& body);
  std::string hoist(const std::string& type, const std::string& wanted, const std::string& e);
  std::string local(const std::string& type, const std::string& wanted, const std::string& e);
  const FragmentType& type(int value) const { return k_.types.at(value); }
  const Geometry& geometry(int value) { return geometry(type(value).place, type(value).axes); }
  const Geometry& geometry(const Placement& p, const std::vector<Axis>& axes);
  std::string layout_name(const Geometry& g);
  void declare(int variable);
  std::string wanted_name(int variable) const;
  const Variable& variable(int value) const;
  std::string storage(int value, const Pick& word);  // an element of the variable's array
  std::string index(const Pick& p);                  // the register itself
  std::string pick(const Pick& p, const std::vector<int64_t>& table);  // of its registers
  Pick all(int registers, const std::string& var = "r") const;
  std::string read(int value, const Pick& p);  // an element in its wide type
  std::string raw(int value, const Pick& p);   // bits of a packed element; else read()
  using Element = std::function<std::string(const Pick&)>;
  void produce(int value, Type from, const Element& f);  // f in the wide type of `from`
  void produce_raw(int value, const Element& f);
  void take(int value, int from, const std::vector<int>& table);  // registers of `from`
  void pack(int value, const std::string& helper, const Element& f);
  void fill(int value, double v);
  void copy(int to, int from);
  void copy_words(const Variable& to, const Variable& from);

  // emit_registers, emit_reduce, emit_exchange
  void map(const Instr& i);
  void mask(const Instr& i);
  void iota(const Instr& i);
  void cast(const Instr& i);
  void rename(const Instr& i);
  void slice(const Instr& i);
  void reduce(const Instr& i);
  void exchange(const Instr& i);

  // emit_conditions
  Affine split(const IndexExpr& e, const std::vector<Axis>& axes) const;
  std::string thread_part(const Geometry& g, const std::string& axis);
  std::string coordinate(const Geometry& g, const std::string& axis, const Pick& p);
  std::string uniform(const IndexExpr& e) { return index_text(e, text_, facts_); }
  std::string element(const IndexExpr& e, const std::vector<Axis>& axes, const Coordinate& at);
  struct Atoms {  // a condition without what always holds; false: never true
    bool never = false;
    std::vector<Cond::Conj> any;  // empty: always
  };
  Atoms simplify(const Cond& c, const std::vector<Axis>& axes) const;
  // Texts with coordinates by name; uniform parts are computed here.
  using CoordinateTest = std::function<std::string(const Coordinate&)>;
  CoordinateTest ready(const Atoms& c, const std::vector<Axis>& axes);
  Test test(const Cond& c, const Geometry& g, bool padding = true);
  bool same_along(const Atoms& c, const std::string& axis, int64_t elements) const;

  // emit_global
  struct Strides {
    std::vector<std::optional<int64_t>> known;
    std::vector<std::string> text;
    bool small = false;  // offsets fit into 32 bits
  };
  Strides strides(const TensorDecl& t);
  Place global_place(const Instr& i, const Geometry& g);
  Vector global_vector(const Instr& i, const Geometry& g);
  std::string writer(const Geometry& g);  // "" or the condition of threads that hold first copies
  void load_global(const Instr& i);
  void store_global(const Instr& i);
  void atomic_add(const Instr& i);

  // emit_shared
  struct SharedPlace {
    Place place;                  // in bytes
    std::vector<uint64_t> moves;  // elements, by each register bit
    uint64_t thread_moves = 0;
    int64_t aligned = 1;  // elements that the uniform part is a multiple of
    bool linear = false;  // moves are known
  };
  SharedPlace shared_place(const SharedBuffer& b, const IndexExpr& slot,
                           const std::vector<IndexExpr>& index, const Geometry& g);
  std::string slot_base(const SharedBuffer& b, const IndexExpr& slot);
  std::string offset_text(const SharedBuffer& b, const std::map<std::string, std::string>& at);
  void load_shared(const Instr& i);
  void store_shared(const Instr& i);
  struct MatrixLoad {
    Place place;
    int matrices = 4;        // an instruction
    std::vector<int> bases;  // register of each instruction's first element
    int elements = 8;        // registers an instruction
  };
  std::optional<MatrixLoad> matrix_place(const Instr& i, int value);

  // emit_copies
  void copy_shared(const Instr& i);
  Cond in_bounds(const Instr& i) const;
  std::string gathers_in_bounds(const Instr& i);
  std::string flat_offset(const Instr& i, const Strides& s, const std::vector<Axis>& axes,
                          const Coordinate& at);
  struct Chunk {                    // what a thread moves at once
    std::string to, from;           // shared address, pointer
    std::string moved, ok;          // conditions: not padding; inside the tensor. "" always
    std::vector<std::string> each;  // conditions of its elements, where they differ
    std::string count;              // elements that are inside, where those come first
  };
  void move_chunk(const Instr& i, const SharedBuffer& b, const Chunk& c);
  std::string role_thread();

  // emit_mma
  void mma(const Instr& i);
  struct Operand {  // of a product of tiles: its part for each accumulator group and step
    int value = -1;
    const Instr* load = nullptr;       // made as it is needed
    int group = 8;                     // registers of one instruction
    std::vector<std::vector<int>> at;  // step, accumulator group -> first register
  };
  Operand operand(const Instr& i, int position, const Geometry& c,
                  std::vector<std::vector<int64_t>>& steps);
  bool own_loads(const std::vector<Operand*>& operands, int chunk) const;

  // emit_sync, emit_bulk, emit_wgmma
  void synchronize(const Instr& i);
  std::string barrier_slot(const std::string& name, const IndexExpr& slot);
  std::string elected() const;
  void bulk(const Instr& i);
  std::string tensor_map(const Instr& i, const SharedBuffer& b, int swizzle);
  struct SharedOperand {                          // of wgmma
    std::string descriptor;                       // of the part of the thread's warpgroup
    std::function<std::string(const Pick&)> add;  // sixteenths of bytes that a start adds
    bool transposed = false;
  };
  std::optional<SharedOperand> shared_operand(
      const Instr& i, bool first, const Geometry& c,
      const std::vector<std::map<std::string, int64_t>>& starts);
  void wgmma(const Instr& i);
  void mma_wait(const Instr& i);
};

}  // namespace nautilus::cuda
