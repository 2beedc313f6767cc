// Runs a schedule with its repairs, instance by instance in the order of the tree: before a
// target's element gets a term, its accumulators are corrected from the source values of its last
// term to the present ones.
#pragma once

#include <algorithm>

#include "polyhedral/instances.h"
#include "polyhedral/interpreter.h"
#include "polyhedral/repair_internal.h"
#include "polyhedral/schedule.h"

namespace nautilus::poly::testing_programs {

class RepairRun {
 public:
  RepairRun(const Schedule& s, const Sizes& sizes, const Buffers& inputs, bool round = false)
      : s_(s), bound_(*instantiate(*s.program, sizes)), round_(round) {
    InterpretOptions o;
    o.round_stores = round;
    auto made = Interpreter::make(bound_, inputs, o);
    if (!made) throw std::runtime_error(made.error().text());
    run_ = std::move(*made);
    for (const Repair& r : s.repairs) add(r);
    instances(sizes);
  }
  Buffers outputs() {
    for (const auto& [time, x] : order_) step(x.first, x.second);
    if (auto e = run_->error()) throw std::runtime_error(e->text());
    return run_->results();
  }

 private:
  using Dims = std::vector<int64_t>;
  struct Rule {
    const Repair* repair;
    std::vector<PiecewiseFunction> source_elements;  // by target instance of targets[0]
    PiecewiseFunction element;
    std::map<Dims, std::vector<double>> seen;  // target element -> source values at its last term
    std::vector<double> identities;
  };
  const Schedule& s_;
  Program bound_;
  bool round_;
  std::unique_ptr<Interpreter> run_;
  std::vector<Rule> rules_;
  std::map<Dims, std::pair<std::string, Dims>> order_;

  static PiecewiseFunction function(const isl::map& m, const isl::set& domain) {
    return PiecewiseFunction(m.intersect_domain(domain).as_pw_multi_aff(), domain);
  }

  void add(const Repair& r) {
    const Statement& t = *bound_.statement(r.targets[0]);
    Rule rule{&r, {}, function(t.write.map, t.domain), {}, {}};
    const auto term = algebra::inline_term(bound_, t, r.sources, r.via);
    if (!term) throw std::runtime_error(term.error().text());
    for (size_t k = 0; k < r.sources.size(); ++k) {
      for (const algebra::Leaf& l : term->leaves)
        if (l.name == r.source_tensors[k])
          rule.source_elements.push_back(function(l.map, t.domain));
      rule.identities.push_back(identity_value(*bound_.statement(r.sources[k])->reduction));
    }
    rules_.push_back(std::move(rule));
  }

  void instances(const Sizes& sizes) {
    flat_schedule(s_).foreach_map([&](isl::map m) {
      const isl::map at = substitute_params(m, sizes);
      const isl::set domain = at.domain();
      PiecewiseFunction time = function(at, domain);
      domain.foreach_point([&](isl::point p) {
        const isl::multi_val v = p.multi_val();
        Dims dims, t;
        for (unsigned k = 0; k < n_dim(domain); ++k)
          dims.push_back(to_int(v.at(static_cast<int>(k))));
        if (!time(dims, t)) throw std::runtime_error("no time");
        t.push_back(static_cast<int64_t>(order_.size()));
        order_[t] = {tuple_name(domain), dims};
      });
    });
  }

  double& at(const std::string& tensor, const Dims& index) { return *run_->element(tensor, index); }

  void step(const std::string& stmt, const Dims& dims) {
    for (Rule& rule : rules_) {
      const auto& targets = rule.repair->targets;
      if (std::find(targets.begin(), targets.end(), stmt) != targets.end()) correct(rule, dims);
    }
    run_->execute(stmt, dims);
  }

  void correct(Rule& rule, const Dims& dims) {
    const Repair& r = *rule.repair;
    Dims element, source;
    rule.element(dims, element);
    std::vector<double>& old = rule.seen.try_emplace(element, rule.identities).first->second;
    std::vector<double> now;
    EvalEnv env;
    for (const std::string& p : bound_.params) (void)p;
    for (size_t k = 0; k < r.sources.size(); ++k) {
      rule.source_elements[k](dims, source);
      now.push_back(at(r.source_tensors[k], source));
      env.vars[r.source_tensors[k]] = old[k];
      env.vars[r.source_tensors[k] + "'"] = now.back();
    }
    if (now == old) return;
    for (size_t k = 0; k < r.targets.size(); ++k)
      env.vars["t" + std::to_string(k)] = at(r.target_tensors[k], element);
    env.param = [&](const std::string& n) { return static_cast<double>(sizes_.at(n)); };
    std::vector<double> next;
    for (const Expr& h : r.corrections) next.push_back(evaluate(h, env));
    for (size_t k = 0; k < r.targets.size(); ++k)
      at(r.target_tensors[k], element) = round_ ? round_to_type(next[k], Type::F32) : next[k];
    old = now;
  }

 public:
  Sizes sizes_;  // for corrections that use a size
};

}  // namespace nautilus::poly::testing_programs
