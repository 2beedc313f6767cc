// Reads the text form `.tile`. Survives arbitrary bytes: the first error stops everything, nesting
// is bounded.
#include "compiler/tile/cursor.h"
#include "compiler/tile/ir.h"
#include "compiler/tile/text.h"

namespace nautilus::tile {
namespace {

constexpr int kMaxNesting = 64;
constexpr ValueId kMaxValue = 1'000'000'000;

class ModuleParser {
 public:
  ModuleParser(std::string_view text, std::string file) : c_(text), file_(std::move(file)) {}

  Expected<Module> run() {
    Module m;
    c_.expect_word("module");
    m.name = c_.name();
    c_.expect("{");
    while (!c_.failed() && !c_.take("}")) {
      if (c_.word("sizes"))
        m.sizes = names();
      else if (c_.word("multiple"))
        read_multiple(c_, m.multiples);
      else if (c_.word("tensor"))
        m.tensors.push_back(read_declaration(c_));
      else if (c_.word("rewrite"))
        m.rewrites.push_back(c_.quoted());
      else if (c_.word("note"))
        m.notes.push_back(c_.quoted());
      else if (c_.word("kernel"))
        m.kernels.push_back(kernel());
      else
        c_.fail("expected sizes, multiple, tensor, rewrite, note, kernel or '}'");
    }
    if (!c_.failed() && !c_.at_end()) c_.fail("text after the module");
    if (c_.failed()) return Refusal{"read tile module", c_.place(file_), c_.error(), ""};
    return m;
  }

 private:
  Cursor c_;
  std::string file_;
  Kernel* k_ = nullptr;
  int nesting_ = 0;

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
  TileType tile_type() {
    TileType t;
    t.elem = read_type(c_);
    if (c_.take("[")) t.axes = read_axes(c_, "]");
    return t;
  }
  ValueId value() {
    c_.expect("%");
    int64_t v = c_.integer();
    if (v < 0 || v > kMaxValue) c_.fail("value number out of range");
    return ValueId(v);
  }
  ValueId typed_value() {
    ValueId v = value();
    c_.expect(":");
    TileType t = tile_type();
    if (!c_.failed() && !k_->types.emplace(v, std::move(t)).second)
      c_.fail("%" + std::to_string(v) + " is defined twice");
    return v;
  }
  std::vector<ValueId> values() {
    std::vector<ValueId> out;
    if (!c_.peek("%")) return out;
    do out.push_back(value());
    while (c_.take(","));
    return out;
  }

  Kernel kernel() {
    Kernel k;
    k_ = &k;
    k.name = c_.name();
    c_.expect("{");
    if (c_.word("comment")) k.comment = c_.quoted();
    while (c_.word("grid")) {
      GridDim g;
      g.iv = c_.name();
      c_.expect("<");
      g.extent = c_.index("\n");
      k.grid.push_back(std::move(g));
    }
    while (c_.word("buffer")) k.shared.push_back(read_declaration(c_));
    c_.expect_word("values");
    int64_t n = c_.integer();
    if (n < 0 || n > kMaxValue) c_.fail("value number out of range");
    k.next_value = ValueId(n);
    k.body = region();
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
    if (c_.peek("%")) {
      do i.results.push_back(typed_value());
      while (c_.take(","));
      c_.expect("=");
    }
    operation(i);
    if (c_.take("@")) {
      if (!c_.peek(":")) i.origin = c_.name();
      if (c_.take(":")) i.node = int(c_.integer());
    }
    if (i.code == Code::For || i.code == Code::If) {
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
    }
    return i;
  }

  void operation(Instr& i) {
    std::string w = c_.name();
    if (c_.failed()) return;
    if (w == "const") {
      i.code = Code::Const;
      i.value = c_.number();
    } else if (w == "iota") {
      i.code = Code::Iota;
      i.index = {c_.index("@\n")};
    } else if (w == "load") {
      load(i);
    } else if (w == "store") {
      store(i);
    } else if (w == "cast") {
      i.code = Code::Cast;
      i.operands = values();
    } else if (w == "mask") {
      i.code = Code::Mask;
      i.operands = values();
      c_.expect_word("where");
      i.cond = c_.condition();
    } else if (w == "reduce") {
      reduce(i);
    } else if (w == "dot") {
      i.code = Code::Dot;
      i.operands = values();
      c_.expect_word("over");
      i.axes = names_in_parens();
    } else if (w == "rename") {
      rename(i);
    } else if (w == "for") {
      loop(i);
    } else if (w == "if") {
      i.code = Code::If;
      if (c_.peek("%"))
        i.operands = {value()};
      else
        i.cond = c_.condition();
    } else if (w == "barrier") {
      i.code = Code::Barrier;
    } else if (auto op = op_from_name(w); op && op_arity(*op) > 0 && *op != Op::Cast) {
      i.code = Code::Map;
      i.op = *op;
      i.operands = values();
    } else {
      c_.fail("unknown instruction " + w);
    }
  }

