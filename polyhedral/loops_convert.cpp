// isl's AST as Loops: names of members for isl's iterators, and a For for every member, also where
// isl substituted its single value.
#include <algorithm>

#include "polyhedral/context_ast.h"
#include "polyhedral/isl_index.h"
#include "polyhedral/loops_isl.h"

namespace nautilus::poly {
namespace {

LoopPtr block(std::vector<LoopPtr> children) {
  if (children.size() == 1) return children[0];
  auto b = std::make_shared<Loop>();
  b->children = std::move(children);
  return b;
}

bool mentions(const IndexExpr& e, const std::string& name) {
  std::vector<std::string> vars;
  e.collect_vars(vars);
  return std::find(vars.begin(), vars.end(), name) != vars.end();
}

void collect_leaves(const LoopPtr& l, std::vector<const Loop*>& out) {
  if (l->kind == Loop::Kind::Statement) out.push_back(l.get());
  for (const LoopPtr& c : l->children) collect_leaves(c, out);
}

struct Converter {
  const LoopKernel& k;
  const std::vector<Piece>& pieces;
  std::optional<Refusal> refusal;

  size_t first_leaf(const isl::ast_node& n) const {
    if (n.isa<isl::ast_node_user>()) return pieces.at(std::stoul(annotation(n))).leaf;
    if (n.isa<isl::ast_node_for>()) return first_leaf(n.as<isl::ast_node_for>().body());
    if (n.isa<isl::ast_node_if>()) return first_leaf(n.as<isl::ast_node_if>().then_node());
    if (n.isa<isl::ast_node_mark>()) return first_leaf(n.as<isl::ast_node_mark>().node());
    return first_leaf(n.as<isl::ast_node_block>().children().at(0));
  }

  template <class T>
  T value(Expected<T> e) {
    if (e) return *e;
    if (!refusal) refusal = e.error();
    return T{};
  }

  LoopPtr convert(const isl::ast_node& n, const NameMap& names) {
    if (n.isa<isl::ast_node_mark>()) return convert(n.as<isl::ast_node_mark>().node(), names);
    if (n.isa<isl::ast_node_user>()) return statement(n.as<isl::ast_node_user>(), names);
    if (n.isa<isl::ast_node_for>()) return loop(n.as<isl::ast_node_for>(), names);
    auto out = std::make_shared<Loop>();
    if (n.isa<isl::ast_node_if>()) {
      auto i = n.as<isl::ast_node_if>();
      out->kind = Loop::Kind::If;
      out->condition = value(to_cond(i.cond(), names));
      out->children.push_back(convert(i.then_node(), names));
      if (i.has_else_node()) out->children.push_back(convert(i.else_node(), names));
      return out;
    }
    isl::ast_node_list list = n.as<isl::ast_node_block>().children();
    for (unsigned c = 0; c < list.size(); ++c)
      out->children.push_back(convert(list.at(static_cast<int>(c)), names));
    return out;
  }

  // isl calls the iterator of depth d "c<d>"; depths count the bands above.
  LoopPtr loop(const isl::ast_node_for& f, const NameMap& names) {
    auto out = std::make_shared<Loop>();
    out->kind = Loop::Kind::For;
    const std::string id = f.iterator().as<isl::ast_expr_id>().id().name();
    const size_t depth = k.grid.size() + std::stoul(id.substr(1));
    const LoopDim& dim = k.leaves[first_leaf(f)].geometry->loops.at(depth);
    out->iv = dim.name;
    out->mapping = dim.mapping;
    out->node = dim.node;
    out->depth = static_cast<int>(depth);
    out->lower = value(to_index(f.init(), names));
    NameMap inner = names;
    inner[id] = IndexExpr::var(dim.name);
    if (f.is_degenerate()) {
      out->upper = out->lower + IndexExpr(1);
    } else {
      out->step = value(to_index(f.inc(), names)).constant();
      auto cond = f.cond().as<isl::ast_expr_op>();
      out->upper =
          value(to_index(cond.arg(1), names)) + IndexExpr(cond.isa<isl::ast_expr_op_le>() ? 1 : 0);
    }
    out->children.push_back(convert(f.body(), inner));
    return out;
  }

