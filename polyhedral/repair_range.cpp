// What values expressions, tensors and running reductions can take: interval and sign arithmetic.
#include <algorithm>
#include <cmath>
#include <limits>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool positive(const ValueRange& r) { return r.lo > 0 || (r.lo >= 0 && r.excludes_zero); }
bool negative(const ValueRange& r) { return r.hi < 0 || (r.hi <= 0 && r.excludes_zero); }
bool nonzero(const ValueRange& r) { return r.excludes_zero || r.lo > 0 || r.hi < 0; }

// Products of interval ends, where 0 * inf is 0 (ends are limits, not values).
double end_product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

ValueRange product(const ValueRange& a, const ValueRange& b) {
  const double e[4] = {end_product(a.lo, b.lo), end_product(a.lo, b.hi), end_product(a.hi, b.lo),
                       end_product(a.hi, b.hi)};
  return between(*std::min_element(e, e + 4), *std::max_element(e, e + 4),
                 nonzero(a) && nonzero(b));
}

ValueRange negated(const ValueRange& a) { return between(-a.hi, -a.lo, a.excludes_zero); }

ValueRange sum(const ValueRange& a, const ValueRange& b) {
  const bool same_sign = (a.lo >= 0 && b.lo >= 0) || (a.hi <= 0 && b.hi <= 0);
  const double lo = a.lo + b.lo, hi = a.hi + b.hi;
  return between(std::isnan(lo) ? -kInf : lo, std::isnan(hi) ? kInf : hi,
                 same_sign && (nonzero(a) || nonzero(b)));
}

ValueRange reciprocal(const ValueRange& a) {
  if (positive(a)) return between(a.hi == kInf ? 0 : 1 / a.hi, a.lo > 0 ? 1 / a.lo : kInf, true);
  if (negative(a)) return negated(reciprocal(negated(a)));
  return between(-kInf, kInf, true);
}

// A non-decreasing function applied to the ends.
template <class F>
ValueRange monotone(const ValueRange& a, F f, bool excludes_zero = false) {
  return between(f(a.lo), f(a.hi), excludes_zero);
}

ValueRange square_like(const ValueRange& a, double exponent) {
  const double m = std::max(std::abs(a.lo), std::abs(a.hi));
  const double least = a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0;
  return between(std::pow(least, exponent), std::pow(m, exponent), nonzero(a));
}

ValueRange power(const ValueRange& a, const Expr& exponent, const ValueRange& e) {
  if (exponent->op == Op::Const && exponent->value >= 1 && std::fmod(exponent->value, 2) == 0)
    return square_like(a, exponent->value);
  if (positive(a)) return between(0, kInf, true);
  if (exponent->op == Op::Const && exponent->value >= 1 && a.lo >= 0)
    return between(std::pow(a.lo, e.lo), a.hi == kInf ? kInf : std::pow(a.hi, e.lo), nonzero(a));
  return any_value("");
}

// The range of an operation's result; undefined arguments are undefined_part's business.
ValueRange range_after(const Expr& e, const std::vector<ValueRange>& a) {
  switch (e->op) {
    case Op::Neg:
      return negated(a[0]);
    case Op::Abs:
      return square_like(a[0], 1);
    case Op::Exp:
      return monotone(a[0], [](double x) { return std::exp(x); }, true);
    case Op::Exp2:
      return monotone(a[0], [](double x) { return std::exp2(x); }, true);
    case Op::Log:
      return monotone(a[0], [](double x) { return x > 0 ? std::log(x) : -kInf; });
    case Op::Log2:
      return monotone(a[0], [](double x) { return x > 0 ? std::log2(x) : -kInf; });
    case Op::Sqrt:
      return monotone(a[0], [](double x) { return x > 0 ? std::sqrt(x) : 0; }, positive(a[0]));
    case Op::Rsqrt: {
      const auto root = [](double x) { return x > 0 ? std::sqrt(x) : 0; };
      return reciprocal(between(root(a[0].lo), root(a[0].hi), true));
    }
    case Op::Recip:
      return reciprocal(a[0]);
    case Op::Tanh:
      return monotone(a[0], [](double x) { return std::tanh(x); }, nonzero(a[0]));
    case Op::Erf:
      return monotone(a[0], [](double x) { return std::erf(x); }, nonzero(a[0]));
    case Op::Sigmoid:
      return between(0, 1, true);
    case Op::Floor:
      return monotone(a[0], [](double x) { return std::floor(x); });
    case Op::Cast: {
      if (e->type == Type::Bool) return between(0, 1);
      return between(a[0].lo, a[0].hi,
                     a[0].excludes_zero && type_bytes(e->type) >= 4 && is_float(e->type));
    }
    case Op::Add:
      return sum(a[0], a[1]);
    case Op::Sub:
      return sum(a[0], negated(a[1]));
    case Op::Mul:
      return e->args[0] == e->args[1] ? square_like(a[0], 2) : product(a[0], a[1]);
    case Op::Div:
      return product(a[0], reciprocal(a[1]));
    case Op::Pow:
      return power(a[0], e->args[1], a[1]);
    case Op::Min:
      return between(std::min(a[0].lo, a[1].lo), std::min(a[0].hi, a[1].hi),
                     nonzero(a[0]) && nonzero(a[1]));
    case Op::Max:
      return between(std::max(a[0].lo, a[1].lo), std::max(a[0].hi, a[1].hi),
                     positive(a[0]) || positive(a[1]) || (nonzero(a[0]) && nonzero(a[1])));
    case Op::Select:
      return between(std::min(a[1].lo, a[2].lo), std::max(a[1].hi, a[2].hi),
                     nonzero(a[1]) && nonzero(a[2]));
    default:
      return between(0, 1);  // comparisons and logic
  }
}

