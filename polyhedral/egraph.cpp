// The e-graph itself: hash-consed nodes in classes, merging with deferred congruence, constants.
#include "polyhedral/egraph.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_set>

namespace nautilus::egraph {
namespace {

struct SymbolTable {
  std::shared_mutex mutex;
  std::deque<std::string> names;  // addresses are stable
  std::unordered_map<std::string_view, Symbol> ids;
};
SymbolTable& symbols() {
  static auto& table = *new SymbolTable;
  return table;
}

}  // namespace

Symbol intern(std::string_view name) {
  SymbolTable& t = symbols();
  {
    std::shared_lock lock(t.mutex);
    if (auto it = t.ids.find(name); it != t.ids.end()) return it->second;
  }
  std::unique_lock lock(t.mutex);
  if (auto it = t.ids.find(name); it != t.ids.end()) return it->second;
  const auto id = static_cast<Symbol>(t.names.size());
  t.names.emplace_back(name);
  t.ids.emplace(t.names.back(), id);
  return id;
}

const std::string& symbol_name(Symbol s) {
  SymbolTable& t = symbols();
  std::shared_lock lock(t.mutex);
  return t.names.at(s);
}

size_t EGraph::Hash::operator()(const ENode& n) const {
  size_t h = n.symbol * 0x9e3779b97f4a7c15ULL;
  for (ClassId c : n.children) h = (h ^ c) * 0xff51afd7ed558ccdULL + (h >> 29);
  return h;
}

ENode EGraph::canonical(ENode n) const {
  for (ClassId& c : n.children) c = find(c);
  return n;
}

ClassId EGraph::find(ClassId c) const {
  while (parent_[c] != c) {
    parent_[c] = parent_[parent_[c]];
    c = parent_[c];
  }
  return c;
}

ClassId EGraph::add(ENode n) {
  n = canonical(std::move(n));
  if (auto it = memo_.find(n); it != memo_.end()) return find(it->second);
  const auto id = static_cast<ClassId>(parent_.size());
  parent_.push_back(id);
  nodes_.push_back({n});
  uses_.emplace_back();
  constants_.emplace_back();
  for (ClassId c : n.children) uses_[c].emplace_back(n, id);
  memo_.emplace(n, id);
  ++count_;
  learn_constant(id, n);
  return find(id);
}

ClassId EGraph::add(std::string_view symbol, std::vector<ClassId> children) {
  return add(ENode{intern(symbol), std::move(children)});
}

// A class whose node folds to a value gets the value, and the leaf that stands for it.
void EGraph::learn_constant(ClassId c, const ENode& n) {
  c = find(c);
  if (!analysis.constant || constants_[c]) return;
  if (const auto v = analysis.constant(*this, n)) set_constant(c, *v);
}

void EGraph::set_constant(ClassId c, double v) {
  constants_[c] = v;
  if (!uses_[c].empty()) pending_.push_back(c);  // what is above may fold now
  if (analysis.leaf) {
    const ClassId leaf = add(analysis.leaf(v));
    merge(c, leaf);
  }
}

// The class with more uses absorbs the other (fewer nodes to repair); ties keep the older class.
bool EGraph::merge(ClassId a, ClassId b) {
  a = find(a);
  b = find(b);
  if (a == b) return false;
  if (uses_[a].size() < uses_[b].size() || (uses_[a].size() == uses_[b].size() && b < a))
    std::swap(a, b);
  parent_[b] = a;
  nodes_[a].insert(nodes_[a].end(), nodes_[b].begin(), nodes_[b].end());
  uses_[a].insert(uses_[a].end(), uses_[b].begin(), uses_[b].end());
  if (!constants_[a]) constants_[a] = constants_[b];
  nodes_[b] = {};
  uses_[b] = {};
  pending_.push_back(a);
  return true;
}

// Re-canonicalizes the nodes above c; two that became one node merge their classes.
void EGraph::repair(ClassId c) {
  std::vector<Use> uses = std::move(uses_[c]);
  uses_[c] = {};
  for (const auto& [n, cls] : uses) memo_.erase(n);
  std::vector<Use> fresh;
  for (auto& [n, cls] : uses) {
    ENode k = canonical(n);
    const ClassId owner = find(cls);
    auto [it, is_new] = memo_.emplace(k, owner);
    if (!is_new) merge(owner, it->second);
    it->second = find(owner);
    learn_constant(owner, k);
    if (is_new) fresh.emplace_back(std::move(k), owner);
  }
  auto& now = uses_[find(c)];
  now.insert(now.end(), fresh.begin(), fresh.end());
}

void EGraph::rebuild() {
  while (!pending_.empty()) {
    std::vector<ClassId> todo = std::move(pending_);
    pending_.clear();
    for (ClassId& c : todo) c = find(c);
    std::sort(todo.begin(), todo.end());
    todo.erase(std::unique(todo.begin(), todo.end()), todo.end());
    for (ClassId c : todo) repair(find(c));
  }
  // Nodes of a class: canonical, without repetition, in order of insertion.
  count_ = 0;
  for (ClassId c = 0; c < parent_.size(); ++c) {
    if (parent_[c] != c) continue;
    std::unordered_set<ENode, Hash> seen;
    std::vector<ENode> kept;
    for (const ENode& n : nodes_[c])
      if (ENode k = canonical(n); seen.insert(k).second) kept.push_back(std::move(k));
    count_ += kept.size();
    nodes_[c] = std::move(kept);
  }
}

const std::vector<ENode>& EGraph::nodes(ClassId c) const { return nodes_[find(c)]; }

std::vector<ClassId> EGraph::classes() const {
  std::vector<ClassId> out;
  for (ClassId c = 0; c < parent_.size(); ++c)
    if (parent_[c] == c) out.push_back(c);
  return out;
}

size_t EGraph::node_count() const { return count_; }
std::optional<double> EGraph::constant(ClassId c) const { return constants_[find(c)]; }

}  // namespace nautilus::egraph
