#include "compiler/backend/cuda/scalar.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "compiler/backend/cuda/text.h"

namespace nautilus::cuda {

Type wide(Type t) {
  switch (t) {
    case Type::Bool:
      return Type::Bool;
    case Type::I8:
    case Type::I32:
      return Type::I32;
    case Type::F64:
      return Type::F64;
    default:
      return Type::F32;
  }
}

bool packed(Type t) {
  return t == Type::I8 || t == Type::E4M3 || t == Type::E5M2 || t == Type::F16 || t == Type::BF16;
}
int per_word(Type t) { return 4 / type_bytes(t); }

std::string wide_c(Type t) {
  switch (wide(t)) {
    case Type::Bool:
      return "bool";
    case Type::I32:
      return "int";
    case Type::F64:
      return "double";
    default:
      return "float";
  }
}

std::string literal(double v, Type t) {
  v = round_to_type(v, t);
  const Type w = wide(t);
  if (w == Type::Bool) return v != 0 ? "true" : "false";
  if (w == Type::I32) {
    if (v == -2147483648.0) return "(-2147483647 - 1)";
    return std::to_string(int64_t(v));
  }
  const std::string suffix = w == Type::F32 ? "f" : "";
  if (std::isnan(v)) return w == Type::F32 ? "__int_as_float(0x7fffffff)" : "nan(\"\")";
  if (std::isinf(v)) {
    const std::string inf = w == Type::F32 ? "INFINITY" : "double(INFINITY)";
    return v < 0 ? "-" + inf : inf;
  }
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, v);
    const double back =
        w == Type::F32 ? double(std::strtof(text, nullptr)) : std::strtod(text, nullptr);
    if (back == v) break;
  }
  std::string s = text;
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s + suffix;
}

namespace {

// Bits of a binary format with `mantissa` and `exponent` bits; v is one of its values.
uint32_t float_bits(double v, int mantissa, int exponent, uint32_t infinity, uint32_t nan) {
  const uint32_t sign = std::signbit(v) ? uint32_t(1) << (mantissa + exponent) : 0;
  if (std::isnan(v)) return nan;
  if (std::isinf(v)) return sign | infinity;
  if (v == 0) return sign;
  const int bias = (1 << (exponent - 1)) - 1;
  int e = 0;
  double m = std::frexp(std::abs(v), &e);  // [0.5, 1)
  e += bias - 1;
  if (e <= 0) return sign | uint32_t(std::ldexp(std::abs(v), bias - 1 + mantissa));
  return sign | uint32_t(e) << mantissa |
         (uint32_t(std::ldexp(m, mantissa + 1)) & ((uint32_t(1) << mantissa) - 1));
}

}  // namespace

uint32_t element_bits(double v, Type t) {
  v = round_to_type(v, t);
  switch (t) {
    case Type::I8:
      return uint32_t(int32_t(v)) & 0xff;
    case Type::E4M3:
      return float_bits(v, 3, 4, 0x7f, 0x7f);
    case Type::E5M2:
      return float_bits(v, 2, 5, 0x7c, 0x7e);
    case Type::F16:
      return float_bits(v, 10, 5, 0x7c00, 0x7e00);
    case Type::BF16:
      return float_bits(v, 7, 8, 0x7f80, 0x7fc0);
    default:
      return 0;
  }
}

std::string convert(const std::string& x, Type from, Type to) {
  from = wide(from), to = wide(to);
  if (from == to) return x;
  if (to == Type::Bool) return in_parens(x) + " != 0";
  if (to == Type::I32 && from == Type::F32) return "__float2int_rz(" + x + ")";
  if (to == Type::I32 && from == Type::F64) return "__double2int_rz(" + x + ")";
  return wide_c(to) + "(" + x + ")";
}

