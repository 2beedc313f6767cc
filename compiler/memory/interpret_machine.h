// The machine that runs one module: tensors in global memory, and for the block at hand its shared
// memory, barriers, engines and warps. One file a concept implements it: interpret_program (names
// resolved), _registers, _global, _shared, _copies, _products, _barriers, _scheduler, _report.
#pragma once

#include <functional>
#include <random>
#include <set>

#include "compiler/memory/interpret_fragments.h"
#include "compiler/memory/interpret_history.h"

namespace nautilus::memory {

struct Step;
struct Sequence {  // a region
  std::vector<Step> steps;
  std::vector<int> args, yields;  // values, by slot
};
// An instruction with its names resolved and its tables made.
struct Step {
  const Instr* instr = nullptr;
  Type elem = Type::F32;  // of the result, or of what is stored or moved
  std::vector<int> in, out;
  const Fragment* frag = nullptr;       // of the result, or of the value stored
  std::vector<const Alignment*> align;  // an operand; null: not read by position
  std::vector<PointIndex> index, index_b;
  PointCond cond;
  PointIndex slot, slot_b, parity, lower, upper;
  int tensor = -1, buffer = -1, buffer_b = -1, barrier = -1, iv = -1;
  const Fold* fold = nullptr;
  const Product* product = nullptr;
  const std::vector<Share>* shares = nullptr;                // of a copy, a warp
  std::vector<std::vector<std::vector<int32_t>>> gather_at;  // of a copy: an operand, a warp
  std::vector<Sequence> blocks;
};

// A tensor in global memory. Elements remember who wrote them; inputs do not need to.
struct Global {
  struct Cell {
    Records records;      // of accesses by `block`
    int32_t block = -1;   // that touched the element last, numbered over the run
    uint8_t writes = 0;   // by stores, up to 2
    bool wrote = false;   // `block` wrote it,
    bool atomic = false;  // by atomics alone
  };
  const TensorDecl* decl = nullptr;
  std::vector<int64_t> extents;
  std::vector<double> data;
  std::vector<Cell> cells;
  bool accumulates = false;  // target of an AtomicAdd: zero before the first kernel
};

// A granule of shared memory: the smallest element size of the kernel's buffers.
struct SharedCell {
  double value = 0;
  int32_t tag = -1;  // buffer * 8 + granule within the element; -1: not written
  Records records;
};
struct Shared {
  const SharedBuffer* decl = nullptr;
  BufferTable table;
  int64_t base = 0;  // granule of slot 0
  int64_t slot_cells = 0;
  int granules = 1;  // an element
};

struct Value {
  std::vector<double> at;  // register * 32 + lane
  uint32_t batch = 0;      // of the product in flight that makes it; 0: none
  uint64_t touched = 0;    // when ordinary instructions made it, on the warp's count
  bool accumulator = false;
  bool defined = false;
};

enum class Block : uint8_t { None, Phase, Named, All };
struct Warp {
  struct Frame {
    const Sequence* seq = nullptr;
    size_t pc = 0;
    const Step* owner = nullptr;  // For or If; null: the role's body
    int64_t at = 0, upper = 0;
  };
  int role = 0, index = 0;  // index in the role
  Knowledge knows;
  Env env;
  std::vector<Value> values;
  std::vector<Frame> stack;
  bool done = false;
  uint64_t serial = 0, fenced_serial = 0;  // ordinary instructions; the last wgmma fence
  uint32_t copies_committed = 0, products_committed = 0, products_done = 0, stores_committed = 0;
  bool open_stores = false;          // anything in the open group of bulk stores
  const Step* last_store = nullptr;  // bulk store
  Block blocked = Block::None;
  const Step* waits = nullptr;  // Blocked by
  int64_t wait_slot = 0;
  uint32_t wait_parity = 0;
  int iteration = -1;  // current entry of iterations_
};

struct PhaseSlot {
  uint32_t phase = 0;    // ended so far
  int64_t arrived = 0;   // in this phase
  int64_t bytes = 0;     // expected less arrived, in this phase
  int64_t copies = 0;    // bulk copies in flight, issued in this phase
  uint32_t counted = 0;  // phases that must have ended for all bulk copies issued to be done
  const Step* last_copy = nullptr;
  Clock gathered;           // of all that arrived
  std::vector<Clock> ends;  // what was gathered when each phase ended
};
struct NamedState {
  std::vector<int> arrived, waiting;  // warps
  Clock gathered;
};
struct BulkCopy {  // in flight
  const Step* step = nullptr;
  int barrier = 0;
  int64_t slot = 0, bytes = 0;
  uint32_t phase = 0;
  int warp = 0;
};
struct CopyToCheck {  // an element that another warp stores
  const Step* step = nullptr;
  int64_t element = 0;
  double value = 0;
  int warp = 0;
};

class Machine {
 public:
  Machine(const Module& m, const InterpretOptions& options)
      : m_(m),
        options_(options),
        rng_(options.seed),
        whole_(options.only_block.empty() && !options.which) {}
  std::optional<Refusal> prepare(const poly::Sizes& sizes, const poly::Buffers& inputs);
  std::optional<Refusal> run();  // every kernel
  Interpretation result();

