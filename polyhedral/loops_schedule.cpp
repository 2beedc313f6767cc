// One kernel's isl schedule over loop coordinates.
#include "polyhedral/context_ast.h"
#include "polyhedral/isl_index.h"
#include "polyhedral/loops_isl.h"

namespace nautilus::poly {
namespace {

// Number of Grid members at the top of every path: bands in a chain, up to the first loop that is
// not Grid.
size_t leading_grid(const Node* n) {
  size_t count = 0;
  while (n) {
    if (n->kind == NodeKind::Band) {
      for (const BandMember& m : n->members) {
        if (m.mapping == Mapping::Tile) continue;
        if (m.mapping != Mapping::Grid) return count;
        ++count;
      }
    } else if (n->kind != NodeKind::Filter && n->kind != NodeKind::Mark) {
      return count;
    }
    n = n->children.empty() ? nullptr : n->children[0].get();
  }
  return count;
}

// Schedule coordinates of leaves are t' = loops[grid..]; the walk keeps how many loops are above.
struct Builder {
  const LoopKernel& k;
  size_t grid;

  using Leaves = std::vector<const LoopLeaf*>;

  isl::union_set domain(const Leaves& leaves) const {
    isl::union_set u = leaves[0]->times.to_union_set();
    for (size_t i = 1; i < leaves.size(); ++i) u = u.unite(leaves[i]->times.to_union_set());
    return u;
  }

  // Inserts a band of loops [from, to) of each leaf.
  isl::schedule_node band(isl::schedule_node at, const Leaves& leaves, size_t from,
                          size_t to) const {
    std::optional<isl::multi_union_pw_aff> all;
    for (const LoopLeaf* l : leaves) {
      isl::space in = l->times.space();
      isl::aff_list list(in.ctx(), static_cast<int>(to - from));
      for (size_t d = from; d < to; ++d)
        list = list.add(dim_aff(in, static_cast<unsigned>(d - grid)));
      isl::multi_aff a(in.add_unnamed_tuple(static_cast<unsigned>(to - from)), list);
      isl::multi_union_pw_aff m =
          a.to_multi_union_pw_aff().intersect_domain(l->times.to_union_set());
      all = all ? all->union_add(m) : m;
    }
    auto node = at.insert_partial_schedule(*all).as<isl::schedule_node_band>();
    if (auto iso = isolate(leaves, from, to))
      node = node.set_ast_build_options(iso->to_union_set());
    return node;
  }

  // { isolate[[outer] -> [band]] }: where every partial leaf below has its full tiles; nothing to
  // split otherwise.
  std::optional<isl::set> isolate(const Leaves& leaves, size_t from, size_t to) const {
    std::optional<isl::set> full, some;
    const unsigned depth = static_cast<unsigned>(to - grid);
    auto prefix = [&](const isl::set& s) {
      const unsigned n = n_dim(s);
      return unnamed(project_out(s, depth, n - depth));
    };
    for (const LoopLeaf* l : leaves) {
      if (!l->full) continue;
      isl::set f = prefix(*l->full), t = prefix(l->times);
      full = full ? full->intersect(f) : f;
      some = some ? some->unite(t) : t;
    }
    if (!full || full->is_empty() || some->is_subset(*full)) return {};
    std::string text, outer, inner;
    for (size_t d = grid; d < to; ++d) {
      const std::string v = "a" + std::to_string(d);
      text += (text.empty() ? "" : ",") + v;
      std::string& side = d < from ? outer : inner;
      side += (side.empty() ? "" : ",") + v;
    }
    isl::map wrap(full->ctx(), "{ [" + text + "] -> isolate[[" + outer + "] -> [" + inner + "]] }");
    return full->coalesce().apply(wrap);
  }

  isl::schedule_node below(isl::schedule_node at, const Node& n, const Leaves& leaves,
                           size_t above) const {
    switch (n.kind) {
      case NodeKind::Band: {
        size_t count = 0;
        for (const BandMember& m : n.members) count += m.mapping != Mapping::Tile;
        const size_t from = std::max(above, grid), to = above + count;
        if (to <= from) return below(at, *n.children[0], leaves, to);
        return below(band(at, leaves, from, to).child(0), *n.children[0], leaves, to).parent();
      }
      case NodeKind::Sequence: {
        std::vector<std::pair<const Node*, Leaves>> parts;
        for (const NodePtr& c : n.children) {
          Leaves mine = under(*c, leaves);
          if (!mine.empty()) parts.push_back({c.get(), mine});
        }
        return sequence(at, parts, above);
      }
      case NodeKind::Leaf: {
        if (leaves.size() >
            1) {  // statements at one leaf: any order is right; the program's is taken
          std::vector<std::pair<const Node*, Leaves>> parts;
          for (const LoopLeaf* l : leaves) parts.push_back({&n, {l}});
          return sequence(at, parts, above);
        }
        const size_t total = leaves[0]->geometry->loops.size();
        return total > above ? band(at, leaves, above, total) : separated(at, *leaves[0]);
      }
      default:
        return n.children.empty() ? at : below(at, *n.children[0], leaves, above);
    }
  }

