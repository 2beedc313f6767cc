#include "compiler/memory/interpret_fragments.h"

#include <algorithm>
#include <numeric>

namespace nautilus::memory {
namespace {

// Coordinates of every (repeat, input point) of a placement, by the images of its bits. Inputs are
// given as the lists of values to run over, the first the slowest.
class Coordinates {
 public:
  Coordinates(const Placement& p, const std::vector<Axis>& axes) : p_(p), axes_(axes) {
    for (const Axis& a : axes) {
      block_.push_back(p.block(a.name));
      std::vector<std::vector<int32_t>> by_input;
      for (const Bits& in : p.map.in()) {
        by_input.emplace_back();
        for (int bit = 0; bit < in.bits; ++bit)
          by_input.back().push_back(
              p.map.out_bits(a.name) == 0 ? 0 : int32_t(p.map.image(in.name, bit, a.name)));
      }
      images_.push_back(std::move(by_input));
    }
  }
  // The coordinate on axis `a` at `repeat` (of all repeats, in order) and `inputs` (a dimension of
  // the map).
  int32_t at(size_t a, int64_t repeat, const std::vector<int64_t>& inputs) const {
    int64_t index = 0;
    for (size_t r = p_.repeats.size(); r-- > 0; repeat /= p_.repeats[r].count)
      if (p_.repeats[r].axis == axes_[a].name) {
        int64_t inner = 1;  // earlier repeats of the same axis are the slower part
        for (size_t s = r + 1; s < p_.repeats.size(); ++s)
          if (p_.repeats[s].axis == axes_[a].name) inner *= p_.repeats[s].count;
        index += repeat % p_.repeats[r].count * inner;
      }
    int32_t x = 0;
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t bit = 0; bit < images_[a][i].size(); ++bit)
        if (inputs[i] >> bit & 1) x ^= images_[a][i][bit];
    return int32_t(index * block_[a] + x);
  }

 private:
  const Placement& p_;
  const std::vector<Axis>& axes_;
  std::vector<int64_t> block_;
  std::vector<std::vector<std::vector<int32_t>>> images_;  // axis, input, bit
};

// Row-major element of coordinates; -1 beyond the extents.
int32_t element_of(const std::vector<Axis>& axes, const Points& p, size_t point) {
  int64_t e = 0;
  for (size_t a = 0; a < axes.size(); ++a) {
    if (p.at[a][point] >= axes[a].extent) return -1;
    e = e * axes[a].extent + p.at[a][point];
  }
  return int32_t(e);
}

std::unique_ptr<Fragment> make_fragment(const FragmentType& t) {
  auto f = std::make_unique<Fragment>();
  f->axes = t.axes;
  f->place = t.place;
  for (const Axis& a : t.axes) f->elements *= a.extent;
  const int64_t registers = std::max<int64_t>(1, t.place.registers());
  const int register_bits = t.place.map.in_bits("register");
  f->positions = size_t(registers) * kLanes;
  const Coordinates coordinates(f->place, f->axes);
  std::vector<uint8_t> seen(size_t(f->elements), 0);
  for (int w = 0; w < std::max(1, t.place.warps()); ++w) {
    Held h;
    h.points.count = f->positions;
    for (const Axis& a : t.axes) h.points.axes.push_back(a.name);
    h.points.at.assign(t.axes.size(), std::vector<int32_t>(f->positions));
    std::vector<int64_t> inputs(t.place.map.in().size(), 0);
    for (size_t p = 0; p < f->positions; ++p) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const std::string& name = t.place.map.in()[i].name;
        inputs[i] = name == "lane"   ? int64_t(p % kLanes)
                    : name == "warp" ? w
                                     : int64_t(p / kLanes) & ((int64_t(1) << register_bits) - 1);
      }
      for (size_t a = 0; a < t.axes.size(); ++a)
        h.points.at[a][p] = coordinates.at(a, int64_t(p / kLanes) >> register_bits, inputs);
    }
    std::vector<int32_t> where(size_t(f->elements), -1);
    for (size_t p = 0; p < f->positions; ++p) {
      const int32_t e = element_of(f->axes, h.points, p);
      h.logical.push_back(e);
      if (e >= 0 && where[size_t(e)] < 0) where[size_t(e)] = int32_t(p);
      h.first.push_back(e < 0 ? int32_t(p) : where[size_t(e)]);
      h.owner.push_back(e >= 0 && !seen[size_t(e)]);
    }
    for (int32_t e : h.logical)
      if (e >= 0) seen[size_t(e)] = 1;
    f->held.push_back(std::move(h));
  }
  return f;
}

