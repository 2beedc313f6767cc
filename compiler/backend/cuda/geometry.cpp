#include "compiler/backend/cuda/geometry.h"

#include <algorithm>
#include <bit>

#include "compiler/memory/f2.h"

namespace nautilus::cuda {

using memory::Axis;

Geometry::Geometry(const memory::Placement& p, const std::vector<Axis>& tile_axes)
    : place(p), axes(tile_axes) {
  registers = int(std::max<int64_t>(1, p.registers()));
  for (const Axis& a : axes) {
    auto& values = at[a.name];
    auto& lanes = lane[a.name];
    auto& warps = warp[a.name];
    const bool mapped = p.map.out_bits(a.name) > 0;
    for (int b = 0; b < p.map.in_bits("lane"); ++b)
      lanes.push_back(mapped ? p.map.image("lane", b, a.name) : 0);
    for (int b = 0; b < p.map.in_bits("warp"); ++b)
      warps.push_back(mapped ? p.map.image("warp", b, a.name) : 0);
    values.reserve(size_t(registers));
  }
  for (int r = 0; r < registers; ++r) {
    const auto point = p.at(r);
    for (const Axis& a : axes) {
      auto it = point.find(a.name);
      at[a.name].push_back(it == point.end() ? 0 : it->second);
    }
  }
}

uint64_t Geometry::thread_bits(const std::string& axis) const {
  uint64_t bits = 0;
  for (const auto* images : {&lane.at(axis), &warp.at(axis)})
    for (uint64_t v : *images) bits |= v;
  return bits;
}

bool Geometry::apart(const std::string& axis) const {
  const uint64_t bits = thread_bits(axis);
  return std::none_of(at.at(axis).begin(), at.at(axis).end(),
                      [&](int64_t v) { return (uint64_t(v) & bits) != 0; });
}

int64_t Geometry::extent(const std::string& axis) const {
  for (const Axis& a : axes)
    if (a.name == axis) return a.extent;
  return 1;
}

std::vector<int64_t> Geometry::point(int r, const std::vector<Axis>& on) const {
  std::vector<int64_t> p;
  for (const Axis& a : on) {
    auto it = at.find(a.name);
    p.push_back(it == at.end() ? 0 : it->second[size_t(r)]);
  }
  return p;
}

std::vector<int> aligned(const Geometry& operand, const Geometry& result) {
  std::map<std::vector<int64_t>, int> where;
  for (int r = 0; r < operand.registers; ++r) where.emplace(operand.point(r, operand.axes), r);
  std::vector<int> out;
  for (int r = 0; r < result.registers; ++r) {
    auto it = where.find(result.point(r, operand.axes));
    out.push_back(it == where.end() ? 0 : it->second);
  }
  return out;
}

Copies copies_of(const Geometry& g) {
  const memory::Linear& map = g.place.map;
  const memory::Packing packing(map.out());
  memory::Basis basis;
  for (int b = 0; b < map.in_bits("register"); ++b) basis.add(packing.image(map, "register", b));
  Copies c;
  for (int b = 0; b < map.in_bits("lane"); ++b)
    if (!basis.add(packing.image(map, "lane", b))) c.lanes |= uint32_t(1) << b;
  for (int b = 0; b < map.in_bits("warp"); ++b)
    if (!basis.add(packing.image(map, "warp", b))) c.warps |= uint32_t(1) << b;
  if (g.axes.empty()) c.lanes = 31;
  return c;
}

int Vector::element(int base, int e) const {
  for (size_t b = 0; b < bits.size(); ++b)
    if (e >> b & 1) base |= 1 << bits[b];
  return base;
}

Vector find_vector(const std::vector<uint64_t>& moves, uint64_t thread_moves, int register_bits,
                   int registers, int most) {
  Vector v;
  for (int e = 0; (2 << e) <= most; ++e) {
    const uint64_t low = (uint64_t(2) << e) - 1;
    if (thread_moves & low) break;
    auto taken = [&](int b) { return std::find(v.bits.begin(), v.bits.end(), b) != v.bits.end(); };
    int found = -1;
    for (int b = 0; b < register_bits && found < 0; ++b)
      if (!taken(b) && moves[size_t(b)] == uint64_t(1) << e) found = b;
    // All other registers move by multiples of the vector.
    bool clean = found >= 0;
    for (int b = 0; b < register_bits && clean; ++b)
      clean = b == found || taken(b) || !(moves[size_t(b)] & low);
    if (!clean) break;
    v.bits.push_back(found);
    v.elements *= 2;
  }
  int mask = 0;
  for (int b : v.bits) mask |= 1 << b;
  for (int r = 0; r < registers; ++r)
    if (!(r & mask)) v.bases.push_back(r);
  return v;
}

}  // namespace nautilus::cuda
