#include "polyhedral/instances.h"

#include "polyhedral/index_expr.h"

#include <memory>
#include <stdexcept>

namespace nautilus::poly {

namespace {

int64_t dot(const std::vector<int64_t>& c, std::span<const int64_t> x) {
  int64_t sum = 0;
  for (size_t k = 0; k < c.size() && k < x.size(); ++k) sum += c[k] * x[k];
  return sum;
}

std::vector<int64_t> div_values(const std::vector<LinearDiv>& defs, std::span<const int64_t> dims) {
  std::vector<int64_t> values;
  for (const LinearDiv& d : defs)
    values.push_back(
        floor_div(dot(d.dims, dims) + dot(d.divs, values) + d.constant, d.denominator));
  return values;
}

// Integer expression of isl's loop AST; loop variables are slots of a stack frame.
struct Ast;
using AstPtr = std::unique_ptr<Ast>;
struct Ast {
  enum class Op {
    Const,
    Var,
    And,
    Or,
    Max,
    Min,
    Minus,
    Add,
    Sub,
    Mul,
    FloorDiv,
    Mod,
    ZeroMod,
    Cond,
    Eq,
    Le,
    Lt,
    Ge,
    Gt
  } op = Op::Const;
  int64_t value = 0;  // Const; Var: slot
  std::vector<AstPtr> args;

  int64_t eval(const std::vector<int64_t>& frame) const {
    auto a = [&](size_t k) { return args[k]->eval(frame); };
    switch (op) {
      case Op::Const:
        return value;
      case Op::Var:
        return frame[static_cast<size_t>(value)];
      case Op::And:
        return a(0) && a(1);
      case Op::Or:
        return a(0) || a(1);
      case Op::Max:
        return fold(frame, [](int64_t x, int64_t y) { return std::max(x, y); });
      case Op::Min:
        return fold(frame, [](int64_t x, int64_t y) { return std::min(x, y); });
      case Op::Minus:
        return -a(0);
      case Op::Add:
        return a(0) + a(1);
      case Op::Sub:
        return a(0) - a(1);
      case Op::Mul:
        return a(0) * a(1);
      case Op::FloorDiv:
        return floor_div(a(0), a(1));
      case Op::Mod: {
        const int64_t d = a(1);
        return a(0) - floor_div(a(0), d) * d;
      }
      case Op::ZeroMod:
        return a(0) % a(1);
      case Op::Cond:
        return a(0) ? a(1) : a(2);
      case Op::Eq:
        return a(0) == a(1);
      case Op::Le:
        return a(0) <= a(1);
      case Op::Lt:
        return a(0) < a(1);
      case Op::Ge:
        return a(0) >= a(1);
      case Op::Gt:
        return a(0) > a(1);
    }
    return 0;
  }

 private:
  template <class Fn>
  int64_t fold(const std::vector<int64_t>& frame, Fn f) const {
    int64_t v = args[0]->eval(frame);
    for (size_t k = 1; k < args.size(); ++k) v = f(v, args[k]->eval(frame));
    return v;
  }
};

// One node of the loop AST, compiled.
struct Step {
  enum class Kind { Block, For, If, User } kind = Kind::Block;
  std::vector<std::unique_ptr<Step>> children;
  AstPtr init, cond, inc;
  size_t slot = 0;
  std::string statement;
  std::vector<AstPtr> dims;
};

class Compiler {
 public:
  std::unique_ptr<Step> step(const isl::ast_node& n) {
    auto out = std::make_unique<Step>();
    if (n.isa<isl::ast_node_block>()) {
      n.as<isl::ast_node_block>().children().foreach (
          [&](isl::ast_node c) { out->children.push_back(step(c)); });
    } else if (n.isa<isl::ast_node_for>()) {
      const auto loop = n.as<isl::ast_node_for>();
      out->kind = Step::Kind::For;
      out->init = expr(loop.init());
      const std::string name = loop.iterator().as<isl::ast_expr_id>().id().name();
      out->slot = slots_.emplace(name, slots_.size()).first->second;
      if (!loop.is_degenerate()) {
        out->cond = expr(loop.cond());
        out->inc = expr(loop.inc());
      }
      out->children.push_back(step(loop.body()));
    } else if (n.isa<isl::ast_node_if>()) {
      const auto branch = n.as<isl::ast_node_if>();
      out->kind = Step::Kind::If;
      out->cond = expr(branch.cond());
      out->children.push_back(step(branch.then_node()));
      if (branch.has_else_node()) out->children.push_back(step(branch.else_node()));
    } else if (n.isa<isl::ast_node_mark>()) {
      return step(n.as<isl::ast_node_mark>().node());
    } else {
      const auto call = n.as<isl::ast_node_user>().expr().as<isl::ast_expr_op>();
      out->kind = Step::Kind::User;
      out->statement = call.arg(0).as<isl::ast_expr_id>().id().name();
      for (unsigned k = 1; k < call.n_arg(); ++k)
        out->dims.push_back(expr(call.arg(static_cast<int>(k))));
    }
    return out;
  }
  size_t slots() const { return slots_.size(); }

