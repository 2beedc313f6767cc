#include "polyhedral/transforms/map.h"

#include <algorithm>

#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

namespace {

bool block(Mapping m) { return m == Mapping::Grid; }

// Grid: one nest of parallel loops at the top of a kernel, nothing serial around it.
std::optional<std::string> not_outermost(const std::vector<const Node*>& path,
                                         const std::vector<BandMember>& members) {
  for (size_t k = 2; k + 1 < path.size(); ++k) {  // below the kernel's filter
    if (path[k]->kind == NodeKind::Sequence)
      return "sequence " + std::to_string(path[k]->id) + " is around it in the kernel";
    for (const BandMember& m : path[k]->members)
      if (!block(m.mapping)) return "loop " + m.name + " is around it and is not mapped to grid";
  }
  bool inner = false;
  for (const BandMember& m : members) {
    if (block(m.mapping) && inner)
      return "loop " + m.name + " is inside a loop of its band that is not mapped to grid";
    inner |= !block(m.mapping);
  }
  return std::nullopt;
}

// Tile: dims of one statement's innermost tile; every loop around it is outside the tile.
std::optional<std::string> not_innermost(const Node& band) {
  if (band.statements.size() != 1)
    return "it has " + std::to_string(band.statements.size()) + " statements below";
  for (const Node* n = band.children[0].get(); n->kind != NodeKind::Leaf;
       n = n->children[0].get()) {
    if (n->kind != NodeKind::Band)
      return "a " + std::string(n->kind == NodeKind::Sequence ? "sequence" : "filter or mark") +
             " is below it";
    for (const BandMember& m : n->members)
      if (m.mapping != Mapping::Tile)
        return "loop " + m.name + " is below it and is not mapped to tile";
  }
  return std::nullopt;
}

// A grid loop of another mapping cannot stay inside a loop that just stopped being one.
std::optional<std::string> grid_below(const Node& n) {
  for (const BandMember& m : n.members)
    if (block(m.mapping)) return "loop " + m.name + " below it is mapped to grid";
  for (const NodePtr& c : n.children)
    if (auto why = grid_below(*c)) return why;
  return std::nullopt;
}

}  // namespace

Expected<Schedule> map_members(const Schedule& s, NodeId band, const std::vector<size_t>& which,
                               Mapping to) {
  const std::vector<const Node*> path = path_to(s, band);
  const Node* n = path.back();
  std::vector<BandMember> members = n->members;
  std::string names;
  for (size_t k : which) {
    members[k].mapping = to;
    names += (names.empty() ? "" : ", ") + members[k].name;
  }
  const std::string what =
      "map " + names + " of band " + std::to_string(band) + " to " + std::string(mapping_name(to));
  std::optional<std::string> why;
  std::string suggest;
  const bool any_grid = std::any_of(members.begin(), members.end(),
                                    [](const BandMember& m) { return block(m.mapping); });
  if (any_grid)
    why = not_outermost(path, members),
    suggest = "interchange or split the band so that grid loops come first";
  const bool all_grid = std::all_of(members.begin(), members.end(),
                                    [](const BandMember& m) { return block(m.mapping); });
  if (!why && !all_grid)
    why = grid_below(*n->children[0]), suggest = "map the loops inside to serial first";
  if (!why && to == Mapping::Tile)
    why = not_innermost(*n), suggest = "map the innermost band of a single statement";
  if (!why && to != Mapping::Tile && !which.empty())
    for (const Node* up : path)
      for (const BandMember& m : up->members)
        if (!why && up != n && m.mapping == Mapping::Tile)
          why = "loop " + m.name + " around it is mapped to tile",
          suggest = "map that one to serial first";
  if (why) return edit::refused(what, edit::describe(s, *n), *why, suggest);
  return replace(s, band, with_members(*n, std::move(members)));
}

TransformInfo info_map() {
  TransformInfo t;
  t.name = "map";
  t.summary = "choose how band members run: serial, grid, warpgroup, tile, unroll";
  t.doc =
      "grid: iterations become independent blocks; only the outermost loops of a kernel. "
      "warpgroup: parallel inside a block. Both need "
      "members that carry no dependence, not even a reduction's. tile: not a loop, but a dimension "
      "of the tile value that one "
      "statement computes at once; only reductions may be carried. unroll: a serial loop written "
      "out. Legal when the order that "
      "the mapping gives up was not needed.";
  t.before = "3: band [i0:64 = floor(i/64), j0:32 = floor(j/32)]";
  t.after = "3: band [i0:64 grid = floor(i/64), j0:32 = floor(j/32)]";
  t.params = {edit::node_info("the band"),
              {"member",
               ParamKind::NameList,
               "members: names or positions, one or a list; \"*\" for all",
               0,
               0,
               {},
               false,
               ParamRole::Members},
              {"mapping",
               ParamKind::Choice,
               "what to map them to",
               0,
               0,
               {"serial", "grid", "warpgroup", "tile", "unroll"},
               false,
               ParamRole::Value,
               "grid"}};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "map");
        if (!n) return n.error();
        Expected<std::vector<size_t>> which = edit::members_of(s, **n, p.at("member"), "map");
        if (!which) return which.error();
        return map_members(s, (*n)->id, *which,
                           *mapping_from_name(p.at("mapping").get<std::string>()));
      });
}

}  // namespace nautilus::poly
