// Evaluation in double precision.
#include <cmath>
#include <limits>
#include <unordered_map>

#include "polyhedral/expr.h"

namespace nautilus {
namespace {

// 32-bit two's complement arithmetic on values held in doubles.
double wrap_i32(double v) {
  if (v >= -2147483648.0 && v <= 2147483647.0) return v;
  const double m = std::fmod(v, 4294967296.0);
  const double p = m < 0 ? m + 4294967296.0 : m;
  return p >= 2147483648.0 ? p - 4294967296.0 : p;
}

double multiply_i32(double a, double b) {
  return wrap_i32(
      static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(a)) *
                                               static_cast<uint32_t>(static_cast<int64_t>(b)))));
}

using Memo = std::unordered_map<const ExprNode*, double>;

double eval_leaf(const ExprNode& n, const EvalEnv& env) {
  switch (n.op) {
    case Op::Const:
      return n.value;
    case Op::Var:
      return env.vars.at(n.name);
    case Op::Read:
      return env.read(n.index);
    case Op::Index:
      return env.index(n.index);
    default:
      return env.param(n.name);
  }
}

// With a memo each distinct subterm is computed once (expressions are DAGs); small ones go without.
double eval(const ExprNode& n, const EvalEnv& env, Memo* memo) {
  if (n.args.empty()) return eval_leaf(n, env);
  if (memo) {
    if (auto it = memo->find(&n); it != memo->end()) return it->second;
  }
  double v;
  if (n.op == Op::Select) {
    v = eval(*n.args[eval(*n.args[0], env, memo) != 0 ? 1 : 2], env, memo);
  } else {
    double a[2] = {0, 0};
    for (size_t i = 0; i < n.args.size(); ++i) a[i] = eval(*n.args[i], env, memo);
    v = n.op == Op::Cast && !env.round_casts ? a[0] : apply_op(n.op, a, n.type);
  }
  if (memo) memo->emplace(&n, v);
  return v;
}

}  // namespace

// Min and Max take the number when the other is NaN (IEEE 754 maxNum); Select does not look at the
// branch not taken. Integer results wrap as 32-bit two's complement.
double apply_op(Op op, const double* a, Type result) {
  const bool integer = !is_float(result) && result != Type::Bool;
  switch (op) {
    case Op::Neg:
      return integer ? wrap_i32(-a[0]) : -a[0];
    case Op::Abs:
      return integer ? wrap_i32(std::abs(a[0])) : std::abs(a[0]);
    case Op::Exp:
      return std::exp(a[0]);
    case Op::Exp2:
      return std::exp2(a[0]);
    case Op::Log:
      return std::log(a[0]);
    case Op::Log2:
      return std::log2(a[0]);
    case Op::Sqrt:
      return std::sqrt(a[0]);
    case Op::Rsqrt:
      return 1 / std::sqrt(a[0]);
    case Op::Recip:
      return 1 / a[0];
    case Op::Tanh:
      return std::tanh(a[0]);
    case Op::Erf:
      return std::erf(a[0]);
    case Op::Sigmoid:
      return 1 / (1 + std::exp(-a[0]));
    case Op::Floor:
      return std::floor(a[0]);
    case Op::Not:
      return a[0] == 0;
    case Op::Cast:
      return round_to_type(a[0], result);
    case Op::Add:
      return integer ? wrap_i32(a[0] + a[1]) : a[0] + a[1];
    case Op::Sub:
      return integer ? wrap_i32(a[0] - a[1]) : a[0] - a[1];
    case Op::Mul:
      return integer ? multiply_i32(a[0], a[1]) : a[0] * a[1];
    case Op::Div:
      return a[0] / a[1];
    case Op::Pow:
      return std::pow(a[0], a[1]);
    case Op::Min:
      return std::fmin(a[0], a[1]);
    case Op::Max:
      return std::fmax(a[0], a[1]);
    case Op::Lt:
      return a[0] < a[1];
    case Op::Le:
      return a[0] <= a[1];
    case Op::Eq:
      return a[0] == a[1];
    case Op::Ne:
      return a[0] != a[1];
    case Op::And:
      return a[0] != 0 && a[1] != 0;
    case Op::Or:
      return a[0] != 0 || a[1] != 0;
    case Op::Select:
      return a[0] != 0 ? a[1] : a[2];
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

double evaluate(const Expr& e, const EvalEnv& env) {
  if (e->size <= 64) return eval(*e, env, nullptr);
  Memo memo;
  return eval(*e, env, &memo);
}

}  // namespace nautilus
