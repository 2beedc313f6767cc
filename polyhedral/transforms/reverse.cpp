#include "polyhedral/transforms/reverse.h"

#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

Expected<Schedule> reverse(const Schedule& s, NodeId band, size_t member) {
  const Node* n = find(s, band);
  std::vector<BandMember> members = n->members;
  if (members[member].mapping == Mapping::Tile)
    return edit::refused("reverse " + members[member].name + " of band " + std::to_string(band),
                         edit::describe(s, *n), "it is mapped to tile, which has no order",
                         "map it to serial first");
  for (auto& [stmt, aff] : members[member].schedule) aff = aff.neg();
  return replace(s, band, with_members(*n, std::move(members)));
}

TransformInfo info_reverse() {
  TransformInfo t;
  t.name = "reverse";
  t.summary = "run a band member backwards";
  t.doc =
      "Negates one member's function. Legal when that member carries no dependence (reductions "
      "excepted).";
  t.before = "3: band [i = i]";
  t.after = "3: band [i = -i]";
  t.params = {edit::node_info("the band"), edit::member_info("the member: its name or position")};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "reverse");
        if (!n) return n.error();
        Expected<size_t> k = edit::member_of(s, **n, p.at("member"), "reverse");
        return k ? reverse(s, (*n)->id, *k) : Expected<Schedule>(k.error());
      });
}

}  // namespace nautilus::poly
