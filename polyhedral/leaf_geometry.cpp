#include "polyhedral/leaf_geometry.h"

#include <algorithm>
#include <set>

#include "polyhedral/leaf_solve.h"

namespace nautilus::poly {
namespace {

// Walks one kernel's subtree with the instances that reach a node and the band members passed.
struct Collector {
  const Program& program;
  const Sizes& sizes;
  std::vector<LeafPtr> leaves;
  std::optional<Refusal> refusal;

  using Instances = std::map<std::string, isl::set>;
  struct Step {
    const BandMember* member;
    NodeId node;
  };

  static Instances filtered(const Instances& in, const isl::union_set& filter, const Sizes& sizes) {
    Instances out;
    for (const isl::set& f : sets_of(filter)) {
      auto it = in.find(tuple_name(f));
      if (it == in.end()) continue;
      isl::set s = it->second.intersect(substitute_params(f, sizes));
      if (!s.is_empty()) out.emplace(it->first, s.coalesce());
    }
    return out;
  }

  void walk(const Node& n, const Instances& instances, std::vector<Step>& path) {
    if (refusal || instances.empty()) return;
    switch (n.kind) {
      case NodeKind::Leaf:
        leaf(n, instances, path);
        return;
      case NodeKind::Filter: {
        Instances in = filtered(instances, n.filter, sizes);
        for (const NodePtr& c : n.children) walk(*c, in, path);
        return;
      }
      case NodeKind::Band: {
        const size_t depth = path.size();
        for (const BandMember& m : n.members) path.push_back({&m, n.id});
        for (const NodePtr& c : n.children) walk(*c, instances, path);
        path.resize(depth);
        return;
      }
      default:
        for (const NodePtr& c : n.children) walk(*c, instances, path);
    }
  }

  void leaf(const Node& n, const Instances& instances, const std::vector<Step>& path) {
    for (const Statement& s : program.statements) {
      auto it = instances.find(s.name);
      if (it == instances.end()) continue;
      LeafProblem problem;
      problem.stmt = s.name;
      problem.leaf = n.id;
      problem.label = "L" + std::to_string(n.id) + "_" + std::to_string(leaves.size());
      problem.domain = it->second;
      problem.dim_names = dim_names(s.domain);
      for (const Step& step : path) {
        auto a = step.member->schedule.find(s.name);
        if (a == step.member->schedule.end()) {
          refusal =
              Refusal{"generate loops", "band " + std::to_string(step.node),
                      "member " + step.member->name + " does not order statement " + s.name, ""};
          return;
        }
        problem.members.push_back({{step.member->name, step.node, step.member->mapping,
                                    step.member->step, false, step.member->axis},
                                   substitute_params(a->second, sizes)});
      }
      auto solved = solve_leaf(problem);
      if (!solved) {
        refusal = solved.error();
        return;
      }
      leaves.push_back(std::make_shared<const LeafGeometry>(std::move(*solved)));
    }
  }
};

}  // namespace

std::vector<std::string> LeafGeometry::loop_names() const {
  std::vector<std::string> out;
  for (const LoopDim& l : loops) out.push_back(l.name);
  return out;
}

std::vector<std::string> LeafGeometry::point_names() const {
  std::vector<std::string> out = loop_names();
  out.insert(out.end(), axes.begin(), axes.end());
  return out;
}

isl::set full_tiles(const LeafGeometry& g) {
  if (g.always_full) return g.times;
  const unsigned n = static_cast<unsigned>(g.loops.size()),
                 m = static_cast<unsigned>(g.axes.size());
  return g.times.subtract(project_out(g.box.subtract(g.inside), n, m)).coalesce();
}

std::vector<LeafPtr> KernelTree::at(NodeId leaf) const {
  std::vector<LeafPtr> out;
  for (const LeafPtr& l : leaves)
    if (l->leaf == leaf) out.push_back(l);
  return out;
}

Sizes bound_sizes(const Program& p) {
  auto point = sample_point(p.param_context);
  if (!point) return {};
  Sizes fixed;
  for (const auto& [name, value] : point->params)
    if (fix_params(p.param_context, {{name, value}}).is_equal(p.param_context)) fixed[name] = value;
  return fixed;
}

Expected<std::vector<KernelTree>> kernel_trees(const Schedule& s) {
  return kernel_trees(s, bound_sizes(*s.program));
}

Expected<std::vector<KernelTree>> kernel_trees(const Schedule& s, const Sizes& sizes) {
  Collector::Instances all;
  const isl::set context = substitute_params(s.program->param_context, sizes);
  for (const Statement& st : s.program->statements) {
    isl::set d = substitute_params(st.domain, sizes).intersect_params(context);
    if (!d.is_empty()) all.emplace(st.name, set_dim_names(d, dim_names(st.domain)));
  }
  const Node* top = s.root.get();
  while (top && (top->kind == NodeKind::Mark || top->kind == NodeKind::Filter) &&
         top->children.size() == 1) {
    if (top->kind == NodeKind::Filter) all = Collector::filtered(all, top->filter, sizes);
    top = top->children[0].get();
  }
  std::vector<KernelTree> out;
  if (!top) return out;
  std::vector<NodePtr> roots;
  if (top->kind == NodeKind::Sequence) {
    roots = top->children;
  } else {
    roots = {NodePtr(s.root, top)};
  }
  for (const NodePtr& r : roots) {
    Collector c{*s.program, sizes, {}, {}};
    std::vector<Collector::Step> path;
    c.walk(*r, all, path);
    if (c.refusal) return *c.refusal;
    out.push_back({r, std::move(c.leaves)});
  }
  return out;
}

}  // namespace nautilus::poly
