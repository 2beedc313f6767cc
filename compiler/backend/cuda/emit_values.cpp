// Variables of the source, and loops over their registers. Every register index is a constant once
// a loop is unrolled, so tiles stay in registers.
#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"

namespace nautilus::cuda {

Pick Pick::through(const std::vector<int>& table) const {
  Pick p = *this;
  for (int& r : p.regs) r = table[size_t(r)];
  return p;
}

void KernelEmitter::line(const std::string& text) {
  body_.push_back({text.empty() ? "" : std::string(size_t(2 * indent_), ' ') + text, node_});
}
void KernelEmitter::open(const std::string& text) {
  line(text);
  ++indent_;
}
void KernelEmitter::close(const std::string& text) {
  --indent_;
  line(text);
}

void KernelEmitter::unrolled(const Pick& over, const std::string& statement) {
  if (over.var.empty()) return line(statement);
  line("#pragma unroll");
  const std::string head = "for (int " + over.var + " = 0; " + over.var + " < " +
                           std::to_string(over.regs.size()) + "; ++" + over.var + ")";
  if (head.size() + statement.size() + size_t(2 * indent_) < 100)
    return line(head + " " + statement);
  open(head);
  line(statement);
  --indent_;
}

void KernelEmitter::unrolled(const std::string& var, int count, const std::function<void()>& body) {
  line("#pragma unroll");
  open("for (int " + var + " = 0; " + var + " < " + std::to_string(count) + "; ++" + var + ") {");
  body();
  close();
}

// A constant of the thread, computed once at the start of the role.
std::string KernelEmitter::hoist(const std::string& type, const std::string& wanted,
                                 const std::string& e) {
  if (in_parens(e) == e && e.find_first_of("([ ") == std::string::npos) return e;
  auto [it, fresh] = role_hoisted_.try_emplace(type + " " + e);
  if (fresh) {
    it->second = names_.fresh(wanted);
    role_prologue_.push_back({"const " + type + " " + it->second + " = " + e + ";", -1});
  }
  return it->second;
}

// A constant of the place; one that a region around it has computed already is taken again.
std::string KernelEmitter::local(const std::string& type, const std::string& wanted,
                                 const std::string& e) {
  if (in_parens(e) == e && e.find_first_of("([ ") == std::string::npos) return e;
  const std::string key = type + " " + e;
  for (const auto& scope : locals_)
    if (auto it = scope.find(key); it != scope.end()) return it->second;
  const std::string name = names_.fresh(wanted);
  line(type + " " + name + " = " + e + ";");
  if (!locals_.empty()) locals_.back()[key] = name;
  return name;
}

const Geometry& KernelEmitter::geometry(const Placement& p, const std::vector<Axis>& axes) {
  std::string key = memory::to_string(p);
  for (const Axis& a : axes) key += "|" + a.name + ":" + std::to_string(a.extent);
  auto& g = geometries_[key];
  if (!g) g = std::make_unique<Geometry>(p, axes);
  return *g;
}

std::string KernelEmitter::layout_name(const Geometry& g) {
  auto it = layout_names_.find(memory::to_string(g.place));
  return it == layout_names_.end() ? "tile" : it->second;
}

// After the statement that a value of the variable comes from, and how it is made.
std::string KernelEmitter::wanted_name(int variable) const {
  const std::vector<int>& values = variables_->values(variable);
  const Instr* made = nullptr;
  // A product or reduction says most, then what computes, then what carries.
  auto weight = [](const Instr& i) {
    if (i.code == Code::Mma || i.code == Code::Wgmma || i.code == Code::Reduce) return 4;
    if (i.code == Code::For || i.code == Code::If) return 1;
    return i.code == Code::Const || i.code == Code::Rename ? 2 : 3;
  };
  std::function<void(const Region&)> look = [&](const Region& r) {
    for (const Instr& i : r.body) {
      for (int v : i.results)
        if (std::find(values.begin(), values.end(), v) != values.end())
          if (!made || weight(i) > weight(*made)) made = &i;
      for (const Region& inner : i.regions) look(inner);
    }
  };
  look(role_->body);
  if (!made) return "carried_" + std::to_string(values[0]);
  std::string base = made->origin.starts_with("S_") ? made->origin.substr(2) : made->origin;
  const std::string id = base.empty() ? std::to_string(made->results[0]) : "";
  if (!base.empty()) base += "_";
  switch (made->code) {
    case Code::LoadGlobal:
      return made->tensor + "_tile";
    case Code::LoadShared:
      return made->buffer + "_tile";
    case Code::Map:
      return base + std::string(op_name(made->op)) + (id.empty() ? "" : "_" + id);
    case Code::Cast:
      return base + std::string(type_name(type(variable).elem)) + (id.empty() ? "" : "_" + id);
    case Code::Mma:
    case Code::Wgmma:
      return base.empty() ? "sum_" + id : base + "tile";
    case Code::Reduce:
      return base.empty() ? std::string(poly::reduce_op_name(made->reduce)) + "_" + id
                          : base + "tile";
    case Code::For:
    case Code::If:
      return base + "carried" + id;
    default:
      return base + std::string(memory::code_name(made->code)) + (id.empty() ? "" : "_" + id);
  }
}

void KernelEmitter::declare(int variable) {
  const FragmentType& t = type(variable);
  Variable v;
  v.name = names_.fresh(wanted_name(variable));
  v.elem = t.elem;
  v.registers = int(std::max<int64_t>(1, t.place.registers()));
  const bool words = packed(t.elem);
  v.words = words ? (v.registers + per_word(t.elem) - 1) / per_word(t.elem) : v.registers;
  v.scalar = t.axes.empty() && !words;
  const std::string c = words ? "uint32_t" : wide_c(t.elem);
  line(c + " " + v.name + (v.scalar ? "" : "[" + std::to_string(v.words) + "]") + ";" +
       (t.axes.empty()
            ? ""
            : "  // " + memory::to_string(t).substr(0, memory::to_string(t).find(" in "))));
  declared_[variable] = std::move(v);
}

const KernelEmitter::Variable& KernelEmitter::variable(int value) const {
  return declared_.at(variables_->of(value));
}

std::string KernelEmitter::storage(int value, const Pick& word) {
  const Variable& v = variable(value);
  return v.scalar ? v.name : v.name + "[" + index(word) + "]";
}

std::string KernelEmitter::index(const Pick& p) {
  int most = 0;
  for (int r : p.regs) most = std::max(most, r);
  std::vector<int64_t> up;
  for (int r = 0; r <= most; ++r) up.push_back(r);
  return pick(p, up);
}

// table[register] as a function of the loop variables.
std::string KernelEmitter::pick(const Pick& p, const std::vector<int64_t>& table) {
  std::vector<int64_t> values;
  for (int r : p.regs) values.push_back(table[size_t(r)]);
  std::string var = p.var;
  if (!p.outer.empty()) {
    std::vector<int64_t> outer, inner(values.begin(), values.begin() + p.inner);
    bool sum = true;
    for (size_t n = 0; n < values.size(); n += size_t(p.inner))
      outer.push_back(values[n] - values[0]);
    for (size_t n = 0; n < values.size() && sum; ++n)
      sum = values[n] == outer[n / size_t(p.inner)] + inner[n % size_t(p.inner)];
    const auto a = sum ? table_text(outer, p.outer) : std::nullopt,
               b = sum ? (p.inner > 1 ? table_text(inner, p.var) : std::to_string(inner[0]))
                       : std::nullopt;
    if (a && b) return sum_text({*a, *b});
    var = p.inner > 1 ? "(" + p.outer + " * " + std::to_string(p.inner) + " + " + p.var + ")"
                      : p.outer;
  }
  if (var.empty()) return std::to_string(values[0]);
  if (auto text = table_text(values, var)) return *text;
  std::string list;
  for (int64_t v : values) list += (list.empty() ? "" : ", ") + std::to_string(v);
  auto [it, fresh] = role_hoisted_.try_emplace("{" + list + "}");
  if (fresh) {
    it->second = names_.fresh("table");
    role_prologue_.push_back({"constexpr int " + it->second + "[] = {" + list + "};", -1});
  }
  return it->second + "[" + var + "]";
}

Pick KernelEmitter::all(int registers, const std::string& var) const {
  Pick p{registers > 1 ? var : "", {}};
  for (int r = 0; r < registers; ++r) p.regs.push_back(r);
  return p;
}

namespace {

std::string type_helper(Type t) { return std::string(type_name(t)); }

}  // namespace

std::string KernelEmitter::read(int value, const Pick& p) {
  const Type t = type(value).elem;
  if (auto it = constants_.find(value); it != constants_.end()) return literal(it->second, t);
  const Variable& v = variable(value);
  if (v.scalar) return v.name;
  const std::string at = index(p);
  if (packed(t)) return helpers_.use(type_helper(t) + "_at") + "(" + v.name + ", " + at + ")";
  return v.name + "[" + at + "]";
}

std::string KernelEmitter::raw(int value, const Pick& p) {
  const Type t = type(value).elem;
  if (!packed(t)) return read(value, p);
  if (auto it = constants_.find(value); it != constants_.end())
    return std::to_string(element_bits(it->second, t)) + "u";
  const Variable& v = variable(value);
  return helpers_.use(type_bytes(t) == 2 ? "bits16_at" : "bits8_at") + "(" + v.name + ", " +
         index(p) + ")";
}

// Words of a packed variable from the texts of their elements.
void KernelEmitter::pack(int value, const std::string& helper, const Element& f) {
  const Variable& v = variable(value);
  const int per = per_word(v.elem);
  const Pick words = all(v.words, "p");
  std::string call;
  for (int e = 0; e < per; ++e) {
    Pick elements{words.var, {}};
    for (int w : words.regs) elements.regs.push_back(std::min(w * per + e, v.registers - 1));
    call += (e ? ", " : "") + f(elements);
  }
  unrolled(words, storage(value, words) + " = " + helpers_.use(helper) + "(" + call + ");");
}

void KernelEmitter::produce(int value, Type from, const Element& f) {
  const Variable& v = variable(value);
  if (packed(v.elem)) {
    const bool logical = wide(from) == Type::Bool;
    const Type to = is_float(v.elem) ? Type::F32 : Type::I32;
    return pack(value, "pack_" + type_helper(v.elem),
                [&](const Pick& p) { return logical ? convert(f(p), Type::Bool, to) : f(p); });
  }
  const Pick over = all(v.registers);
  unrolled(over, storage(value, over) + " = " + convert(f(over), from, v.elem) + ";");
}

void KernelEmitter::produce_raw(int value, const Element& f) {
  const Variable& v = variable(value);
  if (packed(v.elem)) return pack(value, type_bytes(v.elem) == 2 ? "pack16" : "pack8", f);
  produce(value, v.elem, f);
}

// Whole words where packed elements stay together.
void KernelEmitter::take(int value, int from, const std::vector<int>& table) {
  const Variable& v = variable(value);
  const int per = packed(v.elem) ? per_word(v.elem) : 1;
  bool words = !constants_.count(from) && v.registers % per == 0;
  Pick source{v.words > 1 ? "p" : "", {}};
  for (int w = 0; w < v.words && words; ++w) {
    const int first = table[size_t(w * per)];
    words = first % per == 0;
    for (int e = 1; e < per; ++e) words = words && table[size_t(w * per + e)] == first + e;
    source.regs.push_back(first / per);
  }
  if (!words) return produce_raw(value, [&](const Pick& p) { return raw(from, p.through(table)); });
  const Pick over = all(v.words, "p");
  unrolled(over, storage(value, over) + " = " + storage(from, source) + ";");
}

void KernelEmitter::fill(int value, double d) {
  const Variable& v = variable(value);
  const Pick words = all(v.words);
  std::string x;
  if (packed(v.elem)) {
    uint32_t bits = 0;
    const int per = per_word(v.elem), width = 32 / per;
    for (int e = 0; e < per; ++e) bits |= element_bits(d, v.elem) << (e * width);
    char text[16];
    std::snprintf(text, sizeof text, bits ? "0x%08xu" : "%u", bits);
    x = text;
  } else {
    x = literal(d, v.elem);
  }
  unrolled(words, storage(value, words) + " = " + x + ";");
}

void KernelEmitter::copy(int to, int from) {
  if (auto it = constants_.find(from); it != constants_.end()) return fill(to, it->second);
  copy_words(variable(to), variable(from));
}

void KernelEmitter::copy_words(const Variable& to, const Variable& from) {
  if (to.name == from.name) return;
  const Pick words = all(to.words);
  const std::string at = "[" + index(words) + "]";
  unrolled(words,
           to.name + (to.scalar ? "" : at) + " = " + from.name + (from.scalar ? "" : at) + ";");
}

}  // namespace nautilus::cuda