 private:
  const Module& m_;
  InterpretOptions options_;
  std::mt19937_64 rng_;
  std::vector<Fault> faults_;
  std::set<std::tuple<int, const Instr*, const Instr*>> reported_;
  bool whole_ = true;  // all blocks run
  bool stop_ = false;  // no more faults are wanted, or the machine cannot go on
  uint64_t ops_ = 0;
  std::map<std::string, int64_t> counts_;

  // the module
  Names names_;
  Env sizes_;  // by slot
  std::vector<Global> tensors_;
  std::map<std::string, int> tensor_slots_;
  int32_t block_ = 0, kernel_first_block_ = 0;  // numbered over the run

  // the kernel
  const Kernel* kernel_ = nullptr;
  std::optional<Refusal> error_;
  Fragments fragments_;
  std::map<ValueId, int> value_slots_;
  std::vector<const Fragment*> value_fragments_;
  std::vector<Type> value_types_;
  std::vector<Shared> buffers_;
  int64_t granule_ = 4;
  std::map<std::string, std::vector<Share>> shares_;
  std::vector<Sequence> roles_;
  std::map<std::pair<const Step*, int>, std::pair<int64_t, int64_t>> banks_;  // passes, at best

  // the block
  std::vector<int64_t> at_;
  std::vector<SharedCell> cells_;
  History history_;
  std::vector<Warp> warps_;
  std::vector<std::vector<PhaseSlot>> phases_;
  std::vector<NamedState> named_;
  NamedState all_;
  std::vector<BulkCopy> bulk_;
  std::vector<std::vector<std::pair<int, int64_t>>> iterations_;  // loop variables and values

  std::vector<CopyToCheck> copies_to_check_;

  // scratch of one instruction
  std::vector<int64_t> index_, address_;
  std::vector<uint8_t> mask_;

  // interpret_program: the kernel resolved
  void load_kernel(const Kernel& k);
  Sequence resolve(const Region& r, const Role& role);
  Step resolve(const Instr& i, const Role& role);
  void resolve_tables(Step& s, const Role& role);
  void resolve_product(Step& s);
  const Fragment* stored_fragment(const Step& s) const;
  const std::vector<Share>* shares(int buffer, int vector, int warps);
  void refuse(const Instr& i, const Refusal& why);

  // interpret_scheduler
  void run_kernel(const Kernel& k);
  void begin_block();
  void run_block();
  void end_block();
  bool runnable(Warp& w);
  void advance(Warp& w);
  void execute(Warp& w, const Step& s);
  void enter(Warp& w, const Step& s);
  void leave(Warp& w);
  void note_iteration(Warp& w);
  void deadlock();
  bool spend(const Step& s, size_t n);

