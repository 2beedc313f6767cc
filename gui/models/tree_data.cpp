#include "gui/models/tree_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;

TreeMember member_of(const poly::BandMember& m, const json& j) {
  TreeMember out{m.name, m.axis, m.mapping, m.step, {}};
  for (const auto& [stmt, function] : j.at("schedule").items()) {
    const std::string text = function.get<std::string>();
    auto same = std::find_if(out.functions.begin(), out.functions.end(),
                             [&](const auto& f) { return f.second == text; });
    if (same == out.functions.end())
      out.functions.emplace_back(stmt, text);
    else
      same->first += ", " + stmt;
  }
  return out;
}

// Appends the box of n and those below it; `j` is its JSON, which has the texts.
int append(const poly::Schedule& s, const poly::Node& n, const json& j, int parent, int position,
           TreePicture& out) {
  const int row = static_cast<int>(out.boxes.size());
  TreeBox b;
  b.id = n.id;
  b.kind = n.kind;
  b.parent = parent;
  b.position = position;
  b.depth = parent < 0 ? 0 : out.boxes[static_cast<size_t>(parent)].depth + 1;
  b.statements = n.statements;
  b.permutable = n.permutable;
  for (size_t k = 0; k < n.members.size(); ++k)
    b.members.push_back(member_of(n.members[k], j.at("members").at(k)));
  if (n.kind == poly::NodeKind::Filter) b.text = j.at("filter").get<std::string>();
  if (n.kind == poly::NodeKind::Mark) b.text = n.mark;
  if (n.kind == poly::NodeKind::Band)
    for (const poly::Repair& r : s.repairs)
      if (r.band == n.id) b.repairs.push_back(tell(r));
  out.boxes.push_back(std::move(b));
  for (size_t k = 0; k < n.children.size(); ++k) {
    if (n.children[k]->kind == poly::NodeKind::Leaf) continue;
    const int child =
        append(s, *n.children[k], j.at("children").at(k), row, static_cast<int>(k), out);
    out.boxes[static_cast<size_t>(row)].children.push_back(child);
  }
  out.boxes[static_cast<size_t>(row)].last = static_cast<int>(out.boxes.size()) - 1;
  return row;
}

void add_names(const poly::Program& p, TreePicture& out) {
  std::set<std::string> reduced, known;
  for (const poly::Statement& st : p.statements) {
    out.statements.push_back(st.name);
    const std::vector<std::string> dims = poly::dim_names(st.domain);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (known.insert(dims[d]).second) out.axes.push_back(dims[d]);
      const auto over = [&](int r) { return r == static_cast<int>(d); };
      if (st.reduction && std::ranges::any_of(st.reduction->dims, over)) reduced.insert(dims[d]);
    }
    for (const poly::Statement& reader : p.statements)
      if (reader.name != st.name && std::ranges::any_of(reader.reads, [&](const poly::Access& a) {
            return a.tensor == st.write.tensor;
          }))
        out.feeds.emplace_back(st.name, reader.name);
  }
  std::ranges::stable_partition(out.axes, [&](const std::string& a) { return reduced.count(a); });
}

bool same_box(const TreePicture& a, const TreeBox& x, const TreePicture& b, const TreeBox& y) {
  auto parent_id = [](const TreePicture& p, const TreeBox& t) {
    return t.parent < 0 ? -1 : p.boxes[static_cast<size_t>(t.parent)].id;
  };
  if (x.kind != y.kind || x.text != y.text || parent_id(a, x) != parent_id(b, y) ||
      x.permutable != y.permutable || x.members.size() != y.members.size() ||
      x.repairs.size() != y.repairs.size())
    return false;
  for (size_t k = 0; k < x.members.size(); ++k) {
    const TreeMember &m = x.members[k], &n = y.members[k];
    if (m.name != n.name || m.mapping != n.mapping || m.step != n.step ||
        m.functions != n.functions)
      return false;
  }
  return true;
}

std::vector<poly::NodeId> touched(const TreePicture& before, const TreePicture& after) {
  std::vector<poly::NodeId> out;
  for (const TreeBox& b : after.boxes) {
    const int old = before.row_of(b.id);
    if (old < 0 || !same_box(before, before.boxes[static_cast<size_t>(old)], after, b))
      out.push_back(b.id);
  }
  return out;
}

Attempt failed(const poly::TransformStep& step, const std::string& why) {
  Attempt out;
  out.step = step;
  out.verdict.why = why;
  return out;
}

}  // namespace

int TreePicture::row_of(poly::NodeId id) const {
  for (size_t k = 0; k < boxes.size(); ++k)
    if (boxes[k].id == id) return static_cast<int>(k);
  return -1;
}

TreePicture tree_picture(const poly::Schedule& s) {
  TreePicture out;
  const json j = poly::to_json(s);
  append(s, *s.root, j.at("tree"), -1, 0, out);
  for (const poly::Tensor& t : s.program->tensors) {
    if (t.kind != poly::TensorKind::Temp) continue;
    out.temporaries.push_back(t.name);
    const auto scope = s.scopes.find(t.name);
    out.scopes.emplace_back(
        t.name, std::string(poly::scope_name(scope == s.scopes.end() ? poly::Scope::Global
                                                                     : scope->second)));
  }
  add_names(*s.program, out);
  out.script = s.script;
  return out;
}

std::string box_title(const TreeBox& b) {
  switch (b.kind) {
    case poly::NodeKind::Sequence:
      return "sequence";
    case poly::NodeKind::Filter:
      return "filter";
    case poly::NodeKind::Mark:
      return "mark";
    case poly::NodeKind::Leaf:
      return "leaf";
    case poly::NodeKind::Band:
      break;
  }
  std::string out = "band [";
  for (size_t k = 0; k < b.members.size(); ++k) out += (k ? ", " : "") + b.members[k].name;
  return out + "]";
}

Attempt try_step(const poly::Schedule& s, const poly::DependenceSet& deps,
                 const poly::TransformStep& step) {
  try {
    const poly::Outcome o = poly::apply(s, deps, step);
    Attempt out;
    out.step = step;
    out.verdict = tell(*s.program, added_by(o, s));
    if (!o.schedule) return out;
    out.step = o.schedule->script.back();
    const TreePicture before = tree_picture(s);
    out.after = tree_picture(*o.schedule);
    out.diff = poly::diff(s, *o.schedule);
    out.touched = touched(before, out.after);
    return out;
  } catch (const isl::exception& e) {
    return failed(step, e.what());
  } catch (const std::exception& e) {
    return failed(step, e.what());
  }
}

poly::TransformStep plain_fusion(const poly::TransformStep& rolling) {
  const nlohmann::json given = poly::read_json(rolling.params);
  nlohmann::json params = nlohmann::json::object();
  for (const poly::ParamInfo& p : poly::transform("fuse")->params)
    if (given.is_object() && given.contains(p.name)) params[p.name] = given[p.name];
  return {"fuse", params.dump()};
}

Expected<poly::Schedule> edit_only(const poly::Schedule& s, const poly::TransformStep& step) {
  const json params = poly::read_json(step.params.empty() ? "{}" : step.params);
  if (params.is_discarded())
    return Refusal{step.name, "", "its parameters are not JSON: " + step.params, ""};
  Expected<poly::Schedule> edited = poly::apply_unchecked(s, step.name, params);
  if (edited || step.name != "rolling_update") return edited;
  // A correction that is not known: what is left is the fusion.
  return poly::apply_unchecked(s, "fuse", poly::read_json(plain_fusion(step).params));
}

}  // namespace nautilus::gui
