// Element types and operation names, and rounding to a type's values.
#include <array>
#include <cmath>
#include <limits>

#include "polyhedral/expr.h"

namespace nautilus {
namespace {

struct TypeInfo {
  Type type;
  std::string_view name;
  int bytes;
  bool is_float;
};
constexpr std::array<TypeInfo, 9> kTypes = {{{Type::Bool, "bool", 1, false},
                                             {Type::I8, "i8", 1, false},
                                             {Type::I32, "i32", 4, false},
                                             {Type::E4M3, "e4m3", 1, true},
                                             {Type::E5M2, "e5m2", 1, true},
                                             {Type::F16, "f16", 2, true},
                                             {Type::BF16, "bf16", 2, true},
                                             {Type::F32, "f32", 4, true},
                                             {Type::F64, "f64", 8, true}}};

struct OpInfo {
  Op op;
  std::string_view name;
  int arity;
};
constexpr std::array<OpInfo, 34> kOps = {{
    {Op::Const, "const", 0},   {Op::Var, "var", 0},         {Op::Read, "read", 0},
    {Op::Index, "index", 0},   {Op::Param, "param", 0},     {Op::Neg, "neg", 1},
    {Op::Abs, "abs", 1},       {Op::Exp, "exp", 1},         {Op::Exp2, "exp2", 1},
    {Op::Log, "log", 1},       {Op::Log2, "log2", 1},       {Op::Sqrt, "sqrt", 1},
    {Op::Rsqrt, "rsqrt", 1},   {Op::Recip, "recip", 1},     {Op::Tanh, "tanh", 1},
    {Op::Erf, "erf", 1},       {Op::Sigmoid, "sigmoid", 1}, {Op::Floor, "floor", 1},
    {Op::Not, "not", 1},       {Op::Cast, "cast", 1},       {Op::Add, "add", 2},
    {Op::Sub, "sub", 2},       {Op::Mul, "mul", 2},         {Op::Div, "div", 2},
    {Op::Pow, "pow", 2},       {Op::Min, "min", 2},         {Op::Max, "max", 2},
    {Op::Lt, "lt", 2},         {Op::Le, "le", 2},           {Op::Eq, "eq", 2},
    {Op::Ne, "ne", 2},         {Op::And, "and", 2},         {Op::Or, "or", 2},
    {Op::Select, "select", 3},
}};

// Nearest value, ties to even, of a binary format with `mantissa` explicit bits, smallest normal
// 2^emin and largest finite `max`; what rounds beyond max becomes `beyond` (with the sign).
double round_binary(double v, int mantissa, int emin, double max, double beyond) {
  if (std::isnan(v)) return std::numeric_limits<double>::quiet_NaN();
  if (v == 0) return v;
  if (std::isinf(v)) return std::copysign(beyond, v);
  const int e = std::max(std::ilogb(v), emin);
  const double r = std::scalbn(std::nearbyint(std::scalbn(v, mantissa - e)), e - mantissa);
  return std::abs(r) > max ? std::copysign(beyond, v) : r;
}

double round_integer(double v, double lo, double hi) {
  if (std::isnan(v)) return 0;
  return std::min(std::max(std::trunc(v), lo), hi);
}

}  // namespace

std::string_view type_name(Type t) { return kTypes[static_cast<size_t>(t)].name; }

std::optional<Type> type_from_name(std::string_view s) {
  for (const TypeInfo& t : kTypes)
    if (t.name == s) return t.type;
  return std::nullopt;
}

int type_bytes(Type t) { return kTypes[static_cast<size_t>(t)].bytes; }
bool is_float(Type t) { return kTypes[static_cast<size_t>(t)].is_float; }

Type arithmetic_type(Type a, Type b) {
  if (a == Type::F64 || b == Type::F64) return Type::F64;
  return is_float(a) || is_float(b) ? Type::F32 : Type::I32;
}

std::string_view op_name(Op op) { return kOps[static_cast<size_t>(op)].name; }

std::optional<Op> op_from_name(std::string_view s) {
  for (const OpInfo& o : kOps)
    if (o.name == s) return o.op;
  return std::nullopt;
}

int op_arity(Op op) { return kOps[static_cast<size_t>(op)].arity; }

// Formats: IEEE 754 binary16/32/64, bfloat16, OCP 8-bit floating point (e4m3 has no infinity: NaN).
double round_to_type(double v, Type t) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  switch (t) {
    case Type::Bool:
      return v != 0 ? 1 : 0;
    case Type::I8:
      return round_integer(v, -128, 127);
    case Type::I32:
      return round_integer(v, -2147483648.0, 2147483647.0);
    case Type::E4M3:
      return round_binary(v, 3, -6, 448, nan);
    case Type::E5M2:
      return round_binary(v, 2, -14, 57344, inf);
    case Type::F16:
      return round_binary(v, 10, -14, 65504, inf);
    case Type::BF16:
      return round_binary(v, 7, -126, 0x1.FEp127, inf);
    case Type::F32:
      return round_binary(v, 23, -126, 0x1.FFFFFEp127, inf);
    case Type::F64:
      return v;
  }
  return v;
}

}  // namespace nautilus
