// Placements: extents, projections, and what turns one into another.
#include <algorithm>
#include <bit>
#include <set>
#include <unordered_map>
#include <utility>

#include "compiler/memory/f2.h"

namespace nautilus::memory {

int64_t Placement::block(const std::string& axis) const { return int64_t(1) << map.out_bits(axis); }
int64_t Placement::extent(const std::string& axis) const {
  int64_t n = block(axis);
  for (const Extent& e : repeats)
    if (e.axis == axis) n *= e.count;
  return n;
}
int64_t Placement::repeat_count() const {
  int64_t n = 1;
  for (const Extent& e : repeats) n *= e.count;
  return n;
}
int64_t Placement::registers() const { return repeat_count() << map.in_bits("register"); }
int64_t Placement::elements() const { return repeat_count() << map.in_bits("offset"); }
int Placement::warps() const { return 1 << map.in_bits("warp"); }

std::vector<std::string> Placement::axes() const {
  std::set<std::string> names;
  for (const Bits& d : map.out()) names.insert(d.name);
  for (const Extent& e : repeats) names.insert(e.axis);
  return {names.begin(), names.end()};
}

std::map<std::string, int64_t> Placement::at(int64_t index, int lane, int warp) const {
  const auto& in = map.in();
  const bool shared =
      std::any_of(in.begin(), in.end(), [](const Bits& d) { return d.name == "offset"; });
  const std::string input = shared ? "offset" : "register";
  auto low = [&](const char* name, int64_t x) {
    return x & ((int64_t(1) << map.in_bits(name)) - 1);
  };
  const int bits = map.in_bits(input);
  auto point = map.apply({{input, low(input.c_str(), index)},
                          {"lane", low("lane", lane)},
                          {"warp", low("warp", warp)}});
  int64_t repeat = index >> bits;
  std::map<std::string, int64_t> stride;  // of the next outer repeat of this axis
  for (size_t n = repeats.size(); n-- > 0;) {
    const Extent& e = repeats[n];
    auto [it, fresh] = stride.emplace(e.axis, block(e.axis));
    point[e.axis] += repeat % e.count * it->second;
    it->second *= e.count;
    repeat /= e.count;
  }
  return point;
}

Placement without(const Placement& p, const std::vector<std::string>& axes) {
  Placement out = p;
  for (const std::string& a : axes) {
    out.map = out.map.without_output(a);
    std::erase_if(out.repeats, [&](const Extent& e) { return e.axis == a; });
  }
  if (out.map.out().empty() && out.repeats.empty()) return {};
  // Registers that repeat what earlier ones hold.
  const Packing packing(out.map.out());
  Basis basis;
  std::vector<Bits> in = out.map.in();
  std::vector<std::vector<uint32_t>> images;
  for (Bits& d : in) {
    const int all = d.bits;
    for (int b = 0; b < all; ++b) {
      if (d.name == "register" && !basis.add(packing.image(out.map, d.name, b))) {
        --d.bits;
        continue;
      }
      std::vector<uint32_t> image;
      for (const Bits& o : out.map.out()) image.push_back(out.map.image(d.name, b, o.name));
      images.push_back(std::move(image));
    }
  }
  if (auto l = Linear::make(std::move(in), out.map.out(), std::move(images))) out.map = *l;
  return out;
}

Placement renamed(const Placement& p, const std::map<std::string, std::string>& names) {
  Placement out = p;
  out.map = out.map.renamed(names);
  for (Extent& e : out.repeats)
    if (auto it = names.find(e.axis); it != names.end()) e.axis = it->second;
  return out;
}

namespace {

const char* const kInputs[] = {"register", "lane", "warp"};

Packing packing_of(const Linear& a, const Linear& b) {
  std::map<std::string, int> bits;
  for (const Linear* l : {&a, &b})
    for (const Bits& d : l->out()) bits[d.name] = std::max(bits[d.name], d.bits);
  std::vector<Bits> dims;
  for (const auto& [name, n] : bits) dims.push_back({name, n});
  return Packing(dims);
}

std::vector<Extent> real_repeats(const Placement& p) {
  std::vector<Extent> r = p.repeats;
  std::erase_if(r, [](const Extent& e) { return e.count == 1; });
  return r;
}

// Can every thread of `to` find what it wants in the span of `inputs` of its own place? The place
// is the inputs that are not spanned.
bool found_within(const Linear& from, const Linear& to, const std::set<std::string>& inputs) {
  const Packing p = packing_of(from, to);
  Basis basis;
  for (const std::string& in : inputs)
    for (int b = 0; b < from.in_bits(in); ++b) basis.add(p.image(from, in, b));
  for (const char* in : kInputs)
    for (int b = 0; b < std::max(from.in_bits(in), to.in_bits(in)); ++b) {
      uint64_t wanted = p.image(to, in, b);
      if (!inputs.count(in)) wanted ^= p.image(from, in, b);
      if (!basis.contains(wanted)) return false;
    }
  return true;
}

// Every element of a placement as one number. Elements are linear over F2 in lanes and warps, and
// what repeats add lies above the bits of a block, so the numbers of registers, lanes and warps are
// combined by exclusive or.
class Elements {
 public:
  // `shifts`: where each axis' bits begin in the number.
  Elements(const Placement& p, const std::map<std::string, int>& shifts, int warps) {
    const auto number = [&](int64_t r, int l, int w) {
      uint64_t n = 0;
      for (const auto& [axis, x] : p.at(r, l, w))
        if (x != 0) n |= static_cast<uint64_t>(x) << shifts.at(axis);
      return n;
    };
    for (int64_t r = 0; r < p.registers(); ++r) registers.push_back(number(r, 0, 0));
    for (int l = 0; l < 32; ++l) lanes_.push_back(number(0, l, 0));
    for (int w = 0; w < warps; ++w) warps_.push_back(number(0, 0, w));
  }
  std::vector<uint64_t> registers;  // of lane 0, warp 0
  uint64_t part(int lane, int warp) const { return lanes_[lane] ^ warps_[warp]; }

