// The memory IR (text form `.mtile`): where every tile lives and who moves it when. One block of
// threads runs `roles` of warps; register tiles have a fragment layout; shared buffers are rings of
// swizzled slots; copies, products and barriers are explicit. It can say an Ampere kernel
// (cp.async, ldmatrix, mma.sync) and a Hopper one (bulk tensor copies, mbarriers, wgmma, warp
// roles). Sources: architecture.md stage 9; pipelining-and-synchronization.md; PTX ISA 8.x.
//
// Execution: each warp of a role runs the role's body; an instruction is collective over the warp
// (wgmma: over a warpgroup), so there is no divergence. Loop variables, sizes and "warp" (index of
// the warp in its role) are uniform integers in IndexExpr. Lanes of a warp see each other's shared
// writes after WarpSync or any block or named barrier.
//
// Tiles and warps: a fragment with 2^b points of "warp" in a role of w warps (a multiple): warp x
// holds the part of point x mod 2^b, and every 2^b consecutive warps hold a tile of their own,
// whose contents differ where index expressions name "warp". No warp bits: every warp has its own
// tile.
//
// Copies into shared memory are work of the whole role: thread t = 32*warp + lane of its T threads
// moves the chunks t, t + T, ... of `vector` bytes, counted by offset in the slot (chunk q holds
// the elements at offsets q*vector/bytes ...; the placement says which). Chunks wholly in the
// padding are not moved. So CopyPlain, CopyAsync and BlockSync stand where all warps of the role
// pass.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/memory/layout.h"
#include "compiler/tile/ir.h"

