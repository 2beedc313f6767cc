// Between our trees and isl's. Mappings, steps and names travel as marks in front of the bands;
// scopes and repairs as marks at the root.
#include <algorithm>
#include <any>
#include <set>
#include <sstream>

#include "polyhedral/context_hash.h"
#include "polyhedral/schedule.h"

namespace nautilus::poly {

namespace {

constexpr std::string_view kBandMark = "nautilus.band ";
constexpr std::string_view kStateMark = "nautilus.state ";

// "nautilus.band p i0:grid:64:i j0:serial:1:j" (p: permutable, n: not).
std::string band_mark(const Node& band) {
  std::string out = std::string(kBandMark) + (band.permutable ? "p" : "n");
  for (const BandMember& m : band.members)
    out += " " + m.name + ":" + std::string(mapping_name(m.mapping)) + ":" +
           std::to_string(m.step) + ":" + m.axis;
  return out;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) out.push_back(part);
  return out;
}

// Puts what a band mark says onto the members below it; a mark that does not fit changes nothing.
void apply_band_mark(const std::string& mark, Node& band) {
  const std::vector<std::string> words = split(mark.substr(kBandMark.size()), ' ');
  if (words.size() != band.members.size() + 1) return;
  band.permutable = words[0] == "p";
  for (size_t k = 0; k < band.members.size(); ++k) {
    std::vector<std::string> f = split(words[k + 1], ':');
    f.resize(4);
    const std::optional<Mapping> mapping = mapping_from_name(f[1]);
    if (!mapping) return;
    BandMember& m = band.members[k];
    m.name = f[0];
    m.mapping = *mapping;
    m.step = std::max<int64_t>(1, std::atoll(f[2].c_str()));
    m.axis = f[3];
  }
}

std::string state_mark(const Schedule& s) {
  std::string out(kStateMark);
  for (const auto& [tensor, scope] : s.scopes)
    out += tensor + ":" + std::string(scope_name(scope)) + " ";
  for (const Repair& r : s.repairs) {
    out += "repair:" + std::to_string(r.band);
    for (const std::string& t : r.targets) out += ":" + t;
    if (r.lazy) out += ":lazy";
    out += " ";
  }
  if (out.size() > kStateMark.size()) out.pop_back();
  return out;
}

isl::multi_union_pw_aff partial_schedule(isl::ctx ctx, const Node& band) {
  std::vector<isl::union_pw_aff> parts;
  for (const BandMember& m : band.members) {
    isl::union_pw_aff sum;
    for (const auto& [stmt, aff] : m.schedule)
      sum = sum.is_null() ? aff.to_union_pw_aff() : sum.union_add(aff.to_union_pw_aff());
    parts.push_back(sum);
  }
  isl::union_pw_aff_list list = parts.at(0).to_list();
  for (size_t k = 1; k < parts.size(); ++k) list = list.add(parts[k]);
  return isl::multi_union_pw_aff(
      isl::space::unit(ctx).add_unnamed_tuple(static_cast<unsigned>(parts.size())), list);
}

// Grows `n` at the leaf `at`; returns the node that took its place.
isl::schedule_node grow(isl::schedule_node at, const Node& n) {
  isl::ctx ctx = at.ctx();
  switch (n.kind) {
    case NodeKind::Leaf:
      return at;
    case NodeKind::Mark:
      return grow(at.insert_mark(isl::id(ctx, n.mark, std::any())).child(0), *n.children[0])
          .parent();
    case NodeKind::Filter:
      return grow(at.insert_filter(n.filter).child(0), *n.children[0]).parent();
    case NodeKind::Band: {
      isl::schedule_node mark = at.insert_mark(isl::id(ctx, band_mark(n), std::any()));
      isl::schedule_node node = mark.child(0).insert_partial_schedule(partial_schedule(ctx, n));
      auto band = node.as<isl::schedule_node_band>().set_permutable(n.permutable);
      for (size_t k = 0; k < n.members.size(); ++k)
        if (n.members[k].mapping == Mapping::Grid || n.members[k].mapping == Mapping::Warpgroup)
          band = band.member_set_coincident(static_cast<int>(k), 1);
      return grow(band.child(0), *n.children[0]).parent().parent();
    }
    case NodeKind::Sequence:
      break;
  }
  if (n.children.empty()) return at;
  isl::union_set_list list = n.children[0]->filter.to_list();
  for (size_t k = 1; k < n.children.size(); ++k) list = list.add(n.children[k]->filter);
  isl::schedule_node node = at.insert_sequence(list);
  for (size_t k = 0; k < n.children.size(); ++k)
    node = grow(node.child(static_cast<int>(k)).child(0), *n.children[k]->children[0])
               .parent()
               .parent();
  return node;
}

struct Refused {
  Refusal refusal;
};

struct Importer {
  const Program& program;
  NodeId& next_id;
  std::set<std::string> used;

