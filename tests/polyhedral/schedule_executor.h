// A simple executor of schedules: every instance is listed, sorted by its time, and interpreted in
// that order. Parallel members may run backwards, instances at one time are shuffled; rolling
// updates apply their corrections whenever a source moved since the target's last update; lazy ones
// keep the value that terms refer to as long as the repairs say that it may stay.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "polyhedral/instances.h"
#include "polyhedral/interpreter.h"
#include "polyhedral/schedule.h"

namespace nautilus::poly::executor {

struct Instance {
  std::string statement;
  std::vector<int64_t> dims, time;
};

// The tree with the functions of parallel (and tile) members negated: their other extreme order.
inline NodePtr backwards(const NodePtr& n) {
  NodePtr out = n;
  if (n->kind == NodeKind::Band) {
    std::vector<BandMember> members = n->members;
    for (BandMember& m : members)
      if (m.mapping == Mapping::Grid || m.mapping == Mapping::Warpgroup ||
          m.mapping == Mapping::Tile)
        for (auto& [stmt, f] : m.schedule) f = f.neg();
    out = with_members(*n, members);
  }
  std::vector<NodePtr> children;
  for (const NodePtr& c : n->children) children.push_back(backwards(c));
  return children.empty() ? out : with_children(*out, children);
}
inline Schedule backwards(const Schedule& s) {
  Schedule out = s;
  out.root = backwards(s.root);
  return out;
}

// Times of statements at given sizes.
class Clock {
 public:
  Clock(const Schedule& s, const Program& bound, const Sizes& sizes) {
    const isl::union_map flat = flat_schedule(s);
    for (const isl::map& m : maps_of(flat)) {
      const Statement* x = bound.statement(tuple_name_in(m));
      if (!x) continue;
      const isl::map at = substitute_params(m, sizes).intersect_domain(x->domain);
      times_.emplace(x->name, PiecewiseFunction(at.as_pw_multi_aff(), x->domain));
    }
  }
  // Nothing if the schedule does not reach the instance.
  std::optional<std::vector<int64_t>> operator()(const std::string& statement,
                                                 const std::vector<int64_t>& dims) const {
    const auto f = times_.find(statement);
    std::vector<int64_t> out;
    if (f == times_.end() || !f->second(dims, out)) return std::nullopt;
    return out;
  }

 private:
  std::map<std::string, PiecewiseFunction> times_;
};

// How often terms were computed with a stale reference, and how often one had to move.
struct Staleness {
  int stale = 0, moved = 0;
};

// Keeps the targets of rolling updates in step with their sources.
class Rolling {
 public:
  Rolling(const Schedule& s, const Program& bound, Interpreter& machine, Staleness& staleness)
      : machine_(machine), staleness_(staleness) {
    for (const Repair& r : s.repairs) rules_.push_back(rule(r, bound));
  }

  // Runs an instance; where it refers to a stale source, with the value that was kept.
  bool run(const Program& bound, const std::string& statement, std::span<const int64_t> dims) {
    before(bound, statement, dims);
    std::vector<std::pair<double*, double>> present;  // cells that hold a kept value meanwhile
    for (const Access& a : bound.statement(statement)->reads) {
      if (!refers(statement, a.tensor)) continue;
      const isl::map m = a.map.intersect_domain(point(*bound.statement(statement), dims));
      const auto e = sample_point(m.range());
      if (!e) continue;
      double* cell = machine_.element(a.tensor, e->dims);
      const double now = *cell, used = reference(a.tensor, e->dims);
      staleness_.stale += used != now;
      present.emplace_back(cell, now);
      *cell = used;
    }
    const bool done = machine_.execute(statement, dims);
    for (const auto& [cell, now] : present) *cell = now;
    return done;
  }

  // At the end of the program.
  void finish(const Program& bound) {
    for (Rule& r : rules_)
      for (const std::string& t : r.repair.target_tensors)
        bound.elements(*bound.tensor(t)).foreach_point([&](isl::point p) {
          synchronize(r, sample_point(isl::set(p))->dims, false);
        });
  }

