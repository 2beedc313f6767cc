// Conditions on data: where a target takes a term, its source must have taken the term of the same
// iteration, or the source may still be at its identity there.
#include <algorithm>
#include <cmath>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly {
namespace {

using namespace algebra;

// { target -> instance of the source that updates the element read, at the same values of the
// reduced dimensions }; these are paired by name, else by position.
std::optional<isl::map> same_iteration(const Statement& target, const Statement& source,
                                       const isl::map& element) {
  const auto target_names = dim_names(target.domain), names = dim_names(source.domain);
  const auto &mine = source.reduction->dims, &theirs = target.reduction->dims;
  std::string from, to, where;
  for (size_t k = 0; k < target_names.size(); ++k) from += (k ? ", p" : "p") + std::to_string(k);
  for (size_t k = 0; k < names.size(); ++k) to += (k ? ", q" : "q") + std::to_string(k);
  bool by_name = true;
  for (int d : mine)
    by_name = by_name && std::count(target_names.begin(), target_names.end(),
                                    names[static_cast<size_t>(d)]) == 1;
  if (!by_name && mine.size() != theirs.size()) return std::nullopt;
  for (size_t k = 0; k < mine.size(); ++k) {
    const auto at =
        std::find(target_names.begin(), target_names.end(), names[static_cast<size_t>(mine[k])]);
    const auto pair = by_name ? at - target_names.begin() : theirs[k];
    where += (k ? " and q" : "q") + std::to_string(mine[k]) + " = p" + std::to_string(pair);
  }
  const isl::map equal(target.domain.ctx(), "{ " + target.name + "[" + from + "] -> " +
                                                source.name + "[" + to + "] : " + where + " }");
  const isl::map m = element.apply_range(source.write.map.intersect_domain(source.domain).reverse())
                         .intersect(equal);
  if (!m.is_single_valued() || !target.domain.is_subset(m.domain())) return std::nullopt;
  return m.intersect_domain(target.domain);
}

// The source's condition or term seen from the target, in the target's names; nothing if it reads
// what the target does not.
std::optional<Expr> seen_from(const isl::map& iteration, const Expr& e, const InlinedTerm& source,
                              const InlinedTerm& target) {
  std::vector<int> same;  // leaf of the source -> leaf of the target, or -1
  std::map<std::string, Expr> names;
  for (const Leaf& l : source.leaves) {
    const isl::map map = iteration.apply_range(l.map);
    int found = -1;
    for (size_t k = 0; k < target.leaves.size() && found < 0; ++k) {
      const Leaf& t = target.leaves[k];
      bool equal = t.tensor == l.tensor && t.gathers.size() == l.gathers.size();
      for (size_t g = 0; equal && g < l.gathers.size(); ++g)
        equal = t.gathers[g].first == l.gathers[g].first &&
                t.gathers[g].second == same[static_cast<size_t>(l.gathers[g].second)];
      if (equal && map.is_equal(t.map.intersect_domain(iteration.domain())))
        found = static_cast<int>(k);
    }
    same.push_back(found);
    if (found >= 0)
      names.emplace(l.name, Expr::var(target.leaves[static_cast<size_t>(found)].name, l.type));
  }
  for (const std::string& n : free_vars(e))
    if (!names.contains(n)) return std::nullopt;
  return substitute(e, names);
}

std::optional<std::string> unguarded(const Program& p, const Statement& target,
                                     const std::vector<std::string>& sources,
                                     const std::vector<std::string>& via) {
  const bool any = std::any_of(sources.begin(), sources.end(), [&](const std::string& n) {
    const Statement* s = p.statement(n);
    return s && s->guard;
  });
  if (!any) return std::nullopt;
  const auto term = inline_term(p, target, sources, via);
  if (!term) return term.error().why;
  std::vector<Expr> have;
  if (term->guard) conjuncts(term->guard, have);
  for (const std::string& name : sources) {
    const Statement* s = p.statement(name);
    if (!s || !s->reduction || !s->guard) continue;
    for (const Leaf& l : term->leaves) {
      if (l.name != s->write.tensor) continue;
      const std::string differs =
          name + " skips instances by another condition on data than " + target.name;
      const auto iteration = same_iteration(target, *s, l.map);
      if (!iteration) return differs + ": their iterations do not correspond";
      const auto condition = inline_term(p, *s, {}, via);
      if (!condition) return condition.error().why;
      const auto here = condition->guard
                            ? seen_from(*iteration, condition->guard, *condition, *term)
                            : std::nullopt;
      if (!here) return differs + ": " + to_string(condition->guard);
      std::vector<Expr> need;
      conjuncts(*here, need);
      for (const Expr& c : need)
        if (std::find(have.begin(), have.end(), c) == have.end())
          return differs + ": " + to_string(c) +
                 (have.empty() ? " against none" : " against " + to_string(term->guard));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> unguarded_terms(const Program& p,
                                           const std::vector<std::string>& targets,
                                           const std::vector<std::string>& sources,
                                           const std::vector<std::string>& via) {
  try {
    for (const std::string& t : targets) {
      const Statement* s = p.statement(t);
      if (!s || !s->reduction) return "there is no reduction " + t;
      if (auto bad = unguarded(p, *s, sources, via)) return bad;
    }
  } catch (const isl::exception& e) {
    return std::string(e.what());
  }
  return std::nullopt;
}

namespace algebra {

// While a source is at its identity, all its terms so far were that (max and min, sums of what is
// not negative). With the source's term set to it and the source to a finite number, the target's
// term must be the target's identity.
std::optional<double> rest_value(const Program& p, const Statement& target, const InlinedTerm& term,
                                 const Statement& source, const std::vector<std::string>& via) {
  const ReduceOp op = source.reduction->op;
  const bool monotone = op == ReduceOp::Max || op == ReduceOp::Min ||
                        (op == ReduceOp::Sum && running_range(p, source.name).lo >= 0);
  const std::string& tensor = source.write.tensor;
  const auto leaf = std::find_if(term.leaves.begin(), term.leaves.end(),
                                 [&](const Leaf& l) { return l.name == tensor; });
  if (!monotone || leaf == term.leaves.end()) return std::nullopt;
  const auto iteration = same_iteration(target, source, leaf->map);
  const auto own = inline_term(p, source, {}, via);
  if (!iteration || !own) return std::nullopt;
  const auto here = seen_from(*iteration, own->g, *own, term);
  if (!here) return std::nullopt;
  const double id = identity_value(*source.reduction), wanted = identity_value(*target.reduction);
  const Expr at_identity = substitute(term.g, [&](const Expr& x) -> std::optional<Expr> {
    if (x == *here) return Expr::constant(id, x->type);
    return std::nullopt;
  });
  if (at_identity == term.g) return std::nullopt;
  for (double rest : {0.0, 1.0}) {
    bool all = true;
    for (double v : {1.5, -0.75, 3.0, -20.0, 0.125}) {
      EvalEnv env;
      env.param = [](const std::string&) { return 7.0; };
      for (const std::string& n : free_vars(at_identity))
        env.vars[n] = n == tensor ? rest : p.statement("S_" + n) ? std::abs(v) : v;
      all = all && evaluate(at_identity, env) == wanted;
    }
    if (all) return rest;
  }
  return std::nullopt;
}

}  // namespace algebra
}  // namespace nautilus::poly
