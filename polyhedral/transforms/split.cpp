#include "polyhedral/transforms/split.h"

#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

Expected<Schedule> split(const Schedule& s, NodeId band, size_t at) {
  const Node* n = find(s, band);
  if (at == 0 || at >= n->members.size())
    return edit::refused(
        "split band " + std::to_string(band) + " at " + std::to_string(at), edit::describe(s, *n),
        "both parts must have a member",
        n->members.size() < 2 ? "" : "1 to " + std::to_string(n->members.size() - 1));
  const auto cut = n->members.begin() + static_cast<std::ptrdiff_t>(at);
  Schedule out = s;
  NodePtr inner = make_band({cut, n->members.end()}, n->children[0], out.next_id++);
  return replace(out, band, with_children(*with_members(*n, {n->members.begin(), cut}), {inner}));
}

TransformInfo info_split() {
  TransformInfo t;
  t.name = "split";
  t.summary = "cut one band into two nested bands";
  t.doc =
      "The first `at` members stay (with the node's id), the rest become a band below. The order "
      "of execution does not change, "
      "so it is always legal; it prepares fusing, sinking or distributing at the cut.";
  t.before = "3: band [h = h, i = i, j = j]";
  t.after = "3: band [h = h, i = i]\n  5: band [j = j]";
  t.params = {edit::node_info("the band"),
              {"at", ParamKind::Integer, "how many members stay outside", 1, 1000, {}, false}};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "split");
        return n ? split(s, (*n)->id, p.at("at").get<size_t>()) : Expected<Schedule>(n.error());
      });
}

}  // namespace nautilus::poly
