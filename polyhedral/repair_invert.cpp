// Correction by inversion (Neptune, arXiv 2510.08726, Eq. 5): solve y = g(r, c) for c, then h(t, r,
// r') = g(r', c(r, t)).
#include <algorithm>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

// g with every largest subterm that is free of the reference and varies replaced by a name of its
// own.
struct Abstracted {
  Expr g;
  std::map<std::string, Expr> meaning;  // name -> subterm
  Ranges ranges;
};

Abstracted abstract_rest(const Expr& g, const std::string& ref, const Ranges& ranges) {
  Abstracted a{Expr(), {}, ranges};
  std::map<const ExprNode*, Expr> names;
  a.g = substitute(g, [&](const Expr& x) -> std::optional<Expr> {
    if (contains_var(x, ref)) return std::nullopt;
    if (free_vars(x).empty()) return x;  // numbers and sizes are known to the correction too
    if (auto it = names.find(&*x); it != names.end()) return it->second;
    const std::string name = "u" + std::to_string(names.size());
    const Expr v = Expr::var(name, x->type);
    names.emplace(&*x, v);
    a.meaning[name] = x;
    a.ranges[name] = range_of(x, ranges);
    return v;
  });
  return a;
}

// Factors over and under the fraction bar of a product; terms with either sign of a sum.
struct Parts {
  std::vector<Expr> plus, minus;
};

void collect(const Expr& e, bool sum, bool inverse, Parts& out) {
  const Op join = sum ? Op::Add : Op::Mul, undo = sum ? Op::Sub : Op::Div;
  if (e->op == join || e->op == undo) {
    collect(e->args[0], sum, inverse, out);
    collect(e->args[1], sum, inverse != (e->op == undo), out);
  } else if (sum && e->op == Op::Neg) {
    collect(e->args[0], sum, !inverse, out);
  } else {
    (inverse ? out.minus : out.plus).push_back(e);
  }
}

// The same value with what is free of the reference gathered in each product and sum: v * exp(c -
// r) / w becomes (v / w) * exp(c - r), one unknown to solve for.
Expr gathered(const Expr& e, const std::string& ref) {
  if (!contains_var(e, ref)) return e;
  const bool sum = e->op == Op::Add || e->op == Op::Sub;
  if (!sum && e->op != Op::Mul && e->op != Op::Div) {
    std::vector<Expr> args;
    for (const Expr& a : e->args) args.push_back(gathered(a, ref));
    return e->args.empty() ? e : rebuild(e, std::move(args));
  }
  Parts parts;
  collect(e, sum, false, parts);
  const auto join = [&](const Expr& a, const Expr& b, bool inverse) {
    if (!a) return !inverse ? b : sum ? -b : Expr::constant(1, b->type) / b;
    return Expr::make(sum ? (inverse ? Op::Sub : Op::Add) : (inverse ? Op::Div : Op::Mul), {a, b});
  };
  Expr free, rest;
  for (const bool inverse : {false, true})
    for (const Expr& x : inverse ? parts.minus : parts.plus) {
      Expr& into = contains_var(x, ref) ? rest : free;
      into = join(into, gathered(x, ref), inverse);
    }
  return free ? join(free, rest, false) : rest;
}

int occurrences(const Expr& e, const std::string& name) {
  if (e->op == Op::Var) return e->name == name;
  int n = 0;
  for (const Expr& a : e->args) n += occurrences(a, name);
  return n;
}

Expr num(double v) { return Expr::constant(v); }

// The value of `u` for which e(u) = y; u occurs once in e. Counts steps through exp and the like in
// `cost`.
std::optional<Expr> solve(const Expr& e, const std::string& u, const Expr& y, int& cost) {
  if (e->op == Op::Var && e->name == u) return y;
  size_t k = 0;
  while (k < e->args.size() && !contains_var(e->args[k], u)) ++k;
  if (k == e->args.size()) return std::nullopt;
  const Expr& in = e->args[k];
  const auto go = [&](const Expr& v) { return solve(in, u, v, cost); };
  const Expr other = e->args.size() == 2 ? e->args[1 - k] : Expr();
  switch (e->op) {
    case Op::Neg:
      return go(-y);
    case Op::Add:
      return go(y - other);
    case Op::Sub:
      return k == 0 ? go(y + other) : go(other - y);
    case Op::Mul:
      return go(y / other);
    case Op::Div:
      return k == 0 ? go(y * other) : go(other / y);
    case Op::Recip:
      return go(num(1) / y);
    case Op::Cast:
      return go(y);
    default:
      break;
  }
  ++cost;
  switch (e->op) {
    case Op::Exp:
      return go(Expr::make(Op::Log, {y}));
    case Op::Exp2:
      return go(Expr::make(Op::Log2, {y}));
    case Op::Log:
      return go(exp(y));
    case Op::Log2:
      return go(Expr::make(Op::Exp2, {y}));
    case Op::Sqrt:
      return go(y * y);
    case Op::Rsqrt:
      return go(num(1) / (y * y));
    default:
      return std::nullopt;  // not one-to-one, or no inverse among the operations
  }
}

}  // namespace

// Tries the names that can be solved for, those on linear paths first; accepts the first whose h is
// free of all but t, the reference and sizes.
Expected<Correction> by_inversion(const Expr& g, const std::string& ref, const Ranges& ranges) {
  const Abstracted a = abstract_rest(gathered(g, ref), ref, ranges);
  struct Candidate {
    int cost;
    std::string name;
    Expr solution;
  };
  std::vector<Candidate> found;
  const Expr t = Expr::var("t0", g->type);
  int repeated = 0;
  for (const auto& [name, term] : a.meaning) {
    if (occurrences(a.g, name) != 1) {
      ++repeated;
      continue;
    }
    int cost = 0;
    if (auto s = solve(a.g, name, t, cost)) found.push_back({cost, name, *s});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& x, const auto& y) { return x.cost < y.cost; });
  Ranges facts = with_denominators(a.g, a.ranges);
  facts["t0"] = range_of(g, ranges);
  const Expr primed = Expr::var(ref + "'", var_type(g, ref));
  const Expr moved = substitute(a.g, {{ref, primed}});
  if (auto it = facts.find(ref); it != facts.end()) facts[ref + "'"] = it->second;
  std::set<std::string> forbidden;
  for (const auto& [name, term] : a.meaning) forbidden.insert(name);
  for (const Candidate& c : found) {
    const Expr raw = substitute(moved, {{c.name, c.solution}});
    const auto h = rewrite_without(raw, forbidden, facts);
    if (!h) continue;
    Correction out{*h, {}};
    out.steps.push_back("y = " + to_string(a.g) + " solved for " + c.name + " = " +
                        to_string(a.meaning.at(c.name)) + ": " + c.name + " = " +
                        to_string(substitute(c.solution, {{"t0", Expr::var("y", t->type)}})));
    out.steps.push_back("h(t, r, r') = g(r', c(r, t)) = " + to_string(raw) + " = " + to_string(*h));
    return out;
  }
  Refusal r{"derive a correction by inversion", "", "", ""};
  if (found.empty())
    r.why = "y = " + to_string(a.g) + " has no unique solution" +
            (repeated ? ": no part occurs exactly once" : "");
  else
    r.why = "the correction of " + to_string(a.g) + " keeps depending on the terms";
  return r;
}

}  // namespace nautilus::poly::algebra
