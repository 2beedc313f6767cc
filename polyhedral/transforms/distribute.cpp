#include "polyhedral/transforms/distribute.h"

#include <algorithm>

#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

namespace {

// The band's members for the statements of one filter only.
std::vector<BandMember> members_for(const Node& band, const Node& filter) {
  std::vector<BandMember> out = band.members;
  for (BandMember& m : out)
    std::erase_if(m.schedule, [&](const auto& e) { return !filter.parts.count(e.first); });
  return out;
}

}  // namespace

Expected<Schedule> distribute(const Schedule& s, NodeId band) {
  const std::string what = "distribute band " + std::to_string(band);
  const Node* n = find(s, band);
  const Node& below = *n->children[0];
  if (below.kind != NodeKind::Sequence)
    return edit::refused(what, edit::describe(s, *n), "there is no sequence right below it",
                         "split the band, or choose the innermost band above a sequence");
  for (const Repair& r : s.repairs)
    if (r.band == band)
      return edit::refused(
          what, edit::describe(s, *n),
          "a rolling update of " + (r.targets.empty() ? "?" : r.targets[0]) + " lives at this band",
          "go back to before the rolling update");
  Schedule out = s;
  std::vector<NodePtr> filters;
  std::vector<std::string> taken;
  for (size_t k = 0; k < below.children.size(); ++k) {
    const Node& f = *below.children[k];
    std::vector<BandMember> members = members_for(*n, f);
    if (k > 0)
      for (BandMember& m : members) {
        m.name = unique_member_name(s, m.name, taken);
        taken.push_back(m.name);
      }
    const NodeId id = k == 0 ? band : out.next_id++;
    filters.push_back(with_children(f, {make_band(std::move(members), f.children[0], id)}));
  }
  const std::vector<const Node*> path = path_to(s, band);
  const Node* filter = path.size() >= 3 ? path[path.size() - 2] : nullptr;
  if (!filter || filter->kind != NodeKind::Filter)
    return replace(out, band, with_children(below, std::move(filters)));
  const Node* seq = path[path.size() - 3];  // the new filters take the old one's place
  std::vector<NodePtr> siblings;
  for (const NodePtr& c : seq->children) {
    if (c.get() != filter)
      siblings.push_back(c);
    else
      siblings.insert(siblings.end(), filters.begin(), filters.end());
  }
  return replace(out, seq->id, with_children(*seq, std::move(siblings)));
}

TransformInfo info_distribute() {
  TransformInfo t;
  t.name = "distribute";
  t.summary = "give each child of a sequence its own copy of the band above (loop fission)";
  t.doc =
      "A band over a sequence becomes a sequence of filters over copies of the band: all "
      "iterations of the first child run before "
      "any of the second. The inverse of fuse. At the top level it cuts one kernel into several. "
      "Legal when no dependence runs "
      "from a later child to an earlier one across iterations.";
  t.before =
      "7: filter S_a, S_b\n  8: band [i = i]\n    9: sequence\n      2: filter S_a\n      4: "
      "filter S_b";
  t.after = "2: filter S_a\n  8: band [i = i]\n4: filter S_b\n  10: band [i_2 = i]";
  t.params = {edit::node_info("the band, right above a sequence", ParamRole::BandAboveSequence)};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "distribute");
        return n ? distribute(s, (*n)->id) : Expected<Schedule>(n.error());
      });
}

}  // namespace nautilus::poly