namespace nautilus::memory {

using tile::Axis;
using tile::GridDim;
using tile::TensorDecl;
using ValueId = int;

// A tile in registers, spread over the warps of a role. Elements beyond the extents (padding of the
// placement) hold anything.
struct FragmentType {
  Type elem = Type::F32;
  std::vector<Axis> axes;  // sorted by name; empty: one value, replicated
  Placement place;         // inputs: register, lane (5 bits), warp; axes empty: Placement{}. No two
                           // registers of a thread hold the same element
  bool operator==(const FragmentType&) const = default;
};

// One ring of tiles in shared memory.
struct SharedBuffer {
  std::string name;
  Type elem = Type::F16;
  std::vector<Axis> axes;  // sorted by name
  Placement place;         // input: offset (elements of one slot)
  int slots = 1;
  int64_t offset = -1;  // bytes from the block's shared memory; -1: not placed yet. Buffers whose
                        // live ranges do not overlap may share bytes
  int64_t align = 16;   // bytes; 128 for a bulk copy, 1024 for its 128-byte swizzle
};
// A ring of mbarriers: a phase ends when `arrivals` have come and the bytes expected have arrived.
struct MBarrier {
  std::string name;
  int slots = 1;
  int arrivals = 1;  // threads or elected threads a phase
};
struct NamedBarrier {
  std::string name;
  int id = 1;     // hardware barrier 1..15 (0 is BlockSync)
  int warps = 0;  // that take part, syncing or arriving
};

enum class Code : uint8_t {
  // registers
  Const,  // value, all over the result's tile
  Iota,   // index[0] over loop variables, sizes, axes: I32
  Map,    // op, point-wise; operands have the result's placement, or lack axes (their placement is
          // the result's without those axes)
  Cast,
  Mask,      // operands [a, b]: a where cond, else b
  Reduce,    // over `axes`, inside a warp: registers, then shuffles; no axis may be spread over
             // warps.
             // Placement: without(operand's, axes). Padding does not take part
  Exchange,  // to the result's placement: registers or shuffles inside a warp (layout.h: exchange)
  Rename,    // axes renamed
  Slice,     // the part from index[n] (a constant) on along the operand's n-th axis, as long as the
             // result's; each lane holds what it needs of it
  // global memory
  LoadGlobal,   // tensor, index a dim (as tile::Code::Load), cond, fill `value`, gathers
  StoreGlobal,  // operands [value, gathers...]; tensor, index, cond; each element once (of
                // replicated
                // lanes the first writes)
  AtomicAdd,    // operands [value]; tensor, index, cond: f32 or i32; result: the value before, if
                // wanted
  // shared memory. Indices run over the buffer's axes in their order. Elements where cond fails are
  // not touched (a load gives `value`)
  LoadShared,   // buffer, slot, index an axis of the buffer (over result axes); `matrix`: ldmatrix
                // (`transposed`: .trans)
  StoreShared,  // operands [value]; buffer, slot, index; `matrix`: stmatrix (sm_90)
  // copies global -> shared: tensor, index, cond -> buffer, slot, all axes of the buffer; elements
  // where cond fails or outside the tensor become 0
  CopyPlain,   // through registers: done when the instruction is
  CopyAsync,   // cp.async, `vector` bytes a lane (4, 8, 16): in the open group of this warp
  CopyCommit,  // closes the group
  CopyWait,    // until at most `count` groups of this warp are pending
  CopyBulk,   // bulk tensor copy by one elected lane of the role's first warp; signals `barrier` at
              // slot_b by the bytes of the slot (its padding not counted, elements outside the
              // tensor counted). A dimension's index: one axis of the buffer, plain, plus what is
              // uniform; cond: always
  BulkStore,  // shared -> global, likewise; in the open bulk group; parts outside the tensor are
              // not
              // written
  BulkCommit,
  BulkWait,  // until at most `count` bulk groups are pending (`read`: only their reads of shared)
  // products. contracted `axes`
  Mma,       // operands [c, a, b]: mma.sync, per warp: c + a*b; fragments of `shape`
  Wgmma,     // operands [c] or [c, a]: warpgroup product; a in registers or buffer/slot at `index`,
             // b in buffer_b/slot_b at `index_b`: an expression an axis of the buffer, over the
             // product's axes. `span`: the contracted axes with their extents. Result usable after
             // MmaWait
  MmaFence,  // wgmma.fence: registers before the first product of a batch
  MmaCommit,
  MmaWait,  // until at most `count` batches are pending; operands: accumulators that it hands back
            // (results: the same values, now readable)
  // synchronization
  Arrive,       // barrier, slot: one elected lane a warp, `count` arrivals (1 as a rule)
  ExpectBytes,  // barrier, slot: one elected lane of the role's first warp: arrival + `count` bytes
  Wait,         // barrier, slot, parity: until that phase has ended
  NamedSync,    // barrier: arrive and wait
  NamedArrive,  // barrier: arrive
  BlockSync,    // all warps of all roles
  WarpSync,
  ProxyFence,    // generic writes of this thread before -> asynchronous engine after
  SetRegisters,  // count a thread (setmaxnreg)
  // control
  For,  // iv, lower, upper, step; operands: initial values; region args carried; results
  If,   // cond over loop variables, sizes and "warp"; two regions; results. With an operand (bool;
        // cond
        // is always): a warp takes the first region if any element that it holds is true
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
  std::vector<ValueId> results, operands;
  double value = 0;
  nautilus::Op op = nautilus::Op::Add;
  std::string tensor;
  std::vector<IndexExpr> index, index_b;
  std::vector<int> gather;
  Cond cond = Cond::always();
  poly::ReduceOp reduce = poly::ReduceOp::Sum;
  Expr combine, identity;         // Reduce with User
  std::vector<std::string> axes;  // Reduce, Mma, Wgmma
  std::vector<Axis> span;         // Wgmma
  std::vector<std::pair<std::string, std::string>> renames;
  std::string buffer, buffer_b, barrier;
  IndexExpr slot, slot_b, parity;  // parity: 0 or 1 of the phase that is waited for
  Shape shape = Shape::M16N8K16;
  bool matrix = false, transposed = false, read = false;
  int vector = 0;  // bytes a lane and access; 0: as the placements allow (CopyAsync needs it)
  int64_t count = 0;
  std::string iv;
  IndexExpr lower, upper;
  int64_t step = 1;
  std::vector<Region> regions;
  std::string origin;  // statement of the program
  int node = -1;       // schedule tree node: the source map
  std::string note;    // one line for the reader of the kernel
};

// Warps [first_warp, first_warp + warps) of the block.
struct Role {
  std::string name;
  int first_warp = 0, warps = 4;
  Region body;
};
struct Kernel {
  std::string name, comment;
  std::vector<GridDim> grid;
  std::vector<SharedBuffer> buffers;
  std::vector<MBarrier> mbarriers;
  std::vector<NamedBarrier> named;
  // Names of placements in the text; a placement without one is written out where it stands.
  std::vector<std::pair<std::string, Placement>> layouts;
  std::vector<Role> roles;  // one: all warps alike
  std::map<ValueId, FragmentType> types;
  ValueId next_value = 0;
  int blocks_per_sm = 1;  // __launch_bounds__
  int threads() const;
  // Of the placed buffers (the largest end), then 8 bytes a slot of each mbarrier, in order.
  int64_t shared_bytes() const;
};
struct Module {
  std::string name, target;  // "sm_80", "sm_90a", ...
  std::vector<std::string> sizes;
  std::map<std::string, int64_t> multiples;  // of sizes: what divides every value, above 1
  std::vector<TensorDecl> tensors;
  std::vector<Kernel> kernels;
};

const TensorDecl* find_tensor(const Module& m, const std::string& name);
const SharedBuffer* find_buffer(const Kernel& k, const std::string& name);
const MBarrier* find_mbarrier(const Kernel& k, const std::string& name);
const NamedBarrier* find_named(const Kernel& k, const std::string& name);
// Compute capability of a target: "sm_90a" is 90 with `exact` set. Refused: unknown or below sm_80.
struct Target {
  int capability = 80;
  bool exact = false;        // features of just this architecture (wgmma, setmaxnreg)
  int64_t shared_bytes = 0;  // that one block may use
};
Expected<Target> parse_target(const std::string& name);

std::string to_string(const FragmentType& t);  // "f32[i: 64, j: 64] in {register: ...}"
std::string print(const Module& m);
std::string print(const Instr& i, const Kernel& k);
Expected<Module> parse(std::string_view text, const std::string& file = "");  // exact round trip
// Everything that would make the interpreter or a back end meaningless: SSA dominance, types and
// placements of each instruction (fragments of products are those of the shape; operands of a Map
// agree; a Reduce stays inside a warp), index ranks and names in scope, buffers and barriers that
// exist, slots and vector widths, shared bytes, sm_80 against sm_90 features.
std::optional<Refusal> verify(const Module& m);

// Runs every block: all roles' warps as coroutines, in an order drawn from `seed`, with the
// semantics of barriers and their phases, asynchronous copies and products, proxies and fences.
// What it finds is a Fault, not a wrong number.
enum class FaultKind : uint8_t {
  Race,          // two accesses of one shared element, one a write, not ordered
  Unwritten,     // read of a shared element, or of a register in flight, that nothing wrote
  InFlight,      // access of what an asynchronous copy or product has not finished with
  MissingFence,  // generic write read by the asynchronous engine (or the reverse) without a proxy
                 // fence
  OutOfBounds,   // global or shared
  Deadlock,      // no warp can run; or a barrier with too many arrivals, bytes or threads
  Uncovered,     // an output element that nothing wrote, or that was written twice (tensors that
                 // AtomicAdd adds to are zero before the first kernel and are exempt)
  Disagreement,  // copies of one element of a register tile hold different values when stored
  Budget         // more operations than allowed
};
std::string_view fault_name(FaultKind k);
struct Fault {
  FaultKind kind;
  std::string text;   // what, element, both accesses with role, warp, iteration
  std::string instr;  // printed
  std::vector<int64_t> block;
};
struct InterpretOptions {
  uint64_t seed = 1;
  uint64_t max_ops = 2'000'000'000;
  std::vector<int64_t> only_block;  // empty: all (then Uncovered is checked)
  // Which blocks of every kernel, by place in the grid and its extents; none: all. Of a part of the
  // blocks neither coverage nor reads of unwritten global memory are checked.
  std::function<bool(const std::vector<int64_t>& at, const std::vector<int64_t>& extents)> which;
  bool round_values = true;
  int max_faults = 8;
};
struct Interpretation {
  poly::Buffers outputs;
  std::vector<Fault> faults;  // empty: clean
  uint64_t ops = 0;
  std::map<std::string, int64_t>
      counts;  // bank passes, barrier waits, bytes by level: for the cost model
};
Expected<Interpretation> interpret(const Module& m, const poly::Sizes& sizes,
                                   const poly::Buffers& inputs,
                                   const InterpretOptions& options = {});

}  // namespace nautilus::memory
