// Light normal form: rewrites that hold for every value, NaN and infinities included (zero's sign
// apart).
#include <cmath>

#include "polyhedral/expr.h"

namespace nautilus {
namespace {

bool is_const(const Expr& e, double v) { return e->op == Op::Const && e->value == v; }

// `e` as a value of type t: a widening cast where the types differ.
Expr as_type(const Expr& e, Type t) { return e->type == t ? e : Expr::cast(e, t); }

// Whether every value of `from` is one of `to`.
bool widens(Type from, Type to) {
  if (from == to) return true;
  switch (from) {
    case Type::Bool:
      return true;
    case Type::I8:
      return to == Type::I32 || to == Type::F16 || to == Type::BF16 || to == Type::F32 ||
             to == Type::F64;
    case Type::I32:
      return to == Type::F64;
    case Type::E4M3:
    case Type::E5M2:
      return to == Type::F16 || to == Type::BF16 || to == Type::F32 || to == Type::F64;
    case Type::F16:
    case Type::BF16:
      return to == Type::F32 || to == Type::F64;
    case Type::F32:
      return to == Type::F64;
    case Type::F64:
      return false;
  }
  return false;
}

Expr fold_constants(const Expr& e) {
  double a[3] = {0, 0, 0};
  for (size_t i = 0; i < e->args.size(); ++i) {
    if (e->args[i]->op != Op::Const) return e;
    a[i] = e->args[i]->value;
  }
  const double v = apply_op(e->op, a, e->type);
  // What is not a number stays as written, so that a division by zero remains visible.
  return std::isfinite(v) || e->op == Op::Neg ? Expr::constant(v, e->type) : e;
}

Expr simplify_cast(const Expr& e) {
  const Expr& a = e->args[0];
  if (a->type == e->type) return a;
  if (a->op == Op::Cast && widens(a->args[0]->type, a->type))
    return a->args[0]->type == e->type ? a->args[0] : Expr::cast(a->args[0], e->type);
  return e;
}

Expr simplify_select(const Expr& e) {
  const Expr &c = e->args[0], &a = e->args[1], &b = e->args[2];
  if (c->op == Op::Const) return as_type(c->value != 0 ? a : b, e->type);
  if (a == b) return a;
  if (c->op == Op::Not) return Expr::make(Op::Select, {c->args[0], b, a});
  return e;
}

Expr simplify_logic(const Expr& e) {
  const Expr &a = e->args[0], &b = e->args[1];
  const bool conjunction = e->op == Op::And;
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
    if (x->op != Op::Const || x->type != Type::Bool || y->type != Type::Bool) continue;
    return (x->value != 0) == conjunction ? y : x;
  }
  return a == b && a->type == Type::Bool ? a : e;
}

Expr step(const Expr& e) {
  if (e->args.empty()) return e;
  if (Expr f = fold_constants(e); !(f == e)) return f;
  const Expr& a = e->args[0];
  switch (e->op) {
    case Op::Add:
      if (is_const(e->args[1], 0)) return as_type(a, e->type);
      if (is_const(a, 0)) return as_type(e->args[1], e->type);
      if (e->args[1]->op == Op::Neg) return a - e->args[1]->args[0];
      return e;
    case Op::Sub:
      if (is_const(e->args[1], 0)) return as_type(a, e->type);
      if (e->args[1]->op == Op::Neg) return a + e->args[1]->args[0];
      return e;
    case Op::Mul:
      if (is_const(e->args[1], 1)) return as_type(a, e->type);
      if (is_const(a, 1)) return as_type(e->args[1], e->type);
      return e;
    case Op::Div:
      return is_const(e->args[1], 1) ? as_type(a, e->type) : e;
    case Op::Pow:
      return is_const(e->args[1], 1) ? as_type(a, e->type) : e;
    case Op::Neg:
      return a->op == Op::Neg && a->args[0]->type == e->type ? a->args[0] : e;
    case Op::Abs:
      return a->op == Op::Neg && a->type == e->type ? Expr::make(Op::Abs, {a->args[0]}) : e;
    case Op::Not:
      return a->op == Op::Not && a->args[0]->type == Type::Bool ? a->args[0] : e;
    case Op::Min:
    case Op::Max:
      return a == e->args[1] ? as_type(a, e->type) : e;
    case Op::And:
    case Op::Or:
      return simplify_logic(e);
    case Op::Select:
      return simplify_select(e);
    case Op::Cast:
      return simplify_cast(e);
    default:
      return e;
  }
}

}  // namespace

Expr simplify(const Expr& e) {
  std::map<const ExprNode*, Expr> done;
  const std::function<Expr(const Expr&)> go = [&](const Expr& x) -> Expr {
    if (auto it = done.find(&*x); it != done.end()) return it->second;
    std::vector<Expr> args;
    for (const Expr& a : x->args) args.push_back(go(a));
    Expr out = x->args.empty() ? x : rebuild(x, std::move(args));
    for (Expr next = step(out); !(next == out); next = step(out)) out = next;
    done.emplace(&*x, out);
    return out;
  };
  return go(e);
}

}  // namespace nautilus
