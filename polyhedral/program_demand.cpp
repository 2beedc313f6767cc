// Cutting domains down to what is defined and to what is needed.
#include <map>
#include <set>

#include "polyhedral/access_order.h"
#include "polyhedral/naut.h"

namespace nautilus::poly {

namespace {

// The same statement over domain ∩ part, with its dim names and without what the sizes' facts
// imply.
Statement over(const Program& p, const Statement& s, const isl::set& part) {
  Statement out = s;
  const std::vector<std::string> names = dim_names(s.domain);
  isl::set domain = s.domain.intersect(part);
  if (s.domain.intersect_params(p.param_context).is_subset(domain))
    return out;  // keep the text that the user knows
  out.domain = set_dim_names(simplify(domain.gist_params(p.param_context)), names);
  return out;
}

// The program with these statements, in the original order of what is left.
Program with_statements(const Program& p, std::vector<Statement> statements) {
  const bool textual = naut::is_textual(p);
  Program out = p;
  out.statements = std::move(statements);
  out.original = textual ? textual_order(out) : intersect_domain(p.original, out.domain());
  return out;
}

}  // namespace

Program restrict_to_defined(const Program& p) {
  std::map<std::string, isl::set> defined;  // partially defined temporaries: what is written
  for (const Tensor& t : p.tensors) {
    if (t.kind == TensorKind::Input) continue;
    const auto from = writers(p, t.name);
    if (from.empty() || from[0]->reduction) continue;
    isl::set written = isl::set::empty(p.elements(t).space());
    for (const Statement* w : from) written = written.unite(restricted(p, *w, w->write).range());
    written = written.coalesce();
    if (!p.elements(t).intersect_params(p.param_context).is_subset(written))
      defined.emplace(t.name, written);
  }
  if (defined.empty()) return p;
  std::vector<Statement> statements;
  for (const Statement& s : p.statements) {
    isl::set domain = s.domain;
    if (s.reduction)
      for (const Access& r : s.reads) {
        const auto at = defined.find(r.tensor);
        if (at != defined.end() && r.gathers.empty())
          domain = domain.intersect(at->second.apply(r.map.reverse()));
      }
    statements.push_back(over(p, s, domain));
  }
  return with_statements(p, statements);
}

namespace {

// Demand of elements, propagated from outputs to inputs over the graph of tensors.
class Demand {
 public:
  Demand(const Program& p, const std::optional<isl::union_set>& wanted) : p_(p) {
    for (const Tensor& t : p.tensors) {
      isl::set elements = p.elements(t).intersect_params(p.param_context);
      isl::set need = isl::set::empty(elements.space());
      if (t.kind == TensorKind::Output)
        need = wanted ? elements.intersect(wanted->extract_set(elements.space())) : elements;
      needed_.emplace(t.name, need);
    }
  }

  std::vector<Statement> run() {
    for (const std::vector<std::string>& group : groups()) demand_group(group);
    std::vector<Statement> out;
    for (const Statement& s : p_.statements) {
      Statement cut = over(p_, s, instances(s));
      // A reduction without instances still gives its tensor the identity.
      const bool identity =
          s.reduction && !needed_.at(s.write.tensor).intersect_params(p_.param_context).is_empty();
      if (identity || !cut.domain.intersect_params(p_.param_context).is_empty()) out.push_back(cut);
    }
    return out;
  }

 private:
  const Program& p_;
  std::map<std::string, isl::set> needed_;

  // Instances that write a demanded element.
  isl::set instances(const Statement& s) const {
    return needed_.at(s.write.tensor).apply(s.write.map.reverse()).intersect(s.domain);
  }

  // tensor -> tensors whose elements its writers read
  std::map<std::string, std::set<std::string>> graph() const {
    std::map<std::string, std::set<std::string>> out;
    for (const Tensor& t : p_.tensors) out[t.name];
    for (const Statement& s : p_.statements)
      for (const Access& r : s.reads) out[s.write.tensor].insert(r.tensor);
    return out;
  }

  // Strongly connected groups of tensors, readers before what they read (Tarjan's algorithm,
  // reversed).
  std::vector<std::vector<std::string>> groups() const {
    const auto edges = graph();
    std::map<std::string, int> number, low;
    std::vector<std::string> stack;
    std::set<std::string> on_stack;
    std::vector<std::vector<std::string>> out;
    int next = 0;
    const std::function<void(const std::string&)> visit = [&](const std::string& v) {
      number[v] = low[v] = next++;
      stack.push_back(v);
      on_stack.insert(v);
      for (const std::string& w : edges.at(v)) {
        if (!number.count(w)) {
          visit(w);
          low[v] = std::min(low[v], low[w]);
        } else if (on_stack.count(w)) {
          low[v] = std::min(low[v], number[w]);
        }
      }
      if (low[v] != number[v]) return;
      std::vector<std::string> group;
      std::string w;
      do {
        w = stack.back();
        stack.pop_back();
        on_stack.erase(w);
        group.push_back(w);
      } while (w != v);
      out.push_back(group);
    };
    for (const auto& [v, to] : edges)
      if (!number.count(v)) visit(v);
    return {out.rbegin(), out.rend()};
  }

  // Tensors in a cycle are needed whole once any element is; then each writer's reads are demanded.
  void demand_group(const std::vector<std::string>& group) {
    const auto edges = graph();
    const std::set<std::string> members(group.begin(), group.end());
    bool cyclic = group.size() > 1 || edges.at(group[0]).count(group[0]);
    bool any = false;
    for (const std::string& t : group) any = any || !needed_.at(t).is_empty();
    if (!any) return;
    if (cyclic)
      for (const std::string& t : group)
        needed_.at(t) = p_.elements(*p_.tensor(t)).intersect_params(p_.param_context);
    for (const Statement& s : p_.statements) {
      if (!members.count(s.write.tensor)) continue;
      const isl::set active = instances(s).intersect_params(p_.param_context);
      for (const Access& r : s.reads) {
        isl::set& need = needed_.at(r.tensor);
        need = need.unite(active.apply(r.map)).coalesce();
      }
    }
  }
};

}  // namespace

Program restrict_to_demanded(const Program& p, const std::optional<isl::union_set>& wanted) {
  const Program defined = restrict_to_defined(p);
  Program out = with_statements(defined, Demand(defined, wanted).run());
  std::set<std::string> used;
  for (const Statement& s : out.statements) {
    used.insert(s.write.tensor);
    for (const Access& r : s.reads) used.insert(r.tensor);
  }
  std::erase_if(out.tensors, [&](const Tensor& t) {
    return t.kind == TensorKind::Temp && used.count(t.name) == 0;
  });
  return in_param_order(std::move(out));
}

}  // namespace nautilus::poly
