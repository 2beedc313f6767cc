#include "polyhedral/loops.h"

#include "polyhedral/context_ast.h"
#include "polyhedral/isl_index.h"
#include "polyhedral/line_map.h"
#include "polyhedral/loops_isl.h"

namespace nautilus::poly {
namespace {

// What is known where isl emits a statement: the tiles executed there, against the leaf's full
// tiles.
struct PieceMaker {
  const LoopKernel& k;
  bool separate;
  std::vector<Piece> pieces;
  std::optional<Refusal> refusal;

  size_t leaf_of(const isl::ast_node& n) const {
    auto call = n.as<isl::ast_node_user>().expr().as<isl::ast_expr_op>();
    const std::string label = call.arg(0).as<isl::ast_expr_id>().id().name();
    for (size_t i = 0; i < k.leaves.size(); ++i)
      if (k.leaves[i].geometry->label == label) return i;
    return 0;
  }

  isl::ast_node make(const isl::ast_node& n, const isl::ast_build& build) {
    Piece p;
    p.leaf = leaf_of(n);
    const LoopLeaf& l = k.leaves[p.leaf];
    if (!l.geometry->always_full) {
      isl::set executed = sets_of(build.schedule().domain()).at(0).intersect_params(k.context);
      p.partial = !l.full || !executed.is_subset(*l.full);
      if (p.partial) {
        // A mask that knows less of where it stands tests more, but is short.
        if (executed.n_basic_set() > 1) executed = simple_hull(executed);
        const unsigned n = n_dim(executed), m = n_dim(*l.inside) - n;
        isl::set lifted = set_tuple_name(insert_dims(executed, n, m), l.geometry->label);
        isl::set mask = l.inside->gist(l.box->intersect(lifted)).coalesce();
        auto cond = to_cond(mask, l.names);
        if (cond)
          p.mask = *cond;
        else
          refusal = cond.error();
        if (p.mask.is_always()) p.partial = false;
      }
    }
    pieces.push_back(p);
    return annotate(n, std::to_string(pieces.size() - 1));
  }
};

LoopPtr grid_loops(const LoopKernel& k, LoopPtr body) {
  for (size_t d = k.grid.size(); d-- > 0;) {
    auto f = std::make_shared<Loop>();
    f->kind = Loop::Kind::For;
    f->iv = k.grid[d].dim.name;
    f->mapping = k.grid[d].dim.mapping;
    f->node = k.grid[d].dim.node;
    f->depth = static_cast<int>(d);
    f->lower = k.grid[d].lower;
    f->upper = k.grid[d].upper;
    f->children = {std::move(body)};
    body = f;
  }
  return body;
}

Expected<LoopPtr> kernel_loops(const KernelTree& tree, const isl::set& context,
                               const LoopOptions& options) {
  auto k = loop_kernel(tree, context, options.separate_full_tiles);
  if (!k) return k.error();
  if (k->leaves.empty()) return LoopPtr(std::make_shared<Loop>());
  PieceMaker maker{*k, options.separate_full_tiles, {}, {}};
  isl::ast_build build =
      isl::ast_build::from_context(k->context)
          .set_at_each_domain(
              [&](const isl::ast_node& n, const isl::ast_build& b) { return maker.make(n, b); });
  isl::ast_node ast = build.node_from(loop_schedule(*k));
  if (maker.refusal) return *maker.refusal;
  auto body = to_loops(*k, ast, maker.pieces);
  if (!body) return body.error();
  return merge_branches(grid_loops(*k, *body), {});
}

void print(const LoopPtr& l, int indent, MappedText& out) {
  out.at({l->stmt, l->node});
  const std::string pad(static_cast<size_t>(indent) * 2, ' ');
  switch (l->kind) {
    case Loop::Kind::Block:
      for (const LoopPtr& c : l->children) print(c, indent, out);
      return;
    case Loop::Kind::For: {
      const bool once = l->upper == l->lower + IndexExpr(1);
      out += pad +
             (once ? l->iv + " = " + to_string(l->lower)
                   : "for " + l->iv + " in " + to_string(l->lower) + " .. " + to_string(l->upper));
      if (l->step != 1) out += " step " + std::to_string(l->step);
      if (l->mapping != Mapping::Serial) out += " (" + std::string(mapping_name(l->mapping)) + ")";
      out += "\n";
      break;
    }
    case Loop::Kind::If:
      out += pad + "if " + to_string(l->condition) + "\n";
      print(l->children[0], indent + 1, out);
      if (l->children.size() > 1) {
        out.at({l->stmt, l->node});
        out += pad + "else\n";
        print(l->children[1], indent + 1, out);
      }
      return;
    case Loop::Kind::Statement:
      out += pad + l->stmt + "[";
      for (size_t k = 0; k < l->base.size(); ++k) {
        out += (k ? ", " : "") + to_string(l->base[k]);
        if (!l->axis[k].empty()) out += " + " + l->axis[k] + ":" + std::to_string(l->extent[k]);
      }
      out += "]" + (l->partial ? " where " + to_string(l->mask) : std::string()) + "\n";
      return;
  }
  for (const LoopPtr& c : l->children) print(c, indent + 1, out);
}

}  // namespace

Expected<LoopPtr> generate_loops(const Schedule& s, const LoopOptions& options) {
  auto made = with_quota(s.program->context->get(), kDefaultQuota, [&]() -> Expected<LoopPtr> {
    const Sizes sizes = bound_sizes(*s.program);
    auto kernels = kernel_trees(s, sizes);
    if (!kernels) return kernels.error();
    const isl::set context = substitute_params(s.program->param_context, sizes);
    auto root = std::make_shared<Loop>();
    for (const KernelTree& k : *kernels) {
      const Doing doing([&] { return "kernel " + std::to_string(root->children.size()); });
      auto l = kernel_loops(k, context, options);
      if (!l) return l.error();
      root->children.push_back(*l);
    }
    return LoopPtr(root);
  });
  if (made) return *made;
  Refusal r = made.error();
  r.asked = "loops of " + s.program->name;
  return r;
}

MappedLines to_lines(const LoopPtr& l) {
  MappedText out;
  print(l, 0, out);
  return std::move(out).take();
}

std::string to_text(const LoopPtr& l) { return to_lines(l).text; }

}  // namespace nautilus::poly
