// The check that is independent of how corrections were found: both sides of (a) and (b) at random
// points in 50 digits, on terms read off the program anew, and the first step.
#include <cmath>
#include <mutex>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly {
namespace {

using namespace algebra;

struct Terms {
  std::vector<Expr> g;  // one a target
  Ranges facts;
  ReduceOp op = ReduceOp::Sum;
  double identity = 0;
  std::map<std::string, double> source_identity;
};

// The terms of all targets over shared names, with the ranges of everything they read.
Expected<Terms> read_terms(const Program& p, const Repair& r) {
  Terms out;
  std::vector<Leaf> leaves;
  for (const std::string& name : r.targets) {
    const Statement* s = p.statement(name);
    if (!s || !s->reduction)
      return Refusal{"check the repair of " + r.targets[0], name,
                     "the program has no such reduction", ""};
    if (&name != &r.targets[0] && s->reduction->op != out.op)
      return Refusal{"check the repair of " + r.targets[0], name,
                     "its reduction is a different one", ""};
    out.op = s->reduction->op;
    out.identity = identity_value(*s->reduction);
    auto t = inline_term(p, *s, r.sources, r.via, leaves);
    if (!t) return t.error();
    out.g.push_back(t->g);
    leaves = t->leaves;
    for (const std::string& n : p.params) out.facts["@" + n] = param_range(p, *s, n);
  }
  for (const Leaf& l : leaves) {
    if (l.tensor.empty()) continue;
    out.facts[l.name] = tensor_range(p, l.tensor);
  }
  for (const std::string& name : r.sources) {
    const Statement* s = p.statement(name);
    if (!s || !s->reduction)
      return Refusal{"check the repair of " + r.targets[0], name,
                     "the program has no such reduction", ""};
    out.facts[s->write.tensor] = out.facts[s->write.tensor + "'"] = running_range(p, name);
    out.source_identity[s->write.tensor] = identity_value(*s->reduction);
  }
  return out;
}

Expr prime_sources(const Expr& g, const Terms& t) {
  std::map<std::string, Expr> by;
  for (const auto& [n, id] : t.source_identity) by.emplace(n, Expr::var(n + "'", var_type(g, n)));
  return substitute(g, by);
}

std::optional<std::string> refute_conditions(const Terms& t, const Repair& r, int points,
                                             uint64_t seed) {
  Ranges facts = with_denominators(t.g[0], t.facts);
  const auto combine = [&](const Expr& a, const Expr& b) {
    return combine_expr({t.op, {}, {}, {}}, a, b);
  };
  std::map<std::string, Expr> terms, xs, ys, both;
  for (size_t l = 0; l < t.g.size(); ++l) {
    const std::string k = std::to_string(l);
    const Expr x = Expr::var("x" + k), y = Expr::var("y" + k);
    terms.emplace("t" + k, t.g[l]);
    xs.emplace("t" + k, x);
    ys.emplace("t" + k, y);
    both.emplace("t" + k, combine(x, y));
    facts["x" + k] = facts["y" + k] = range_of(t.g[l], t.facts);
  }
  for (size_t k = 0; k < t.g.size(); ++k) {
    const Expr& h = r.corrections[k];
    if (auto bad =
            refute_equal(substitute(h, terms), prime_sources(t.g[k], t), facts, points, seed))
      return "h(g(r,c), r, r') is not g(r', c) for " + r.targets[k] + ": " + *bad;
    if (auto bad = refute_equal(substitute(h, both), combine(substitute(h, xs), substitute(h, ys)),
                                facts, points, seed + 1))
      return "h(x (+) y, r, r') is not h(x, r, r') (+) h(y, r, r') for " + r.targets[k] + ": " +
             *bad;
  }
  return std::nullopt;
}

// Old values at the identities, new ones at the identities or anything else: the accumulators stay
// where they are.
std::optional<std::string> refute_first_step(const Terms& t, const Repair& r) {
  for (double v : {std::nan(""), 1.0, 2.5}) {
    EvalEnv env;
    env.param = [](const std::string&) { return 7.0; };
    for (size_t l = 0; l < t.g.size(); ++l) env.vars["t" + std::to_string(l)] = t.identity;
    for (const auto& [n, id] : t.source_identity) {
      env.vars[n] = id;
      env.vars[n + "'"] = std::isnan(v) ? id : v;
    }
    for (size_t k = 0; k < r.corrections.size(); ++k) {
      const double got = evaluate(r.corrections[k], env);
      if (!(got == t.identity))
        return "before the first term " + r.targets[k] + " becomes " +
               to_string(Expr::constant(got)) + " instead of " +
               to_string(Expr::constant(t.identity));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refute_repair(const Program& p, const Repair& r, int points,
                                         uint64_t seed) {
  if (r.targets.empty() || r.corrections.size() != r.targets.size())
    return "a correction is missing for a target";
  const auto t = read_terms(p, r);
  if (!t) return t.error().text();
  const auto number = [](double v) { return to_string(Expr::constant(v, Type::F64)); };
  std::string key = std::to_string(points) + "|" + std::to_string(seed) + "|" +
                    std::string(reduce_op_name(t->op)) + number(t->identity);
  for (size_t k = 0; k < t->g.size(); ++k)
    key += "|" + to_string(t->g[k]) + "=>" + to_string(r.corrections[k]);
  for (const auto& [n, f] : t->facts)
    key += "|" + n + number(f.lo) + "," + number(f.hi) + (f.excludes_zero ? "!" : "");
  for (const auto& [n, id] : t->source_identity) key += "|" + n + "=" + number(id);
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::string, std::optional<std::string>>;
  {
    std::lock_guard lock(mutex);
    if (auto it = known.find(key); it != known.end()) return it->second;
  }
  std::optional<std::string> bad;
  try {
    bad = refute_conditions(*t, r, points, seed);
    if (!bad) bad = refute_first_step(*t, r);
  } catch (const std::out_of_range&) {
    bad = "a correction uses a name that is neither an accumulator nor a source";
  }
  std::lock_guard lock(mutex);
  if (known.size() >= 4096) known.clear();
  known.emplace(key, bad);
  return bad;
}

}  // namespace nautilus::poly
