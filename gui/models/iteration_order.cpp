// What the order of a picture's points means: steps of its animation, tiles, time stamps.
#include <algorithm>
#include <map>

#include "gui/models/iteration_data.h"

namespace nautilus::gui {
namespace {

const std::vector<TimePart>& parts_of(const IterationPicture& p, const IterPoint& at) {
  return p.statements[static_cast<size_t>(at.statement)].clocks[static_cast<size_t>(at.clock)];
}

bool at_once(poly::Mapping m, bool blocks_together) {
  return m == poly::Mapping::Tile ||
         (blocks_together && (m == poly::Mapping::Grid || m == poly::Mapping::Warpgroup));
}

}  // namespace

std::vector<int> steps_of(const IterationPicture& p, bool blocks_together) {
  std::vector<std::vector<int64_t>> keys;
  for (const IterPoint& at : p.points) {
    std::vector<int64_t> key = at.time;
    const std::vector<TimePart>& parts = parts_of(p, at);
    for (size_t k = 0; k < key.size(); ++k)
      if (at_once(parts[k].mapping, blocks_together)) key[k] = 0;
    keys.push_back(std::move(key));
  }
  std::vector<std::vector<int64_t>> distinct = keys;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<int> out;
  for (const auto& key : keys)
    out.push_back(static_cast<int>(std::lower_bound(distinct.begin(), distinct.end(), key) -
                                   distinct.begin()));
  return out;
}

std::vector<TileRect> tile_rects(const IterationPicture& p, int statement, int x, int y,
                                 const std::vector<int>& shown) {
  std::map<std::pair<int, std::vector<int64_t>>, TileRect> tiles;
  for (int k : shown) {
    const IterPoint& at = p.points[static_cast<size_t>(k)];
    if (at.statement != statement || x < 0) continue;
    const std::vector<TimePart>& parts = parts_of(p, at);
    std::vector<int64_t> key;
    std::string name;
    for (size_t c = 0; c < parts.size(); ++c) {
      if (parts[c].sequence || parts[c].step <= 1) continue;
      key.push_back(at.time[c]);
      name += (name.empty() ? "" : ", ") + parts[c].name + "=" + std::to_string(at.time[c]);
    }
    if (key.empty()) continue;
    const int64_t px = at.at[static_cast<size_t>(x)];
    const int64_t py = y < 0 ? 0 : at.at[static_cast<size_t>(y)];
    auto [tile, fresh] = tiles.emplace(std::pair(at.clock, key), TileRect{px, py, px, py, name});
    TileRect& r = tile->second;
    r.x0 = std::min(r.x0, px), r.x1 = std::max(r.x1, px);
    r.y0 = std::min(r.y0, py), r.y1 = std::max(r.y1, py);
  }
  std::vector<TileRect> out;
  for (auto& [key, r] : tiles) out.push_back(std::move(r));
  return out;
}

std::string time_text(const IterationPicture& p, int point) {
  const IterPoint& at = p.points[static_cast<size_t>(point)];
  const std::vector<TimePart>& parts = parts_of(p, at);
  std::string out;
  for (size_t k = 0; k < parts.size(); ++k) {
    out += out.empty() ? "" : " ";
    if (parts[k].sequence)
      out += "\u25b8" + std::to_string(at.time[k]);
    else
      out += parts[k].name + "=" + std::to_string(at.time[k]);
  }
  return out;
}

}  // namespace nautilus::gui
