#include "compiler/backend/cpu/text.h"

#include <cmath>
#include <cstdio>

#include "compiler/backend/cpu/kernel.h"

namespace nautilus::cpu {
namespace {

bool integer(Type t) { return !is_float(t); }

const char* infix(Op op) {
  switch (op) {
    case Op::Add:
      return " + ";
    case Op::Sub:
      return " - ";
    case Op::Mul:
      return " * ";
    case Op::Div:
      return " / ";
    case Op::Lt:
      return " < ";
    case Op::Le:
      return " <= ";
    case Op::Eq:
      return " == ";
    case Op::Ne:
      return " != ";
    default:
      return nullptr;
  }
}

bool compares(Op op) { return op == Op::Lt || op == Op::Le || op == Op::Eq || op == Op::Ne; }

std::string wrap(const std::string& s) {
  return s.find(' ') == std::string::npos ? s : "(" + s + ")";
}

}  // namespace

std::string identifier(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool letter =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
    out += letter ? c : '_';
  }
  if (out.empty() || (out[0] >= '0' && out[0] <= '9')) out = "_" + out;
  return out;
}

std::string literal(double v, Type t) {
  if (integer(t))
    return std::to_string(static_cast<int64_t>(round_to_type(v, t == Type::Bool ? Type::I32 : t)));
  const bool wide = t == Type::F64;
  if (std::isnan(v)) return wide ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
  if (std::isinf(v)) return std::string(v < 0 ? "-" : "") + (wide ? "__builtin_inf()" : "INF");
  v = round_to_type(v, t);
  char text[64];
  if (v == std::floor(v) && std::abs(v) < 1e6)
    std::snprintf(text, sizeof text, "%.1f%s", v, wide ? "" : "f");
  else
    std::snprintf(text, sizeof text, "%a%s", v, wide ? "" : "f");
  return text;
}

std::string index_text(const IndexExpr& e, const Names& names) {
  using Kind = IndexExpr::Kind;
  switch (e.kind()) {
    case Kind::Const:
      return std::to_string(e.constant()) + (std::abs(e.constant()) > 2000000000 ? "L" : "");
    case Kind::Var:
      return names.at(e.name());
    case Kind::Add: {
      std::string out;
      for (const IndexExpr& a : e.args()) {
        const std::string t = index_text(a, names);
        if (out.empty())
          out = t;
        else if (t[0] == '-')
          out += " - " + t.substr(1);
        else
          out += " + " + t;
      }
      return "(" + out + ")";
    }
    case Kind::Mul: {
      const std::string a = index_text(e.args()[0], names);
      return e.constant() == -1 ? "-" + a : std::to_string(e.constant()) + " * " + a;
    }
    case Kind::FloorDiv:
      return "floord(" + index_text(e.args()[0], names) + ", " + std::to_string(e.constant()) +
             "L)";
    case Kind::Mod: {
      const std::string a = index_text(e.args()[0], names), d = std::to_string(e.constant()) + "L";
      return "(" + a + " - " + d + " * floord(" + a + ", " + d + "))";
    }
    case Kind::Min:
    case Kind::Max:
      return std::string(e.kind() == Kind::Min ? "minl(" : "maxl(") +
             index_text(e.args()[0], names) + ", " + index_text(e.args()[1], names) + ")";
  }
  return "0";
}

std::string condition_text(const Cond& c, const Names& names) {
  if (c.is_always()) return "true";
  std::string any;
  for (const auto& conj : c.any) {
    std::string all;
    for (const auto& atom : conj)
      all += (all.empty() ? "" : " && ") + wrap(index_text(atom.expr, names)) +
             (atom.equality ? " == 0" : " >= 0");
    any += (any.empty() ? "" : " || ") + (c.any.size() > 1 && conj.size() > 1 ? "(" + all + ")"
                                          : all.empty()                       ? "true"
                                                                              : all);
  }
  return any.empty() ? "false" : any;
}

std::string convert_text(const std::string& v, Type from, Type to) {
  return c_type(from) == c_type(to) ? v : "(" + c_type(to) + ")" + wrap(v);
}

