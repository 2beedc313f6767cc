#include "polyhedral/transforms/tile.h"

#include <algorithm>

#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

namespace {

// floor(e/T) for every statement; the tile's size counts program points.
BandMember tile_loop(const BandMember& m, int64_t size) {
  BandMember out = m;
  for (auto& [stmt, aff] : out.schedule) aff = aff.scale_down(static_cast<long>(size)).floor();
  out.step = m.step * size;
  if (m.mapping == Mapping::Tile || m.mapping == Mapping::Unroll) out.mapping = Mapping::Serial;
  return out;
}

// The points of a tile: parallel blocks stay with the tiles.
BandMember point_loop(const BandMember& m) {
  BandMember out = m;
  if (m.mapping == Mapping::Grid || m.mapping == Mapping::Warpgroup) out.mapping = Mapping::Serial;
  return out;
}

std::string asked(NodeId band, const std::vector<int64_t>& sizes) {
  std::string out = "tile band " + std::to_string(band) + " by [";
  for (size_t k = 0; k < sizes.size(); ++k) out += (k ? ", " : "") + std::to_string(sizes[k]);
  return out + "]";
}

}  // namespace

Expected<Schedule> tile(const Schedule& s, NodeId band, const std::vector<int64_t>& sizes) {
  const Node* n = find(s, band);
  if (sizes.size() > n->members.size())
    return edit::refused(asked(band, sizes), edit::describe(s, *n),
                         "it has " + std::to_string(n->members.size()) + " members, and " +
                             std::to_string(sizes.size()) + " sizes are given");
  std::vector<BandMember> outer, inner;
  std::vector<std::string> taken;
  for (size_t k = 0; k < n->members.size(); ++k) {
    const BandMember& m = n->members[k];
    const int64_t size = k < sizes.size() ? sizes[k] : 0;
    if (size < 0) {
      outer.push_back(m);
    } else if (size == 0) {
      inner.push_back(m);
    } else {
      int64_t step;
      if (__builtin_mul_overflow(m.step, size, &step))
        return edit::refused(asked(band, sizes), edit::describe(s, *n),
                             "the tile of " + m.name + " does not fit in 64 bits");
      BandMember o = tile_loop(m, size), i = point_loop(m);
      o.name = unique_member_name(s, edit::tiled_name(m.name, "0"), taken);
      taken.push_back(o.name);
      i.name = unique_member_name(s, edit::tiled_name(m.name, "1"), taken);
      taken.push_back(i.name);
      outer.push_back(std::move(o));
      inner.push_back(std::move(i));
    }
  }
  if (outer.empty() || inner.empty() || taken.empty())
    return edit::refused(asked(band, sizes), edit::describe(s, *n), "no member is tiled",
                         "give a size of at least 1 for some member");
  Schedule out = s;
  NodePtr points = make_band(std::move(inner), n->children[0], out.next_id++);
  return replace(out, band, with_children(*with_members(*n, std::move(outer)), {points}));
}

TransformInfo info_tile() {
  TransformInfo t;
  t.name = "tile";
  t.summary = "cut the iterations of a band into tiles";
  t.doc =
      "A band with members e_k becomes an outer band with floor(e_k/T_k) (one iteration a tile, "
      "named e_k0) over an inner band "
      "with the unchanged e_k (named e_k1). Size 0 leaves a member in the inner band only, -1 in "
      "the outer band only. Tiling "
      "runs the tiles one after the other, so it is legal when no dependence goes backwards in a "
      "tiled member: always for "
      "one member, and for members that may be interchanged.";
  t.before = "3: band [i = i, j = j]";
  t.after = "3: band [i0:64 = floor(i/64), j0:32 = floor(j/32)]\n  5: band [i1 = i, j1 = j]";
  t.params = {edit::node_info("the band"),
              {"sizes",
               ParamKind::IntegerList,
               "one tile size a member (0: inner only, -1: outer only)",
               -1,
               int64_t{1} << 40,
               {},
               false}};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        const std::vector<int64_t> sizes = p.at("sizes").get<std::vector<int64_t>>();
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "tile");
        return n ? tile(s, (*n)->id, sizes) : Expected<Schedule>(n.error());
      });
}

}  // namespace nautilus::poly