 private:
  std::vector<uint64_t> lanes_, warps_;
};

// Where the bits of each axis start in the number of an element of either; nullopt over 64 bits.
std::optional<std::map<std::string, int>> shared_shifts(const Placement& from,
                                                        const Placement& to) {
  std::map<std::string, int> bits, shifts;
  for (const Placement* p : {&from, &to})
    for (const std::string& a : p->axes()) {
      int64_t most = p->block(a);
      for (const Extent& e : p->repeats)
        if (e.axis == a) most *= e.count;
      bits[a] = std::max<int>(bits[a], std::bit_width(static_cast<uint64_t>(most)));
    }
  int next = 0;
  for (const auto& [axis, n] : bits) shifts[axis] = std::exchange(next, next + n);
  if (next > 64) return std::nullopt;
  return shifts;
}

// The same question by listing every element: for placements whose blocks differ.
Exchange exchange_by_points(const Placement& from, const Placement& to) {
  const int warps = std::max(from.warps(), to.warps());
  const auto found = shared_shifts(from, to);
  if (!found) return Exchange::Shared;  // 2^64 elements: always possible, never faster
  const auto& shifts = *found;
  const Elements have(from, shifts, warps), want(to, shifts, warps);
  std::unordered_map<uint64_t, std::vector<uint32_t>> holders;  // element -> lanes of each warp
  for (int w = 0; w < warps; ++w)
    for (int l = 0; l < 32; ++l)
      for (const uint64_t r : have.registers) {
        std::vector<uint32_t>& lanes = holders[r ^ have.part(l, w)];
        lanes.resize(static_cast<size_t>(warps));
        lanes[w] |= uint32_t(1) << l;
      }
  Exchange worst = Exchange::Registers;
  for (int w = 0; w < warps; ++w)
    for (int l = 0; l < 32; ++l)
      for (const uint64_t r : want.registers) {
        const auto it = holders.find(r ^ want.part(l, w));
        if (it == holders.end()) continue;  // padding that only `to` has
        if (it->second[w] >> l & 1) continue;
        if (it->second[w] == 0) return Exchange::Shared;
        worst = Exchange::Shuffle;
      }
  return worst;
}

}  // namespace

bool alike(const Placement& a, const Placement& b) {
  if (real_repeats(a) != real_repeats(b)) return false;
  if (a.map.in_bits("register") != b.map.in_bits("register") ||
      a.map.in_bits("offset") != b.map.in_bits("offset"))
    return false;
  const Packing p = packing_of(a.map, b.map);
  for (const char* in : {"register", "lane", "warp", "offset"})
    for (int n = 0; n < std::max(a.map.in_bits(in), b.map.in_bits(in)); ++n)
      if (p.image(a.map, in, n) != p.image(b.map, in, n)) return false;
  for (const Linear* l : {&a.map, &b.map})
    for (const Bits& d : l->out())
      if (a.map.out_bits(d.name) != b.map.out_bits(d.name)) return false;
  return true;
}

Exchange exchange(const Placement& from, const Placement& to) {
  if (alike(from, to)) return Exchange::None;
  auto blocks_agree = [&] {
    for (const Placement* p : {&from, &to})
      for (const std::string& a : p->axes())
        if (from.block(a) != to.block(a)) return false;
    return true;
  };
  auto counts = [](const Placement& p) {
    std::map<std::string, int64_t> n;
    for (const Extent& e : real_repeats(p)) n.emplace(e.axis, 1).first->second *= e.count;
    return n;
  };
  if (!blocks_agree() || counts(from) != counts(to)) return exchange_by_points(from, to);
  if (found_within(from.map, to.map, {"register"})) return Exchange::Registers;
  if (found_within(from.map, to.map, {"register", "lane"})) return Exchange::Shuffle;
  return Exchange::Shared;
}

std::optional<int> sources_a_register(const Placement& from, const Placement& to) {
  const auto shifts = shared_shifts(from, to);
  if (!shifts) return std::nullopt;
  const int warps = std::max(from.warps(), to.warps());
  const Elements have(from, *shifts, warps), want(to, *shifts, warps);
  std::vector<std::unordered_map<uint64_t, std::vector<std::pair<int, int>>>> holders(
      static_cast<size_t>(warps));  // of a warp: element -> (lane, register)
  for (int w = 0; w < warps; ++w)
    for (int l = 0; l < 32; ++l)
      for (size_t r = 0; r < have.registers.size(); ++r)
        holders[size_t(w)][have.registers[r] ^ have.part(l, w)].emplace_back(l, int(r));
  size_t most = 1;
  for (const uint64_t r : want.registers) {
    std::vector<int> lanes, registers;  // of each thread; -1: padding that only `to` has
    for (int w = 0; w < warps; ++w)
      for (int l = 0; l < 32; ++l) {
        const auto it = holders[size_t(w)].find(r ^ want.part(l, w));
        if (it == holders[size_t(w)].end()) {
          for (const auto& other : holders)
            if (other.count(r ^ want.part(l, w))) return std::nullopt;
          lanes.push_back(-1);
          registers.push_back(-1);
          continue;
        }
        const auto nearest = std::min_element(
            it->second.begin(), it->second.end(), [l](const auto& a, const auto& b) {
              return std::popcount(unsigned(a.first ^ l)) < std::popcount(unsigned(b.first ^ l));
            });
        lanes.push_back(nearest->first);
        registers.push_back(nearest->second);
      }
    if (!affine(lanes) || !affine(registers)) return std::nullopt;
    std::set<int> picked(registers.begin(), registers.end());
    picked.erase(-1);
    most = std::max(most, picked.size());
  }
  return int(most);
}

}  // namespace nautilus::memory
