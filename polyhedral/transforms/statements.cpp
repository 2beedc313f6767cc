#include "polyhedral/transforms/statements.h"

#include <algorithm>

#include "polyhedral/context_hash.h"
#include "polyhedral/transforms/edit.h"

namespace nautilus::poly::edit {

namespace {

// { S -> value } as a function on `domain`'s space of another name.
isl::aff renamed_aff(const isl::aff& a, const isl::space& to, const std::string& from) {
  return a.pullback(isl::multi_aff(to.identity_multi_aff_on_domain()).set_range_tuple(from));
}

// Whether a sequence lies between n and the leaf of stmt.
bool sequence_below(const Node& n, const std::string& stmt) {
  for (const NodePtr& c : n.children) {
    if (n.kind == NodeKind::Sequence && !(c->parts.count(stmt))) continue;
    if (c->kind == NodeKind::Sequence || sequence_below(*c, stmt)) return true;
  }
  return false;
}

// A filter with another set added; bands, marks and sequences are rebuilt around changed children.
NodePtr widened(const Node& n, const isl::set& part, NodePtr child) {
  return make_filter(n.filter.unite(isl::union_set(part)), std::move(child), n.id);
}

std::vector<BandMember> members_with(const Node& band, const Statement& added,
                                     const std::string& like) {
  std::vector<BandMember> members = band.members;
  for (BandMember& m : members)
    if (auto at = m.schedule.find(like); at != m.schedule.end())
      m.schedule.insert_or_assign(added.name, renamed_aff(at->second, added.domain.space(), like));
  return members;
}

class Adder {
 public:
  Adder(Schedule& s, const Statement& added, const std::string& like)
      : s_(s), added_(added), like_(like) {}

  NodePtr run(const NodePtr& n) {
    if (n->kind == NodeKind::Leaf || (n->kind == NodeKind::Filter && !n->parts.count(like_)))
      return n;
    if (n->kind == NodeKind::Sequence) return sequence(*n);
    NodePtr child = run(n->children[0]);
    if (n->kind == NodeKind::Filter)
      return widened(*n, set_tuple_name(n->parts.at(like_), added_.name), std::move(child));
    if (n->kind == NodeKind::Band)
      return with_children(*with_members(*n, members_with(*n, added_, like_)), {std::move(child)});
    return with_children(*n, {std::move(child)});
  }

 private:
  Schedule& s_;
  const Statement& added_;
  const std::string& like_;
  std::vector<std::string> taken_;