  std::string unique(const std::string& base) {
    std::string name = base;
    for (int n = 2; !used.insert(name).second; ++n) name = base + "_" + std::to_string(n);
    return name;
  }

  // The dim that `a` is, or is a floored quotient of ("i", tiled); otherwise nothing.
  static std::optional<std::pair<unsigned, bool>> single_dim(const isl::aff& a) {
    const LinearAff f = linear_form(a);
    auto only = [](const std::vector<int64_t>& v) {
      int at = -1;
      for (size_t k = 0; k < v.size(); ++k)
        if (v[k] != 0) at = at == -1 && v[k] == 1 ? static_cast<int>(k) : -2;
      return at;
    };
    auto none = [](const std::vector<int64_t>& v) {
      return std::all_of(v.begin(), v.end(), [](int64_t c) { return c == 0; });
    };
    if (f.denominator == 1 && f.constant == 0 && none(f.params) && none(f.divs) &&
        only(f.dims) >= 0)
      return std::pair{static_cast<unsigned>(only(f.dims)), false};
    const int div = only(f.divs);
    if (f.denominator != 1 || f.constant != 0 || !none(f.params) || !none(f.dims) || div < 0)
      return std::nullopt;
    const LinearDiv& d = f.div_defs[static_cast<size_t>(div)];
    if (d.known && d.constant == 0 && none(d.params) && none(d.divs) && only(d.dims) >= 0)
      return std::pair{static_cast<unsigned>(only(d.dims)), true};
    return std::nullopt;
  }

  // The single affine function of one statement in one band member, over the instances that get
  // here.
  isl::aff function(const isl::pw_multi_aff& pa, const isl::set& here) {
    std::vector<isl::aff> pieces;
    pa.coalesce().foreach_piece([&](isl::set where, isl::multi_aff tuple) {
      const isl::aff a = tuple.at(0);
      if (where.intersect(here).is_empty()) return;
      for (const isl::aff& seen : pieces)
        if (plain_equal(seen, a)) return;
      pieces.push_back(a);
    });
    if (pieces.size() > 1)
      throw Refused{{"read a schedule", tuple_name(here),
                     "a band member is not one affine function: " + isl_text(pa),
                     "split the statement so that each part has one function"}};
    return pieces.empty() ? constant_aff(here, 0) : pieces[0];
  }

  BandMember member(const isl::union_pw_aff& upa, const isl::union_set& here) {
    BandMember m;
    for (const isl::set& s : sets_of(here)) {
      isl::pw_multi_aff pa = upa.extract_pw_multi_aff(s.space().add_unnamed_tuple(1));
      m.schedule.emplace(tuple_name(s), function(pa, s));
    }
    std::string name = "t";
    for (const Statement& st : program.statements) {
      auto f = m.schedule.find(st.name);
      if (f == m.schedule.end()) continue;
      if (auto dim = single_dim(f->second)) {
        m.axis = dim_names(st.domain)[dim->first];
        name = dim->second ? m.axis + "0" : m.axis;
        break;
      }
    }
    m.name = unique(name);
    return m;
  }

