#include "polyhedral/verify_rolling_loop.h"

#include <cmath>

#include "polyhedral/names.h"

namespace nautilus::poly::verifying {

std::optional<std::string> RollingLoop::run(const Times& times) {
  if (auto bad = prepare(times)) return bad;
  for (const auto& [time, by] : times)
    for (const std::string& n : rolled_.order) {
      for (Rule& rule : rules_)
        if (first_of(rule) == n) correct(rule);
      const auto here = by.find(n);
      if (here != by.end()) step(*p_.statement(n), here->second);
    }
  return std::nullopt;
}

Real RollingLoop::held(const std::string& tensor, const Element& e) const {
  if (rolled_.given.count(tensor)) return data_.at(*p_.tensor(tensor), e);
  if (const auto of = values_.find(tensor); of != values_.end())
    if (const auto at = of->second.find(e); at != of->second.end()) return at->second;
  for (const std::string& n : rolled_.all) {
    const Statement& s = *p_.statement(n);
    if (s.write.tensor == tensor && s.reduction) return identity_value(*s.reduction);
  }
  return std::nan("");
}

// Elements of a rule's sources that one instance reads, through the via statements.
void RollingLoop::sources_read(const Rule& rule, const Statement& s, const Element& x,
                               const Writers& writer_of, const Machine::Read& read,
                               std::map<std::string, Element>& out,
                               std::optional<std::string>& bad) const {
  for (size_t k = 0; k < s.reads.size(); ++k) {
    const std::string& tensor = s.reads[k].tensor;
    if (rolled_.given.count(tensor)) continue;
    const Element e = machine_.element(s, static_cast<int>(k), x, read);
    if (in(rule.repair.source_tensors, tensor)) {
      const auto [at, fresh] = out.emplace(tensor, e);
      if (!fresh && at->second != e)
        bad = s.name + " reads two elements of " + tensor + " for one element that it updates";
      continue;
    }
    for (const std::string& v : rule.repair.via) {
      const Statement& via = *p_.statement(v);
      if (via.write.tensor != tensor) continue;
      const auto of = writer_of.find(v);
      if (of == writer_of.end()) continue;
      if (const auto y = of->second.find(e); y != of->second.end())
        sources_read(rule, via, y->second, writer_of, read, out, bad);
    }
  }
}

std::optional<std::string> RollingLoop::prepare(const Times& times) {
  const Machine::Read read = truth_.reader();
  Writers writer_of;
  for (const auto& [n, instances] : truth_.instances())
    for (const Element& x : instances)
      if (in(rolled_.all, n) && !p_.statement(n)->reduction)
        writer_of[n].emplace(machine_.element(*p_.statement(n), -1, x, read), x);
  std::optional<std::string> bad;
  for (const Repair* r : rolled_.repairs) {
    Rule rule{*r, {}, {}, {}, {}};
    for (const std::string& n : r->targets) rule.targets.push_back(p_.statement(n));
    for (const std::string& n : r->sources) rule.sources.push_back(p_.statement(n));
    for (const auto& [time, by] : times)
      for (const Statement* t : rule.targets) {
        const auto here = by.find(t->name);
        if (here == by.end()) continue;
        for (const Element& x : here->second) {
          std::map<std::string, Element> found;
          sources_read(rule, *t, x, writer_of, read, found, bad);
          const Element e = machine_.element(*t, -1, x, read);
          std::vector<Element>& known = rule.read[e];
          known.resize(rule.sources.size(), Element{-1});
          for (size_t k = 0; k < rule.sources.size(); ++k) {
            const auto f = found.find(rule.sources[k]->write.tensor);
            if (f == found.end()) continue;
            if (known[k] != Element{-1} && known[k] != f->second)
              bad = t->name + " reads two elements of " + f->first +
                    " for one element that it updates";
            known[k] = f->second;
          }
        }
      }
    rules_.push_back(std::move(rule));
  }
  return bad;
}

// T_k <- corrections[k](T, r_old, r_new) for every element of a rule's targets.
void RollingLoop::correct(Rule& rule) {
  for (const auto& [e, read] : rule.read) {
    std::vector<Real> now;
    for (size_t k = 0; k < rule.sources.size(); ++k)
      now.push_back(held(rule.sources[k]->write.tensor, read[k]));
    auto [seen, fresh] = rule.seen.try_emplace(e);
    if (fresh)
      for (const Statement* s : rule.sources) seen->second.push_back(identity_value(*s->reduction));
    std::map<std::string, Real> vars;
    for (size_t k = 0; k < now.size(); ++k) {
      vars[rule.sources[k]->write.tensor] = seen->second[k];
      vars[rule.sources[k]->write.tensor + "'"] = now[k];
    }
    for (size_t k = 0; k < rule.targets.size(); ++k)
      vars["t" + std::to_string(k)] = held(rule.targets[k]->write.tensor, e);
    std::vector<Real> corrected;
    for (const Expr& h : rule.repair.corrections)
      corrected.push_back(number(h, {{}, {}, &vars, rolled_.sizes}));
    for (size_t k = 0; k < rule.targets.size(); ++k)
      values_[rule.targets[k]->write.tensor][e] = corrected[k];
    seen->second = now;
  }
}

// What a via statement or target reads in place of a source that is still at its identity.
Real RollingLoop::at_rest(const std::string& statement, const std::string& tensor, Real v) const {
  for (const Repair* r : rolled_.repairs) {
    if (!in(r->via, statement) && !in(r->targets, statement)) continue;
    const auto rest = r->rest.find(tensor);
    if (rest != r->rest.end() && v == static_cast<Real>(rest->second.first))
      return rest->second.second;
  }
  return v;
}

void RollingLoop::step(const Statement& s, const std::vector<Element>& instances) {
  const Machine::Read read = [&](const std::string& t, const Element& e) {
    return at_rest(s.name, t, held(t, e));
  };
  for (const Element& x : instances) {
    if (!machine_.runs(s, x, read)) continue;
    const Element e = machine_.element(s, -1, x, read);
    const Real v = machine_.term(s, x, read);
    Real& cell = values_[s.write.tensor].try_emplace(e, held(s.write.tensor, e)).first->second;
    cell = s.reduction ? combined(*s.reduction, cell, v) : v;
  }
}

// The first of a rule's targets under the band.
const std::string& RollingLoop::first_of(const Rule& rule) const {
  for (const std::string& n : rolled_.order)
    if (in(rule.repair.targets, n)) return n;
  return rule.repair.targets[0];
}

}  // namespace nautilus::poly::verifying
