// Patterns, equality saturation and extraction.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "polyhedral/egraph.h"

namespace nautilus::egraph {
namespace {

class PatternReader {
 public:
  PatternReader(std::string_view text, std::vector<std::string>& variables)
      : text_(text), variables_(variables) {}
  Pattern run() {
    Pattern p = term();
    space();
    if (at_ != text_.size()) bad();
    return p;
  }

 private:
  std::string_view text_;
  std::vector<std::string>& variables_;
  size_t at_ = 0;

  [[noreturn]] void bad() const {
    throw std::logic_error("malformed pattern '" + std::string(text_) + "' at " +
                           std::to_string(at_));
  }
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string word() {
    const size_t first = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '(' && text_[at_] != ')') ++at_;
    if (first == at_) bad();
    return std::string(text_.substr(first, at_ - first));
  }
  Pattern term() {
    space();
    Pattern p;
    if (at_ < text_.size() && text_[at_] == '(') {
      ++at_;
      space();
      p.symbol = intern(word());
      for (space(); at_ < text_.size() && text_[at_] != ')'; space()) p.children.push_back(term());
      if (at_ >= text_.size()) bad();
      ++at_;
      return p;
    }
    const std::string w = word();
    if (w[0] != '?') {
      p.symbol = intern(w);
      return p;
    }
    auto it = std::find(variables_.begin(), variables_.end(), w);
    p.variable = static_cast<int>(it - variables_.begin());
    if (it == variables_.end()) variables_.push_back(w);
    return p;
  }
};

constexpr ClassId kUnbound = std::numeric_limits<ClassId>::max();
using Binding = std::vector<ClassId>;

// Backtracking e-matching: calls found(binding) for every way pattern matches class c.
class Matcher {
 public:
  Matcher(const EGraph& g, size_t n_variables, size_t limit)
      : g_(g), binding_(n_variables, kUnbound), limit_(limit) {}
  // False if the limit was met.
  bool match(const Pattern& p, ClassId root, std::vector<std::pair<ClassId, Binding>>& out) {
    goals_ = {{&p, root}};
    root_ = root;
    out_ = &out;
    return next(0);
  }

 private:
  const EGraph& g_;
  Binding binding_;
  size_t limit_;
  std::vector<std::pair<const Pattern*, ClassId>>
      goals_;  // a stack: [0, k) done, the rest to match
  ClassId root_ = 0;
  std::vector<std::pair<ClassId, Binding>>* out_ = nullptr;

  bool next(size_t k) {
    if (k == goals_.size()) {
      out_->emplace_back(root_, binding_);
      return out_->size() < limit_;
    }
    const auto [p, raw] = goals_[k];
    const ClassId c = g_.find(raw);
    if (p->variable >= 0) {
      ClassId& slot = binding_[static_cast<size_t>(p->variable)];
      if (slot != kUnbound) return slot != c || next(k + 1);
      slot = c;
      const bool more = next(k + 1);
      binding_[static_cast<size_t>(p->variable)] = kUnbound;
      return more;
    }
    const size_t mark = goals_.size();
    for (const ENode& n : g_.nodes(c)) {
      if (n.symbol != p->symbol || n.children.size() != p->children.size()) continue;
      for (size_t i = 0; i < n.children.size(); ++i)
        goals_.emplace_back(&p->children[i], n.children[i]);
      const bool more = next(k + 1);
      goals_.resize(mark);
      if (!more) return false;
    }
    return true;
  }
};

struct Compiled {
  const Rewrite* rule;
  Pattern lhs, rhs;
  std::vector<std::string> variables;
  size_t match_limit = 2'000;  // doubled, like the ban, each time the rule exceeds it
  int banned_until = 0, bans = 0;
};

Compiled compile(const Rewrite& r) {
  Compiled c{&r, {}, {}, {}};
  c.lhs = parse_pattern(r.lhs, c.variables);
  const size_t bound = c.variables.size();
  if (!r.apply) c.rhs = parse_pattern(r.rhs, c.variables);
  if (c.variables.size() != bound)
    throw std::logic_error("rule " + r.name + ": unbound variable on the right");
  return c;
}

ClassId instantiate(EGraph& g, const Pattern& p, const Binding& b) {
  if (p.variable >= 0) return b[static_cast<size_t>(p.variable)];
  ENode n{p.symbol, {}};
  for (const Pattern& child : p.children) n.children.push_back(instantiate(g, child, b));
  return g.add(std::move(n));
}

Subst as_subst(const Compiled& c, const Binding& b) {
  Subst s;
  for (size_t i = 0; i < c.variables.size(); ++i) s[c.variables[i]] = b[i];
  return s;
}

// One match applied; true if it made a new equality.
bool fire(EGraph& g, const Compiled& c, ClassId root, const Binding& b) {
  if (c.rule->condition || c.rule->apply) {
    const Subst s = as_subst(c, b);
    if (c.rule->condition && !c.rule->condition(g, s)) return false;
    if (c.rule->apply) {
      const auto made = c.rule->apply(g, s);
      return made && g.merge(root, *made);
    }
  }
  return g.merge(root, instantiate(g, c.rhs, b));
}

using Matches = std::vector<std::pair<ClassId, Binding>>;

// All matches of a rule in this round; empty while the rule sits out.
Matches matches_of(const EGraph& g, Compiled& c, int round, const std::vector<ClassId>& classes) {
  Matches found;
  if (round < c.banned_until) return found;
  Matcher m(g, c.variables.size(), c.match_limit);
  for (ClassId cls : classes) {
    if (m.match(c.lhs, cls, found)) continue;
    c.banned_until = round + (2 << c.bans);
    c.bans = std::min(c.bans + 1, 8);
    c.match_limit *= 2;
    break;  // what was found so far is still applied
  }
  return found;
}

}  // namespace

