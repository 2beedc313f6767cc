// Flattened orders: sequence positions and band members as one tuple.
#include <algorithm>

#include "polyhedral/schedule.h"

namespace nautilus::poly {

namespace {

struct Flatten {
  const Program& program;
  const std::string& stmt;
  const isl::set& domain;
  std::vector<std::pair<isl::set, std::vector<isl::aff>>>
      pieces;  // a statement may pass several filters

  // Appends sequence positions and member functions on the way down; records at leaves.
  void walk(const Node& n, isl::set left, std::vector<isl::aff> time) {
    if (n.kind == NodeKind::Filter) {
      auto part = n.parts.find(stmt);
      if (part == n.parts.end()) return;
      left = left.intersect(part->second);
    }
    for (const BandMember& m : n.members) {
      auto f = m.schedule.find(stmt);
      time.push_back(f == m.schedule.end() ? constant_aff(domain, 0) : f->second);
    }
    if (n.children.empty()) {
      pieces.emplace_back(left, std::move(time));
      return;
    }
    for (size_t k = 0; k < n.children.size(); ++k) {
      std::vector<isl::aff> next = time;
      if (n.kind == NodeKind::Sequence)
        next.push_back(constant_aff(domain, static_cast<int64_t>(k)));
      walk(*n.children[k], left, std::move(next));
    }
  }
};

}  // namespace

isl::union_map flat_schedule(const Schedule& s) {
  std::vector<Flatten> flat;
  size_t length = 0;
  for (const Statement& stmt : s.program->statements) {
    Flatten f{*s.program, stmt.name, stmt.domain, {}};
    f.walk(*s.root, stmt.domain, {});
    for (const auto& [set, time] : f.pieces) length = std::max(length, time.size());
    flat.push_back(std::move(f));
  }
  isl::union_map out = isl::union_map::empty(s.program->context->get());
  for (Flatten& f : flat)
    for (auto& [set, time] : f.pieces) {
      time.resize(length, constant_aff(f.domain, 0));
      out = out.unite(tuple_of(f.domain, time).as_map().intersect_domain(set).to_union_map());
    }
  return out;
}

isl::multi_aff prefix(const Schedule& s, NodeId id, const std::string& stmt, bool inclusive) {
  const Statement* st = s.program->statement(stmt);
  std::vector<isl::aff> affs;
  for (const Node* n : path_to(s, id)) {
    if (n->id == id && !inclusive) break;
    for (const BandMember& m : n->members)
      if (auto f = m.schedule.find(stmt); f != m.schedule.end()) affs.push_back(f->second);
  }
  return tuple_of(st->domain, affs);
}

}  // namespace nautilus::poly
