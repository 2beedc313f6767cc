// Schedules: the initial one, looking at a tree, replacing a node.
#include "polyhedral/schedule.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace nautilus::poly {

namespace {

// One filter a statement: all its dims as one band, each member named and keyed by its dim.
NodePtr statement_filter(const Statement& s, NodeId& next_id, std::set<std::string>& used) {
  std::vector<BandMember> members;
  const std::vector<std::string> names = dim_names(s.domain);
  const NodeId filter_id = next_id++;
  const NodeId band_id = names.empty() ? -1 : next_id++;
  for (unsigned k = 0; k < names.size(); ++k) {
    std::string name = names[k];
    for (int n = 2; !used.insert(name).second; ++n) name = names[k] + "_" + std::to_string(n);
    BandMember m;
    m.name = name;
    m.axis = names[k];
    m.schedule.emplace(s.name, dim_aff(s.domain, k));
    members.push_back(std::move(m));
  }
  NodePtr body = make_leaf(next_id++);
  if (band_id >= 0) body = make_band(std::move(members), body, band_id);
  return make_filter(isl::union_set(s.domain), body, filter_id);
}

// Statements one after the other: the tree of textual_order.
NodePtr textual_tree(const Program& p, NodeId& next_id) {
  const NodeId root = next_id++;
  std::vector<NodePtr> filters;
  std::set<std::string> used;
  for (const Statement& s : p.statements) filters.push_back(statement_filter(s, next_id, used));
  return make_sequence(std::move(filters), root);
}

// A root that is not a sequence becomes the one kernel of a sequence.
NodePtr rooted(const Program& p, NodePtr n, NodeId& next_id) {
  if (n->kind == NodeKind::Sequence) return n;
  NodePtr filter = make_filter(p.domain(), std::move(n), next_id++);
  return make_sequence({filter}, next_id++);
}

bool walk(const NodePtr& n, NodeId id, std::vector<const Node*>& path) {
  path.push_back(n.get());
  if (n->id == id) return true;
  for (const NodePtr& c : n->children)
    if (walk(c, id, path)) return true;
  path.pop_back();
  return false;
}

const Node* find_below(const Node* n, NodeId id) {
  if (n->id == id) return n;
  for (const NodePtr& c : n->children)
    if (const Node* hit = find_below(c.get(), id)) return hit;
  return nullptr;
}

void collect(const Node* n, std::vector<const Node*>& out) {
  out.push_back(n);
  for (const NodePtr& c : n->children) collect(c.get(), out);
}

// Rebuilds the spine from n down to `id`; null if id is not below.
NodePtr replaced(const NodePtr& n, NodeId id, const NodePtr& by) {
  if (n->id == id) return by;
  for (size_t k = 0; k < n->children.size(); ++k)
    if (NodePtr changed = replaced(n->children[k], id, by)) {
      std::vector<NodePtr> children = n->children;
      children[k] = std::move(changed);
      return with_children(*n, std::move(children));
    }
  return nullptr;
}

}  // namespace

Schedule initial_schedule(ProgramPtr p) {
  Schedule s;
  s.program = s.origin = p;
  if (p->original.is_null()) {
    s.root = textual_tree(*p, s.next_id);
    return s;
  }
  Expected<NodePtr> tree = from_isl(*p, p->original, s.next_id);
  if (!tree)
    throw std::invalid_argument("original order of " + p->name + ": " + tree.error().text());
  s.root = rooted(*p, *tree, s.next_id);
  return s;
}

const Node* find(const Schedule& s, NodeId id) {
  return s.root ? find_below(s.root.get(), id) : nullptr;
}

std::vector<const Node*> path_to(const Schedule& s, NodeId id) {
  std::vector<const Node*> path;
  if (s.root) walk(s.root, id, path);
  return path;
}

const Node* parent_of(const Schedule& s, NodeId id) {
  const std::vector<const Node*> path = path_to(s, id);
  return path.size() < 2 ? nullptr : path[path.size() - 2];
}

std::vector<const Node*> preorder(const Schedule& s) {
  std::vector<const Node*> out;
  if (s.root) collect(s.root.get(), out);
  return out;
}

isl::union_set instances_below(const Schedule& s, NodeId id) {
  isl::union_set out = s.program->domain();
  const std::vector<const Node*> path = path_to(s, id);
  if (path.empty()) return isl::union_set::empty(s.program->context->get());
  for (const Node* n : path)
    if (n->kind == NodeKind::Filter) out = out.intersect(n->filter);
  return out;
}

std::vector<std::string> statements_below(const Schedule& s, NodeId id) {
  const std::vector<const Node*> path = path_to(s, id);
  for (auto it = path.rbegin(); it != path.rend(); ++it)
    if (!(*it)->statements.empty()) return (*it)->statements;
  return {};
}

Schedule replace(const Schedule& s, NodeId id, NodePtr by) {
  NodePtr root = replaced(s.root, id, by);
  if (!root) throw std::invalid_argument("replace: no node " + std::to_string(id));
  Schedule out = s;
  out.root = std::move(root);
  return out;
}

std::string unique_member_name(const Schedule& s, const std::string& base,
                               const std::vector<std::string>& taken) {
  std::set<std::string> used(taken.begin(), taken.end());
  for (const Node* n : preorder(s))
    for (const BandMember& m : n->members) used.insert(m.name);
  std::string name = base;
  for (int k = 2; used.count(name); ++k) name = base + "_" + std::to_string(k);
  return name;
}

}  // namespace nautilus::poly