std::string cast_text(const std::string& v, Type from, Type to) {
  if (from == to) return v;
  switch (to) {
    case Type::Bool:
      return "to_bool(" + v + ")";
    case Type::I8:
      return "to_i8(" + v + ")";
    case Type::I32:
      return integer(from) ? v : "to_i32(" + v + ")";
    case Type::F32:
    case Type::F64:
      return convert_text(v, from, to);
    case Type::F16:
      if (from == Type::F64) return "decode_f16(encode_f16(" + v + "))";
      [[fallthrough]];
    default:
      return "round_" + std::string(type_name(to)) + "((float)" + wrap(v) + ")";
  }
}

std::string decode_text(const std::string& memory, Type t) {
  switch (t) {
    case Type::F16:
    case Type::BF16:
    case Type::E4M3:
    case Type::E5M2:
      return "decode_" + std::string(type_name(t)) + "(" + memory + ")";
    case Type::I8:
    case Type::Bool:
      return "(int)" + memory;
    default:
      return memory;
  }
}

std::string encode_text(const std::string& v, Type t) {
  switch (t) {
    case Type::F16:
    case Type::BF16:
    case Type::E4M3:
    case Type::E5M2:
      return "encode_" + std::string(type_name(t)) + "(" + v + ")";
    case Type::I8:
      return "(i8)" + wrap(v);
    case Type::Bool:
      return "(u8)(" + v + " != 0)";
    default:
      return v;
  }
}

std::string operation_text(Op op, Type out, const std::vector<std::string>& args,
                           const std::vector<Type>& in) {
  const Type compute = compares(op) ? arithmetic_type(in[0], in[1]) : out;
  std::vector<std::string> a;
  for (size_t k = 0; k < args.size(); ++k)
    a.push_back(op == Op::Select && k == 0 ? args[k] : convert_text(args[k], in[k], compute));
  switch (op) {
    case Op::Neg:
      return integer(out) ? "n_neg(" + a[0] + ")" : "-" + wrap(a[0]);
    case Op::Not:
      return args[0] + " == 0";
    case Op::And:
      return "(" + args[0] + " != 0) & (" + args[1] + " != 0)";
    case Op::Or:
      return "(" + args[0] + " != 0) | (" + args[1] + " != 0)";
    case Op::Select:
      return wrap(a[0]) + " != 0 ? " + a[1] + " : " + a[2];
    default:
      break;
  }
  if (integer(compute) && (op == Op::Add || op == Op::Sub || op == Op::Mul))
    return "n_" + std::string(op_name(op)) + "(" + a[0] + ", " + a[1] + ")";
  if (const char* symbol = infix(op)) return wrap(a[0]) + symbol + wrap(a[1]);
  std::string text = "n_" + std::string(op_name(op)) + "(" + a[0];
  for (size_t k = 1; k < a.size(); ++k) text += ", " + a[k];
  return text + ")";
}

std::string combine_text(poly::ReduceOp op, Type t, const std::string& acc, const std::string& x) {
  using poly::ReduceOp;
  switch (op) {
    case ReduceOp::Sum:
      return integer(t) ? "n_add(" + acc + ", " + x + ")" : acc + " + " + wrap(x);
    case ReduceOp::Prod:
      return integer(t) ? "n_mul(" + acc + ", " + x + ")" : acc + " * " + wrap(x);
    case ReduceOp::Max:
      return wrap(x) + " > " + acc + " ? " + x + " : " + acc;
    case ReduceOp::Min:
      return wrap(x) + " < " + acc + " ? " + x + " : " + acc;
    case ReduceOp::Any:
      return acc + " | (" + x + " != 0)";
    case ReduceOp::All:
      return acc + " & (" + x + " != 0)";
    case ReduceOp::User:
      break;
  }
  return "";
}

std::string expression_text(const Expr& e, const Names& vars, Type var_type) {
  if (e->op == Op::Const) return wrap(literal(e->value, e->type));
  if (e->op == Op::Var) return convert_text(vars.at(e->name), var_type, e->type);
  std::vector<std::string> args;
  std::vector<Type> types;
  for (const Expr& a : e->args) {
    args.push_back(wrap(expression_text(a, vars, var_type)));
    types.push_back(a->type);
  }
  if (e->op == Op::Cast) return cast_text(args[0], types[0], e->type);
  return "(" + operation_text(e->op, e->type, args, types) + ")";
}

}  // namespace nautilus::cpu
