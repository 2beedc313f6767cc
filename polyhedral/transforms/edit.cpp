#include "polyhedral/transforms/edit.h"

#include <algorithm>
#include <cctype>

namespace nautilus::poly::edit {

Refusal refused(std::string asked, std::string where, std::string why, std::string suggest) {
  return {std::move(asked), std::move(where), std::move(why), std::move(suggest)};
}

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

std::string kind_name(NodeKind k) {
  constexpr const char* kNames[] = {"band", "sequence", "filter", "mark", "leaf"};
  return kNames[static_cast<size_t>(k)];
}

std::string members_text(const Node& n) {
  std::vector<std::string> names;
  for (const BandMember& m : n.members) names.push_back(m.name);
  return joined(names);
}

// "bands: 3, 5, 9": where the asked kind is to be found.
std::string nodes_of_kind(const Schedule& s, NodeKind kind) {
  std::vector<std::string> ids;
  for (const Node* n : preorder(s))
    if (n->kind == kind) ids.push_back(std::to_string(n->id));
  return ids.empty() ? "there is no " + kind_name(kind)
                     : kind_name(kind) + " nodes: " + joined(ids);
}

}  // namespace

std::string describe(const Schedule& s, const Node& n) {
  std::string out = kind_name(n.kind) + " " + std::to_string(n.id);
  if (n.kind == NodeKind::Band) out += " [" + members_text(n) + "]";
  const std::vector<std::string> below = statements_below(s, n.id);
  if (!below.empty() && below.size() <= 6) out += " of " + joined(below);
  return out;
}

Expected<const Node*> node_param(const Schedule& s, const nlohmann::json& params,
                                 const std::string& key, NodeKind kind, const std::string& asked) {
  const int id = params.at(key).get<int>();
  const Node* n = find(s, id);
  if (!n)
    return refused(asked, "", "there is no node " + std::to_string(id), nodes_of_kind(s, kind));
  if (n->kind != kind)
    return refused(
        asked, describe(s, *n),
        "node " + std::to_string(id) + " is a " + kind_name(n->kind) + ", not a " + kind_name(kind),
        nodes_of_kind(s, kind));
  return n;
}

Expected<size_t> member_of(const Schedule& s, const Node& band, const nlohmann::json& value,
                           const std::string& asked) {
  if (value.is_number_integer()) {
    const int64_t k = value.get<int64_t>();
    if (k >= 0 && k < static_cast<int64_t>(band.members.size())) return static_cast<size_t>(k);
    return refused(asked, describe(s, band), "there is no member " + std::to_string(k),
                   "positions 0 to " + std::to_string(band.members.size() - 1));
  }
  if (!value.is_string())
    return refused(asked, describe(s, band), "a member is a name or a position",
                   members_text(band));
  const std::string name = value.get<std::string>();
  for (size_t k = 0; k < band.members.size(); ++k)
    if (band.members[k].name == name) return k;
  int by_axis = -1;
  for (size_t k = 0; k < band.members.size(); ++k)
    if (band.members[k].axis == name) by_axis = by_axis == -1 ? static_cast<int>(k) : -2;
  if (by_axis >= 0) return static_cast<size_t>(by_axis);
  return refused(asked, describe(s, band), "no member is named " + name,
                 "members: " + members_text(band));
}

Expected<std::vector<size_t>> members_of(const Schedule& s, const Node& band,
                                         const nlohmann::json& value, const std::string& asked) {
  std::vector<size_t> out;
  if (value.is_string() && value.get<std::string>() == "*") {
    for (size_t k = 0; k < band.members.size(); ++k) out.push_back(k);
    return out;
  }
  const nlohmann::json list = value.is_array() ? value : nlohmann::json::array({value});
  for (const nlohmann::json& v : list) {
    Expected<size_t> k = member_of(s, band, v, asked);
    if (!k) return k.error();
    if (std::find(out.begin(), out.end(), *k) != out.end())
      return refused(asked, describe(s, band),
                     "member " + band.members[*k].name + " is named twice");
    out.push_back(*k);
  }
  if (out.empty())
    return refused(asked, describe(s, band), "no member is named",
                   "members: " + members_text(band));
  return out;
}

std::string tiled_name(const std::string& name, const std::string& level) {
  const size_t at = name.rfind('_');
  if (at == std::string::npos || at + 1 == name.size() || at == 0) return name + level;
  const bool number = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 1, name.end(),
                                  [](unsigned char c) { return std::isdigit(c); });
  return number ? name.substr(0, at) + level + name.substr(at) : name + level;
}

Outcome malformed(Refusal r) {
  Outcome out;
  out.verdict.kind = VerdictKind::Unknown;
  out.verdict.why = r.why;
  out.refusal = std::move(r);
  return out;
}

Expected<Schedule> edited(const std::string& asked, const Outcome& o) {
  if (o.schedule) return *o.schedule;
  return o.refusal ? *o.refusal : refused(asked, "", o.verdict.why, o.verdict.suggest);
}

Outcome judged(const Schedule& before, const Schedule& after, const DependenceSet& deps) {
  Outcome out;
  out.verdict = check_change(before, after, deps);
  if (out.verdict.kind == VerdictKind::Legal || out.verdict.kind == VerdictKind::Repairable)
    out.schedule = after;
  return out;
}

Outcome judged_anew(const Schedule& s) {
  const Expected<DependenceSet> deps = dependences(*s.program);
  if (!deps) return malformed(deps.error());
  Outcome out;
  out.verdict = check(s, *deps);
  if (out.verdict.kind == VerdictKind::Legal || out.verdict.kind == VerdictKind::Repairable)
    out.schedule = s;
  return out;
}

std::optional<std::string> rolling(const Schedule& s,
                                   const std::function<bool(const std::string&)>& which) {
  for (const Repair& r : s.repairs)
    for (const auto* names : {&r.targets, &r.sources, &r.via})
      for (const std::string& n : *names)
        if (which(n)) return n;
  return std::nullopt;
}

TransformInfo with_edit(TransformInfo info, EditFn fn) {
  info.edit = fn;
  info.apply = [fn](const Schedule& s, const DependenceSet& deps, const nlohmann::json& params) {
    Expected<Schedule> after = fn(s, params);
    return after ? judged(s, *after, deps) : malformed(after.error());
  };
  return info;
}

NodePtr renamed(const Schedule& s, const NodePtr& n, std::vector<std::string>& taken) {
  std::vector<NodePtr> children;
  for (const NodePtr& c : n->children) children.push_back(renamed(s, c, taken));
  NodePtr out = with_children(*n, std::move(children));
  if (n->members.empty()) return out;
  std::vector<BandMember> members = n->members;
  for (BandMember& m : members) {
    m.name = unique_member_name(s, m.name, taken);
    taken.push_back(m.name);
  }
  return with_members(*out, std::move(members));
}

ParamInfo node_info(std::string help, ParamRole role, std::string name) {
  return {std::move(name), ParamKind::Node, std::move(help), 0, 0, {}, false, role};
}
ParamInfo member_info(std::string help, ParamRole role, std::string name) {
  return {std::move(name), ParamKind::Name, std::move(help), 0, 0, {}, false, role};
}

}  // namespace nautilus::poly::edit
