#include "gui/models/step_draft.h"

#include <algorithm>

namespace nautilus::gui {
namespace {

using nlohmann::json;
using poly::ParamKind;
using poly::ParamRole;

constexpr int64_t kTile = 32;
constexpr size_t kMostPaired = 12;  // statements of which all pairs are offered

bool may_be(ParamRole role, poly::NodeKind kind) {
  switch (role) {
    case ParamRole::Band:
    case ParamRole::BandAboveSequence:
    case ParamRole::BandWithRepairs:
    case ParamRole::ReaderBand:
      return kind == poly::NodeKind::Band;
    case ParamRole::Sequence:
    case ParamRole::RootSequence:
      return kind == poly::NodeKind::Sequence;
    case ParamRole::Filter:
      return kind == poly::NodeKind::Filter;
    case ParamRole::FilterOrBand:
      return kind == poly::NodeKind::Filter || kind == poly::NodeKind::Band;
    default:
      return true;
  }
}

// Beyond its kind.
bool is_asked_for(const TreePicture& tree, ParamRole role, int row) {
  const TreeBox& b = tree.boxes[static_cast<size_t>(row)];
  if (role == ParamRole::BandWithRepairs) return !b.repairs.empty();
  if (role == ParamRole::RootSequence) return row == 0;
  if (role != ParamRole::BandAboveSequence) return true;
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
    if (p.kind == ParamKind::Node && !p.optional) return &p;
  return nullptr;
}

const poly::ParamInfo* param_of(const poly::TransformInfo& t, ParamRole role) {
  const auto at = std::ranges::find(t.params, role, &poly::ParamInfo::role);
  return at == t.params.end() ? nullptr : &*at;
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
                    p.role != ParamRole::BandAboveSequence &&
                    !may_be(p.role, poly::NodeKind::Sequence);
  if (down)
    for (int r = row + 1; r <= tree.boxes[static_cast<size_t>(row)].last; ++r)
      if (is_good(r)) return r;
  for (int r = row; r >= 0; r = tree.boxes[static_cast<size_t>(r)].parent)
    if (is_good(r)) return r;
  for (int r = row + 1; r <= tree.boxes[static_cast<size_t>(row)].last; ++r)
    if (is_good(r)) return r;
  return rows.front();
}

// For a second node: the first behind `from` that reads what is computed there, else the first
// behind it.
int reader_of(const TreePicture& tree, const poly::ParamInfo& p, const TreeBox& from) {
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

// For transforms that join children of a sequence.
void draft_range(const TreePicture& tree, const poly::TransformInfo& t, const TreeBox& s,
                 poly::NodeId selected, json& out) {
  const int most = static_cast<int>(s.children.size()) - 1;
  const int first =
      std::clamp(child_with(tree, tree.row_of(s.id), selected), 0, std::max(0, most - 1));
  const int last = std::min(first + 1, std::max(0, most));
  int depth = 1000;
  for (int k = first; k <= last && k <= most; ++k)
    depth = std::min(depth, members_below(tree, s.children[static_cast<size_t>(k)]));
  const auto put = [&](ParamRole role, int value) {
    if (const poly::ParamInfo* p = param_of(t, role)) out[p->name] = value;
  };
  put(ParamRole::FirstChild, first);
  put(ParamRole::LastChild, last);
  put(ParamRole::SharedMembers, std::max(1, depth == 1000 ? 1 : depth));
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

json first_name(const std::vector<std::string>& names, ParamRole role,
                const std::string& statement) {
  const bool known = std::ranges::find(names, statement) != names.end();
  if (known && role == ParamRole::Producer) return statement;
  if (role == ParamRole::OtherMember && names.size() > 1) return names[1];
  return names.empty() ? json("") : json(names.front());
}

json first_names(const TreeBox* band, ParamRole role, const std::string& statement) {
  if (role == ParamRole::Members)
    return band && !band->members.empty() ? band->members.front().name : "*";
  if (band && role == ParamRole::MemberOrder) return backwards(*band);
  if (band && role == ParamRole::Statements) return some_statement(*band, statement);
  return json::array();
}

json first_value(const TreePicture& tree, const poly::TransformInfo& t, const poly::ParamInfo& p,
                 const json& so_far, const std::string& statement) {
  const TreeBox* band = main_node(tree, t, so_far);
  switch (p.kind) {
    case ParamKind::Node:
      return 0;
    case ParamKind::Integer:
      if (p.min == 0 && p.max == 0) return 0;
      return std::clamp<int64_t>(1, p.min, p.max);
    case ParamKind::IntegerList:
      return json(
          std::vector<int64_t>(band ? std::max<size_t>(1, band->members.size()) : 1, kTile));
    case ParamKind::Name:
      return first_name(name_choices(tree, t, p, so_far), p.role, statement);
    case ParamKind::NameList:
      return first_names(band, p.role, statement);
    case ParamKind::Choice:
      return !p.usual.empty() || p.choices.empty() ? p.usual : p.choices.front();
    case ParamKind::Text:
      return p.usual;
  }
  return json();
}

}  // namespace

std::vector<int> eligible_rows(const TreePicture& tree, const poly::ParamInfo& p) {
  std::vector<int> out;
  for (size_t k = 0; k < tree.boxes.size(); ++k)
    if (may_be(p.role, tree.boxes[k].kind)) out.push_back(static_cast<int>(k));
  std::vector<int> narrow = out;
  std::erase_if(narrow, [&](int row) { return !is_asked_for(tree, p.role, row); });
  return narrow.empty() ? out : narrow;  // none: the verdict says what is missing
}

const TreeBox* main_node(const TreePicture& tree, const poly::TransformInfo& t,
                         const json& params) {
  const poly::ParamInfo* p = node_param(t);
  if (!p || !params.contains(p->name) || !params[p->name].is_number_integer()) return nullptr;
  const int row = tree.row_of(params[p->name].get<int>());
  return row < 0 ? nullptr : &tree.boxes[static_cast<size_t>(row)];
}

std::vector<std::string> name_choices(const TreePicture& tree, const poly::TransformInfo& t,
                                      const poly::ParamInfo& p, const json& params) {
  std::vector<std::string> out;
  switch (p.role) {
    case ParamRole::Member:
    case ParamRole::OtherMember:
    case ParamRole::MemberOrder:
    case ParamRole::Members:
      if (const TreeBox* band = main_node(tree, t, params)) {
        for (const TreeMember& m : band->members) out.push_back(m.name);
        if (p.role == ParamRole::Members) out.push_back("*");
      }
      return out;
    case ParamRole::Temporary:
      return tree.temporaries;
    case ParamRole::Axis:
      return tree.axes;
    case ParamRole::Statements:
      return tree.statements;
    case ParamRole::Producer:
      for (const auto& [from, to] : tree.feeds)
        if (std::ranges::find(out, from) == out.end()) out.push_back(from);
      return out.empty() ? tree.statements : out;
    case ParamRole::Reader: {
      const poly::ParamInfo* producer = param_of(t, ParamRole::Producer);
      for (const auto& [from, to] : tree.feeds)
        if (producer && params.contains(producer->name) && params[producer->name] == from)
          out.push_back(to);
      return out.empty() ? tree.statements : out;
    }
    case ParamRole::Payments:
      if (tree.statements.size() > kMostPaired) return out;
      for (const std::string& from : tree.statements)
        for (const std::string& to : tree.statements)
          if (from != to) out.push_back(from + " > " + to);
      return out;
    default:
      return out;
  }
}

json first_draft(const TreePicture& tree, const poly::TransformInfo& t, poly::NodeId selected,
                 const std::string& statement) {
  json out = json::object();
  for (const poly::ParamInfo& p : t.params) {
    if (p.optional) continue;
    if (p.kind == ParamKind::Node) {
      const TreeBox* given = main_node(tree, t, out);
      const int row = given ? reader_of(tree, p, *given) : nearest(tree, p, selected);
      out[p.name] = row < 0 ? 0 : tree.boxes[static_cast<size_t>(row)].id;
    } else {
      out[p.name] = first_value(tree, t, p, out, statement);
    }
  }
  const TreeBox* sequence = main_node(tree, t, out);
  if (sequence && param_of(t, ParamRole::FirstChild))
    draft_range(tree, t, *sequence, selected, out);
  return out;
}

bool fits(const poly::TransformInfo& t, poly::NodeKind kind) {
  const poly::ParamInfo* p = node_param(t);
  return !p || may_be(p->role, kind);
}

}  // namespace nautilus::gui