 private:
  struct Rule {
    Repair repair;
    std::vector<PiecewiseFunction> source_of;  // target element -> element of source k
    std::map<std::vector<int64_t>, std::vector<double>>
        seen;  // source values at the last synchronization
    std::vector<double> initial;
  };
  Interpreter& machine_;
  Staleness& staleness_;
  std::vector<Rule> rules_;
  // By lazy source and element: the value that terms refer to.
  std::map<std::pair<std::string, std::vector<int64_t>>, double> kept_;

  // Whether the terms of a statement refer to a source that may be stale.
  bool refers(const std::string& statement, const std::string& tensor) const {
    for (const Rule& r : rules_)
      for (const auto* names : {&r.repair.via, &r.repair.targets})
        if (r.repair.lazy && r.repair.lazy_source == tensor &&
            std::count(names->begin(), names->end(), statement))
          return true;
    return false;
  }

  // The value that terms refer to: the one kept if every repair of the source lets it stay.
  double reference(const std::string& source, const std::vector<int64_t>& element) {
    const double now = *machine_.element(source, element);
    double& kept = kept_.try_emplace({source, element}, initial_of(source)).first->second;
    for (const Rule& r : rules_) {
      if (!r.repair.lazy || r.repair.lazy_source != source) continue;
      EvalEnv env;
      env.vars[source] = kept;
      env.vars[source + "'"] = now;
      if (evaluate(r.repair.may_stay, env) != 0) continue;
      staleness_.moved += kept != now && std::isfinite(kept);
      return kept = now;
    }
    return kept;
  }
  double initial_of(const std::string& source) const {
    for (const Rule& r : rules_)
      for (size_t k = 0; k < r.initial.size(); ++k)
        if (r.repair.source_tensors[k] == source) return r.initial[k];
    return 0;
  }

  // Before an instance runs: every target element that it updates or reads is brought up to date.
  // Who only reads one sees it relative to its sources' present values, also where they are stale.
  void before(const Program& bound, const std::string& statement, std::span<const int64_t> dims) {
    if (rules_.empty()) return;
    const Statement& x = *bound.statement(statement);
    std::vector<const Access*> touched{&x.write};
    for (const Access& a : x.reads) touched.push_back(&a);
    for (const Access* a : touched)
      for (Rule& r : rules_)
        if (std::count(r.repair.target_tensors.begin(), r.repair.target_tensors.end(), a->tensor)) {
          const isl::map m = a->map.intersect_domain(point(x, dims));
          const bool inside = r.repair.lazy && refers_through(r, statement);
          if (const auto e = sample_point(m.range())) synchronize(r, e->dims, inside);
        }
  }
  static bool refers_through(const Rule& r, const std::string& statement) {
    for (const auto* names : {&r.repair.via, &r.repair.targets})
      if (std::count(names->begin(), names->end(), statement)) return true;
    return false;
  }

  static isl::set point(const Statement& x, std::span<const int64_t> dims) {
    isl::set out = x.domain;
    for (unsigned k = 0; k < dims.size(); ++k) out = fix_dim(out, k, dims[k]);
    return out;
  }

  // { target element -> source element }: along reads of the target, through via statements.
  static isl::map reach(const Program& p, const Repair& r, const Statement& from,
                        const std::string& source) {
    isl::map out;
    auto add = [&](const isl::map& m) { out = out.is_null() ? m : out.unite(m); };
    for (const Access& a : from.reads) {
      const isl::map m = a.map.intersect_domain(from.domain);
      if (a.tensor == source) add(m);
      for (const std::string& v : r.via) {
        const Statement& via = *p.statement(v);
        if (via.write.tensor != a.tensor || via.name == from.name) continue;
        const isl::map further = reach(p, r, via, source);
        if (!further.is_null())
          add(m.apply_range(via.write.map.intersect_domain(via.domain).reverse())
                  .apply_range(further));
      }
    }
    return out;
  }

