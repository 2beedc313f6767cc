// The canonical hash: what a schedule does, whatever its node ids and history.
#include "polyhedral/context_hash.h"
#include "polyhedral/schedule.h"

namespace nautilus::poly {

namespace {

uint64_t hash_member(const BandMember& m, bool ignore_sizes) {
  uint64_t h = hash_combine(static_cast<uint64_t>(m.mapping) + 11,
                            ignore_sizes ? (m.step > 1) : static_cast<uint64_t>(m.step));
  for (const auto& [stmt, aff] : m.schedule) {  // sorted by statement
    h = hash_combine(h, hash_bytes(kHashSeed, stmt));
    h = hash_combine(h, hash(aff, ignore_sizes && m.step > 1));
  }
  return h;
}

uint64_t hash_node(const Node& n, bool ignore_sizes) {
  if (uint64_t known = n.hash.get(ignore_sizes)) return known;
  uint64_t h = hash_combine(static_cast<uint64_t>(n.kind) + 3, n.children.size());
  for (const BandMember& m : n.members) h = hash_combine(h, hash_member(m, ignore_sizes));
  for (const auto& [stmt, set] : n.parts)
    h = hash_combine(hash_combine(h, hash_bytes(kHashSeed, stmt)), hash(set));
  if (n.kind == NodeKind::Mark) h = hash_bytes(h, n.mark);
  for (const NodePtr& c : n.children) h = hash_combine(h, hash_node(*c, ignore_sizes));
  if (h == 0) h = 1;
  n.hash.set(ignore_sizes, h);
  return h;
}

// Position of a node in preorder: an identity that does not depend on ids.
int position(const Node& n, NodeId id, int& count) {
  if (n.id == id) return count;
  ++count;
  for (const NodePtr& c : n.children)
    if (int at = position(*c, id, count); at >= 0) return at;
  return -1;
}

uint64_t hash_repair(const Schedule& s, const Repair& r) {
  int count = 0;
  uint64_t h = hash_combine(static_cast<uint64_t>(position(*s.root, r.band, count)) + 5,
                            static_cast<uint64_t>(r.numeric));
  for (const auto* names : {&r.targets, &r.sources, &r.via})
    for (const std::string& n : *names) h = hash_bytes(hash_combine(h, 1), n);
  for (const Expr& e : r.corrections) h = hash_combine(h, e ? e->hash : 0);
  if (r.lazy) h = hash_bytes(h, "lazy");
  return r.lazy_bound != 0 ? hash_bytes(h, std::to_string(r.lazy_bound)) : h;
}

}  // namespace

uint64_t canonical_hash(const Schedule& s, bool ignore_tile_sizes) {
  uint64_t h = hash_node(*s.root, ignore_tile_sizes);
  for (const auto& [tensor, scope] : s.scopes)
    if (scope != Scope::Global)
      h = hash_combine(hash_bytes(hash_combine(h, 7), tensor), static_cast<uint64_t>(scope));
  uint64_t repairs = 0;  // order of acceptance does not matter
  for (const Repair& r : s.repairs) repairs += hash_repair(s, r);
  return hash_combine(h, repairs);
}

}  // namespace nautilus::poly
