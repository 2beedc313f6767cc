// Reads the text form `.mtile`. Survives arbitrary bytes: the first error stops everything, nesting
// is bounded.
#include <utility>

#include "compiler/memory/ir.h"
#include "compiler/memory/text.h"
#include "compiler/tile/text.h"

namespace nautilus::memory {
namespace {

constexpr int kMaxNesting = 64;
constexpr int64_t kMaxNumber = 1'000'000'000;  // of a value, slot, warp...

class ModuleParser {
 public:
  ModuleParser(std::string_view text, std::string file) : c_(text), file_(std::move(file)) {}

  Expected<Module> run() {
    Module m;
    c_.expect_word("module");
    m.name = c_.name();
    c_.expect("{");
    c_.expect_word("target");
    m.target = c_.name();
    while (!c_.failed() && !c_.take("}")) {
      if (c_.word("sizes"))
        m.sizes = names();
      else if (c_.word("multiple"))
        tile::read_multiple(c_, m.multiples);
      else if (c_.word("tensor"))
        m.tensors.push_back(tile::read_declaration(c_));
      else if (c_.word("kernel"))
        m.kernels.push_back(kernel());
      else
        c_.fail("expected sizes, multiple, tensor, kernel or '}'");
    }
    if (!c_.failed() && !c_.at_end()) c_.fail("text after the module");
    if (c_.failed()) return Refusal{"read memory module", c_.place(file_), c_.error(), ""};
    return m;
  }

 private:
  tile::Cursor c_;
  std::string file_;
  Kernel* k_ = nullptr;
  int nesting_ = 0;
  std::vector<ValueId> carried_;  // arguments of the loop whose header was read last

  std::vector<std::string> names() {
    std::vector<std::string> out{c_.name()};
    while (c_.take(",")) out.push_back(c_.name());
    return out;
  }
  std::vector<std::string> names_in_parens() {
    c_.expect("(");
    std::vector<std::string> out;
    if (!c_.peek(")")) out = names();
    c_.expect(")");
    return out;
  }
  int number() {
    const int64_t v = c_.integer();
    if (v < -kMaxNumber || v > kMaxNumber) c_.fail("number out of range");
    return c_.failed() ? 0 : int(v);
  }
  // "word 5"
  int number_after(std::string_view word) {
    c_.expect_word(word);
    return number();
  }
  ValueId value() {
    c_.expect("%");
    const int v = number();
    if (v < 0) c_.fail("value number out of range");
    return v;
  }
  std::vector<ValueId> values() {
    std::vector<ValueId> out;
    if (!c_.peek("%")) return out;
    do out.push_back(value());
    while (c_.take(","));
    return out;
  }

  // "{register: ...}" or the name of a layout.
  Placement place() {
    if (c_.take("{")) {
      Placement p = read_placement(c_);
      c_.expect("}");
      return p;
    }
    const std::string name = c_.name();
    for (const auto& [known, p] : k_->layouts)
      if (known == name) return p;
    c_.fail("unknown layout " + name);
    return {};
  }
  ValueId typed_value() {
    const ValueId v = value();
    c_.expect(":");
    FragmentType t;
    t.elem = tile::read_type(c_);
    if (c_.take("[")) t.axes = tile::read_axes(c_, "]");
    if (c_.word("in")) t.place = place();
    if (!c_.failed() && !k_->types.emplace(v, std::move(t)).second)
      c_.fail("%" + std::to_string(v) + " is defined twice");
    return v;
  }

  SharedBuffer buffer() {
    SharedBuffer b;
    b.name = c_.name();
    c_.expect(":");
    b.elem = tile::read_type(c_);
    c_.expect("[");
    b.axes = tile::read_axes(c_, "]");
    b.slots = number_after("slots");
    if (c_.word("offset")) b.offset = number();
    b.align = number_after("align");
    if (c_.word("in")) b.place = place();
    return b;
  }

  Kernel kernel() {
    Kernel k;
    k_ = &k;
    k.name = c_.name();
    c_.expect("{");
    if (c_.word("comment")) k.comment = c_.quoted();
    for (;;) {
      GridDim g;
      g.descending = c_.word("grid_descending");
      if (!g.descending && !c_.word("grid")) break;
      g.iv = c_.name();
      if (c_.word("together")) g.together = number();
      c_.expect("<");
      g.extent = c_.index("\n");
      k.grid.push_back(std::move(g));
    }
    k.blocks_per_sm = number_after("blocks_per_sm");
    while (c_.word("layout")) {
      std::string name = c_.name();
      c_.expect("{");
      Placement p = read_placement(c_);
      c_.expect("}");
      k.layouts.emplace_back(std::move(name), std::move(p));
    }
    while (c_.word("buffer")) k.buffers.push_back(buffer());
    while (c_.word("mbarrier")) {
      MBarrier b;
      b.name = c_.name();
      b.slots = number_after("slots");
      b.arrivals = number_after("arrivals");
      k.mbarriers.push_back(std::move(b));
    }
    while (c_.word("named")) {
      NamedBarrier b;
      b.name = c_.name();
      b.id = number_after("id");
      b.warps = number_after("warps");
      k.named.push_back(std::move(b));
    }
    k.next_value = number_after("values");
    while (!c_.failed() && c_.word("role")) {
      Role r;
      r.name = c_.name();
      r.first_warp = number_after("first");
      r.warps = number_after("warps");
      c_.expect("{");
      r.body = region();
      k.roles.push_back(std::move(r));
    }
    c_.expect("}");
    k_ = nullptr;
    return k;
  }

