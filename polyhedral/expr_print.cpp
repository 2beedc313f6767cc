// Infix text of expressions; parse_expr reads it back exactly.
#include <array>
#include <charconv>
#include <cmath>

#include "polyhedral/expr.h"

namespace nautilus {
namespace {

// Binding strength, loosest first; calls and leaves bind tightest.
enum Level { kOr = 1, kAnd, kCompare, kSum, kProduct, kUnary, kPrimary };

struct Infix {
  std::string_view text;
  Level level;
};

std::optional<Infix> infix(Op op) {
  switch (op) {
    case Op::Or:
      return Infix{" || ", kOr};
    case Op::And:
      return Infix{" && ", kAnd};
    case Op::Lt:
      return Infix{" < ", kCompare};
    case Op::Le:
      return Infix{" <= ", kCompare};
    case Op::Eq:
      return Infix{" == ", kCompare};
    case Op::Ne:
      return Infix{" != ", kCompare};
    case Op::Add:
      return Infix{" + ", kSum};
    case Op::Sub:
      return Infix{" - ", kSum};
    case Op::Mul:
      return Infix{" * ", kProduct};
    case Op::Div:
      return Infix{" / ", kProduct};
    default:
      return std::nullopt;
  }
}

bool plain_name(std::string_view s) {
  if (s.empty() || s == "inf" || s == "nan") return false;
  const auto head = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (!head(s[0])) return false;
  for (char c : s)
    if (!head(c) && !(c >= '0' && c <= '9') && c != '\'' && c != '.') return false;
  return true;
}

std::string name_text(const std::string& s) {
  if (plain_name(s)) return s;
  std::string out = "`";
  for (char c : s) {
    if (c == '`' || c == '\\') out += '\\';
    out += c;
  }
  return out + "`";
}

std::string number_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::array<char, 64> buf;
  const auto r = std::to_chars(buf.data(), buf.data() + buf.size(), v);
  return std::string(buf.data(), r.ptr);
}

std::string suffix(Type t) { return t == Type::F32 ? "" : ":" + std::string(type_name(t)); }

Level level(const Expr& e) {
  if (e->op == Op::Neg) return kUnary;
  const auto i = infix(e->op);
  return i ? i->level : kPrimary;
}

void print(const Expr& e, std::string& out);

void print_at(const Expr& e, int least, std::string& out) {
  const bool parens = level(e) < least;
  if (parens) out += '(';
  print(e, out);
  if (parens) out += ')';
}

void print_call(std::string_view name, const Expr& e, std::string& out) {
  out += name;
  out += '(';
  for (size_t i = 0; i < e->args.size(); ++i) {
    if (i) out += ", ";
    print(e->args[i], out);
  }
  out += ')';
}

void print(const Expr& e, std::string& out) {
  switch (e->op) {
    case Op::Const:
      out += number_text(e->value) + suffix(e->type);
      return;
    case Op::Var:
      out += name_text(e->name) + suffix(e->type);
      return;
    case Op::Read:
      out += "$" + std::to_string(e->index) + suffix(e->type);
      return;
    case Op::Index:
      out += "#" + std::to_string(e->index);
      return;
    case Op::Param:
      out += "@" + name_text(e->name);
      return;
    case Op::Cast:
      print_call(type_name(e->type), e, out);
      return;
    case Op::Neg:
      out += '-';
      print_at(e->args[0], e->args[0]->op == Op::Const ? kPrimary + 1 : kPrimary, out);
      return;
    default:
      break;
  }
  const auto in = infix(e->op);
  if (!in) return print_call(op_name(e->op), e, out);
  // Chains of + - * / && || lean left; comparisons do not chain.
  print_at(e->args[0], in->level == kCompare ? in->level + 1 : in->level, out);
  out += in->text;
  print_at(e->args[1], in->level + 1, out);
}

}  // namespace

std::string to_string(const Expr& e) {
  if (!e) return "<none>";
  std::string out;
  print(e, out);
  return out;
}

}  // namespace nautilus