  NodePtr band(isl::schedule_node_band node, const isl::union_set& here, const std::string& mark) {
    Node n;
    n.kind = NodeKind::Band;
    const NodeId id = next_id++;
    isl::multi_union_pw_aff partial = node.partial_schedule();
    for (unsigned k = 0; k < node.n_member(); ++k)
      n.members.push_back(member(partial.at(static_cast<int>(k)), here));
    n.permutable = node.permutable();
    if (!mark.empty()) apply_band_mark(mark, n);
    NodePtr child = convert(node.child(0), here, "");
    if (n.members.empty()) return child;
    NodePtr made = make_band(n.members, child, id);
    Node copy = *made;
    copy.permutable = n.permutable;
    return with_children(copy, copy.children);
  }

  // Keeps the statement's own domain object where the filter does not cut it.
  isl::union_set narrowed(const isl::union_set& here, const isl::union_set& filter) {
    isl::union_set out = isl::union_set::empty(here.ctx());
    for (const isl::set& s : sets_of(here)) {
      isl::set part = s.intersect(filter.extract_set(s.space()));
      if (!part.is_empty()) out = out.unite(part.is_equal(s) ? s : part);
    }
    return out;
  }

  NodePtr sequence(isl::schedule_node node, const isl::union_set& here) {
    const NodeId id = next_id++;
    std::vector<NodePtr> filters;
    for (unsigned k = 0; k < node.n_children(); ++k)
      if (NodePtr f = filter(node.child(static_cast<int>(k)), here)) filters.push_back(f);
    return make_sequence(std::move(filters), id);
  }

  NodePtr filter(isl::schedule_node node, const isl::union_set& here) {
    isl::union_set inside = narrowed(here, node.as<isl::schedule_node_filter>().filter());
    if (inside.is_empty()) return nullptr;
    const NodeId id = next_id++;
    return make_filter(inside, convert(node.child(0), inside, ""), id);
  }

  NodePtr convert(isl::schedule_node node, const isl::union_set& here, const std::string& mark) {
    if (node.isa<isl::schedule_node_leaf>()) return make_leaf(next_id++);
    if (node.isa<isl::schedule_node_band>())
      return band(node.as<isl::schedule_node_band>(), here, mark);
    if (node.isa<isl::schedule_node_sequence>() || node.isa<isl::schedule_node_set>())
      return sequence(node, here);
    if (node.isa<isl::schedule_node_context>()) return convert(node.child(0), here, mark);
    if (node.isa<isl::schedule_node_filter>()) {  // outside a sequence: a sequence of one
      const NodeId id = next_id++;
      NodePtr f = filter(node, here);
      return make_sequence(f ? std::vector<NodePtr>{f} : std::vector<NodePtr>{}, id);
    }
    if (node.isa<isl::schedule_node_mark>()) {
      const std::string text = mark_name(node);
      if (text.starts_with(kBandMark)) return convert(node.child(0), here, text);
      if (text.starts_with(kStateMark)) return convert(node.child(0), here, "");
      const NodeId id = next_id++;
      return make_mark(text, convert(node.child(0), here, ""), id);
    }
    throw Refused{{"read a schedule", "",
                   "expansion, extension and guard nodes have no counterpart here", ""}};
  }
};

}  // namespace

isl::schedule to_isl(const Schedule& s) {
  isl::schedule sched = isl::schedule::from_domain(s.program->domain());
  isl::schedule_node at = sched.root().child(0);
  const std::string state = state_mark(s);
  if (state.size() > kStateMark.size())
    at = at.insert_mark(isl::id(at.ctx(), state, std::any())).child(0);
  return grow(at, *s.root).schedule();
}

Expected<NodePtr> from_isl(const Program& p, const isl::schedule& sched, NodeId& next_id) {
  Importer in{p, next_id, {}};
  isl::union_set here = in.narrowed(p.domain(), sched.domain());
  try {
    isl::schedule_node root = sched.root();
    return in.convert(root.isa<isl::schedule_node_domain>() ? root.child(0) : root, here, "");
  } catch (const Refused& r) {
    return r.refusal;
  }
}

}  // namespace nautilus::poly
