// The registry of rules, and saturation.
#include <algorithm>

#include "compiler/tile/rewrite_rules.h"
#include "polyhedral/deadline.h"

namespace nautilus::tile {

std::optional<Numerics> numerics_from_name(std::string_view s) {
  if (s == "strict") return Numerics::Strict;
  if (s == "reassociate") return Numerics::Reassociate;
  if (s == "fast") return Numerics::Fast;
  return std::nullopt;
}

const std::vector<RuleInfo>& rules() {
  static const std::vector<RuleInfo> list = [] {
    std::vector<RuleInfo> out;
    for (const rw::Rule& r : rw::all_rules()) out.push_back(r.info);
    return out;
  }();
  return list;
}

namespace rw {

const RuleList& all_rules() {
  static const RuleList list = [] {
    RuleList out;
    add_identity_rules(out);
    add_division_rules(out);
    add_exponential_rules(out);
    add_linear_rules(out);
    add_reduction_rules(out);
    add_contraction_rules(out);
    add_control_rules(out);
    return out;
  }();
  return list;
}

int rule_index(std::string_view name) {
  const RuleList& all = all_rules();
  for (size_t r = 0; r < all.size(); ++r)
    if (all[r].info.name == name) return int(r);
  return -1;
}

bool enabled(const RuleInfo& r, Numerics n) {
  switch (r.tag) {
    case poly::NumericTag::Exact:
      return true;
    case poly::NumericTag::Reassociates:
      return n != Numerics::Strict;
    case poly::NumericTag::Approximates:
      return n == Numerics::Fast;
  }
  return false;
}

double Match::weight(ClassId a, ClassId b) const {
  const Place &p = g.at(a).place, &q = g.at(b).place;
  return g.weight(g.at(a).axes | g.at(b).axes, p.before(q) ? q : p);
}

void saturate(Graph& g, int max_iterations, int max_nodes, Saturation& out) {
  const RuleList& all = all_rules();
  std::vector<int> active;
  for (size_t r = 0; r < all.size(); ++r)
    if (all[r].apply && enabled(all[r].info, g.numerics)) active.push_back(int(r));
  // A rule that makes very many nodes feeds on itself; it gets no further turns (after egg's
  // back-off scheduler).
  const size_t allowance = std::max<size_t>(1000, 10 * g.eg.node_count());
  std::vector<size_t> made_by_rule(all.size(), 0);
  bool limited = false;
  out.stop = "iteration limit";
  for (int it = 0; it < max_iterations; ++it) {
    std::vector<std::pair<ClassId, ClassId>> todo;
    const auto classes = g.eg.classes();
    const size_t before = g.eg.node_count();
    for (ClassId c : classes) {
      if (g.constant(c)) continue;
      for (const ENode& n : g.nodes(c)) {
        const NodeInfo info = g.info(n);
        for (int r : active) {
          if (it > 0 && all[size_t(r)].at_first_only) continue;
          if (made_by_rule[size_t(r)] > allowance) {
            limited = true;
            continue;
          }
          std::vector<ClassId> equal;
          const size_t made = g.made_by().size();
          g.rule = r;
          g.hint = c;
          g.has_hint = true;
          Match m{g, c, n, info, equal, todo};
          all[size_t(r)].apply(m);
          made_by_rule[size_t(r)] += g.made_by().size() - made;
          for (ClassId x : equal) {
            if (g.find(x) == g.find(c)) continue;
            todo.emplace_back(c, x);
            if (g.made_by().size() == made) out.facts.push_back({c, n, r});
          }
        }
        if (g.eg.node_count() > size_t(max_nodes)) break;
      }
      if (g.eg.node_count() > size_t(max_nodes) || poly::out_of_time()) break;
    }
    g.rule = -1;
    g.has_hint = false;
    bool changed = g.eg.node_count() != before;
    for (auto [a, b] : todo) changed |= g.merge(a, b);
    g.rebuild();
    if (g.eg.node_count() > size_t(max_nodes)) {
      out.stop = "node limit";
      return;
    }
    if (poly::out_of_time()) {
      out.stop = "time limit";
      return;
    }
    if (!changed) {
      out.stop = limited ? "node limit" : "saturated";
      return;
    }
  }
}

}  // namespace rw
}  // namespace nautilus::tile
