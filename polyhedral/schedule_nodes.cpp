// Nodes of a schedule tree: construction (with what is derived from the children) and small edits.
#include <algorithm>
#include <set>

#include "polyhedral/schedule.h"

namespace nautilus::poly {

namespace {

constexpr std::string_view kMappings[] = {"serial", "grid", "warpgroup", "tile", "unroll"};
constexpr std::string_view kScopes[] = {"global", "shared", "register"};

// Statements of the children in order, each once.
std::vector<std::string> statements_of(const std::vector<NodePtr>& children) {
  if (children.size() == 1) return children[0]->statements;
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const NodePtr& c : children)
    for (const std::string& s : c->statements)
      if (seen.insert(s).second) out.push_back(s);
  return out;
}

// What a node adds when nothing below names statements: a filter's sets, a band's functions.
void derive(Node& n) {
  n.hash = {};
  n.forms.value.reset();
  n.statements = statements_of(n.children);
  if (!n.statements.empty()) return;
  if (n.kind == NodeKind::Filter)
    for (const auto& [stmt, set] : n.parts) n.statements.push_back(stmt);
  if (n.kind == NodeKind::Band && !n.members.empty())
    for (const auto& [stmt, aff] : n.members[0].schedule) n.statements.push_back(stmt);
}

NodePtr finish(Node n) {
  derive(n);
  return std::make_shared<const Node>(std::move(n));
}

}  // namespace

Node::Node(const Node& o)
    : id(o.id),
      kind(o.kind),
      members(o.members),
      permutable(o.permutable),
      mark(o.mark),
      children(o.children),
      parts(o.parts),
      statements(o.statements) {
  if (!o.filter.is_null()) filter = o.filter;
}

std::string_view mapping_name(Mapping m) { return kMappings[static_cast<size_t>(m)]; }
std::optional<Mapping> mapping_from_name(std::string_view s) {
  for (size_t k = 0; k < std::size(kMappings); ++k)
    if (kMappings[k] == s) return static_cast<Mapping>(k);
  return std::nullopt;
}
std::string_view scope_name(Scope s) { return kScopes[static_cast<size_t>(s)]; }
std::optional<Scope> scope_from_name(std::string_view s) {
  for (size_t k = 0; k < std::size(kScopes); ++k)
    if (kScopes[k] == s) return static_cast<Scope>(k);
  return std::nullopt;
}

NodePtr make_band(std::vector<BandMember> members, NodePtr child, NodeId id) {
  Node n;
  n.id = id;
  n.kind = NodeKind::Band;
  n.members = std::move(members);
  n.children = {std::move(child)};
  return finish(std::move(n));
}

NodePtr make_sequence(std::vector<NodePtr> filters, NodeId id) {
  Node n;
  n.id = id;
  n.kind = NodeKind::Sequence;
  n.children = std::move(filters);
  return finish(std::move(n));
}

NodePtr make_filter(isl::union_set filter, NodePtr child, NodeId id) {
  Node n;
  n.id = id;
  n.kind = NodeKind::Filter;
  filter.foreach_set([&](isl::set s) {
    if (!s.is_empty()) n.parts.emplace(tuple_name(s), s);
  });
  n.filter = std::move(filter);
  n.children = {std::move(child)};
  return finish(std::move(n));
}

NodePtr make_mark(std::string text, NodePtr child, NodeId id) {
  Node n;
  n.id = id;
  n.kind = NodeKind::Mark;
  n.mark = std::move(text);
  n.children = {std::move(child)};
  return finish(std::move(n));
}

NodePtr make_leaf(NodeId id) {
  Node n;
  n.id = id;
  return finish(std::move(n));
}

NodePtr with_children(const Node& n, std::vector<NodePtr> children) {
  Node copy = n;
  copy.children = std::move(children);
  return finish(std::move(copy));
}

NodePtr with_members(const Node& band, std::vector<BandMember> members) {
  Node copy = band;
  copy.members = std::move(members);
  return finish(std::move(copy));
}

namespace {

// Intersects every filter of a subtree with `only` and drops statements that have no instance in
// it.
NodePtr restrict_node(const NodePtr& n, const isl::union_set& only,
                      const std::set<std::string>& alive, NodeId& next_id, bool keep_ids) {
  Node copy = *n;
  if (!keep_ids) copy.id = next_id++;
  if (n->kind == NodeKind::Filter) {
    isl::union_set filter = n->filter.intersect(only);
    if (filter.is_empty()) return nullptr;
    NodePtr child = restrict_node(n->children[0], only, alive, next_id, keep_ids);
    return child ? make_filter(filter, child, copy.id) : nullptr;
  }
  for (BandMember& m : copy.members)
    std::erase_if(m.schedule, [&](const auto& e) { return !alive.count(e.first); });
  copy.children.clear();
  for (const NodePtr& c : n->children)
    if (NodePtr kept = restrict_node(c, only, alive, next_id, keep_ids))
      copy.children.push_back(kept);
  if (copy.children.empty() && n->kind != NodeKind::Leaf) return nullptr;
  return finish(std::move(copy));
}

}  // namespace

NodePtr restrict_subtree(const NodePtr& n, const isl::union_set& only, NodeId& next_id,
                         bool keep_ids) {
  std::set<std::string> alive;
  only.foreach_set([&](isl::set s) {
    if (!s.is_empty()) alive.insert(tuple_name(s));
  });
  return restrict_node(n, only, alive, next_id, keep_ids);
}

isl::aff dim_aff(const isl::set& domain, unsigned k) {
  return domain.space().identity_multi_aff_on_domain().at(static_cast<int>(k));
}
isl::aff constant_aff(const isl::set& domain, int64_t value) {
  return domain.space().zero_aff_on_domain().add_constant(static_cast<long>(value));
}

}  // namespace nautilus::poly
