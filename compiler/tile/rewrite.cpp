#include "compiler/tile/rewrite.h"

#include <algorithm>

#include "compiler/tile/rewrite_axes.h"
#include "compiler/tile/rewrite_emit.h"
#include "compiler/tile/rewrite_loops.h"
#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile {
namespace {

using namespace rw;

// Rules that made a chosen node, or that replaced one by what was there.
std::vector<int> rules_used(const Graph& g, const Extraction& e, const Saturation& s) {
  std::vector<int> used;
  auto note = [&](int r) {
    if (std::find(used.begin(), used.end(), r) == used.end()) used.push_back(r);
  };
  auto canonical = [&](ENode n) {
    for (ClassId& c : n.children) c = g.find(c);
    return n;
  };
  std::map<std::pair<Symbol, std::vector<ClassId>>, int> made;
  for (const auto& [n, r] : g.made_by()) {
    ENode k = canonical(n);
    made.emplace(std::pair(k.symbol, k.children), r);
  }
  std::map<ClassId, std::vector<const Fact*>> facts;
  for (const Fact& f : s.facts) facts[g.find(f.c)].push_back(&f);
  for (ClassId c : e.order) {
    const ENode& n = *e.best[c];
    auto it = made.find({n.symbol, n.children});
    if (it != made.end()) {
      note(it->second);
      continue;
    }
    if (auto f = facts.find(c); f != facts.end())
      for (const Fact* fact : f->second)
        if (!(canonical(fact->lhs) == n)) {
          note(fact->rule);
          break;
        }
  }
  return used;
}

struct Outcome {
  Kernel kernel;
  std::vector<int> rules;
  double before = 0, after = 0;
  std::string stop;
};

Outcome rewrite_kernel(const Module& m, const Kernel& k, const RewriteOptions& o) {
  Outcome out{k, {}, 0, 0, "saturated"};
  const Kernel unified = unify_axes(k, o.numerics == Numerics::Strict);
  auto g = Graph::build(m, unified, o.numerics);
  if (!g) {
    out.stop = "more than 64 tile axes";
    return out;
  }
  for (const Original& x : g->originals)
    out.before += own_cost(*g, x.node, x.axes, g->regions[size_t(x.region)].weight, o.costs);
  out.after = out.before;
  Saturation s;
  saturate(*g, o.max_iterations, o.max_nodes, s);
  if (o.numerics != Numerics::Strict && change_carried_variables(*g) > 0)
    saturate(*g, o.max_iterations, o.max_nodes, s);
  out.stop = s.stop;
  const Extraction e = extract_best(*g, o.costs);
  if (!e.ok) {
    out.stop = "no complete choice";
    return out;
  }
  auto built = emit(m, *g, e);
  if (!built) {
    out.stop = "no order of the chosen values";
    return out;
  }
  out.kernel = std::move(built->kernel);
  out.after = e.cost;
  out.rules = rules_used(*g, e, s);
  if (built->hoisted) out.rules.push_back(rule_index("loop-invariant-motion"));
  if (built->shared) out.rules.push_back(rule_index("common-subexpressions"));
  return out;
}

}  // namespace

Module rewrite(const Module& m, const RewriteOptions& options, RewriteReport* report) {
  RewriteReport local;
  RewriteReport& r = report ? *report : local;
  r = {};
  r.stop_reason = "saturated";
  if (verify(m)) {
    r.stop_reason = "the module is malformed";
    return m;
  }
  Module out = m;
  std::vector<int> used;
  for (Kernel& k : out.kernels) {
    const Kernel old = k;
    Outcome o = rewrite_kernel(m, old, options);
    k = std::move(o.kernel);
    r.cost_before += o.before;
    r.cost_after += o.after;
    if (o.stop != "saturated") r.stop_reason = o.stop;
    for (int rule : o.rules)
      if (std::find(used.begin(), used.end(), rule) == used.end()) used.push_back(rule);
  }
  for (int rule : used) {
    const RuleInfo& info = rules()[size_t(rule)];
    if (info.name == "multiply-add") continue;
    r.applied.push_back(info.name + " (" + std::string(poly::numeric_tag_name(info.tag)) + ")");
  }
  for (const std::string& a : r.applied)
    if (std::find(out.rewrites.begin(), out.rewrites.end(), a) == out.rewrites.end())
      out.rewrites.push_back(a);
  if (auto bad = verify(out)) {  // never seen; the input is always a right answer
    r.applied.clear();
    r.cost_after = r.cost_before;
    r.stop_reason = "not rewritten: " + bad->text();
    return m;
  }
  return out;
}

}  // namespace nautilus::tile