 private:
  std::map<std::string, size_t> slots_;

  AstPtr expr(const isl::ast_expr& e) {
    auto out = std::make_unique<Ast>();
    if (e.isa<isl::ast_expr_int>()) {
      out->value = to_int(e.as<isl::ast_expr_int>().val());
      return out;
    }
    if (e.isa<isl::ast_expr_id>()) {
      out->op = Ast::Op::Var;
      out->value = static_cast<int64_t>(slots_.at(e.as<isl::ast_expr_id>().id().name()));
      return out;
    }
    const auto op = e.as<isl::ast_expr_op>();
    out->op = kind(op);
    for (unsigned k = 0; k < op.n_arg(); ++k)
      out->args.push_back(expr(op.arg(static_cast<int>(k))));
    return out;
  }

  static Ast::Op kind(const isl::ast_expr_op& e) {
    using Op = Ast::Op;
    if (e.isa<isl::ast_expr_op_and>() || e.isa<isl::ast_expr_op_and_then>()) return Op::And;
    if (e.isa<isl::ast_expr_op_or>() || e.isa<isl::ast_expr_op_or_else>()) return Op::Or;
    if (e.isa<isl::ast_expr_op_max>()) return Op::Max;
    if (e.isa<isl::ast_expr_op_min>()) return Op::Min;
    if (e.isa<isl::ast_expr_op_minus>()) return Op::Minus;
    if (e.isa<isl::ast_expr_op_add>()) return Op::Add;
    if (e.isa<isl::ast_expr_op_sub>()) return Op::Sub;
    if (e.isa<isl::ast_expr_op_mul>()) return Op::Mul;
    if (e.isa<isl::ast_expr_op_div>() || e.isa<isl::ast_expr_op_fdiv_q>() ||
        e.isa<isl::ast_expr_op_pdiv_q>())
      return Op::FloorDiv;
    if (e.isa<isl::ast_expr_op_pdiv_r>()) return Op::Mod;
    if (e.isa<isl::ast_expr_op_zdiv_r>()) return Op::ZeroMod;
    if (e.isa<isl::ast_expr_op_cond>() || e.isa<isl::ast_expr_op_select>()) return Op::Cond;
    if (e.isa<isl::ast_expr_op_eq>()) return Op::Eq;
    if (e.isa<isl::ast_expr_op_le>()) return Op::Le;
    if (e.isa<isl::ast_expr_op_lt>()) return Op::Lt;
    if (e.isa<isl::ast_expr_op_ge>()) return Op::Ge;
    if (e.isa<isl::ast_expr_op_gt>()) return Op::Gt;
    isl::exception::throw_invalid("loop expression of an unknown kind", __FILE__, __LINE__);
    return Op::Const;
  }
};

class Runner {
 public:
  Runner(uint64_t limit, size_t slots, const InstanceVisitor& visit)
      : limit_(limit), frame_(slots), visit_(visit) {}
  // False: stopped by the visitor or the limit.
  bool run(const Step& s) {
    switch (s.kind) {
      case Step::Kind::Block:
        for (const auto& c : s.children)
          if (!run(*c)) return false;
        return true;
      case Step::Kind::If:
        if (s.cond->eval(frame_)) return run(*s.children[0]);
        return s.children.size() < 2 || run(*s.children[1]);
      case Step::Kind::For:
        return loop(s);
      case Step::Kind::User:
        dims_.clear();
        for (const auto& d : s.dims) dims_.push_back(d->eval(frame_));
        ++instances_;
        return visit_(s.statement, dims_);
    }
    return true;
  }
  bool limited() const { return steps_ > limit_; }
  uint64_t instances() const { return instances_; }