Pattern parse_pattern(std::string_view text, std::vector<std::string>& variables) {
  return PatternReader(text, variables).run();
}

std::string_view stop_name(Stop s) {
  switch (s) {
    case Stop::Saturated:
      return "saturated";
    case Stop::NodeLimit:
      return "node limit";
    case Stop::IterationLimit:
      return "iteration limit";
  }
  return "";
}

RunReport saturate(EGraph& g, const std::vector<Rewrite>& rules, const Limits& limits,
                   const std::function<bool(const EGraph&)>& done) {
  std::vector<Compiled> compiled;
  for (const Rewrite& r : rules) compiled.push_back(compile(r));
  RunReport report;
  report.stop = Stop::IterationLimit;
  g.rebuild();
  for (int round = 0; round < limits.iterations; ++round) {
    if (done && done(g)) {
      report.stop = Stop::Saturated;
      return report;
    }
    const std::vector<ClassId> classes = g.classes();
    std::vector<Matches> found;
    for (Compiled& c : compiled) found.push_back(matches_of(g, c, round, classes));
    bool changed = false;
    const size_t before = g.node_count();
    for (size_t i = 0; i < compiled.size() && g.node_count() <= limits.nodes; ++i)
      for (const auto& [root, binding] : found[i]) {
        if (fire(g, compiled[i], root, binding)) {
          ++report.fired[compiled[i].rule->name];
          changed = true;
        }
        if (g.node_count() > limits.nodes) break;
      }
    g.rebuild();
    report.iterations = round + 1;
    if (g.node_count() > limits.nodes) {
      report.stop = Stop::NodeLimit;
      return report;
    }
    const bool waiting = std::any_of(compiled.begin(), compiled.end(),
                                     [&](const Compiled& c) { return c.banned_until > round; });
    if (!changed && g.node_count() == before && !waiting) {
      report.stop = Stop::Saturated;
      return report;
    }
  }
  return report;
}

Extractor::Extractor(const EGraph& g, CostFn cost) : g_(g) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto of_child = [&](ClassId c) {
    auto it = best_.find(g_.find(c));
    return it == best_.end() ? inf : it->second.first;
  };
  const std::vector<ClassId> classes = g.classes();
  for (bool changed = true; changed;) {
    changed = false;
    for (ClassId c : classes)
      for (const ENode& n : g.nodes(c)) {
        const bool ready = std::all_of(n.children.begin(), n.children.end(),
                                       [&](ClassId k) { return best_.contains(g_.find(k)); });
        if (!ready) continue;
        const double v = cost(n, of_child);
        auto it = best_.find(c);
        if (it != best_.end() && !(v < it->second.first)) continue;
        best_[c] = {v, n};
        changed = true;
      }
  }
}

const ENode& Extractor::best(ClassId c) const { return best_.at(g_.find(c)).second; }
double Extractor::cost(ClassId c) const { return best_.at(g_.find(c)).first; }

}  // namespace nautilus::egraph