  // interpret_registers
  double round(double v, Type t) const;
  void ready(Warp& w, const Step& s, int slot);
  std::vector<double>& define(Warp& w, const Step& s, size_t result = 0);
  void constant(Warp& w, const Step& s);
  void iota(Warp& w, const Step& s);
  void map(Warp& w, const Step& s);
  void mask(Warp& w, const Step& s);
  void move(Warp& w, const Step& s);
  void reduce(Warp& w, const Step& s);
  bool any_held(const Warp& w, const Step& s) const;  // of the operand's elements, without padding

  // interpret_global
  bool addresses(Warp& w, const Step& s);
  void load_global(Warp& w, const Step& s);
  void store_global(Warp& w, const Step& s);
  void atomic_add(Warp& w, const Step& s);
  void read_cell(const Step& s, int64_t element, const Access& a);
  void write_cell(const Step& s, int64_t element, const Access& a, bool atomic);
  void check_coverage();
  std::string element_text(const Global& t, int64_t element) const;

  // interpret_shared
  bool slot_of(Warp& w, const Step& s, const PointIndex& slot, int slots, const std::string& what,
               int64_t& out);
  double read_shared(const Step& s, const Shared& b, int64_t slot, int32_t element,
                     const Access& a);
  void write_shared(const Step& s, const Shared& b, int64_t slot, int32_t element, double v,
                    const Access& a);
  bool buffer_elements(Warp& w, const Step& s, const Shared& b,
                       const std::vector<PointIndex>& index, const Points& points,
                       const std::vector<uint8_t>* wanted);  // to address_
  void load_shared(Warp& w, const Step& s);
  void store_shared(Warp& w, const Step& s);
  void count_banks(Warp& w, const Step& s, const Shared& b);
  std::string element_text(const Shared& b, int64_t slot, int32_t element) const;

  // interpret_copies
  void copy_addresses(Warp& w, const Step& s, const Share& share);
  void copy(Warp& w, const Step& s);
  void copy_bulk(Warp& w, const Step& s);
  void bulk_store(Warp& w, const Step& s);
  void land(size_t copy);
  void copy_commit(Warp& w);
  void copy_wait(Warp& w, const Step& s);
  void bulk_commit(Warp& w);
  void bulk_wait(Warp& w, const Step& s);

  // interpret_products
  void mma(Warp& w, const Step& s);
  void wgmma(Warp& w, const Step& s);
  void mma_wait(Warp& w, const Step& s);
  template <class T>
  void multiply(const Step& s, const Product::Warp& p, const std::vector<double>& c,
                const std::vector<double>& a, const std::vector<double>& b,
                std::vector<double>& out);
  bool gather_factor(Warp& w, const Step& s, const Shared& b, int64_t slot,
                     const std::vector<PointIndex>& index, const Points& points, const Access& a,
                     std::vector<double>& out);

  // interpret_barriers
  Clock publish(Warp& w);                // of all lanes
  Clock publish_elected(Warp& w) const;  // of one lane
  void warp_sync(Warp& w);
  void proxy_fence(Warp& w);
  void arrive(Warp& w, const Step& s);
  void wait(Warp& w, const Step& s);
  bool phase_open(Warp& w);  // a blocked Wait may pass: takes what it learns
  void settle(const Step& s, int barrier, int64_t slot);
  void named(Warp& w, const Step& s);
  void block_sync(Warp& w, const Step& s);

  // interpret_report
  bool news(FaultKind kind, const Step& s, const Instr* other = nullptr) const {
    return !stop_ && reported_.count({int(kind), s.instr, other}) == 0;
  }
  void report(FaultKind kind, const Step& s, const std::string& text, const Instr* other = nullptr);
  void conflict(const Step& s, const Conflict& c, const Access& a, bool write,
                const std::function<std::string()>& element);
  int event(Warp& w, const Step& s, int component, uint32_t stamp);
  std::string who(const Warp& w) const;  // role, warp, iteration
  std::string who(const Event& e, int lane) const;
  std::string iteration_text(int iteration) const;
  Warp& warp(int id) { return warps_[size_t(id)]; }
  int id(const Warp& w) const { return w.knows.warp; }
};

}  // namespace nautilus::memory