  // Up to and including '}'.
  Region region() {
    Region r;
    if (++nesting_ > kMaxNesting) c_.fail("nested too deeply");
    while (!c_.failed() && !c_.take("}")) {
      if (c_.word("yield"))
        r.yields = values();
      else
        r.body.push_back(instr());
    }
    --nesting_;
    return r;
  }

  Instr instr() {
    Instr i;
    if (c_.word("note")) i.note = c_.quoted();
    if (c_.peek("%")) {
      do i.results.push_back(typed_value());
      while (c_.take(","));
      c_.expect("=");
    }
    operation(i);
    if (c_.take("@")) {
      if (!c_.peek(":")) i.origin = c_.name();
      if (c_.take(":")) i.node = number();
    }
    if (i.code != Code::For && i.code != Code::If) return i;
    c_.expect("{");
    std::vector<ValueId> args = std::move(carried_);
    carried_.clear();
    i.regions.push_back(region());
    i.regions[0].args = std::move(args);
    if (i.code == Code::If && !c_.failed()) {
      c_.expect_word("else");
      c_.expect("{");
      i.regions.push_back(region());
    }
    return i;
  }

  void operation(Instr& i) {
    const std::string w = c_.name();
    if (c_.failed()) return;
    for (int code = 0; code <= int(Code::If); ++code)
      if (Code(code) != Code::Map && w == code_name(Code(code))) {
        i.code = Code(code);
        return body(i);
      }
    if (auto op = op_from_name(w); op && op_arity(*op) > 0 && *op != Op::Cast) {
      i.code = Code::Map;
      i.op = *op;
      i.operands = values();
    } else {
      c_.fail("unknown instruction " + w);
    }
  }

  // What follows the name of the instruction.
  void body(Instr& i) {
    switch (i.code) {
      case Code::Const:
        i.value = c_.number();
        return;
      case Code::Iota:
        i.index = {c_.index("@\n")};
        return;
      case Code::Cast:
      case Code::Exchange:
      case Code::Map:
        i.operands = values();
        return;
      case Code::Mask:
        i.operands = values();
        c_.expect_word("where");
        i.cond = c_.condition();
        return;
      case Code::Reduce:
        return reduce(i);
      case Code::Rename:
        return rename(i);
      case Code::Slice:
        i.operands = {value()};
        c_.expect_word("from");
        c_.expect("(");
        if (!c_.peek(")")) {
          do i.index.push_back(c_.index(",)"));
          while (c_.take(","));
        }
        return c_.expect(")");
      case Code::LoadGlobal:
        element(i);
        where(i);
        if (c_.word("fill")) i.value = c_.number();
        return flags(i);
      case Code::StoreGlobal:
      case Code::AtomicAdd:
        i.operands.push_back(0);
        element(i);
        c_.expect(i.code == Code::StoreGlobal ? "=" : "+=");
        i.operands[0] = value();
        where(i);
        return flags(i);
      case Code::LoadShared:
      case Code::StoreShared:
        part(i.buffer, i.slot, i.index);
        if (i.code == Code::StoreShared) {
          c_.expect("=");
          i.operands = {value()};
        }
        where(i);
        if (c_.word("fill")) i.value = c_.number();
        return flags(i);
      case Code::CopyPlain:
      case Code::CopyAsync:
      case Code::CopyBulk:
        slot(i.buffer, i.slot);
        c_.expect("=");
        element(i);
        where(i);
        if (i.code != Code::CopyBulk) return flags(i);
        c_.expect_word("signal");
        return slot(i.barrier, i.slot_b);
      case Code::BulkStore:
        element(i);
        c_.expect("=");
        slot(i.buffer, i.slot);
        return where(i);
      case Code::CopyWait:
      case Code::SetRegisters:
        i.count = number();
        return;
      case Code::BulkWait:
        i.count = number();
        i.read = c_.word("read");
        return;
      case Code::MmaWait:
        i.count = number();
        if (c_.take("(")) {  // apart from a value at the start of the next line
          i.operands = values();
          c_.expect(")");
        }
        return;
      case Code::Mma:
      case Code::Wgmma:
        return product(i);
      case Code::Arrive:
        slot(i.barrier, i.slot);
        i.count = number_after("count");
        return;
      case Code::ExpectBytes:
        slot(i.barrier, i.slot);
        i.count = number_after("bytes");
        return;
      case Code::Wait:
        slot(i.barrier, i.slot);
        c_.expect_word("parity");
        i.parity = c_.index("@\n");
        return;
      case Code::NamedSync:
      case Code::NamedArrive:
        i.barrier = c_.name();
        return;
      case Code::For:
        return loop(i);
      case Code::If:
        if (c_.word("any"))
          i.operands = {value()};
        else
          i.cond = c_.condition();
        return;
      case Code::CopyCommit:
      case Code::BulkCommit:
      case Code::MmaFence:
      case Code::MmaCommit:
      case Code::BlockSync:
      case Code::WarpSync:
      case Code::ProxyFence:
        return;
    }
  }

