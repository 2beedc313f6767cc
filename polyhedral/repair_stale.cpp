// When a stale reference may stay: from the correction to a condition on the two values.
#include <cmath>
#include <numbers>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

// A correction with the other sources unchanged and without its guards: those on the source hold
// where it did not change either, those on others keep the accumulator, as no change of them does.
Expr change_of(const Expr& correction, const std::string& source,
               const std::vector<std::string>& sources) {
  std::map<std::string, Expr> unchanged;
  for (const std::string& s : sources)
    if (s != source) unchanged.emplace(s + "'", Expr::var(s, var_type(correction, s + "'")));
  const std::function<std::optional<Expr>(const Expr&)> open =
      [&](const Expr& x) -> std::optional<Expr> {
    if (x->op != Op::Select) return std::nullopt;
    const bool own = contains_var(x->args[0], source) || contains_var(x->args[0], source + "'");
    return substitute(x->args[own ? 2 : 1], open);
  };
  return simplify(substitute(substitute(correction, open), unchanged));
}

// F with change = accumulator * F, F over the source's two values alone.
std::optional<Expr> factor_of(const Expr& change, size_t accumulator, const std::string& source,
                              const Ranges& facts, std::string& method) {
  const std::string t = "t" + std::to_string(accumulator);
  const Expr tidy = rewrite_without(change, {}, facts).value_or(change);
  const Expr factor = simplify(
      substitute(tidy, std::map<std::string, Expr>{{t, Expr::constant(1, var_type(tidy, t))}}));
  for (const std::string& v : free_vars(factor))
    if (v != source && v != source + "'") return std::nullopt;
  const Proof proof = prove_equal(change, Expr::var(t, var_type(tidy, t)) * factor, facts);
  method = proof.method;
  return proof.ok ? std::optional<Expr>(factor) : std::nullopt;
}

// 2^-bound <= f <= 2^bound, by the exponent where f is an exponential.
Expr within(const Expr& f, double bound) {
  if (f->op == Op::Exp || f->op == Op::Exp2) {
    const double limit = f->op == Op::Exp ? bound * std::numbers::ln2 : bound;
    return Expr::make(Op::Le, {Expr::make(Op::Abs, {f->args[0]}), Expr::constant(limit, f->type)});
  }
  return Expr::make(Op::And, {Expr::make(Op::Le, {Expr::constant(std::exp2(-bound), f->type), f}),
                              Expr::make(Op::Le, {f, Expr::constant(std::exp2(bound), f->type)})});
}

}  // namespace

std::optional<Expr> may_stay(Repair& r, const std::string& source, double bound,
                             const Ranges& facts) {
  Expr all;
  std::vector<Obligation> shown;
  for (size_t k = 0; k < r.corrections.size(); ++k) {
    std::string method;
    const auto f =
        factor_of(change_of(r.corrections[k], source, r.source_tensors), k, source, facts, method);
    if (!f) return std::nullopt;
    const Expr c = within(*f, bound);
    if (all && !(all == c)) return std::nullopt;
    all = c;
    shown.push_back({"a change of " + source + " alone scales " + r.target_tensors.at(k) + " by " +
                         to_string(*f) + ": within 2^-" + std::to_string(static_cast<int>(bound)) +
                         " and 2^" + std::to_string(static_cast<int>(bound)) + " while " +
                         to_string(c),
                     method});
    shown.back().discharged = true;
  }
  if (!all) return std::nullopt;
  r.obligations.insert(r.obligations.end(), shown.begin(), shown.end());
  const Type type = var_type(all, source);
  return Expr::make(
      Op::Or, {Expr::make(Op::Eq, {Expr::var(source, type), Expr::var(source + "'", type)}), all});
}

}  // namespace nautilus::poly::algebra
