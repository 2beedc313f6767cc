#include "gui/models/step_draft.h"

#include <algorithm>

namespace nautilus::gui {
namespace {

using nlohmann::json;

constexpr int64_t kTile = 32;

bool mentions(const std::string& help, const char* word) {
  return help.find(word) != std::string::npos;
}

// What the help says up to its first comma or semicolon: "the band, right above a sequence".
bool may_be(const poly::ParamInfo& p, poly::NodeKind kind) {
  const std::string head = p.help.substr(0, p.help.find_first_of(",;"));
  const bool band = mentions(head, "band"), sequence = mentions(head, "sequence"),
             filter = mentions(head, "filter");
  if (!band && !sequence && !filter) return true;
  return (band && kind == poly::NodeKind::Band) || (sequence && kind == poly::NodeKind::Sequence) ||
         (filter && kind == poly::NodeKind::Filter);
}

// Beyond its kind: "with the repairs", "right above a sequence", "the root sequence".
bool is_asked_for(const TreePicture& tree, const poly::ParamInfo& p, int row) {
  const TreeBox& b = tree.boxes[static_cast<size_t>(row)];
  if (mentions(p.help, "with the repairs")) return !b.repairs.empty();
  if (mentions(p.help, "the root")) return row == 0;
  if (!mentions(p.help, "right above a sequence")) return true;
  return std::ranges::any_of(b.children, [&](int c) {
    return tree.boxes[static_cast<size_t>(c)].kind == poly::NodeKind::Sequence;
  });
}

bool feeds(const TreePicture& tree, const TreeBox& from, const TreeBox& to) {
  auto below = [](const TreeBox& b, const std::string& s) {
    return std::ranges::find(b.statements, s) != b.statements.end();
  };
  return std::ranges::any_of(
      tree.feeds, [&](const auto& f) { return below(from, f.first) && below(to, f.second); });
}

const poly::ParamInfo* node_param(const poly::TransformInfo& t) {
  for (const poly::ParamInfo& p : t.params)
    if (p.kind == poly::ParamKind::Node && !p.optional) return &p;
  return nullptr;
}

bool has_param(const poly::TransformInfo& t, const char* name) {
  return std::any_of(t.params.begin(), t.params.end(),
                     [&](const poly::ParamInfo& p) { return p.name == name; });
}

// The row nearest to the selected one: itself, above it, below it, else the first of all.
int nearest(const TreePicture& tree, const poly::ParamInfo& p, poly::NodeId selected) {
  const std::vector<int> rows = eligible_rows(tree, p);
  if (rows.empty()) return -1;
  const int row = tree.row_of(selected);
  if (row < 0) return rows.front();
  auto is_good = [&](int r) { return std::find(rows.begin(), rows.end(), r) != rows.end(); };
  if (is_good(row)) return row;
  const bool down = tree.boxes[static_cast<size_t>(row)].kind == poly::NodeKind::Filter &&
                    !mentions(p.help, "sequence");
  if (down)
    for (int r = row + 1; r <= tree.boxes[static_cast<size_t>(row)].last; ++r)
      if (is_good(r)) return r;
  for (int r = row; r >= 0; r = tree.boxes[static_cast<size_t>(r)].parent)
    if (is_good(r)) return r;
  for (int r = row + 1; r <= tree.boxes[static_cast<size_t>(row)].last; ++r)
    if (is_good(r)) return r;
  return rows.front();
}

// For a second node: the first behind `row` that reads what is computed there, else the first
// behind it.
int reader_of(const TreePicture& tree, const poly::ParamInfo& p, int row) {
  const TreeBox& from = tree.boxes[static_cast<size_t>(row)];
  int behind = -1;
  for (int r : eligible_rows(tree, p)) {
    if (r <= from.last) continue;
    if (behind < 0) behind = r;
    if (feeds(tree, from, tree.boxes[static_cast<size_t>(r)])) return r;
  }
  return behind;
}

// The child of `sequence` that the selected node is in, else its first.
int child_with(const TreePicture& tree, int sequence, poly::NodeId selected) {
  for (int r = tree.row_of(selected); r >= 0; r = tree.boxes[static_cast<size_t>(r)].parent)
    if (tree.boxes[static_cast<size_t>(r)].parent == sequence)
      return tree.boxes[static_cast<size_t>(r)].position;
  return 0;
}

// Members of the first band below a child of a sequence.
int members_below(const TreePicture& tree, int row) {
  const TreeBox& b = tree.boxes[static_cast<size_t>(row)];
  for (int r = row; r <= b.last; ++r)
    if (tree.boxes[static_cast<size_t>(r)].kind == poly::NodeKind::Band)
      return static_cast<int>(tree.boxes[static_cast<size_t>(r)].members.size());
  return 0;
}

// first, last and depth of transforms that join children of a sequence.
void draft_range(const TreePicture& tree, int sequence, poly::NodeId selected, json& out) {
  const TreeBox& s = tree.boxes[static_cast<size_t>(sequence)];
  const int most = static_cast<int>(s.children.size()) - 1;
  const int first = std::clamp(child_with(tree, sequence, selected), 0, std::max(0, most - 1));
  const int last = std::min(first + 1, std::max(0, most));
  int depth = 1000;
  for (int k = first; k <= last && k <= most; ++k)
    depth = std::min(depth, members_below(tree, s.children[static_cast<size_t>(k)]));
  out["first"] = first;
  out["last"] = last;
  out["depth"] = std::max(1, depth == 1000 ? 1 : depth);
}

// Something that changes the order.
json backwards(const TreeBox& band) {
  json out = json::array();
  for (auto m = band.members.rbegin(); m != band.members.rend(); ++m) out.push_back(m->name);
  return out;
}

json some_statement(const TreeBox& band, const std::string& wanted) {
  if (band.statements.empty()) return json::array();
  const bool there = std::ranges::find(band.statements, wanted) != band.statements.end();
  return json::array({there ? wanted : band.statements.back()});
}

// Where everything is to begin with stands first in these lists.
json first_choice_of(const poly::ParamInfo& p) {
  if (p.choices.empty()) return "";
  if (p.name == "mapping") return "grid";
  return p.name == "scope" ? p.choices.back() : p.choices.front();
}

json first_value(const TreePicture& tree, const poly::TransformInfo& t, const poly::ParamInfo& p,
                 const json& so_far, const std::string& statement) {
  using poly::ParamKind;
  const TreeBox* band = nullptr;
  if (so_far.contains("node"))
    if (const int row = tree.row_of(so_far["node"].get<int>()); row >= 0)
      band = &tree.boxes[static_cast<size_t>(row)];
  switch (p.kind) {
    case ParamKind::Node:
      return 0;
    case ParamKind::Integer:
      if (p.min == 0 && p.max == 0) return 0;
      return std::clamp<int64_t>(1, p.min, p.max);
    case ParamKind::IntegerList:
      return json(
          std::vector<int64_t>(band ? std::max<size_t>(1, band->members.size()) : 1, kTile));
    case ParamKind::Name: {
      const std::vector<std::string> names = name_choices(tree, t, p, so_far);
      const bool known = std::find(names.begin(), names.end(), statement) != names.end();
      if (known && p.name != "into") return statement;
      if (p.name == "by" && names.size() > 1) return names[1];
      return names.empty() ? json("") : json(names.front());
    }
    case ParamKind::NameList:
      if (p.name == "order" && band) return backwards(*band);
      if (p.name == "member") return band && !band->members.empty() ? band->members[0].name : "*";
      if (p.name == "statements" && band) return some_statement(*band, statement);
      return json::array();
    case ParamKind::Choice:
      return first_choice_of(p);
    case ParamKind::Text:
      return p.name == "condition" ? "full" : "";
  }
  return json();
}

}  // namespace

std::vector<int> eligible_rows(const TreePicture& tree, const poly::ParamInfo& p) {
  std::vector<int> out;
  for (size_t k = 0; k < tree.boxes.size(); ++k)
    if (may_be(p, tree.boxes[k].kind)) out.push_back(static_cast<int>(k));
  std::vector<int> narrow = out;
  std::erase_if(narrow, [&](int row) { return !is_asked_for(tree, p, row); });
  return narrow.empty() ? out : narrow;  // none: the verdict says what is missing
}

std::vector<std::string> name_choices(const TreePicture& tree, const poly::TransformInfo& t,
                                      const poly::ParamInfo& p, const json& params) {
  std::vector<std::string> out;
  if (p.name == "member" || p.name == "order" || p.name == "by") {
    if (!params.contains("node") || !params["node"].is_number_integer()) return out;
    const int row = tree.row_of(params["node"].get<int>());
    if (row < 0) return out;
    for (const TreeMember& m : tree.boxes[static_cast<size_t>(row)].members) out.push_back(m.name);
    if (p.kind == poly::ParamKind::NameList && p.name == "member") out.push_back("*");
    return out;
  }
  if (p.name == "tensor") return tree.temporaries;
  if (p.name == "axis" || p.name == "dims") return tree.axes;
  if (p.name == "into" && params.contains("stmt")) {
    for (const auto& [from, to] : tree.feeds)
      if (params["stmt"] == from) out.push_back(to);
    return out.empty() ? tree.statements : out;
  }
  if (p.name == "stmt") {
    for (const auto& [from, to] : tree.feeds)
      if (std::ranges::find(out, from) == out.end()) out.push_back(from);
    return out.empty() ? tree.statements : out;
  }
  if (p.name == "into" || p.name == "statements") return tree.statements;
  if (p.name == "pays" && has_param(t, "first"))
    for (const std::string& from : tree.statements)
      for (const std::string& to : tree.statements)
        if (from != to && tree.statements.size() <= 12) out.push_back(from + " > " + to);
  return out;
}

json first_draft(const TreePicture& tree, const poly::TransformInfo& t, poly::NodeId selected,
                 const std::string& statement) {
  json out = json::object();
  for (const poly::ParamInfo& p : t.params) {
    if (p.optional) continue;
    if (p.kind == poly::ParamKind::Node) {
      const int given = out.contains("node") ? tree.row_of(out["node"].get<int>()) : -1;
      const int row = given < 0 ? nearest(tree, p, selected) : reader_of(tree, p, given);
      out[p.name] = row < 0 ? 0 : tree.boxes[static_cast<size_t>(row)].id;
    } else {
      out[p.name] = first_value(tree, t, p, out, statement);
    }
  }
  if (has_param(t, "first") && has_param(t, "last") && out.contains("node"))
    if (const int row = tree.row_of(out["node"].get<int>()); row >= 0)
      draft_range(tree, row, selected, out);
  return out;
}

bool fits(const poly::TransformInfo& t, poly::NodeKind kind) {
  const poly::ParamInfo* p = node_param(t);
  return !p || may_be(*p, kind);
}

}  // namespace nautilus::gui
