#include "polyhedral/transforms/shift.h"

#include <algorithm>

#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

Expected<Schedule> shift(const Schedule& s, NodeId band, size_t member, int64_t amount,
                         const std::vector<std::string>& statements) {
  const Node* n = find(s, band);
  std::vector<BandMember> members = n->members;
  BandMember& m = members[member];
  const std::string what =
      "shift " + m.name + " of band " + std::to_string(band) + " by " + std::to_string(amount);
  if (m.mapping == Mapping::Tile)
    return edit::refused(what, edit::describe(s, *n), "it is mapped to tile, which has no order",
                         "map it to serial first");
  if (statements.empty())
    return edit::refused(what, edit::describe(s, *n), "no statement is named",
                         "name statements below the band");
  for (const std::string& stmt : statements) {
    auto f = m.schedule.find(stmt);
    if (f == m.schedule.end())
      return edit::refused(what, edit::describe(s, *n),
                           "statement " + stmt + " is not below this band");
    f->second = f->second.add_constant(static_cast<long>(amount));
  }
  return replace(s, band, with_members(*n, std::move(members)));
}

TransformInfo info_shift() {
  TransformInfo t;
  t.name = "shift";
  t.summary = "delay or advance statements along a band member";
  t.doc =
      "Adds a constant to one member's function for some statements, so that they run that many "
      "iterations later (or earlier). "
      "With fuse it aligns statements that read their neighbours. Legal when no dependence between "
      "shifted and unshifted "
      "statements goes backwards.";
  t.before = "8: band [i = {S_a: i; S_b: i}]";
  t.after = "8: band [i = {S_a: i; S_b: i + 1}]";
  t.params = {edit::node_info("the band"),
              edit::member_info("the member: its name or position"),
              {"amount",
               ParamKind::Integer,
               "iterations to add (negative: earlier)",
               -(int64_t{1} << 31),
               int64_t{1} << 31,
               {},
               false},
              {"statements",
               ParamKind::NameList,
               "which statements",
               0,
               0,
               {},
               false,
               ParamRole::Statements}};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "shift");
        if (!n) return n.error();
        Expected<size_t> k = edit::member_of(s, **n, p.at("member"), "shift");
        if (!k) return k.error();
        std::vector<std::string> names;
        const nlohmann::json& list = p.at("statements");
        for (const nlohmann::json& v : list.is_array() ? list : nlohmann::json::array({list}))
          names.push_back(v.is_string() ? v.get<std::string>() : v.dump());
        return shift(s, (*n)->id, *k, p.at("amount").get<int64_t>(), names);
      });
}

}  // namespace nautilus::poly
