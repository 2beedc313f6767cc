// Correction by separation (RedFuser, arXiv 2603.10026): a fixed-point test of g(r, c) = G(c) (x)
// H(r), with (x) the operation the reduction distributes over: * for sum (and for max and min where
// H > 0), + for max and min.
#include <cmath>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

// The k-th other name (in order of first use) is set to first + k * step.
struct Rest {
  double first, step;
};

struct FixedPoint {
  double reference;
  Rest rest;
  Expr value;  // g there
};

Expr at_reference(const Expr& g, const std::string& ref, double v) {
  return substitute(g, std::map<std::string, Expr>{{ref, Expr::constant(v, var_type(g, ref))}});
}

// Everything but the reference set to numbers.
Expr at_rest(const Expr& g, const std::string& ref, const Rest& rest) {
  std::map<std::string, double> value;
  visit(g, [&](const Expr& x) {
    if (x->op == Op::Var && x->name != ref)
      value.emplace(x->name, rest.first + rest.step * static_cast<double>(value.size()));
  });
  return substitute(g, [&](const Expr& x) -> std::optional<Expr> {
    if (x->op != Op::Var || x->name == ref) return std::nullopt;
    return Expr::constant(value.at(x->name), x->type);
  });
}

bool allowed(double v, const ValueRange& r) {
  return v >= r.lo && v <= r.hi && !(v == 0 && r.excludes_zero);
}

// A point at which g is finite and, for products, not zero: sizes taken as they come (all at 7).
std::optional<FixedPoint> fixed_point(const Expr& g, const std::string& ref, const Ranges& ranges,
                                      bool product) {
  const auto known = ranges.find(ref);
  const ValueRange r = known == ranges.end() ? any_value() : known->second;
  for (double r0 : {0.0, 1.0, 0.5, -1.0, 3.0})
    for (const Rest& c0 : {Rest{1, 0}, {0, 0}, {2, 0}, {0.5, 0}, {1, 1}, {1, 0.5}, {3, -0.5}}) {
      if (!allowed(r0, r)) continue;
      const Expr v = at_rest(at_reference(g, ref, r0), ref, c0);
      EvalEnv env;
      env.param = [](const std::string&) { return 7.0; };
      const double f = evaluate(v, env);
      if (std::isfinite(f) && (!product || std::abs(f) > 1e-6)) return FixedPoint{r0, c0, v};
    }
  return std::nullopt;
}

}  // namespace

Type var_type(const Expr& e, const std::string& var) {
  Type t = Type::F32;
  visit(e, [&](const Expr& x) {
    if (x->op == Op::Var && x->name == var) t = x->type;
  });
  return t;
}

namespace {

Expected<Correction> separate(const Expr& g, const std::string& ref, const Ranges& ranges,
                              bool product, bool need_positive) {
  Refusal no{"derive a correction by separation", "", "", ""};
  const char* sign = product ? " * " : " + ";
  const auto fix = fixed_point(g, ref, ranges, product);
  if (!fix) {
    no.why = "no fixed point was found at which " + to_string(g) + " is finite and not zero";
    return no;
  }
  const auto join = [&](const Expr& a, const Expr& b) { return product ? a * b : a + b; };
  const Expr only_ref = at_rest(g, ref, fix->rest),
             only_rest = at_reference(g, ref, fix->reference);
  const Proof p =
      prove_equal(join(g, fix->value), join(only_rest, only_ref), with_denominators(g, ranges));
  if (!p.ok) {
    no.why = to_string(g) + " is not G(c)" + sign + "H(" + ref + "): " + p.method;
    return no;
  }
  // H's reach: defined, and for products never zero, wherever the reference can be.
  if (auto bad = undefined_part(only_ref, ranges)) {
    no.why = "H(" + ref + ") = " + to_string(only_ref) + ": " + *bad;
    return no;
  }
  const ValueRange h_range = range_of(only_ref, ranges);
  if (product && !h_range.excludes_zero) {
    no.why = "H(" + ref + ") = " + to_string(only_ref) + " can be zero";
    return no;
  }
  if (need_positive && h_range.lo < 0) {
    no.why = "H(" + ref + ") = " + to_string(only_ref) +
             " can be negative, and max and min do not distribute over that";
    return no;
  }
  const Expr moved = substitute(only_ref, {{ref, Expr::var(ref + "'", var_type(g, ref))}});
  const Expr t = Expr::var("t0", g->type);
  Correction c{product ? t * (moved / only_ref) : t + (moved - only_ref), {}};
  c.steps.push_back(
      "fixed point " + ref + " = " + to_string(Expr::constant(fix->reference)) +
      ", rest = " + to_string(Expr::constant(fix->rest.first)) +
      (fix->rest.step != 0
           ? ", " + to_string(Expr::constant(fix->rest.first + fix->rest.step)) + ", .."
           : "") +
      ": g" + sign + to_string(fix->value) + " = " + to_string(only_rest) + sign +
      to_string(only_ref) + " (" + p.method + ")");
  c.steps.push_back("H(" + ref + ") = " + to_string(only_ref) + (product ? ", never zero" : ""));
  c.steps.push_back("h = " + to_string(c.h));
  return c;
}

}  // namespace

Expected<Correction> by_separation(const Expr& g, const std::string& ref, ReduceOp op,
                                   const Ranges& ranges) {
  if (op == ReduceOp::Sum) return separate(g, ref, ranges, true, false);
  if (op == ReduceOp::Max || op == ReduceOp::Min) {
    auto additive = separate(g, ref, ranges, false, false);
    if (additive) return additive;
    auto scaled = separate(g, ref, ranges, true, true);
    if (scaled) return scaled;
    return Refusal{additive.error().asked, "", additive.error().why + "; " + scaled.error().why,
                   ""};
  }
  return Refusal{"derive a correction by separation", "",
                 std::string(reduce_op_name(op)) + " distributes over neither * nor +", ""};
}

}  // namespace nautilus::poly::algebra
