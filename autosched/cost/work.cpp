// Operations of the mathematics: what a statement computes, by unit, before any schedule.
#include <cmath>

#include "autosched/cost/units.h"

namespace nautilus::sched {
namespace {

// Drops casts that only widen or narrow a value on its way into a product.
const ExprNode* behind_casts(const Expr& e) {
  const ExprNode* n = e.operator->();
  while (n->op == Op::Cast) n = n->args[0].operator->();
  return n;
}

}  // namespace

const char* unit_of(Op op) {
  switch (op) {
    case Op::Const:
    case Op::Var:
    case Op::Read:
    case Op::Index:
    case Op::Param:
      return nullptr;
    case Op::Exp:
    case Op::Exp2:
    case Op::Log:
    case Op::Log2:
    case Op::Tanh:
    case Op::Erf:
    case Op::Sigmoid:
      return "special";
    case Op::Sqrt:
    case Op::Rsqrt:
    case Op::Recip:
    case Op::Div:
    case Op::Pow:
      return "divide";
    case Op::Cast:
    case Op::Floor:
      return "convert";
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne:
    case Op::And:
    case Op::Or:
    case Op::Not:
    case Op::Select:
    case Op::Min:
    case Op::Max:
      return "compare";
    case Op::Neg:
    case Op::Abs:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
      return "fma";
  }
  return "fma";
}

std::map<std::string, double> units_of(const Expr& e) {
  std::map<std::string, double> out;
  if (e)
    visit(e, [&](const Expr& n) {
      if (const char* u = unit_of(n->op)) out[u] += 1;
    });
  return out;
}

const char* combine_unit(poly::ReduceOp op) {
  switch (op) {
    case poly::ReduceOp::Max:
    case poly::ReduceOp::Min:
    case poly::ReduceOp::Any:
    case poly::ReduceOp::All:
      return "compare";
    default:
      return "fma";
  }
}

// sum over reduced dims of a product of two reads: what a matrix unit computes.
bool is_product_sum(const StmtModel& m, Type* operand_type, bool* mixed) {
  const poly::Statement& s = *m.stmt;
  if (!s.reduction || s.reduction->op != poly::ReduceOp::Sum || !s.expr) return false;
  const ExprNode* e = behind_casts(s.expr);
  if (e->op != Op::Mul) return false;
  const ExprNode *a = behind_casts(e->args[0]), *b = behind_casts(e->args[1]);
  if (a->op != Op::Read || b->op != Op::Read || a->index == b->index) return false;
  auto type = [&](int read) {
    const poly::Tensor* t = m.accesses[read].tensor;
    return t ? t->type : Type::F32;
  };
  if (mixed) *mixed = type_bytes(type(a->index)) != type_bytes(type(b->index));
  if (operand_type)
    *operand_type =
        type_bytes(type(a->index)) <= type_bytes(type(b->index)) ? type(a->index) : type(b->index);
  return true;
}

StatementWork statement_work(const StmtModel& m) {
  StatementWork w;
  const poly::Statement& s = *m.stmt;
  double per = 0, special = 0;
  for (auto& [unit, n] : units_of(s.expr)) {
    per += n;
    if (unit == "special") special += n;
  }
  if (s.reduction) per += 1;
  w.flops = m.instances * per;
  if (is_product_sum(m, &w.matrix_type)) w.flops = w.matrix_flops = 2 * m.instances;
  // An exponential that does not vary over every dim may be computed once and kept: count only what
  // varies.
  bool varies = !m.accesses.empty();
  for (size_t k = 0; k < m.lo.size(); ++k) {
    bool used = false;
    for (const AccessModel& a : m.accesses)
      if (!a.write && a.depends[k]) used = true;
    if (!used && m.extent(static_cast<int>(k)) > 1) varies = false;
  }
  if (varies) w.special = m.instances * special;
  return w;
}

}  // namespace nautilus::sched