ValueRange leaf_range(const Expr& e, const Ranges& ranges) {
  if (e->op == Op::Const) return between(e->value, e->value, e->value != 0);
  const auto it = ranges.find(e->op == Op::Param ? "@" + e->name : e->name);
  if (it != ranges.end()) return it->second;
  return e->op == Op::Param ? between(0, kInf) : any_value();
}

using Known = std::map<const ExprNode*, ValueRange>;

ValueRange go(const Expr& e, const std::function<ValueRange(const Expr&)>& leaf, Known& known) {
  if (auto it = known.find(&*e); it != known.end()) return it->second;
  ValueRange r;
  if (e->args.empty()) {
    r = leaf(e);
  } else {
    std::vector<ValueRange> args;
    for (const Expr& a : e->args) args.push_back(go(a, leaf, known));
    r = range_after(e, args);
  }
  known.emplace(&*e, r);
  return r;
}

std::string can_be(const Expr& e, std::string_view what) {
  return to_string(e) + " can be " + std::string(what);
}

// Smallest and largest value of the type.
ValueRange type_range(Type t) {
  switch (t) {
    case Type::Bool:
      return between(0, 1);
    case Type::I8:
      return between(-128, 127);
    case Type::I32:
      return between(-2147483648.0, 2147483647.0);
    default:
      return any_value();
  }
}

// Ranges of a program's tensors, each computed once; recursion follows the definitions (no cycles).
class ProgramRanges {
 public:
  explicit ProgramRanges(const Program& p) : p_(p) {}

  ValueRange tensor(const std::string& name) {
    if (auto it = known_.find(name); it != known_.end()) return it->second;
    const Tensor* t = p_.tensor(name);
    ValueRange r = t ? type_range(t->type) : any_value();
    known_[name] = any_value("it is read while it is being computed");
    std::optional<ValueRange> written;
    for (const Statement& s : p_.statements) {
      if (s.write.tensor != name) continue;
      ValueRange w = s.reduction ? running(s) : term(s);
      // Elements that no instance writes, and the value before the first instance.
      if (s.reduction && !std::isinf(identity_value(*s.reduction))) {
        const double id = identity_value(*s.reduction);
        w = between(std::min(w.lo, id), std::max(w.hi, id), w.excludes_zero && id != 0, w.why);
      }
      written = written ? between(std::min(written->lo, w.lo), std::max(written->hi, w.hi),
                                  nonzero(*written) && nonzero(w))
                        : w;
    }
    if (written && (!t || t->kind != TensorKind::Input)) r = *written;
    known_[name] = r;
    return r;
  }

  ValueRange term(const Statement& s) {
    Known known;
    return go(
        s.expr,
        [&](const Expr& e) -> ValueRange {
          switch (e->op) {
            case Op::Read:
              return e->index >= 0 && static_cast<size_t>(e->index) < s.reads.size()
                         ? tensor(s.reads[static_cast<size_t>(e->index)].tensor)
                         : any_value();
            case Op::Param:
              return param_range(p_, s, e->name);
            default:
              return leaf_range(e, {});
          }
        },
        known);
  }