  LoopPtr statement(const isl::ast_node_user& u, const NameMap& names) {
    const Piece& piece = pieces.at(std::stoul(annotation(u)));
    const LoopLeaf& leaf = k.leaves[piece.leaf];
    const LeafGeometry& g = *leaf.geometry;
    auto out = std::make_shared<Loop>();
    out->kind = Loop::Kind::Statement;
    out->stmt = g.stmt;
    out->node = g.leaf;
    out->leaf = leaf.geometry;
    NameMap by;
    auto call = u.expr().as<isl::ast_expr_op>();
    for (size_t t = 0; t < g.loops.size(); ++t) {
      IndexExpr v = t < k.grid.size()
                        ? IndexExpr::var(g.loops[t].name)
                        : value(to_index(call.arg(static_cast<int>(t - k.grid.size() + 1)), names));
      if (mentions(v, g.loops[t].name) && !(v == IndexExpr::var(g.loops[t].name)) && !refusal)
        refusal = Refusal{"generate loops", "statement " + g.stmt,
                          "isl renumbered loop " + g.loops[t].name, ""};
      out->times.push_back(v);
      by[g.loops[t].name] = v;
    }
    for (const IndexExpr& b : leaf.base) out->base.push_back(b.substitute(by));
    out->axis = g.axis;
    out->extent = g.extent;
    out->partial = piece.partial;
    out->mask = piece.mask.substitute(by);
    return out;
  }

  // The value that loop `depth` has in all statements below `l`, if isl replaced the loop by it
  // everywhere.
  struct Fixed {
    const LoopDim* dim;
    IndexExpr value;
  };
  static std::optional<Fixed> fixed_value(const LoopPtr& l, size_t depth) {
    std::vector<const Loop*> leaves;
    collect_leaves(l, leaves);
    std::optional<Fixed> out;
    for (const Loop* s : leaves) {
      if (s->leaf->loops.size() <= depth) return {};
      const LoopDim& d = s->leaf->loops[depth];
      if (mentions(s->times[depth], d.name)) return {};
      if (out && (out->dim->node != d.node || out->dim->name != d.name ||
                  !(out->value == s->times[depth])))
        return {};
      if (!out) out = Fixed{&d, s->times[depth]};
    }
    return out;
  }

  // Statements and loops inside loops 0..depth-1: wraps what has a fixed value of loop `depth` into
  // a For over it.
  std::vector<LoopPtr> complete(const std::vector<LoopPtr>& nodes, size_t depth) const {
    std::vector<LoopPtr> out;
    for (size_t i = 0; i < nodes.size();) {
      const LoopPtr& n = nodes[i];
      if (n->kind == Loop::Kind::For && n->depth == static_cast<int>(depth)) {
        auto f = std::make_shared<Loop>(*n);
        f->children = {block(complete(n->children, depth + 1))};
        out.push_back(f);
        ++i;
        continue;
      }
      if (auto v = fixed_value(n, depth)) {
        std::vector<LoopPtr> group;
        for (; i < nodes.size(); ++i) {
          auto w = fixed_value(nodes[i], depth);
          if (!w || w->dim->node != v->dim->node || w->dim->name != v->dim->name ||
              !(w->value == v->value))
            break;
          group.push_back(nodes[i]);
        }
        auto f = std::make_shared<Loop>();
        f->kind = Loop::Kind::For;
        f->iv = v->dim->name;
        f->mapping = v->dim->mapping;
        f->node = v->dim->node;
        f->depth = static_cast<int>(depth);
        f->lower = v->value;
        f->upper = v->value + IndexExpr(1);
        f->children = {block(complete(group, depth + 1))};
        out.push_back(f);
        continue;
      }
      if (n->kind == Loop::Kind::Block) {
        for (const LoopPtr& c : complete(n->children, depth)) out.push_back(c);
      } else if (n->kind == Loop::Kind::If) {
        auto f = std::make_shared<Loop>(*n);
        for (LoopPtr& c : f->children) c = block(complete({c}, depth));
        out.push_back(f);
      } else {
        out.push_back(n);
      }
      ++i;
    }
    return out;
  }
};

}  // namespace

Expected<LoopPtr> to_loops(const LoopKernel& k, const isl::ast_node& ast,
                           const std::vector<Piece>& pieces) {
  Converter c{k, pieces, {}};
  LoopPtr l = c.convert(ast, {});
  if (c.refusal) return *c.refusal;
  return block(c.complete({l}, k.grid.size()));
}

}  // namespace nautilus::poly