 private:
  uint64_t limit_, steps_ = 0, instances_ = 0;
  std::vector<int64_t> frame_, dims_;
  const InstanceVisitor& visit_;

  bool loop(const Step& s) {
    frame_[s.slot] = s.init->eval(frame_);
    if (!s.cond) return run(*s.children[0]);
    const int64_t inc = s.inc->eval(frame_);
    for (; s.cond->eval(frame_); frame_[s.slot] += inc) {
      if (++steps_ > limit_) return false;
      if (!run(*s.children[0])) return false;
    }
    return true;
  }
};

}  // namespace

Expected<uint64_t> for_each_instance(const isl::schedule& order, uint64_t max_steps,
                                     const InstanceVisitor& visit) {
  if (order.domain().is_empty()) return uint64_t{0};
  Compiler compiler;
  auto step = with_quota(order.ctx(), 10 * kDefaultQuota, [&] {
    return std::shared_ptr<Step>(compiler.step(isl::ast_build(order.ctx()).node_from(order)));
  });
  if (!step) {
    Refusal r = step.error();
    r.asked = "loops of the given order";
    return r;
  }
  Runner runner(max_steps, compiler.slots(), visit);
  runner.run(**step);
  if (runner.limited())
    return Refusal{"run instances in order", "",
                   "more than " + std::to_string(max_steps) + " steps", "use smaller sizes"};
  return runner.instances();
}

AffineFunction::AffineFunction(const isl::aff& a) : form_(linear_form(a)) {}

int64_t AffineFunction::operator()(std::span<const int64_t> dims) const {
  const int64_t numerator = form_.div_defs.empty()
                                ? dot(form_.dims, dims) + form_.constant
                                : dot(form_.dims, dims) +
                                      dot(form_.divs, div_values(form_.div_defs, dims)) +
                                      form_.constant;
  return floor_div(numerator, form_.denominator);
}

bool contains(const LinearSet& s, std::span<const int64_t> dims) {
  const std::vector<int64_t> divs = div_values(s.divs, dims);
  for (const LinearConstraint& c : s.constraints) {
    const int64_t v = dot(c.dims, dims) + dot(c.divs, divs) + c.constant;
    if (c.equality ? v != 0 : v < 0) return false;
  }
  return true;
}

PiecewiseFunction::PiecewiseFunction(const isl::pw_multi_aff& f, const isl::set& domain) {
  f.foreach_piece([&](isl::set where, isl::multi_aff value) {
    Piece p;
    p.everywhere = domain.is_subset(where);
    if (!p.everywhere) p.where = linear_form(where);
    for (unsigned k = 0; k < value.size(); ++k)
      p.values.emplace_back(value.at(static_cast<int>(k)));
    pieces_.push_back(std::move(p));
  });
}

bool PiecewiseFunction::operator()(std::span<const int64_t> dims, std::vector<int64_t>& out) const {
  for (const Piece& p : pieces_) {
    bool inside = p.everywhere;
    for (size_t k = 0; !inside && k < p.where.size(); ++k) inside = contains(p.where[k], dims);
    if (!inside) continue;
    out.clear();
    for (const AffineFunction& v : p.values) out.push_back(v(dims));
    return true;
  }
  return false;
}

}  // namespace nautilus::poly
