#include "polyhedral/verify_repairs.h"
#include "polyhedral/names.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace nautilus::poly::verifying {

namespace {

// Sources and targets are reductions into temporaries, via statements pointwise; all run under the
// band.
std::optional<std::string> roles(const Schedule& s, const Repair& r) {
  const Node* band = find(s, r.band);
  if (!band || band->kind != NodeKind::Band)
    return "its band " + std::to_string(r.band) + " is gone";
  auto check = [&](const std::vector<std::string>& names,
                   bool reduction) -> std::optional<std::string> {
    for (const std::string& n : names) {
      const Statement* st = s.program->statement(n);
      if (!st) return "there is no statement " + n;
      if (st->reduction.has_value() != reduction)
        return n + (reduction ? " is not a reduction" : " is a reduction, not pointwise");
      if (!in(band->statements, n)) return n + " does not run under band " + std::to_string(r.band);
      const Tensor* t = s.program->tensor(st->write.tensor);
      if (!t || t->kind != TensorKind::Temp)
        return st->write.tensor + " is not a temporary: its running value would be seen";
    }
    return std::nullopt;
  };
  if (r.targets.empty() || r.sources.empty()) return "it has no target or no source";
  const auto each = [](size_t n, size_t of, const char* what) -> std::optional<std::string> {
    if (n == of) return std::nullopt;
    return "it has " + std::to_string(n) + " " + what + " for " + std::to_string(of);
  };
  if (auto bad = each(r.corrections.size(), r.targets.size(), "corrections"))
    return *bad + " targets";
  if (auto bad = each(r.target_tensors.size(), r.targets.size(), "tensors"))
    return *bad + " targets";
  if (auto bad = each(r.source_tensors.size(), r.sources.size(), "tensors"))
    return *bad + " sources";
  if (r.lazy && r.moved.size() != r.targets.size())
    return "it does not say what a move makes of it";
  if (auto bad = check(r.targets, true)) return bad;
  if (auto bad = check(r.sources, true)) return bad;
  return check(r.via, false);
}

// A family of accumulators takes its terms at the same instances, into the same elements, at the
// same times of the band, under the same condition.
std::optional<std::string> apart(const Schedule& s, const Repair& r) {
  const Statement& first = *s.program->statement(r.targets[0]);
  const auto of_first = [&](const isl::map& m) { return m.set_domain_tuple(first.name); };
  for (const std::string& name : r.targets) {
    const Statement& t = *s.program->statement(name);
    if (n_dim(t.domain) != n_dim(first.domain) ||
        !set_tuple_name(t.domain, first.name).is_equal(first.domain))
      return name + " has other terms than " + first.name;
    if (!of_first(t.write.map)
             .set_range_tuple(first.write.tensor)
             .intersect_domain(first.domain)
             .is_equal(first.write.map.intersect_domain(first.domain)))
      return name + " takes its terms into other elements than " + first.name;
    if (!of_first(prefix(s, r.band, name, true).as_map())
             .intersect_domain(first.domain)
             .is_equal(prefix(s, r.band, first.name, true).as_map().intersect_domain(first.domain)))
      return name + " runs at other times of the band than " + first.name;
    if (bool(t.guard) != bool(first.guard))
      return name + " skips instances where " + first.name + " does not";
  }
  return std::nullopt;
}

// Everything that reads a via tensor uses running values on purpose: a via statement or target of
// some repair that lists it.
std::optional<std::string> other_readers(const Schedule& s, const Repair& r) {
  for (const std::string& via : r.via) {
    const std::string& tensor = s.program->statement(via)->write.tensor;
    for (const Statement& reader : s.program->statements) {
      if (!reads(reader, tensor)) continue;
      const bool expected =
          std::any_of(s.repairs.begin(), s.repairs.end(), [&](const Repair& other) {
            return in(other.via, via) &&
                   (in(other.via, reader.name) || in(other.targets, reader.name));
          });
      if (!expected)
        return reader.name + " also reads " + tensor + ", which holds running values here";
    }
  }
  return std::nullopt;
}

// The target reads its sources directly or through the via statements, and nothing else that runs
// with them.
std::optional<std::string> chain(const Schedule& s, const Repair& r) {
  for (size_t k = 0; k < r.sources.size(); ++k) {
    const std::string& tensor = s.program->statement(r.sources[k])->write.tensor;
    const bool used = std::any_of(
        s.program->statements.begin(), s.program->statements.end(), [&](const Statement& st) {
          return (in(r.via, st.name) || in(r.targets, st.name)) && reads(st, tensor);
        });
    if (!used) return "neither target nor via statements read " + tensor;
  }
  return std::nullopt;
}

// { writer[..] -> reader[..] : the reader reads an element that the writer writes }; null if there
// is none, nothing at all if an access is gathered.
struct Link {
  bool gathered = false;
  std::optional<isl::map> relation;
};

Link link(const Statement& writer, const Statement& reader) {
  Link out;
  for (const Access& a : reader.reads) {
    if (a.tensor != writer.write.tensor) continue;
    out.gathered |= !a.gathers.empty() || !writer.write.gathers.empty();
    isl::map one = writer.write.map.intersect_domain(writer.domain)
                       .apply_range(a.map.intersect_domain(reader.domain).reverse());
    out.relation = out.relation ? out.relation->unite(one) : one;
  }
  return out;
}

// The same through the via statements.
Link through(const Program& p, const Repair& r, const Statement& from, const Statement& target,
             size_t depth) {
  Link out = link(from, target);
  if (depth == 0) return out;
  for (const std::string& name : r.via) {
    const Statement& via = *p.statement(name);
    if (&via == &from) continue;
    const Link first = link(from, via);
    if (!first.relation) continue;
    const Link rest = through(p, r, via, target, depth - 1);
    if (!rest.relation) continue;
    out.gathered |= first.gathered || rest.gathered;
    const isl::map both = first.relation->apply_range(*rest.relation);
    out.relation = out.relation ? out.relation->unite(both) : both;
  }
  return out;
}

// { [x] -> [y] : x is not after y }
isl::map not_after(isl::ctx ctx, unsigned n) {
  std::string x, y, where, equal;
  for (unsigned k = 0; k < n; ++k) {
    const std::string a = "x" + std::to_string(k), b = "y" + std::to_string(k);
    x += (k ? ", " : "") + a;
    y += (k ? ", " : "") + b;
    where += "(" + equal + a + " < " + b + ") or ";
    equal += a + " = " + b + " and ";
  }
  return isl::map(ctx, "{ [" + x + "] -> [" + y + "] : " + where + "(" + equal + "0 = 0) }");
}

// { s -> t : s is not after t by these functions }, for the given pairs: members that never tell
// their ends apart are left out.
isl::map in_time(const isl::multi_aff& source, const isl::multi_aff& sink, const isl::map& pairs) {
  const isl::map same(pairs.ctx(), "{ [x] -> [x] }");
  std::vector<isl::map> from, to;
  for (unsigned k = 0; k < source.size(); ++k) {
    const isl::map a = source.at(static_cast<int>(k)).as_map(),
                   b = sink.at(static_cast<int>(k)).as_map();
    if (pairs.apply_domain(a).apply_range(b).is_subset(same)) continue;
    from.push_back(a);
    to.push_back(b);
  }
  const auto all = [](const std::vector<isl::map>& v) {
    isl::map out = v[0];
    for (size_t k = 1; k < v.size(); ++k) out = out.range_product(v[k]).flatten_range();
    return out;
  };
  if (from.empty()) return pairs;
  return all(from)
      .apply_range(not_after(pairs.ctx(), static_cast<unsigned>(from.size())))
      .apply_range(all(to).reverse());
}

// Accumulator and source must move together at the band: an accumulator gets no term before the
// source that the term reads has a value, and the source has no update after the accumulator's last
// term (which would stay relative to an older value).
std::optional<std::string> out_of_step(const Schedule& s, const Repair& r) {
  const Program& p = *s.program;
  for (const std::string& target_name : r.targets)
    for (const std::string& source_name : r.sources) {
      const Statement &target = *p.statement(target_name), &source = *p.statement(source_name);
      const Link used = through(p, r, source, target, r.via.size());
      if (!used.relation) continue;
      if (used.gathered)
        return target_name + " reads values of " + source_name + " by a gathered index";
      // Pairs with the term at or after the update.
      const isl::map timely =
          used.relation->intersect(in_time(prefix(s, r.band, source_name, true),
                                           prefix(s, r.band, target_name, true), *used.relation));
      const isl::map element = target.write.map.intersect_domain(target.domain);
      if (!used.relation->apply_range(element)
               .subtract(timely.apply_range(element))
               .intersect_params(p.param_context)
               .is_empty())
        return source_name + " is updated after the last term of " + target_name +
               ", which stays relative to an older value";
      if (!target.domain.subtract(timely.range()).intersect_params(p.param_context).is_empty())
        return target_name + " gets terms before " + source_name + " has a value";
    }
  return std::nullopt;
}

// Accumulators after a move against their corrections, where sources that are accumulators of lazy
// repairs were corrected for the move themselves. `env`: both values of every source.
std::optional<std::string> moved_wrongly(const Schedule& s, const Repair& r, EvalEnv env) {
  for (size_t k = 0; k < r.moved.size(); ++k) env.vars["t" + std::to_string(k)] = 2.0 + k;
  std::vector<double> made;
  for (const Expr& e : r.moved) made.push_back(evaluate(e, env));
  for (const Repair& q : s.repairs) {
    if (!q.lazy || q.lazy_source != r.lazy_source) continue;
    for (size_t a = 0; a < q.target_tensors.size(); ++a) {
      const std::string& name = q.target_tensors[a];
      if (!in(r.source_tensors, name)) continue;
      EvalEnv own = env;
      for (size_t t = 0; t < q.target_tensors.size(); ++t)
        own.vars["t" + std::to_string(t)] =
            env.vars.contains(q.target_tensors[t]) ? env.vars.at(q.target_tensors[t]) : 1;
      for (const std::string& other : q.source_tensors)
        if (!own.vars.contains(other)) own.vars[other] = own.vars[other + "'"] = 1.5;
      env.vars[name + "'"] = evaluate(q.corrections[a], own);
    }
  }
  for (size_t k = 0; k < made.size(); ++k) {
    const double want = evaluate(r.corrections[k], env);
    if (!(std::abs(want - made[k]) <= 1e-9 * std::abs(want)))
      return "a move of " + r.lazy_source + " makes " + std::to_string(made[k]) + " of " +
             r.target_tensors[k] + " instead of " + std::to_string(want);
  }
  return std::nullopt;
}

// Of a lazy repair: everything that refers to the source may be stale together, and wherever the
// condition lets a value stay, each accumulator would be scaled within the bound, at points of all
// magnitudes; a value that is not a number never stays.
std::optional<std::string> stale(const Schedule& s, const Repair& r) {
  const std::string next = r.lazy_source + "'";
  if (r.lazy_bound <= 0 || !r.may_stay || !in(r.source_tensors, r.lazy_source))
    return "it keeps a stale reference that it does not allow";
  for (const Repair& other : s.repairs)
    if (in(other.source_tensors, r.lazy_source) &&
        !(other.lazy && other.lazy_source == r.lazy_source && other.band == r.band))
      return other.targets[0] + " refers to " + r.lazy_source + ", which may be stale";
  constexpr int kPoints = 600;
  std::mt19937_64 rng(0x57a1e5eedULL);
  std::normal_distribution<double> normal;
  const double limit = std::exp2(r.lazy_bound) * (1 + 1e-9);
  int stayed = 0, moved = 0;
  for (int point = 0; point < kPoints; ++point) {
    EvalEnv env;
    env.round_casts = false;
    env.param = [](const std::string&) { return 7.0; };
    for (const std::string& source : r.source_tensors)
      env.vars[source] = env.vars[source + "'"] = std::exp(normal(rng));
    env.vars[r.lazy_source] = normal(rng) * std::exp2(point % 8);
    env.vars[next] = env.vars[r.lazy_source] + normal(rng) * std::exp2(point % 12 - 4);
    if (evaluate(r.may_stay, env) == 0) {
      ++moved;
      continue;
    }
    ++stayed;
    if (auto bad = moved_wrongly(s, r, env)) return bad;
    for (size_t k = 0; k < r.corrections.size(); ++k) {
      for (size_t t = 0; t < r.corrections.size(); ++t)
        env.vars["t" + std::to_string(t)] = t == k ? 3 : normal(rng);
      const double factor = evaluate(r.corrections[k], env) / 3;
      if (!(factor <= limit && factor >= 1 / limit))
        return r.lazy_source + " may stay at " + std::to_string(env.vars[r.lazy_source]) +
               " when it is " + std::to_string(env.vars[next]) + ", which scales " +
               r.target_tensors[k] + " by " + std::to_string(factor);
    }
    env.vars[next] = std::numeric_limits<double>::quiet_NaN();
    if (evaluate(r.may_stay, env) != 0) return r.lazy_source + " may stay when it is not a number";
  }
  if (stayed == 0 || moved == 0) return "its condition for staying never changes";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> repair_problem(const Schedule& s, const Repair& r,
                                          std::vector<std::string>& checked) {
  if (auto bad = roles(s, r)) return bad;
  if (auto bad = apart(s, r)) return bad;
  if (auto bad = other_readers(s, r)) return bad;
  if (auto bad = chain(s, r)) return bad;
  checked.push_back("repair of " + r.targets[0] +
                    ": sources, via statements and readers are as they must be");
  if (auto bad = out_of_step(s, r)) return bad;
  checked.push_back("repair of " + r.targets[0] +
                    ": sources and accumulators are in step at band " + std::to_string(r.band));
  for (const Obligation& o : r.obligations)
    if (!o.discharged) return "the obligation " + o.claim + " was not discharged";
  if (r.lazy) {
    if (auto bad = stale(s, r)) return bad;
    checked.push_back("repair of " + r.targets[0] + ": a stale " + r.lazy_source +
                      " scales by at most 2^" + std::to_string(static_cast<int>(r.lazy_bound)));
  }
  return std::nullopt;
}

}  // namespace nautilus::poly::verifying