std::string name_element(const std::vector<Axis>& axes, const Points& p, size_t point) {
  std::string s = "(";
  for (size_t a = 0; a < axes.size(); ++a)
    s += (a ? ", " : "") + axes[a].name + "=" + std::to_string(p.at[a][point]);
  return s + ")";
}

}  // namespace

const Fragment& Fragments::of(const FragmentType& t) {
  for (const auto& f : fragments_)
    if (f->axes == t.axes && f->place == t.place) return *f;
  fragments_.push_back(make_fragment(t));
  return *fragments_.back();
}

Expected<const Alignment*> Fragments::align(const Fragment& from, const Fragment& to, bool any_lane,
                                            const std::vector<int64_t>& starts) {
  auto [it, fresh] = alignments_.try_emplace({&from, &to, any_lane, starts});
  Alignment& out = it->second;
  if (!fresh) return &out;
  const size_t warps = std::max(from.held.size(), to.held.size());
  for (size_t w = 0; w < warps; ++w) {
    const Held &h = to.of(int(w)), &source = from.of(int(w));
    out.at.emplace_back();
    if (&from == &to && starts.empty()) continue;
    // element of `from` (and lane) -> its first position
    std::map<int64_t, int32_t> where;
    for (size_t p = 0; p < source.logical.size(); ++p)
      if (source.logical[p] >= 0)
        where.emplace(source.logical[p] * int64_t(kLanes) + (any_lane ? 0 : int64_t(p % kLanes)),
                      int32_t(p));
    bool same = from.positions == to.positions;
    out.at.back().assign(h.logical.size(), -1);
    for (size_t p = 0; p < h.logical.size(); ++p) {
      if (h.logical[p] < 0) continue;
      int64_t e = 0;
      for (const Axis& a : from.axes) {
        const auto axis = std::find_if(to.axes.begin(), to.axes.end(),
                                       [&](const Axis& b) { return b.name == a.name; });
        if (axis == to.axes.end()) {
          e = -1;
          break;
        }
        const size_t n = size_t(axis - to.axes.begin());
        e = e * a.extent + h.points.at[n][p] + (starts.empty() ? 0 : starts[n]);
      }
      const auto found = where.find(e * kLanes + (any_lane ? 0 : int64_t(p % kLanes)));
      if (e < 0 || found == where.end()) {
        alignments_.erase(it);
        return Refusal{"", "",
                       "element " + name_element(to.axes, h.points, p) + " that warp " +
                           std::to_string(w) + " lane " + std::to_string(p % kLanes) +
                           " needs is not in that " + (any_lane ? "warp" : "lane"),
                       "exchange it first"};
      }
      out.at.back()[p] = found->second;
      same = same && found->second == int32_t(p);
    }
    if (same) out.at.back().clear();
  }
  return &out;
}