  void where(Instr& i) {
    if (c_.word("where")) i.cond = c_.condition();
  }
  void flags(Instr& i) {
    i.matrix = c_.word("matrix");
    i.transposed = c_.word("transposed");
    if (c_.word("vector")) i.vector = number();
  }
  // "T[index, %gather, ...]"
  void element(Instr& i) {
    i.tensor = c_.name();
    c_.expect("[");
    bool any = false;
    if (!c_.peek("]")) {
      do {
        const bool gathered = c_.peek("%");
        i.gather.push_back(gathered ? int(i.operands.size()) : -1);
        if (gathered) i.operands.push_back(value());
        i.index.push_back(gathered ? IndexExpr(0) : c_.index(",]"));
        any = any || gathered;
      } while (c_.take(","));
    }
    c_.expect("]");
    if (!any) i.gather.clear();
  }
  // "A[slot]"
  void slot(std::string& name, IndexExpr& slot) {
    name = c_.name();
    c_.expect("[");
    slot = c_.index("]");
    c_.expect("]");
  }
  // "A[slot](index, ...)"
  void part(std::string& name, IndexExpr& at, std::vector<IndexExpr>& index) {
    slot(name, at);
    c_.expect("(");
    if (!c_.peek(")")) {
      do index.push_back(c_.index(",)"));
      while (c_.take(","));
    }
    c_.expect(")");
  }
  void product(Instr& i) {
    const std::string name = c_.name();
    const auto shape = shape_from_name(name);
    if (!shape) return c_.fail("unknown shape " + name);
    i.shape = *shape;
    if (i.code == Code::Mma) {
      i.operands = values();
      c_.expect_word("over");
      i.axes = names_in_parens();
      return;
    }
    i.operands.push_back(value());
    while (c_.take(",")) {
      if (c_.peek("%")) {
        i.operands.push_back(value());
      } else if (!i.buffer_b.empty() && !i.buffer.empty()) {
        return c_.fail("a product has two operands");
      } else {
        i.buffer = std::exchange(i.buffer_b, "");
        i.slot = std::exchange(i.slot_b, {});
        i.index = std::exchange(i.index_b, {});
        part(i.buffer_b, i.slot_b, i.index_b);
      }
    }
    c_.expect_word("over");
    c_.expect("(");
    i.span = tile::read_axes(c_, ")");
    for (const Axis& a : i.span) i.axes.push_back(a.name);
  }
  Expr expression() {
    auto e = parse_expr(c_.quoted());
    if (c_.failed()) return {};
    if (!e) {
      c_.fail("expression: " + e.error().why);
      return {};
    }
    return *e;
  }
  void reduce(Instr& i) {
    const std::string n = c_.name();
    const auto op = poly::reduce_op_from_name(n);
    if (!op) c_.fail("unknown reduction " + n);
    i.reduce = op.value_or(poly::ReduceOp::Sum);
    i.operands = values();
    c_.expect_word("over");
    i.axes = names_in_parens();
    if (c_.word("combine")) i.combine = expression();
    if (c_.word("identity")) i.identity = expression();
  }
  void rename(Instr& i) {
    i.operands = values();
    c_.expect("(");
    if (!c_.peek(")")) {
      do {
        std::string from = c_.name();
        c_.expect("->");
        i.renames.emplace_back(std::move(from), c_.name());
      } while (c_.take(","));
    }
    c_.expect(")");
  }
  void loop(Instr& i) {
    i.iv = c_.name();
    c_.expect_word("in");
    c_.expect("[");
    i.lower = c_.index(",");
    c_.expect(",");
    i.upper = c_.index(")");
    c_.expect(")");
    i.step = number_after("step");
    if (!c_.word("carry")) return;
    c_.expect("(");
    do {
      carried_.push_back(typed_value());
      c_.expect("=");
      i.operands.push_back(value());
    } while (c_.take(","));
    c_.expect(")");
  }
};

}  // namespace

Expected<Module> parse(std::string_view text, const std::string& file) {
  return ModuleParser(text, file).run();
}

}  // namespace nautilus::memory
