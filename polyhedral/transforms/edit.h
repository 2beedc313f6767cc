// What the transforms share: reading requests, refusing them in the user's words, and turning an
// edit of the tree into a transform with a verdict.
#pragma once

#include <string>

#include "polyhedral/transforms/registry.h"

namespace nautilus::poly::edit {

Refusal refused(std::string asked, std::string where, std::string why, std::string suggest = "");

// "band 7 [i, j] of S_a, S_b": a node as people see it.
std::string describe(const Schedule& s, const Node& n);

// The node that params[key] names; refuses when it is absent or of another kind.
Expected<const Node*> node_param(const Schedule& s, const nlohmann::json& params,
                                 const std::string& key, NodeKind kind, const std::string& asked);

// Position of a member given by name, by axis (if only one member has it) or by position.
Expected<size_t> member_of(const Schedule& s, const Node& band, const nlohmann::json& value,
                           const std::string& asked);
// A list of members; a single one counts as a list of one, "*" as all.
Expected<std::vector<size_t>> members_of(const Schedule& s, const Node& band,
                                         const nlohmann::json& value, const std::string& asked);

// `name` with a tile level appended in front of a uniquifying suffix: ("i_2", "0") -> "i0_2".
std::string tiled_name(const std::string& name, const std::string& level);

using EditFn = std::function<Expected<Schedule>(const Schedule&, const nlohmann::json&)>;
// Fills info.edit and info.apply: the edit, then check_change.
TransformInfo with_edit(TransformInfo info, EditFn fn);
// The verdict on a changed tree, with the schedule if it may stand.
Outcome judged(const Schedule& before, const Schedule& after, const DependenceSet& deps);
Outcome malformed(Refusal r);
// The verdict on a schedule whose program changed, by dependences of its own; throws
// isl::exception.
Outcome judged_anew(const Schedule& s);
// A statement for which `which` holds and that takes part in a rolling update, if there is one.
std::optional<std::string> rolling(const Schedule& s,
                                   const std::function<bool(const std::string&)>& which);
// What an edit without a verdict came to: its schedule, or why there is none.
Expected<Schedule> edited(const std::string& asked, const Outcome& o);

// The subtree of `n` with fresh ids and unique member names.
NodePtr renamed(const Schedule& s, const NodePtr& n, std::vector<std::string>& taken);

ParamInfo node_info(std::string help, ParamRole role = ParamRole::Band, std::string name = "node");
ParamInfo member_info(std::string help, ParamRole role = ParamRole::Member,
                      std::string name = "member");

}  // namespace nautilus::poly::edit
