#include "polyhedral/transforms/interchange.h"

#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

Expected<Schedule> interchange(const Schedule& s, NodeId band, const std::vector<size_t>& order) {
  const Node* n = find(s, band);
  if (order.size() != n->members.size())
    return edit::refused("interchange the members of band " + std::to_string(band),
                         edit::describe(s, *n),
                         "the order names " + std::to_string(order.size()) + " of " +
                             std::to_string(n->members.size()) + " members",
                         "name every member once");
  std::vector<BandMember> members;
  for (size_t k : order) members.push_back(n->members[k]);
  return replace(s, band, with_members(*n, std::move(members)));
}

TransformInfo info_interchange() {
  TransformInfo t;
  t.name = "interchange";
  t.summary = "reorder the members of a band";
  t.doc =
      "Reorders the loops of a band. Legal when every dependence still runs forwards: the first "
      "member in the new order that "
      "separates its ends must do so with a positive distance.";
  t.before = "3: band [i = i, j = j]";
  t.after = "3: band [j = j, i = i]";
  t.params = {edit::node_info("the band"),
              {"order",
               ParamKind::NameList,
               "every member once, outermost first: names or old positions",
               0,
               0,
               {},
               false,
               ParamRole::MemberOrder}};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "interchange");
        if (!n) return n.error();
        Expected<std::vector<size_t>> order =
            edit::members_of(s, **n, p.at("order"), "interchange");
        return order ? interchange(s, (*n)->id, *order) : Expected<Schedule>(order.error());
      });
}

}  // namespace nautilus::poly