  // Full tiles first, then the others (no order between them): where no loop could be split, a
  // condition is.
  isl::schedule_node separated(isl::schedule_node at, const LoopLeaf& l) const {
    if (!l.full || l.full->is_empty()) return at;
    isl::set rest = l.times.subtract(*l.full).coalesce();
    if (rest.is_empty()) return at;
    isl::union_set_list filters(at.ctx(), 2);
    return at.insert_sequence(filters.add(l.full->to_union_set()).add(rest.to_union_set()));
  }

  isl::schedule_node sequence(isl::schedule_node at,
                              const std::vector<std::pair<const Node*, Leaves>>& parts,
                              size_t above) const {
    if (parts.empty()) return at;
    if (parts.size() == 1) return below(at, *parts[0].first, parts[0].second, above);
    isl::union_set_list filters(at.ctx(), static_cast<int>(parts.size()));
    for (const auto& [node, leaves] : parts) filters = filters.add(domain(leaves));
    isl::schedule_node s = at.insert_sequence(filters);
    for (size_t i = 0; i < parts.size(); ++i)
      s = below(s.child(static_cast<int>(i)).child(0), *parts[i].first, parts[i].second, above)
              .parent()
              .parent();
    return s;
  }

  static void leaf_ids(const Node& n, std::vector<NodeId>& out) {
    if (n.kind == NodeKind::Leaf) out.push_back(n.id);
    for (const NodePtr& c : n.children) leaf_ids(*c, out);
  }
  static Leaves under(const Node& n, const Leaves& leaves) {
    std::vector<NodeId> ids;
    leaf_ids(n, ids);
    Leaves out;
    for (const LoopLeaf* l : leaves)
      if (std::find(ids.begin(), ids.end(), l->geometry->leaf) != ids.end()) out.push_back(l);
    return out;
  }
};

// Rectangular hull of the grid coordinates: lower and upper (exclusive) bound of each, and as a
// set.
std::optional<Refusal> grid_hull(LoopKernel& k, size_t grid, isl::set context) {
  if (grid == 0) return {};
  std::optional<isl::set> all;
  for (const LeafPtr& l : k.tree->leaves) {
    const unsigned n = static_cast<unsigned>(l->loops.size()), g = static_cast<unsigned>(grid);
    isl::set s = unnamed(project_out(l->times, g, n - g));
    all = all ? all->unite(s) : s;
  }
  isl::set s = all->intersect_params(context).coalesce();
  isl::ast_build build = isl::ast_build::from_context(context);
  std::vector<std::string> names;
  isl::set box = isl::set::universe(s.space());
  for (size_t d = 0; d < grid; ++d) {
    const unsigned dim = static_cast<unsigned>(d), after = static_cast<unsigned>(grid - d - 1);
    const isl::pw_aff low = dim_bound(s, dim, false), high = dim_bound(s, dim, true);
    auto lo = to_index(build.expr_from(low.gist_params(context)));
    auto hi = to_index(build.expr_from(high.gist_params(context)));
    isl::set one = simple_hull(project_out(project_out(s, dim + 1, after), 0, dim));
    box = box.intersect(insert_dims(insert_dims(one, 1, after), 0, dim));
    const LoopDim& loop = k.tree->leaves[0]->loops[d];
    if (!lo || !hi)
      return Refusal{"generate loops", "member " + loop.name, "its grid extent has no simple form",
                     "bind the sizes"};
    k.grid.push_back({loop, *lo, *hi + IndexExpr(1)});
    names.push_back(loop.name);
  }
  k.context = dims_to_params(box, names).params().intersect_params(context);
  return {};
}

}  // namespace

Expected<LoopKernel> loop_kernel(const KernelTree& tree, const isl::set& size_context, bool full) {
  LoopKernel k;
  k.tree = &tree;
  k.context = size_context;
  if (tree.leaves.empty()) return k;
  const size_t grid = leading_grid(tree.root.get());
  if (auto r = grid_hull(k, grid, size_context)) return *r;
  std::vector<std::string> names;
  for (const GridLoop& g : k.grid) names.push_back(g.dim.name);
  for (const LeafPtr& g : tree.leaves) {
    LoopLeaf l{g, dims_to_params(g->times, names), {}, {}, {}, {}, {}};
    if (!g->always_full) {
      if (full) l.full = dims_to_params(full_tiles(*g), names);
      l.inside = dims_to_params(g->inside, names);
      l.box = dims_to_params(g->box, names);
    }
    l.names = g->point_names();
    l.names.erase(l.names.begin(), l.names.begin() + static_cast<long>(grid));
    for (const isl::aff& b : g->base) l.base.push_back(to_index(b, g->loop_names()));
    k.leaves.push_back(std::move(l));
  }
  return k;
}

isl::schedule loop_schedule(const LoopKernel& k) {
  Builder b{k, k.grid.size()};
  Builder::Leaves leaves;
  for (const LoopLeaf& l : k.leaves) leaves.push_back(&l);
  isl::schedule s = isl::schedule::from_domain(b.domain(leaves));
  return b.below(s.root().child(0), *k.tree->root, leaves, 0).schedule();
}

}  // namespace nautilus::poly
