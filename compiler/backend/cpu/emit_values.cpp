// Elements of tiles as C++ expressions, and the loops over them.
#include <algorithm>

#include "compiler/backend/cpu/emitter.h"

namespace nautilus::cpu {
namespace {

constexpr int64_t kMaskRange = int64_t(1) << 29;

bool mentions(const IndexExpr& e, const std::string& name) {
  std::vector<std::string> vars;
  e.collect_vars(vars);
  return std::find(vars.begin(), vars.end(), name) != vars.end();
}

}  // namespace

Emitter::Axes Emitter::axes_of(ValueId v) const {
  Axes out;
  for (const std::string& a : k_.order.at(v)) out.push_back({a, k_.extent(v, a)});
  return out;
}

// Loops over `axes`, the last innermost and free of dependences.
void Emitter::nest(const Axes& axes, const Body& body) {
  Element e;
  e.names = ivs_;
  std::vector<std::string> heads;
  int vector = -1;
  for (const Axis& a : axes) {
    if (a.extent == 1) {
      e.names[a.name] = "0";
      continue;
    }
    const std::string name = fresh(("a_" + identifier(a.name) + "_").c_str());
    e.names[a.name] = name;
    vector = static_cast<int>(heads.size());
    heads.push_back("for (long " + name + " = 0; " + name + " < " + std::to_string(a.extent) +
                    "; ++" + name + ")");
  }
  const std::string statement = body(e);
  block(e.before);
  for (size_t n = 0; n < heads.size(); ++n) {
    if (static_cast<int>(n) == vector) line("#pragma clang loop vectorize(assume_safety)");
    line(heads[n] + (static_cast<int>(n) == vector && !e.lets.empty() ? " {" : ""));
    ++indent_;
  }
  if (heads.empty() && !e.lets.empty()) {
    line("{");
    ++indent_;
  }
  block(e.lets);
  line(statement);
  indent_ -= static_cast<int>(heads.size());
  if (heads.empty() && !e.lets.empty()) --indent_;
  if (!e.lets.empty()) {
    if (!heads.empty()) indent_ += static_cast<int>(heads.size()) - 1;
    line("}");
    if (!heads.empty()) indent_ -= static_cast<int>(heads.size()) - 1;
  }
}

std::string Emitter::array_at(const std::string& array, ValueId shape, const Names& names) const {
  IndexExpr at(0);
  for (const Axis& a : k_.type(shape).axes)
    at = at + IndexExpr::var(a.name) * k_.stride(shape, a.name);
  return array + "[" + index_text(at, names) + "]";
}

// Address of a Load or Store; gathered dimensions take the element of their operand.
std::string Emitter::memory_at(const Instr& i, const std::vector<ValueId>& operands, Element& e) {
  const TensorView& t = k_.tensors.at(i.tensor);
  IndexExpr at(0);
  std::string gathered;
  for (size_t d = 0; d < i.index.size(); ++d) {
    const int g = d < i.gather.size() ? i.gather[d] : -1;
    if (g < 0)
      at = at + i.index[d] * t.strides[d];
    else
      gathered +=
          " + (long)" + element(operands[g], e) + " * " + std::to_string(t.strides[d]) + "L";
  }
  return t.pointer + "[" + index_text(at, e.names) + gathered + "]";
}

// One comparison. What the nest's axes do not change is computed once, clamped so that 32-bit
// arithmetic on the rest cannot overflow and the sign stays right.
std::string Emitter::atom(const Cond::Atom& a, Element& e) {
  IndexExpr rest = a.expr;
  int64_t reach = 0;
  std::string moving;
  for (const auto& [name, text] : e.names) {
    if (ivs_.count(name) || !mentions(a.expr, name)) continue;
    const int64_t c = a.expr.coefficient(name);
    rest = rest - IndexExpr::var(name) * c;
    if (mentions(rest, name))
      return "(" + index_text(a.expr, e.names) + (a.equality ? " == 0)" : " >= 0)");
    reach += std::abs(c) * 65536;  // tile extents are far below
    if (text != "0") moving += " + " + (c == 1 ? "" : std::to_string(c) + " * ") + "(int)" + text;
  }
  if (reach >= kMaskRange)
    return "(" + index_text(a.expr, e.names) + (a.equality ? " == 0)" : " >= 0)");
  std::string base;
  if (rest.is_const() && std::abs(rest.constant()) < kMaskRange) {
    base = std::to_string(rest.constant());
  } else {
    const std::string text = index_text(rest, ivs_);
    std::string& known = e.known["mask " + text];
    if (known.empty()) {
      known = fresh("m");
      e.before +=
          "const int " + known + " = (int)maxl(minl(" + text + ", 1L << 30), -(1L << 30));\n";
    }
    base = known;
  }
  return "(" + base + moving + (a.equality ? " == 0)" : " >= 0)");
}

std::string Emitter::mask(const Cond& c, Element& e) {
  if (c.is_always()) return "true";
  std::string any;
  for (const auto& conj : c.any) {
    std::string all;
    for (const auto& a : conj) all += (all.empty() ? "" : " & ") + atom(a, e);
    if (all.empty()) return "true";
    any +=
        (any.empty() ? "" : " | ") + (c.any.size() > 1 && conj.size() > 1 ? "(" + all + ")" : all);
  }
  return any.empty() ? "false" : any;
}

// Text of v's value at the indices in e.names.
std::string Emitter::element(ValueId v, Element& e) {
  switch (k_.forms.at(v)) {
    case Form::Literal:
      return literal(k_.defs.at(v).instr->value, k_.type(v).elem);
    case Form::Scalar:
      return variable(v);
    case Form::Buffer:
      return array_at(variable(v), v, e.names);
    default:
      break;
  }
  const Instr& i = *k_.defs.at(v).instr;
  if (i.code == Code::Rename) {
    const Names outer = e.names;
    for (const Axis& a : k_.type(i.operands[0]).axes) {
      std::string to = a.name;
      for (const auto& [from, t] : i.renames)
        if (from == a.name) to = t;
      e.names[a.name] = outer.at(to);
    }
    const std::string text = element(i.operands[0], e);
    e.names = outer;
    return text;
  }
  std::string key = std::to_string(v);
  for (const Axis& a : k_.type(v).axes) key += "," + e.names.at(a.name);
  if (const auto it = e.known.find(key); it != e.known.end()) return it->second;
  const std::string text = compute(v, e), name = fresh("x");
  e.lets += "const " + c_type(k_.type(v).elem) + " " + name + " = " + text + ";\n";
  return e.known[key] = name;
}

std::string Emitter::compute(ValueId v, Element& e) {
  const Instr& i = *k_.defs.at(v).instr;
  const Type t = k_.type(v).elem;
  switch (i.code) {
    case Code::Iota:
      return "(int)" + std::string("(") + index_text(i.index[0], e.names) + ")";
    case Code::Map: {
      std::vector<std::string> args;
      std::vector<Type> types;
      for (const ValueId o : i.operands) {
        args.push_back(element(o, e));
        types.push_back(k_.type(o).elem);
      }
      return operation_text(i.op, t, args, types);
    }
    case Code::Cast:
      return cast_text(element(i.operands[0], e), k_.type(i.operands[0]).elem, t);
    case Code::Mask: {
      const std::string a = element(i.operands[0], e), b = element(i.operands[1], e);
      return "(" + mask(i.cond, e) + ") ? " + a + " : " + b;
    }
    case Code::Load: {
      const std::string at = decode_text(memory_at(i, i.operands, e), t);
      return i.cond.is_always() ? at
                                : "(" + mask(i.cond, e) + ") ? " + at + " : " + literal(i.value, t);
    }
    case Code::Rename:
      return element(i.operands[0], e);
    default:
      return literal(i.value, t);
  }
}

}  // namespace nautilus::cpu
