// Does what is finally stored depend on which value a running reference has? Each tensor gets a
// form over the reference and unknowns; reductions keep H(reference) in front; at the outputs the
// reference must have cancelled.
#include <limits>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

constexpr const char* kRef = "ref";

class Tracker {
 public:
  Tracker(const Program& p, const Statement& source) : p_(p), source_(source) {
    facts_[kRef] = facts_["ref'"] = running_range(p, source.name);
    const Tensor* t = p.tensor(source.write.tensor);
    forms_[source.write.tensor] = {Expr::var(kRef), std::nullopt};
    if (t && t->kind == TensorKind::Output) failed_ = true;
  }

  std::optional<Obligation> run() {
    bool after = false;
    for (const Statement& s : p_.statements) {
      if (after && !failed_) statement(s);
      after = after || s.name == source_.name;
      if (failed_) return std::nullopt;
    }
    if (cancelled_.empty()) return std::nullopt;
    std::string where;
    for (const std::string& c : cancelled_) where += (where.empty() ? "" : ", ") + c;
    return Obligation{"what is stored does not depend on the value of " + source_.write.tensor +
                          ": it cancels in " + where,
                      "e-graph", true};
  }

 private:
  struct Form {
    Expr value;  // over "ref" and unknowns
    std::optional<isl::map>
        element;  // { element -> element of the source }; none: the source itself
  };
  const Program& p_;
  const Statement& source_;
  Ranges facts_;
  std::map<std::string, Form> forms_;  // tensors that depend on the reference
  std::vector<std::string> cancelled_;
  int unknowns_ = 0;
  bool failed_ = false;

  Expr unknown(Type t) { return Expr::var("a" + std::to_string(unknowns_++), t); }

  // Each use gets unknowns of its own: less is assumed equal than is.
  Expr fresh(const Expr& form) {
    std::map<std::string, Expr> by;
    for (const std::string& n : free_vars(form))
      if (n != kRef) by.emplace(n, unknown(var_type(form, n)));
    return substitute(form, by);
  }

  // One value of the statement's expression; `element` becomes { instance -> element of the source
  // }.
  Expr value_of(const Statement& s, std::optional<isl::map>& element) {
    return substitute(s.expr, [&](const Expr& x) -> std::optional<Expr> {
      if (x->op == Op::Index) return unknown(Type::I32);
      if (x->op != Op::Read) return std::nullopt;
      const Access& a = s.reads.at(static_cast<size_t>(x->index));
      const auto it = forms_.find(a.tensor);
      if (it == forms_.end()) return unknown(x->type);
      isl::map at = a.map.intersect_domain(s.domain);
      if (it->second.element) at = at.apply_range(*it->second.element);
      // Where two values both depend on a source's element, it is the same one.
      if (element) at = at.unite(*element);
      if (!a.gathers.empty() || !at.is_single_valued()) failed_ = true;
      element = at;
      return fresh(it->second.value);
    });
  }

  // Casts of what still depends on the reference do not commute with changing it.
  Expr without_casts(const Expr& e) {
    return substitute(e, [&](const Expr& x) -> std::optional<Expr> {
      if (x->op != Op::Cast || !contains_var(x, kRef)) return std::nullopt;
      const Expr arg = without_casts(x->args[0]);
      const bool widening = is_float(x->type) && type_bytes(x->type) >= 4 &&
                            type_bytes(x->type) >= type_bytes(x->args[0]->type);
      if (widening) return arg;
      const auto free = rewrite_without(arg, {kRef}, with_denominators(arg, facts_));
      if (!free) failed_ = true;
      return unknown(x->type);
    });
  }

  void statement(const Statement& s) {
    for (const Access& a : s.reads)
      if (forms_.contains(a.tensor) && s.guard) failed_ = true;  // the guard may look at it
    std::optional<isl::map> element;
    Expr v = without_casts(value_of(s, element));
    if (failed_ || !contains_var(v, kRef)) return;
    if (forms_.contains(s.write.tensor)) {
      failed_ = true;
      return;
    }
    const Ranges facts = positive_unknowns(v);
    if (const auto free = rewrite_without(v, {kRef}, facts)) {
      cancelled_.push_back(s.write.tensor);
      return;
    }
    if (s.reduction) {
      const auto h = by_separation(v, kRef, s.reduction->op, facts);
      if (!h) {
        failed_ = true;
        return;
      }
      v = front(v, s.reduction->op);
    }
    const Tensor* t = p_.tensor(s.write.tensor);
    if (!t || t->kind == TensorKind::Output) {
      failed_ = true;
      return;
    }
    const isl::map to = s.write.map.intersect_domain(s.domain).reverse().apply_range(*element);
    if (!to.is_single_valued()) failed_ = true;
    forms_[s.write.tensor] = {v, to};
  }

  // H(ref) times (for max and min that separate by sums: plus) an unknown.
  Expr front(const Expr& v, ReduceOp op) {
    std::map<std::string, Expr> one, zero;
    for (const std::string& n : free_vars(v))
      if (n != kRef) one.emplace(n, Expr::constant(1)), zero.emplace(n, Expr::constant(0));
    const Expr h = substitute(v, one);
    if (op == ReduceOp::Sum) return h * unknown(Type::F32);
    const Expr sum = substitute(v, zero);
    const Expr scaled =
        by_separation(v, kRef, ReduceOp::Sum, facts_) ? h * unknown(Type::F32) : Expr();
    return scaled ? scaled : sum + unknown(Type::F32);
  }

  // What is divided by is not zero, and logarithms are taken of positive values, wherever they are
  // computed.
  Ranges positive_unknowns(const Expr& v) {
    Ranges facts = facts_;
    const auto mark = [&](const Expr& e) {
      visit(e, [&](const Expr& x) {
        if (x->op == Op::Var && x->name != kRef)
          facts[x->name] = between(0, std::numeric_limits<double>::infinity(), true);
      });
    };
    visit(v, [&](const Expr& x) {
      if (x->op == Op::Div || x->op == Op::Recip) {
        visit(x->args.back(), [&](const Expr& y) {
          if (y->op == Op::Var && y->name != kRef) {
            auto [it, fresh] = facts.emplace(y->name, any_value());
            it->second.excludes_zero = true;
          }
        });
      }
      if (x->op == Op::Log || x->op == Op::Log2) mark(x->args[0]);
    });
    return facts;
  }
};

}  // namespace

std::optional<Obligation> lazy_reference(const Program& p, const std::string& source) {
  const Statement* s = p.statement(source);
  if (!s) return std::nullopt;
  try {
    return Tracker(p, *s).run();
  } catch (const isl::exception&) {
    return std::nullopt;
  }
}

}  // namespace nautilus::poly::algebra
