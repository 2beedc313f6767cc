#include "polyhedral/transforms/skew.h"

#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

Expected<Schedule> skew(const Schedule& s, NodeId band, size_t member, size_t by, int64_t factor) {
  const Node* n = find(s, band);
  std::vector<BandMember> members = n->members;
  const std::string what = "skew " + members[member].name + " by " + members[by].name +
                           " in band " + std::to_string(band);
  if (member == by)
    return edit::refused(what, edit::describe(s, *n), "a member cannot be skewed by itself",
                         "name two members");
  if (factor == 0)
    return edit::refused(what, edit::describe(s, *n), "factor 0 changes nothing",
                         "use a factor such as 1 or -1");
  for (size_t k : {member, by})
    if (members[k].mapping == Mapping::Tile || members[k].step != 1)
      return edit::refused(
          what, edit::describe(s, *n),
          members[k].name + (members[k].step != 1 ? " is a tile loop" : " is mapped to tile"),
          "skew before tiling and mapping");
  for (auto& [stmt, aff] : members[member].schedule)
    aff = aff.add(members[by].schedule.at(stmt).scale(static_cast<long>(factor)));
  members[member].axis.clear();
  return replace(s, band, with_members(*n, std::move(members)));
}

TransformInfo info_skew() {
  TransformInfo t;
  t.name = "skew";
  t.summary = "add a multiple of one band member to another";
  t.doc =
      "e_member becomes e_member + factor * e_by. With an outer `by` the order is unchanged and "
      "always legal; it makes negative distances "
      "non-negative, so that a band may be tiled or interchanged afterwards (wavefronts).";
  t.before = "3: band [i = i, j = j]";
  t.after = "3: band [i = i, j = i + j]";
  t.params = {edit::node_info("the band"),
              edit::member_info("the member that changes"),
              edit::member_info("the member that is added", ParamRole::OtherMember, "by"),
              {"factor", ParamKind::Integer, "how many times", -1000000, 1000000, {}, false}};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "skew");
        if (!n) return n.error();
        Expected<size_t> k = edit::member_of(s, **n, p.at("member"), "skew");
        if (!k) return k.error();
        Expected<size_t> by = edit::member_of(s, **n, p.at("by"), "skew");
        return by ? skew(s, (*n)->id, *k, *by, p.at("factor").get<int64_t>())
                  : Expected<Schedule>(by.error());
      });
}

}  // namespace nautilus::poly
