// Scalar expressions of statements as tile values.
#include <algorithm>
#include <limits>

#include "compiler/lower/kernel_lowering.h"

namespace nautilus::lower {

using tile::Code;
using tile::Instr;

tile::ValueId KernelLowering::constant(double v, Type t) {
  if (t == Type::I32 || t == Type::I8) {  // the identities of max and min, within the type
    const double hi =
        t == Type::I32 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int8_t>::max();
    const double lo =
        t == Type::I32 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int8_t>::min();
    v = v > hi ? hi : v < lo ? lo : v;
  }
  return builder().constant(v, t);
}

bool KernelLowering::is_symbolic(const std::string& size) const {
  return std::find(a_.symbolic.begin(), a_.symbolic.end(), size) != a_.symbolic.end();
}

tile::ValueId KernelLowering::size_value(const std::string& size, Type t) {
  Instr i;
  i.code = Code::Iota;
  i.index = {IndexExpr::var(size)};
  return cast(builder().emit(std::move(i)), t);
}

tile::ValueId KernelLowering::cast(ValueId v, Type t) { return builder().cast(v, t); }

// Integer operands of a floating-point operation become that type; comparisons follow their widest
// operand.
tile::ValueId KernelLowering::operation(nautilus::Op op, Type type, std::vector<ValueId> args) {
  Type wide = type;
  if (type == Type::Bool && op != Op::Not && op != Op::And && op != Op::Or && args.size() == 2)
    wide = arithmetic_type(elem(args[0]), elem(args[1]));
  for (size_t k = 0; k < args.size(); ++k) {
    if (op == Op::Select && k == 0) continue;
    if (is_float(wide) && !is_float(elem(args[k]))) args[k] = cast(args[k], wide);
  }
  const ValueId v = builder().map(op, std::move(args));
  return cast(v, type);
}

tile::ValueId KernelLowering::lower(At& at, const Expr& e) {
  if (failure_) return -1;
  if (auto it = at.values.find(e); it != at.values.end()) return it->second;
  ValueId v = -1;
  switch (e->op) {
    case Op::Const:
      v = constant(e->value, e->type);
      break;
    case Op::Read:
      v = read(at, e->index);
      break;
    case Op::Index: {
      Instr i;
      i.code = Code::Iota;
      i.index = at.index({at.info->indices.at(static_cast<size_t>(e->index))});
      v = builder().emit(std::move(i));
      break;
    }
    case Op::Param: {
      if (auto s = a_.sizes.find(e->name); s != a_.sizes.end()) {
        v = constant(static_cast<double>(s->second), e->type);
      } else if (is_symbolic(e->name)) {
        v = size_value(e->name, e->type);
      } else if (a_.extents.count(e->name) && a_.extents.at(e->name).empty()) {
        v = load(at, e->name, {}, nullptr, Cond::always());
      } else {
        fail("statement " + at.info->statement->name, "the value of " + e->name + " is not bound");
      }
      break;
    }
    case Op::Var:
      fail("statement " + at.info->statement->name, "free variable " + e->name);
      break;
    case Op::Cast: {
      const ValueId a = lower(at, e->args[0]);
      if (!failure_) v = cast(a, e->type);
      break;
    }
    default: {
      std::vector<ValueId> args;
      for (const Expr& a : e->args) args.push_back(lower(at, a));
      if (!failure_) v = operation(e->op, e->type, std::move(args));
    }
  }
  at.values.emplace(e, v);
  return v;
}

tile::ValueId KernelLowering::lower_with(const Expr& e,
                                         const std::map<std::string, ValueId>& vars) {
  if (failure_) return -1;
  std::map<Expr, ValueId> done;
  std::function<ValueId(const Expr&)> go = [&](const Expr& x) -> ValueId {
    if (failure_) return -1;
    if (auto it = done.find(x); it != done.end()) return it->second;
    ValueId v = -1;
    if (x->op == Op::Const) {
      v = constant(x->value, x->type);
    } else if (x->op == Op::Var) {
      auto it = vars.find(x->name);
      if (it == vars.end())
        fail("expression " + to_string(e), "free variable " + x->name);
      else
        v = it->second;
    } else if (x->op == Op::Param && a_.sizes.count(x->name)) {
      v = constant(static_cast<double>(a_.sizes.at(x->name)), x->type);
    } else if (x->op == Op::Param && is_symbolic(x->name)) {
      v = size_value(x->name, x->type);
    } else if (x->op == Op::Cast) {
      const ValueId a = go(x->args[0]);
      if (!failure_) v = cast(a, x->type);
    } else if (op_arity(x->op) == 0) {
      fail("expression " + to_string(e), "it refers to a read of a statement");
    } else {
      std::vector<ValueId> args;
      for (const Expr& a : x->args) args.push_back(go(a));
      if (!failure_) v = operation(x->op, x->type, std::move(args));
    }
    done.emplace(x, v);
    return v;
  };
  return go(e);
}

tile::ValueId KernelLowering::combine(const poly::Reduction& r, ValueId acc, ValueId value,
                                      Type type) {
  if (failure_) return -1;
  const Expr a = Expr::var("a", elem(acc)), b = Expr::var("b", elem(value));
  return cast(lower_with(poly::combine_expr(r, a, b), {{"a", acc}, {"b", value}}), type);
}

}  // namespace nautilus::lower
