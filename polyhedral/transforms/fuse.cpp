#include "polyhedral/transforms/fuse.h"

#include <algorithm>

#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

namespace {

std::string asked(NodeId sequence, size_t first, size_t last, size_t depth) {
  return "fuse children " + std::to_string(first) + " to " + std::to_string(last) +
         " of sequence " + std::to_string(sequence) + " at depth " + std::to_string(depth);
}

// Why one child cannot be fused that deep.
std::optional<std::string> unfit(const Node& child, size_t depth) {
  const Node& body = *child.children[0];
  if (body.kind != NodeKind::Band) return "does not start with a band";
  if (body.members.size() < depth)
    return "starts with a band of only " + std::to_string(body.members.size()) + " members";
  for (size_t k = 0; k < depth; ++k)
    if (body.members[k].mapping == Mapping::Tile)
      return "has member " + body.members[k].name + " mapped to tile, which is not a loop";
  return std::nullopt;
}

// Joins member k of all children: same tile size; serial loops take the mapping of the mapped ones.
Expected<BandMember> joined(const std::vector<const Node*>& children, size_t k,
                            const std::string& what) {
  BandMember out = children[0]->children[0]->members[k];
  for (size_t c = 1; c < children.size(); ++c) {
    const BandMember& m = children[c]->children[0]->members[k];
    if (m.step != out.step)
      return edit::refused(
          what, "members " + out.name + " and " + m.name,
          "their tile sizes differ: " + std::to_string(out.step) + " and " + std::to_string(m.step),
          "tile both by the same size");
    if (m.mapping != Mapping::Serial && out.mapping != Mapping::Serial && m.mapping != out.mapping)
      return edit::refused(what, "members " + out.name + " and " + m.name,
                           "they are mapped to " + std::string(mapping_name(out.mapping)) +
                               " and " + std::string(mapping_name(m.mapping)),
                           "map both alike");
    if (out.mapping == Mapping::Serial) out.mapping = m.mapping;
    for (const auto& [stmt, aff] : m.schedule)
      if (!out.schedule.emplace(stmt, aff).second)
        return edit::refused(what, "statement " + stmt,
                             "its instances are spread over the children (partitioned)",
                             "fuse children without a common statement");
    if (m.axis != out.axis && out.axis.empty()) out.axis = m.axis;
  }
  return out;
}

// A child's filter over what is left of its band; a sequence directly below is taken in instead.
void append_rest(const Node& child, size_t depth, std::vector<NodePtr>& filters) {
  const Node& band = *child.children[0];
  if (band.members.size() > depth) {
    NodePtr rest = with_members(
        band, {band.members.begin() + static_cast<std::ptrdiff_t>(depth), band.members.end()});
    filters.push_back(with_children(child, {rest}));
    return;
  }
  const Node& below = *band.children[0];
  if (below.kind == NodeKind::Sequence)
    filters.insert(filters.end(), below.children.begin(), below.children.end());
  else
    filters.push_back(with_children(child, {band.children[0]}));
}

}  // namespace

Expected<Fused> fuse_children(const Schedule& s, NodeId sequence, size_t first, size_t last,
                              size_t depth) {
  const std::string what = asked(sequence, first, last, depth);
  const Node* seq = find(s, sequence);
  if (first >= last || last >= seq->children.size())
    return edit::refused(what, edit::describe(s, *seq),
                         "the sequence has " + std::to_string(seq->children.size()) +
                             " children (from 0), and at least two must be named");
  std::vector<const Node*> children;
  for (size_t k = first; k <= last; ++k) {
    children.push_back(seq->children[k].get());
    if (auto why = unfit(*children.back(), depth))
      return edit::refused(what, edit::describe(s, *children.back()),
                           "child " + std::to_string(k) + " " + *why,
                           "split or interchange its band, or fuse less deep");
  }
  std::vector<BandMember> members;
  for (size_t k = 0; k < depth; ++k) {
    Expected<BandMember> m = joined(children, k, what);
    if (!m) return m.error();
    members.push_back(std::move(*m));
  }
  Fused out{s, 0, 0};
  Schedule& t = out.schedule;
  const Node& head = *children[0]->children[0];
  const bool used_up = head.members.size() == depth;
  const bool takes_in = used_up && head.children[0]->kind == NodeKind::Sequence;
  std::vector<NodePtr> filters;
  isl::union_set all;
  for (const Node* c : children) {
    append_rest(*c, depth, filters);
    all = all.is_null() ? c->filter : all.unite(c->filter);
    const Node& band = *c->children[0];
    if (band.members.size() == depth)
      for (Repair& r : t.repairs)
        if (r.band == band.id) r.band = -1;  // set below
  }
  const NodeId filter_id = takes_in ? children[0]->id : t.next_id++;
  out.band = used_up ? head.id : t.next_id++;
  out.sequence = takes_in ? head.children[0]->id : t.next_id++;
  for (Repair& r : t.repairs)
    if (r.band == -1) r.band = out.band;
  NodePtr band =
      make_band(std::move(members), make_sequence(std::move(filters), out.sequence), out.band);
  if (children.size() == seq->children.size() && seq != s.root.get()) {
    t = replace(t, sequence, band);  // nothing is left to put in sequence
    return out;
  }
  std::vector<NodePtr> siblings(seq->children.begin(),
                                seq->children.begin() + static_cast<std::ptrdiff_t>(first));
  siblings.push_back(make_filter(all, band, filter_id));
  siblings.insert(siblings.end(), seq->children.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                  seq->children.end());
  t = replace(t, sequence, with_children(*seq, std::move(siblings)));
  return out;
}

TransformInfo info_fuse() {
  TransformInfo t;
  t.name = "fuse";
  t.summary = "run neighbouring loop nests in one common band";
  t.doc =
      "Children first to last of a sequence must each start with a band of at least `depth` "
      "members. Their first `depth` members "
      "become, position by position, one band over a sequence of the children with what remains of "
      "their bands. Extents may "
      "differ: filters guard. Legal when no dependence between the children goes backwards in the "
      "common members. When what is "
      "violated only leaves the final value of a reduction, rolling_update may pay for it.";
  t.before =
      "1: sequence\n  2: filter S_a\n    3: band [i = i, j = j]\n  4: filter S_b\n    5: band [i_2 "
      "= i]";
  t.after =
      "1: sequence\n  7: filter S_a, S_b\n    8: band [i = i]\n      9: sequence\n        2: "
      "filter S_a\n          3: band [j = j]\n        4: filter S_b";
  t.params = {edit::node_info("the sequence", ParamRole::Sequence),
              {"first",
               ParamKind::Integer,
               "first child to fuse, from 0",
               0,
               100000,
               {},
               false,
               ParamRole::FirstChild},
              {"last",
               ParamKind::Integer,
               "last child to fuse",
               0,
               100000,
               {},
               false,
               ParamRole::LastChild},
              {"depth",
               ParamKind::Integer,
               "how many members to share",
               1,
               1000,
               {},
               false,
               ParamRole::SharedMembers}};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Sequence, "fuse");
        if (!n) return n.error();
        Expected<Fused> f = fuse_children(s, (*n)->id, p.at("first").get<size_t>(),
                                          p.at("last").get<size_t>(), p.at("depth").get<size_t>());
        return f ? Expected<Schedule>(std::move(f->schedule)) : Expected<Schedule>(f.error());
      });
}

}  // namespace nautilus::poly
