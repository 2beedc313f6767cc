// Trees as text and JSON, and what changed between two of them.
#include <nlohmann/json.hpp>

#include "polyhedral/context_hash.h"
#include "polyhedral/line_map.h"
#include "polyhedral/schedule.h"

namespace nautilus::poly {

namespace {

// "floor((i)/64)": the expression inside isl's "[N] -> { S[i, j] -> [(expr)] }".
std::string aff_text(const isl::aff& a) {
  std::string t = isl_text(a);
  const size_t at = t.rfind("-> [");
  const size_t end = t.rfind(']');
  if (at == std::string::npos || end == std::string::npos || end < at + 4) return t;
  std::string e = t.substr(at + 4, end - at - 4);
  if (e.size() > 1 && e.front() == '(' && e.back() == ')') e = e.substr(1, e.size() - 2);
  return e;
}

// "i0:64 grid  {S_a: floor(i/64); S_b: ...}" with equal functions said once.
std::string member_text(const BandMember& m) {
  std::string out = m.name;
  if (m.step != 1) out += ":" + std::to_string(m.step);
  if (m.mapping != Mapping::Serial) out += " " + std::string(mapping_name(m.mapping));
  std::map<std::string, std::string> by_expr;
  std::vector<std::string> order;
  for (const auto& [stmt, aff] : m.schedule) {
    const std::string e = aff_text(aff);
    auto [it, fresh] = by_expr.emplace(e, stmt);
    if (fresh)
      order.push_back(e);
    else
      it->second += "," + stmt;
  }
  if (order.size() == 1) return out + " = " + order[0];
  out += " = {";
  for (size_t k = 0; k < order.size(); ++k)
    out += (k ? "; " : "") + by_expr[order[k]] + ": " + order[k];
  return out + "}";
}

// Statement names; a statement that is cut shows its set.
std::string filter_text(const Schedule& s, const Node& n) {
  std::string out;
  for (const auto& [stmt, set] : n.parts) {
    if (!out.empty()) out += ", ";
    const Statement* st = s.program->statement(stmt);
    const bool whole = st && (plain_equal(st->domain, set) || st->domain.is_subset(set));
    out += whole ? stmt : st ? isl_text(set.gist(st->domain)) : isl_text(set);
  }
  return out;
}

std::string node_text(const Schedule& s, const Node& n) {
  std::string out;
  switch (n.kind) {
    case NodeKind::Leaf:
      return "leaf";
    case NodeKind::Sequence:
      return "sequence";
    case NodeKind::Mark:
      return "mark \"" + n.mark + "\"";
    case NodeKind::Filter:
      return "filter " + filter_text(s, n);
    case NodeKind::Band:
      break;
  }
  out = n.permutable ? "band (permutable) [" : "band [";
  for (size_t k = 0; k < n.members.size(); ++k) out += (k ? ", " : "") + member_text(n.members[k]);
  out += "]";
  for (const Repair& r : s.repairs)
    if (r.band == n.id) {
      out += "  repairs";
      for (const std::string& t : r.targets) out += " " + t;
      if (r.lazy) out += " (lazy " + r.lazy_source + ")";
    }
  return out;
}

void lines_below(const Schedule& s, const Node& n, int depth, MappedText& out) {
  const std::vector<std::string>& below = n.statements;
  out.at({below.size() == 1 ? below[0] : "", n.id});
  out += std::string(static_cast<size_t>(depth) * 2, ' ') + std::to_string(n.id) + ": " +
         node_text(s, n) + "\n";
  for (const NodePtr& c : n.children)
    if (c->kind != NodeKind::Leaf) lines_below(s, *c, depth + 1, out);
}

std::string scopes_text(const Schedule& s) {
  std::string out;
  for (const auto& [tensor, scope] : s.scopes)
    out += "scope " + tensor + ": " + std::string(scope_name(scope)) + "\n";
  return out;
}

nlohmann::json member_json(const BandMember& m) {
  nlohmann::json functions = nlohmann::json::object();
  for (const auto& [stmt, aff] : m.schedule) functions[stmt] = aff_text(aff);
  return {{"name", m.name},
          {"axis", m.axis},
          {"mapping", std::string(mapping_name(m.mapping))},
          {"step", m.step},
          {"schedule", functions}};
}

nlohmann::json node_json(const Schedule& s, const Node& n) {
  constexpr const char* kKinds[] = {"band", "sequence", "filter", "mark", "leaf"};
  nlohmann::json j = {{"id", n.id}, {"kind", kKinds[static_cast<size_t>(n.kind)]}};
  if (n.kind == NodeKind::Band) {
    j["members"] = nlohmann::json::array();
    for (const BandMember& m : n.members) j["members"].push_back(member_json(m));
    j["permutable"] = n.permutable;
  }
  if (n.kind == NodeKind::Filter) j["filter"] = filter_text(s, n);
  if (n.kind == NodeKind::Mark) j["mark"] = n.mark;
  if (!n.children.empty()) {
    j["children"] = nlohmann::json::array();
    for (const NodePtr& c : n.children) j["children"].push_back(node_json(s, *c));
  }
  return j;
}

// Lines of the nodes by id, with the parent so that a moved node shows.
void index_nodes(const Schedule& s, const Node& n, NodeId parent,
                 std::map<NodeId, std::string>& text, std::map<NodeId, NodeId>& parents) {
  text[n.id] = node_text(s, n);
  parents[n.id] = parent;
  for (const NodePtr& c : n.children)
    if (c->kind != NodeKind::Leaf) index_nodes(s, *c, n.id, text, parents);
}

}  // namespace

MappedLines to_lines(const Schedule& s) {
  MappedText out;
  lines_below(s, *s.root, 0, out);
  out.at();
  out += scopes_text(s);
  return std::move(out).take();
}

std::string to_text(const Schedule& s) { return to_lines(s).text; }

nlohmann::json to_json(const Schedule& s) {
  nlohmann::json j = {{"tree", node_json(s, *s.root)}};
  for (const auto& [tensor, scope] : s.scopes) j["scopes"][tensor] = std::string(scope_name(scope));
  for (const Repair& r : s.repairs)
    j["repairs"].push_back({{"band", r.band},
                            {"targets", r.targets},
                            {"sources", r.sources},
                            {"via", r.via},
                            {"numeric", std::string(numeric_tag_name(r.numeric))},
                            {"lazy_bound", r.lazy_bound},
                            {"lazy", r.lazy}});
  for (const TransformStep& t : s.script)
    j["script"].push_back({{"name", t.name}, {"params", nlohmann::json::parse(t.params)}});
  return j;
}

std::string diff(const Schedule& before, const Schedule& after) {
  std::map<NodeId, std::string> a, b;
  std::map<NodeId, NodeId> parent_a, parent_b;
  index_nodes(before, *before.root, 0, a, parent_a);
  index_nodes(after, *after.root, 0, b, parent_b);
  std::string out;
  for (const auto& [id, text] : a)
    if (!b.count(id)) out += "- " + std::to_string(id) + ": " + text + "\n";
  for (const auto& [id, text] : b) {
    auto old = a.find(id);
    if (old == a.end())
      out += "+ " + std::to_string(id) + ": " + text + " (under " + std::to_string(parent_b[id]) +
             ")\n";
    else if (old->second != text)
      out += "~ " + std::to_string(id) + ": " + old->second + " => " + text + "\n";
    else if (parent_a[id] != parent_b[id])
      out += "~ " + std::to_string(id) + ": " + text + " moved under " +
             std::to_string(parent_b[id]) + "\n";
  }
  for (const auto& [tensor, scope] : before.scopes)
    if (!after.scopes.count(tensor))
      out += "- scope " + tensor + ": " + std::string(scope_name(scope)) + "\n";
  for (const auto& [tensor, scope] : after.scopes) {
    auto old = before.scopes.find(tensor);
    if (old == before.scopes.end() || old->second != scope)
      out += std::string(old == before.scopes.end() ? "+ " : "~ ") + "scope " + tensor + ": " +
             std::string(scope_name(scope)) + "\n";
  }
  return out;
}

}  // namespace nautilus::poly