  static Rule rule(const Repair& r, const Program& p) {
    Rule out{r, {}, {}, {}};
    const Statement& target = *p.statement(r.targets.at(0));
    for (size_t k = 0; k < r.sources.size(); ++k) {
      const isl::map m = target.write.map.intersect_domain(target.domain)
                             .reverse()
                             .apply_range(reach(p, r, target, r.source_tensors[k]));
      out.source_of.emplace_back(m.as_pw_multi_aff(), m.domain());
      out.initial.push_back(identity_value(*p.statement(r.sources[k])->reduction));
    }
    return out;
  }

  // `inside`: for a statement of the repair itself, which may go on with a stale reference.
  void synchronize(Rule& r, const std::vector<int64_t>& element, bool inside) {
    std::vector<double> now;
    for (size_t k = 0; k < r.source_of.size(); ++k) {
      std::vector<int64_t> at;
      if (!r.source_of[k](element, at)) return;  // never updated: keeps its identity
      const std::string& source = r.repair.source_tensors[k];
      now.push_back(inside && source == r.repair.lazy_source ? reference(source, at)
                                                             : *machine_.element(source, at));
    }
    const auto seen = r.seen.find(element);
    const std::vector<double> old = seen == r.seen.end() ? r.initial : seen->second;
    r.seen[element] = now;
    if (old == now) return;
    EvalEnv env;
    for (size_t k = 0; k < now.size(); ++k) {
      env.vars[r.repair.source_tensors[k]] = old[k];
      env.vars[r.repair.source_tensors[k] + "'"] = now[k];
    }
    std::vector<double*> cells;
    for (size_t k = 0; k < r.repair.target_tensors.size(); ++k) {
      cells.push_back(machine_.element(r.repair.target_tensors[k], element));
      env.vars["t" + std::to_string(k)] = *cells.back();
    }
    std::vector<double> values;
    // A move of the only source is what the lazy repair says of moves.
    const bool moves = r.repair.lazy && r.source_of.size() == 1 && std::isfinite(old[0]);
    for (const Expr& c : moves ? r.repair.moved : r.repair.corrections)
      values.push_back(evaluate(c, env));
    for (size_t k = 0; k < values.size(); ++k) *cells[k] = values[k];
  }
};

// Every instance of the program in the schedule's order at these sizes; ties in random order.
inline Expected<std::vector<Instance>> ordered(const Schedule& s, const Program& bound,
                                               const Sizes& sizes, std::mt19937& random) {
  const Clock clock(s, bound, sizes);
  std::vector<Instance> all;
  std::optional<Refusal> lost;
  const auto n = for_each_instance(
      textual_order(bound), 1'000'000, [&](const std::string& x, std::span<const int64_t> d) {
        std::vector<int64_t> dims(d.begin(), d.end());
        const auto time = clock(x, dims);
        if (!time)
          lost = Refusal{"order instances", x, "an instance has no place in the schedule", ""};
        else
          all.push_back({x, dims, *time});
        return !lost;
      });
  if (!n) return n.error();
  if (lost) return *lost;
  std::shuffle(all.begin(), all.end(), random);
  std::stable_sort(all.begin(), all.end(),
                   [](const Instance& a, const Instance& b) { return a.time < b.time; });
  return all;
}

inline Expected<Buffers> execute(const Schedule& s, const Sizes& sizes, const Buffers& inputs,
                                 std::mt19937& random, Staleness* staleness = nullptr) {
  const auto bound = instantiate(*s.program, sizes);
  if (!bound) return bound.error();
  const auto order = ordered(s, *bound, sizes, random);
  if (!order) return order.error();
  auto machine = Interpreter::make(*bound, inputs);
  if (!machine) return machine.error();
  Staleness ignored;
  Rolling rolling(s, *bound, **machine, staleness ? *staleness : ignored);
  for (const Instance& x : *order)
    if (!rolling.run(*bound, x.statement, x.dims)) return *(*machine)->error();
  if (!s.repairs.empty()) rolling.finish(*bound);
  return (*machine)->results();
}

}  // namespace nautilus::poly::executor