Expected<const Fold*> Fragments::fold(const Fragment& from, const Fragment& to) {
  auto [it, fresh] = folds_.try_emplace({&from, &to});
  Fold& out = it->second;
  if (!fresh) return &out;
  std::vector<size_t> kept;  // axes of the result in the operand
  for (const Axis& a : to.axes)
    for (size_t n = 0; n < from.axes.size(); ++n)
      if (from.axes[n].name == a.name) kept.push_back(n);
  const int64_t terms = to.elements == 0 ? 0 : from.elements / to.elements;
  for (size_t w = 0; w < std::max(from.held.size(), to.held.size()); ++w) {
    const Held &h = from.of(int(w)), &r = to.of(int(w));
    Fold::Warp fold;
    // (result element, lane, position) of each element's first copy
    std::vector<std::tuple<int32_t, int32_t, int32_t>> items;
    for (size_t p = 0; p < h.logical.size(); ++p) {
      if (h.logical[p] < 0 || h.first[p] != int32_t(p)) continue;
      int64_t e = 0;
      for (size_t a = 0; a < kept.size(); ++a) e = e * to.axes[a].extent + h.points.at[kept[a]][p];
      items.emplace_back(int32_t(e), int32_t(p % kLanes), int32_t(p));
    }
    std::sort(items.begin(), items.end());
    std::map<int32_t, int32_t> result;  // element -> number
    std::map<int32_t, int64_t> count;
    for (size_t n = 0; n < items.size(); ++n) {
      const auto [e, lane, p] = items[n];
      if (n > 0 && std::get<0>(items[n - 1]) != e)
        fold.run_end.push_back(int32_t(n)), fold.result_end.push_back(int32_t(fold.run_end.size()));
      else if (n > 0 && std::get<1>(items[n - 1]) != lane)
        fold.run_end.push_back(int32_t(n));
      result.emplace(e, int32_t(result.size()));
      ++count[e];
      fold.order.push_back(p);
    }
    if (!items.empty()) {
      fold.run_end.push_back(int32_t(items.size()));
      fold.result_end.push_back(int32_t(fold.run_end.size()));
    }
    for (size_t p = 0; p < r.logical.size(); ++p) {
      const auto found = result.find(r.logical[p]);
      const bool whole = found != result.end() && count[r.logical[p]] == terms;
      if (r.logical[p] >= 0 && !whole) {
        folds_.erase(it);
        return Refusal{"", "",
                       "warp " + std::to_string(w) + " does not hold all elements that make " +
                           name_element(to.axes, r.points, p),
                       "reduce axes that lie inside a warp"};
      }
      fold.result_of.push_back(r.logical[p] < 0 ? -1 : found->second);
    }
    out.warps.push_back(std::move(fold));
  }
  return &out;
}

BufferTable buffer_table(const SharedBuffer& b) {
  BufferTable t;
  int64_t n = 1;
  for (const Axis& a : b.axes) t.extents.push_back(a.extent), n *= a.extent;
  t.strides.assign(b.axes.size(), 1);
  for (size_t a = b.axes.size(); a-- > 1;) t.strides[a - 1] = t.strides[a] * b.axes[a].extent;
  t.offset.assign(size_t(n), -1);
  const int bits = b.place.map.in_bits("offset");
  const Coordinates coordinates(b.place, b.axes);
  Points point;
  point.at.assign(b.axes.size(), std::vector<int32_t>(1));
  std::vector<int64_t> inputs(b.place.map.in().size(), 0);
  for (int64_t o = 0; o < std::max<int64_t>(1, b.place.elements()); ++o) {
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i] = b.place.map.in()[i].name == "offset" ? o & ((int64_t(1) << bits) - 1) : 0;
    for (size_t a = 0; a < b.axes.size(); ++a)
      point.at[a][0] = coordinates.at(a, o >> bits, inputs);
    const int32_t e = element_of(b.axes, point, 0);
    t.logical.push_back(e);
    if (e >= 0 && t.offset[size_t(e)] < 0) t.offset[size_t(e)] = int32_t(o);
  }
  return t;
}

Share copy_share(const SharedBuffer& b, const BufferTable& t, int vector, int warps, int warp) {
  Share s;
  for (const Axis& a : b.axes) s.points.axes.push_back(a.name);
  s.points.at.resize(b.axes.size());
  const int64_t chunk = std::max(1, vector / std::max(1, type_bytes(b.elem)));
  for (size_t o = 0; o < t.logical.size(); ++o) {
    const int32_t e = t.logical[o];
    const int64_t thread = warps == 0 ? 0 : int64_t(o) / chunk % (warps * kLanes);
    if (e < 0 || t.offset[size_t(e)] != int32_t(o) || (warps > 0 && thread / kLanes != warp))
      continue;
    s.logical.push_back(e);
    s.lane.push_back(uint8_t(thread % kLanes));
    for (size_t a = 0; a < b.axes.size(); ++a)
      s.points.at[a].push_back(int32_t(e / t.strides[a] % t.extents[a]));
  }
  s.points.count = s.logical.size();
  return s;
}

}  // namespace nautilus::memory