  // After at least one instance.
  ValueRange running(const Statement& s) {
    const ValueRange e = term(s);
    const std::string what =
        std::string(reduce_op_name(s.reduction->op)) + " of terms in " + range_text(e);
    switch (s.reduction->op) {
      case ReduceOp::Sum:
        if (e.lo >= 0) return between(e.lo, kInf, nonzero(e), what);
        if (e.hi <= 0) return between(-kInf, e.hi, nonzero(e), what);
        return between(-kInf, kInf, false, what + ": partial sums can pass through zero");
      case ReduceOp::Prod:
        if (e.lo >= 0) return between(0, kInf, nonzero(e), what);
        return between(-kInf, kInf, nonzero(e), what);
      case ReduceOp::Max:
      case ReduceOp::Min:
        return between(e.lo, e.hi, nonzero(e), what);
      case ReduceOp::Any:
      case ReduceOp::All:
        return between(0, 1, false, what);
      case ReduceOp::User:
        return any_value("a user-defined reduction");
    }
    return any_value();
  }

  static std::string range_text(const ValueRange& r) {
    const auto n = [](double v) { return to_string(Expr::constant(v)); };
    const bool open = r.lo == 0 && r.excludes_zero;
    return (open || r.lo == -kInf ? "(" : "[") + n(r.lo) + ", " + n(r.hi) +
           (r.hi == kInf || (r.hi == 0 && r.excludes_zero) ? ")" : "]") +
           (r.lo < 0 && r.hi > 0 && r.excludes_zero ? " without 0" : "");
  }

 private:
  const Program& p_;
  std::map<std::string, ValueRange> known_;
};

}  // namespace

ValueRange any_value(std::string why) { return {-kInf, kInf, false, std::move(why)}; }

ValueRange between(double lo, double hi, bool excludes_zero, std::string why) {
  return {lo, hi, excludes_zero || lo > 0 || hi < 0, std::move(why)};
}

ValueRange range_of(const Expr& e, const Ranges& ranges) {
  Known known;
  return go(e, [&](const Expr& x) { return leaf_range(x, ranges); }, known);
}

std::optional<std::string> undefined_part(const Expr& e, const Ranges& ranges) {
  Known known;
  const auto leaf = [&](const Expr& x) { return leaf_range(x, ranges); };
  std::optional<std::string> bad;
  visit(e, [&](const Expr& x) {
    if (bad || x->args.empty()) return;
    const Expr& last = x->args.back();
    const ValueRange r = go(last, leaf, known);
    switch (x->op) {
      case Op::Div:
      case Op::Recip:
        if (!nonzero(r)) bad = can_be(last, "zero");
        return;
      case Op::Rsqrt:
      case Op::Log:
      case Op::Log2:
        if (!positive(r)) bad = can_be(last, "zero or negative");
        return;
      case Op::Sqrt:
        if (r.lo < 0) bad = can_be(last, "negative");
        return;
      case Op::Pow:
        if (!positive(go(x->args[0], leaf, known)) &&
            !(last->op == Op::Const && last->value >= 0 && last->value == std::floor(last->value)))
          bad = can_be(x->args[0], "zero or negative, raised to " + to_string(last));
        return;
      default:
        return;
    }
  });
  return bad;
}

Ranges with_denominators(const Expr& g, Ranges ranges) {
  visit(g, [&](const Expr& x) {
    if (x->op != Op::Div && x->op != Op::Recip) return;
    const Expr& d = x->args.back();
    if (d->op != Op::Var) return;
    ranges.emplace(d->name, any_value()).first->second.excludes_zero = true;
  });
  return ranges;
}

ValueRange param_range(const Program& p, const Statement& s, const std::string& param) {
  // Given that the statement has an instance: the sizes for which its domain is not empty.
  try {
    const isl::set sizes = s.domain.params().intersect_params(p.param_context);
    const auto names = param_names(sizes);
    if (std::find(names.begin(), names.end(), param) == names.end())
      return between(0, kInf, false, "a size");
    const isl::set none(p.context->get(), "[" + param + "] -> { : " + param + " <= 0 }");
    if (sizes.intersect(none).is_empty())
      return between(1, kInf, true, "the size of a non-empty domain");
  } catch (const isl::exception&) {
  }
  return between(0, kInf, false, "a size");
}

ValueRange term_range(const Program& p, const Statement& s) { return ProgramRanges(p).term(s); }
ValueRange tensor_range(const Program& p, const std::string& tensor) {
  return ProgramRanges(p).tensor(tensor);
}

}  // namespace nautilus::poly::algebra

namespace nautilus::poly {

// The values a reduction holds after its first term; before, it is the identity (guarded
// separately).
ValueRange running_range(const Program& p, const std::string& statement) {
  const Statement* s = p.statement(statement);
  if (!s || !s->reduction) return algebra::any_value("not a reduction");
  return algebra::ProgramRanges(p).running(*s);
}

}  // namespace nautilus::poly
