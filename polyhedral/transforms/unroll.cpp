#include "polyhedral/transforms/unroll.h"

#include "polyhedral/transforms/edit.h"
#include "polyhedral/transforms/map.h"

namespace nautilus::poly {

Expected<Schedule> unroll(const Schedule& s, NodeId band, size_t member) {
  const Node* n = find(s, band);
  const Mapping now = n->members[member].mapping;
  if (now != Mapping::Serial)
    return edit::refused("unroll " + n->members[member].name + " of band " + std::to_string(band),
                         edit::describe(s, *n), "it is mapped to " + std::string(mapping_name(now)),
                         "only serial loops are unrolled");
  return map_members(s, band, {member}, Mapping::Unroll);
}

TransformInfo info_unroll() {
  TransformInfo t;
  t.name = "unroll";
  t.summary = "write a serial loop out";
  t.doc =
      "Marks a serial member as unrolled. The order does not change, so it is always legal; code "
      "generation needs a constant extent.";
  t.before = "5: band [i1 = i]";
  t.after = "5: band [i1 unroll = i]";
  t.params = {edit::node_info("the band"), edit::member_info("the member: its name or position")};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "unroll");
        if (!n) return n.error();
        Expected<size_t> k = edit::member_of(s, **n, p.at("member"), "unroll");
        return k ? unroll(s, (*n)->id, *k) : Expected<Schedule>(k.error());
      });
}

}  // namespace nautilus::poly