  // "T[index, %gather, ...]"
  void element(Instr& i) {
    i.tensor = c_.name();
    c_.expect("[");
    bool any = false;
    if (!c_.peek("]")) {
      do {
        if (c_.peek("%")) {
          i.gather.push_back(int(i.operands.size()));
          i.operands.push_back(value());
          i.index.push_back(IndexExpr(0));
          any = true;
        } else {
          i.gather.push_back(-1);
          i.index.push_back(c_.index(",]"));
        }
      } while (c_.take(","));
    }
    c_.expect("]");
    if (!any) i.gather.clear();
  }
  void load(Instr& i) {
    i.code = Code::Load;
    element(i);
    if (c_.word("where")) i.cond = c_.condition();
    if (c_.word("fill")) i.value = c_.number();
  }
  void store(Instr& i) {
    i.code = Code::Store;
    i.operands.push_back(0);
    element(i);
    c_.expect("=");
    i.operands[0] = value();
    if (c_.word("span")) {
      c_.expect("(");
      i.span = read_axes(c_, ")");
    }
    if (c_.word("where")) i.cond = c_.condition();
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
    i.code = Code::Reduce;
    std::string n = c_.name();
    auto op = poly::reduce_op_from_name(n);
    if (!op) c_.fail("unknown reduction " + n);
    i.reduce = op.value_or(poly::ReduceOp::Sum);
    i.operands = values();
    c_.expect_word("over");
    i.axes = names_in_parens();
    if (c_.word("span")) {
      c_.expect("(");
      i.span = read_axes(c_, ")");
    }
    if (c_.word("combine")) i.combine = expression();
    if (c_.word("identity")) i.identity = expression();
  }
  void rename(Instr& i) {
    i.code = Code::Rename;
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
    i.code = Code::For;
    i.iv = c_.name();
    c_.expect_word("in");
    c_.expect("[");
    i.lower = c_.index(",");
    c_.expect(",");
    i.upper = c_.index(")");
    c_.expect(")");
    c_.expect_word("step");
    i.step = c_.integer();
    if (!c_.word("carry")) return;
    c_.expect("(");
    do {
      carried_.push_back(typed_value());
      c_.expect("=");
      i.operands.push_back(value());
    } while (c_.take(","));
    c_.expect(")");
  }
  std::vector<ValueId> carried_;  // arguments of the loop whose header was read last
};

}  // namespace

Type read_type(Cursor& c) {
  std::string n = c.name();
  auto t = type_from_name(n);
  if (!t) c.fail("unknown element type " + n);
  return t.value_or(Type::F32);
}

std::vector<Axis> read_axes(Cursor& c, std::string_view close) {
  std::vector<Axis> out;
  if (c.take(close)) return out;
  do {
    Axis a;
    a.name = c.name();
    c.expect(":");
    a.extent = c.integer();
    out.push_back(std::move(a));
  } while (!c.failed() && c.take(","));
  c.expect(close);
  return out;
}

void read_multiple(Cursor& c, std::map<std::string, int64_t>& into) {
  const std::string size = c.name();
  c.expect_word("of");
  const int64_t n = c.integer();
  if (!c.failed() && (n < 2 || !into.emplace(size, n).second))
    c.fail("a multiple of less than 2, or a second one of " + size);
}

TensorDecl read_declaration(Cursor& c) {
  TensorDecl t;
  t.name = c.name();
  c.expect(":");
  t.type = read_type(c);
  c.expect("[");
  if (!c.peek("]")) {
    do t.extents.push_back(c.index(",]"));
    while (c.take(","));
  }
  c.expect("]");
  if (c.word("input"))
    t.kind = poly::TensorKind::Input;
  else if (c.word("output"))
    t.kind = poly::TensorKind::Output;
  else
    c.expect_word("temp");
  if (c.word("shared"))
    t.scope = poly::Scope::Shared;
  else if (c.word("register"))
    t.scope = poly::Scope::Register;
  else {
    c.expect_word("global");
    t.scope = poly::Scope::Global;
  }
  return t;
}

Expected<Module> parse(std::string_view text, const std::string& file) {
  return ModuleParser(text, file).run();
}

}  // namespace nautilus::tile
