// When a stale reference may stay: from the correction to a condition on the two values.
#include <cmath>
#include <numbers>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

using Exprs = std::map<std::string, Expr>;

// The correction where its source changed: guards open, those on the source collected in `guard`
// (they keep the accumulator where the source did not change, or had no value). Other sources
// become what `others` says, by their primed names; guards on sources that are what they were hold.
Expr change_of(const Expr& correction, const std::string& source, const Exprs& others,
               Expr* guard = nullptr) {
  const auto mentions = [](const Expr& e, const std::string& name) {
    return contains_var(e, name) || contains_var(e, name + "'");
  };
  const std::function<std::optional<Expr>(const Expr&)> open =
      [&](const Expr& x) -> std::optional<Expr> {
    if (x->op != Op::Select) return std::nullopt;
    bool follows = mentions(x->args[0], source);
    if (follows && guard) *guard = *guard ? Expr::make(Op::Or, {*guard, x->args[0]}) : x->args[0];
    for (const auto& [primed, now] : others) {
      const std::string name = primed.substr(0, primed.size() - 1);
      follows =
          follows || (mentions(x->args[0], name) && !(now->op == Op::Var && now->name == name));
    }
    return substitute(x->args[follows ? 2 : 1], open);
  };
  return simplify(substitute(substitute(correction, open), others));
}

// Other sources as they were.
Exprs unchanged(const Repair& r, const Expr& correction, const std::string& source) {
  Exprs out;
  for (const std::string& s : r.source_tensors)
    if (s != source) out.emplace(s + "'", Expr::var(s, var_type(correction, s + "'")));
  return out;
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
        factor_of(change_of(r.corrections[k], source, unchanged(r, r.corrections[k], source)), k,
                  source, facts, method);
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

namespace nautilus::poly {

using namespace algebra;

Expected<Moved> moved_accumulators(const Program& p, const Repair& r,
                                   const std::vector<Repair>& together) {
  const std::string &s = r.lazy_source, next = s + "'";
  Ranges facts;
  for (size_t k = 0; k < r.sources.size(); ++k)
    facts[r.source_tensors[k]] = facts[r.source_tensors[k] + "'"] = running_range(p, r.sources[k]);
  Moved out;
  for (size_t k = 0; k < r.corrections.size(); ++k) {
    const std::string t = "t" + std::to_string(k);
    // A source that is an accumulator of such a repair is scaled as its own correction says.
    Exprs others = unchanged(r, r.corrections[k], s);
    for (const Repair& q : together)
      for (size_t a = 0; a < q.target_tensors.size(); ++a) {
        const std::string& name = q.target_tensors[a];
        const auto it = others.find(name + "'");
        if (it == others.end()) continue;
        const Expr own = change_of(q.corrections.at(a), s, unchanged(q, q.corrections[a], s));
        it->second = substitute(own, Exprs{{"t" + std::to_string(a), it->second}});
      }
    Expr guard;
    const Expr change = change_of(r.corrections[k], s, others, &guard);
    const auto without = rewrite_without(change, {s, next}, facts);
    const Expr value = without ? *without : rewrite_without(change, {}, facts).value_or(change);
    const Proof proof = prove_equal(change, value, facts);
    bool known = proof.ok;
    for (const std::string& v : free_vars(value))
      known = known && (v == t || v == next || (facts.contains(v) && !v.ends_with("'")));
    if (!known)
      return Refusal{"move the reference " + s, "repair of " + r.targets.at(0),
                     proof.ok ? "its accumulators depend on each other" : proof.method, ""};
    out.accumulators.push_back(
        simplify(contains_var(value, s) || contains_var(value, next)
                     ? Expr::make(Op::Select, {guard ? guard : Expr::constant(0, Type::Bool),
                                               Expr::var(t, var_type(value, t)), value})
                     : value));
    out.shown.push_back({"when " + s + " moves, " + r.target_tensors.at(k) + " becomes " +
                             to_string(out.accumulators.back()),
                         proof.method, true});
  }
  return out;
}

}  // namespace nautilus::poly