  NodePtr sequence(const Node& n) {
    std::vector<NodePtr> children;
    for (const NodePtr& c : n.children) {
      if (!c->parts.count(like_)) {
        children.push_back(c);
      } else if (sequence_below(*c, like_)) {
        children.push_back(run(c));
      } else {
        children.push_back(c);
        const isl::union_set only(c->parts.at(like_));
        NodePtr copy = restrict_subtree(c, only, s_.next_id, false);
        children.push_back(renamed(s_, with_renamed(copy, like_, added_.name), taken_));
      }
    }
    return with_children(n, std::move(children));
  }
};

}  // namespace

NodePtr with_renamed(const NodePtr& n, const std::string& from, const std::string& to) {
  std::vector<NodePtr> children;
  for (const NodePtr& c : n->children) children.push_back(with_renamed(c, from, to));
  if (n->kind == NodeKind::Filter) {
    isl::union_set filter = isl::union_set::empty(n->filter.ctx());
    for (const auto& [stmt, part] : n->parts)
      filter = filter.unite(isl::union_set(stmt == from ? set_tuple_name(part, to) : part));
    return make_filter(filter, children[0], n->id);
  }
  if (n->kind != NodeKind::Band)
    return n->children.empty() ? n : with_children(*n, std::move(children));
  std::vector<BandMember> members = n->members;
  for (BandMember& m : members) {
    auto at = m.schedule.find(from);
    if (at == m.schedule.end()) continue;
    const isl::aff a = at->second;
    m.schedule.erase(at);
    const isl::space space = set_tuple_name(a.domain(), to).space();
    m.schedule.insert_or_assign(to, renamed_aff(a, space, from));
  }
  return with_children(*with_members(*n, std::move(members)), std::move(children));
}

Schedule add_beside(const Schedule& s, const Statement& added, const std::string& like) {
  Schedule out = s;
  out.root = Adder(out, added, like).run(s.root);
  const Statement* l = out.program->statement(like);
  if (l)
    if (auto scope = s.scopes.find(l->write.tensor); scope != s.scopes.end())
      out.scopes[added.write.tensor] = scope->second;
  return out;
}

namespace {

// The dims of `like` as functions of the dims of `added`, where `follows` equates the two (the dim
// of the same name first); zero elsewhere. { added[..] -> like[..] }
isl::multi_aff equated_dims(const Statement& added, const isl::set& like, const isl::map& follows) {
  const std::vector<std::string> from = dim_names(added.domain), to = dim_names(like);
  isl::aff_list dims(added.domain.ctx(), static_cast<int>(to.size()));
  for (unsigned d = 0; d < to.size(); ++d) {
    const isl::map value = follows.apply_range(dim_aff(like, d).as_map());
    std::vector<unsigned> order;
    for (unsigned a = 0; a < from.size(); ++a) order.push_back(a);
    std::stable_partition(order.begin(), order.end(), [&](unsigned a) { return from[a] == to[d]; });
    isl::aff found = added.domain.space().zero_aff_on_domain();
    for (unsigned a : order) {
      const isl::aff dim = dim_aff(added.domain, a);
      if (!value.is_subset(dim.as_map())) continue;
      found = dim;
      break;
    }
    dims = dims.add(found);
  }
  return isl::multi_aff(follows.space(), dims);
}

// The function of one member at the instances that `added` follows, if it is one: in terms of
// equated dims where that says the same, so that a dim of extent one stays a dim.
std::optional<isl::aff> followed(const BandMember& m, const Statement& added,
                                 const std::string& like, const isl::set& like_domain,
                                 const isl::map& follows, const isl::set& facts) {
  const auto f = m.schedule.find(like);
  if (f == m.schedule.end()) return std::nullopt;
  const isl::map value = follows.apply_range(f->second.as_map());
  if (!value.is_single_valued()) return std::nullopt;
  if (n_dim(like_domain) > 0) {
    const isl::aff plain = f->second.pullback(equated_dims(added, like_domain, follows));
    if (value.is_subset(plain.as_map())) return plain;
  }
  const isl::pw_multi_aff g =
      value.gist_domain(added.domain.intersect_params(facts)).as_pw_multi_aff().coalesce();
  if (g.n_piece() != 1) return std::nullopt;
  std::optional<isl::aff> out;
  g.foreach_piece([&](isl::set, isl::multi_aff ma) { out = ma.at(0); });
  return out;
}

}  // namespace

NodePtr own_loops(Schedule& s, const Statement& added, std::vector<std::string>& taken,
                  const std::vector<isl::aff>& fixed) {
  const std::vector<std::string> names = dim_names(added.domain);
  std::vector<BandMember> members;
  for (unsigned k = 0; k < names.size(); ++k) {
    const isl::aff dim = dim_aff(added.domain, k);
    if (std::any_of(fixed.begin(), fixed.end(),
                    [&](const isl::aff& a) { return plain_equal(a, dim); }))
      continue;
    BandMember m;
    m.name = unique_member_name(s, names[k], taken);
    m.axis = names[k];
    m.schedule.emplace(added.name, dim);
    taken.push_back(m.name);
    members.push_back(std::move(m));
  }
  NodePtr body = make_leaf(s.next_id++);
  if (!members.empty()) body = make_band(std::move(members), body, s.next_id++);
  return make_filter(isl::union_set(added.domain), body, s.next_id++);
}

Expected<Schedule> add_behind(const Schedule& s, const Statement& added, NodeId after,
                              const std::string& like, const isl::map& follows) {
  const std::vector<const Node*> path = path_to(s, after);
  if (path.empty())
    return refused("add " + added.name, "", "there is no node " + std::to_string(after));
  size_t at = path.size() - 1;  // the node to stay in front of the new filter
  const bool in_sequence =
      at >= 2 && path[at - 1]->kind == NodeKind::Filter && path[at - 2]->kind == NodeKind::Sequence;
  if (in_sequence) --at;
  Schedule out = s;
  const isl::set facts = s.program->param_context;
  std::vector<std::vector<isl::aff>> functions(at);
  std::vector<isl::aff> fixed;
  const Statement* l = s.program->statement(like);
  const isl::set like_domain = l ? l->domain : isl::set::empty(added.domain.space());
  for (size_t k = 0; k < at; ++k)
    for (const BandMember& m : path[k]->members) {
      const auto f = followed(m, added, like, like_domain, follows, facts);
      if (!f)
        return refused("add " + added.name + " behind " + describe(s, *path[at]),
                       describe(s, *path[k]),
                       "instances of " + like + " that one instance of " + added.name +
                           " follows differ in " + m.name,
                       "keep " + m.name + " inside, or out of the nest of " + like);
      functions[k].push_back(*f);
      fixed.push_back(*f);
    }
  std::vector<std::string> taken;
  NodePtr filter = own_loops(out, added, taken, fixed);
  NodePtr current;
  size_t k = at;
  if (in_sequence) {
    std::vector<NodePtr> children;
    for (const NodePtr& c : path[at - 1]->children) {
      children.push_back(c);
      if (c.get() == path[at]) children.push_back(filter);
    }
    current = with_children(*path[--k], std::move(children));
  } else {
    NodePtr self;
    if (at == 0)
      self = s.root;
    else
      for (const NodePtr& c : path[at - 1]->children)
        if (c.get() == path[at]) self = c;
    NodePtr head = make_filter(instances_below(s, path[at]->id), self, out.next_id++);
    current = make_sequence({head, filter}, out.next_id++);
  }
  while (k-- > 0) {
    const Node& above = *path[k];
    if (above.kind == NodeKind::Filter) {
      current = widened(above, added.domain, current);
    } else if (above.kind == NodeKind::Band) {
      std::vector<BandMember> members = above.members;
      for (size_t m = 0; m < members.size(); ++m)
        members[m].schedule.insert_or_assign(added.name, functions[k][m]);
      current = with_children(*with_members(above, std::move(members)), {current});
    } else {
      std::vector<NodePtr> children = above.children;
      for (NodePtr& c : children)
        if (c.get() == path[k + 1]) c = current;
      current = with_children(above, std::move(children));
    }
  }
  out.root = current;
  return out;
}

Expected<Schedule> privatize_output(const Schedule& s, const std::string& reduction, NodeId after) {
  Program p = *s.program;
  const Statement old = *p.statement(reduction);
  const Tensor tensor = *p.tensor(old.write.tensor);
  std::string acc = tensor.name + "_acc";
  while (p.tensor(acc) || p.statement("S_" + acc)) acc += "_";
  Tensor temp = tensor;
  temp.name = acc;
  temp.kind = TensorKind::Temp;
  const std::string name = "S_" + acc, copy_name = "S_" + tensor.name;
  if (copy_name != reduction && p.statement(copy_name))
    return refused("keep running values of " + tensor.name + " private", reduction,
                   "the name " + copy_name + " is taken");
  // The copy: { S_T[x..] : x an element } with the reduction's dim names where they index the
  // output directly.
  Statement copy;
  copy.name = copy_name;
  const isl::set elements = s.program->elements(tensor);
  std::vector<std::string> names = dim_names(elements);
  const std::vector<std::string> loop_names = dim_names(old.domain);
  for (unsigned k = 0; k < names.size(); ++k)
    for (unsigned d = 0; d < loop_names.size(); ++d) {
      const isl::aff dim = dim_aff(old.domain, d);
      const isl::map at = project_out_out(
          project_out_out(old.write.map, k + 1, static_cast<unsigned>(names.size()) - k - 1), 0, k);
      if (at.set_range_tuple("x")
              .intersect_domain(old.domain)
              .is_equal(dim.as_map().set_range_tuple("x").intersect_domain(old.domain)))
        names[k] = loop_names[d];
    }
  copy.domain = set_dim_names(set_tuple_name(elements, copy_name), names);
  const isl::map identity = set_tuple_name(elements, copy_name).identity();
  copy.write = {tensor.name, identity.set_range_tuple(tensor.name), {}};
  copy.reads = {{acc, identity.set_range_tuple(acc), {}}};
  copy.expr = Expr::read(0, tensor.type);
  copy.loc = old.loc;
  Statement red = old;
  red.name = name;
  red.domain = set_tuple_name(old.domain, name);
  red.write = {acc, old.write.map.set_domain_tuple(name).set_range_tuple(acc), {}};
  for (Access& a : red.reads) a.map = a.map.set_domain_tuple(name);
  for (isl::aff& a : red.indices) a = renamed_aff(a, red.domain.space(), old.name);
  for (Statement& st : p.statements)
    for (Access& a : st.reads)
      if (a.tensor == tensor.name) a = {acc, a.map.set_range_tuple(acc), a.gathers};
  for (size_t k = 0; k < p.statements.size(); ++k)
    if (p.statements[k].name == reduction) {
      p.statements[k] = red;
      p.statements.insert(p.statements.begin() + static_cast<std::ptrdiff_t>(k) + 1, copy);
      break;
    }
  p.tensors.push_back(temp);
  p.original = textual_order(p);
  Schedule out = s;
  out.program = std::make_shared<const Program>(in_param_order(std::move(p)));
  out.root = with_renamed(s.root, reduction, name);
  for (Repair& r : out.repairs)
    for (auto* list : {&r.targets, &r.sources, &r.via})
      for (std::string& n : *list)
        if (n == reduction) n = name;
  const isl::map follows =
      copy.write.map.apply_range(old.write.map.reverse()).set_range_tuple(name);
  return add_behind(out, copy, after, name, follows.intersect_range(red.domain));
}

}  // namespace nautilus::poly::edit
