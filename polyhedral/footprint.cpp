#include "polyhedral/footprint.h"

#include <algorithm>
#include <set>

#include "polyhedral/context_ast.h"
#include "polyhedral/leaf_geometry.h"

namespace nautilus::poly {
namespace {

Refusal refuse(const std::string& asked, const std::string& where, const std::string& why) {
  return Refusal{asked, where, why, ""};
}

void node_ids(const Node& n, std::set<NodeId>& out) {
  out.insert(n.id);
  for (const NodePtr& c : n.children) node_ids(*c, out);
}

// Number of elements of the box that holds what one value of the loops touches: the smallest box of
// constant size, else the hull over all values; never more than the tensor has in a dim.
int64_t box_elements(const isl::map& touched, const std::vector<int64_t>& extents) {
  int64_t total = 1;
  const unsigned rank = n_out(touched);
  for (unsigned d = 0; d < rank; ++d) {
    isl::map one = project_out_out(project_out_out(touched, d + 1, rank - d - 1), 0, d);
    isl::fixed_box box = one.range_simple_fixed_box_hull();
    int64_t n = 0;
    if (box.is_valid()) {
      n = to_int(box.size().at(0));
    } else {
      auto lo = dim_min(one.range(), 0), hi = dim_max(one.range(), 0);
      n = lo && hi ? *hi - *lo + 1 : extents[d];
    }
    if (__builtin_mul_overflow(total, std::max<int64_t>(0, std::min(n, extents[d])), &total))
      return INT64_MAX;  // no memory holds it
  }
  return total;
}

Expected<Footprint> footprint(const Program& p, const LeafGeometry& g, size_t loops,
                              const Access& access, int read, const Sizes& sizes) {
  Footprint f;
  f.tensor = access.tensor;
  f.stmt = g.stmt;
  f.read = read;
  const unsigned n = static_cast<unsigned>(g.loops.size()), keep = static_cast<unsigned>(loops);
  const isl::map at = project_out_out(g.coords, keep, n - keep);
  const isl::map elements = substitute_params(access.map, sizes).intersect_domain(g.domain);
  const isl::map touched = at.reverse().apply_range(elements).coalesce();
  std::vector<int64_t> extents;
  for (const isl::pw_aff& e : p.tensor(access.tensor)->extents)
    extents.push_back(to_int(substitute_params(e, sizes).max_val()));
  f.per_iteration = box_elements(touched, extents);
  auto distinct = count_points(touched.range().coalesce(), sizes);
  if (!distinct) return distinct.error();
  auto iterations = count_points(touched.domain().coalesce(), sizes);
  if (!iterations) return iterations.error();
  f.distinct = *distinct;
  f.iterations = *iterations;
  return f;
}

}  // namespace

Expected<TileClasses> classify_tiles(const Schedule& s, const std::string& stmt, NodeId leaf) {
  const Node* n = find(s, leaf);
  if (!n || n->kind != NodeKind::Leaf)
    return refuse("classify tiles", "node " + std::to_string(leaf),
                  "it is not a leaf of the schedule");
  auto kernels = kernel_trees(s);
  if (!kernels) return kernels.error();
  for (const KernelTree& k : *kernels)
    for (const LeafPtr& g : k.at(leaf)) {
      if (g->stmt != stmt) continue;
      const isl::set full = full_tiles(*g);
      return TileClasses{unnamed(g->times), unnamed(full),
                         unnamed(g->times.subtract(full).coalesce()), g->loop_names()};
    }
  return refuse("classify tiles", "node " + std::to_string(leaf),
                "statement " + stmt + " has no instance there");
}

Expected<std::vector<Footprint>> footprints(const Schedule& s, NodeId at, const Sizes& sizes) {
  const Node* n = find(s, at);
  if (!n) return refuse("footprints", "node " + std::to_string(at), "there is no such node");
  Sizes all = bound_sizes(*s.program);
  all.insert(sizes.begin(), sizes.end());
  for (const std::string& p : s.program->params)
    if (!all.count(p))
      return refuse("footprints", "node " + std::to_string(at), "the size " + p + " is not bound");
  auto kernels = kernel_trees(s, all);
  if (!kernels) return kernels.error();
  std::set<NodeId> below, above;
  node_ids(*n, below);
  for (const Node* a : path_to(s, at)) above.insert(a->id);
  std::vector<Footprint> out;
  for (const KernelTree& k : *kernels)
    for (const LeafPtr& g : k.leaves) {
      if (!below.count(g->leaf)) continue;
      size_t loops = 0;
      while (loops < g->loops.size() && above.count(g->loops[loops].node)) ++loops;
      const Statement& st = *s.program->statement(g->stmt);
      for (int read = -1; read < static_cast<int>(st.reads.size()); ++read) {
        auto f = footprint(*s.program, *g, loops,
                           read < 0 ? st.write : st.reads[static_cast<size_t>(read)], read, all);
        if (!f) return f.error();
        out.push_back(std::move(*f));
      }
    }
  return out;
}

}  // namespace nautilus::poly