namespace {

std::string call(const std::string& f, const std::vector<std::string>& x) {
  std::string s = f + "(";
  for (size_t n = 0; n < x.size(); ++n) s += (n ? ", " : "") + x[n];
  return s + ")";
}

// Functions of one real argument: name for float, for double.
std::string unary(Op op, const std::string& a, bool f64, Helpers& h) {
  switch (op) {
    case Op::Exp:
      return call(f64 ? "exp" : "expf", {a});
    case Op::Exp2:
      return f64 ? call("exp2", {a}) : call(h.use("exp2_approx"), {a});
    case Op::Log:
      return call(f64 ? "log" : "logf", {a});
    case Op::Log2:
      return call(f64 ? "log2" : "log2f", {a});
    case Op::Sqrt:
      return f64 ? call("sqrt", {a}) : call(h.use("sqrt_approx"), {a});
    case Op::Rsqrt:
      return call(f64 ? "rsqrt" : "rsqrtf", {a});
    case Op::Recip:
      return f64 ? "1.0 / " + in_parens(a) : call(h.use("divide"), {"1.0f", a});
    case Op::Tanh:
      return f64 ? call("tanh", {a}) : call(h.use("tanh_quick"), {a});
    case Op::Erf:
      return call(f64 ? "erf" : "erff", {a});
    case Op::Sigmoid:
      return f64 ? "1.0 / (1.0 + exp(-" + in_parens(a) + "))"
                 : call(h.use("divide"), {"1.0f", "1.0f + expf(-" + in_parens(a) + ")"});
    default:
      return call(f64 ? "floor" : "floorf", {a});
  }
}

}  // namespace

std::string apply(Op op, const std::vector<std::string>& x, const std::vector<Type>& types,
                  Type result, Helpers& h) {
  const Type w = wide(result);
  auto as = [&](size_t n, Type t) { return convert(x[n], types[n], t); };
  auto infix = [&](const char* o, Type t) {
    return in_parens(as(0, t)) + " " + o + " " + in_parens(as(1, t));
  };
  // Sums of integers wrap; those of unsigned ones may.
  auto wrapped = [&](const char* o) {
    return "int(unsigned(" + as(0, w) + ") " + o + " unsigned(" + as(1, w) + "))";
  };
  switch (op) {
    case Op::Neg:
      return w == Type::I32 ? "int(0u - unsigned(" + as(0, w) + "))" : "-" + in_parens(as(0, w));
    case Op::Abs:
      return call(w == Type::F64 ? "fabs" : w == Type::F32 ? "fabsf" : "abs", {as(0, w)});
    case Op::Floor:
      if (w == Type::I32) return as(0, w);
      break;
    case Op::Not:
      return "!" + in_parens(as(0, Type::Bool));
    case Op::And:
      return in_parens(as(0, Type::Bool)) + " && " + in_parens(as(1, Type::Bool));
    case Op::Or:
      return in_parens(as(0, Type::Bool)) + " || " + in_parens(as(1, Type::Bool));
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne: {
      const Type t =
          wide(types[0]) == wide(types[1]) ? wide(types[0]) : arithmetic_type(types[0], types[1]);
      return infix(op == Op::Lt ? "<" : op == Op::Le ? "<=" : op == Op::Eq ? "==" : "!=", t);
    }
    case Op::Add:
      return w == Type::I32 ? wrapped("+") : infix("+", w);
    case Op::Sub:
      return w == Type::I32 ? wrapped("-") : infix("-", w);
    case Op::Mul:
      if (w == Type::I32) return wrapped("*");
      // The compiler contracts no product that is written as an intrinsic.
      if (!h.contract)
        return call(w == Type::F64 ? "__dmul_rn" : "__fmul_rn", {as(0, w), as(1, w)});
      return infix("*", w);
    case Op::Div:
      return w == Type::F64 ? infix("/", w) : call(h.use("divide"), {as(0, w), as(1, w)});
    case Op::Pow:
      return call(w == Type::F64 ? "pow" : "powf", {as(0, w), as(1, w)});
    case Op::Min:
    case Op::Max: {
      const std::string f = op == Op::Min ? "min" : "max";
      return call(w == Type::I32   ? f
                  : w == Type::F64 ? "f" + f
                                   : "f" + f + "f",
                  {as(0, w), as(1, w)});
    }
    case Op::Select:
      return in_parens(as(0, Type::Bool)) + " ? " + in_parens(as(1, w)) + " : " +
             in_parens(as(2, w));
    default:
      break;
  }
  return unary(op, as(0, w), w == Type::F64, h);
}

std::string expression(const Expr& e, const std::map<std::string, std::string>& vars, Type t,
                       Helpers& h) {
  if (e->op == Op::Const) return literal(e->value, t);
  if (e->op == Op::Var) return vars.at(e->name);
  std::vector<std::string> args;
  std::vector<Type> types;
  for (const Expr& a : e->args) {
    const bool logical = wide(a->type) == Type::Bool;
    args.push_back(expression(a, vars, logical ? Type::Bool : t, h));
    types.push_back(logical && a->op != Op::Var && a->op != Op::Const ? Type::Bool : t);
  }
  if (e->op == Op::Cast) return convert(args[0], types[0], t);
  return apply(e->op, args, types, wide(e->type) == Type::Bool ? Type::Bool : t, h);
}

}  // namespace nautilus::cuda
