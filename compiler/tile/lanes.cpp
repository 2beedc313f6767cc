#include "compiler/tile/lanes.h"

#include <algorithm>

namespace nautilus::tile {
namespace {

int64_t wrap_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t wrap_mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

int64_t combine(IndexExpr::Kind k, int64_t d, int64_t a, int64_t b) {
  switch (k) {
    case IndexExpr::Kind::FloorDiv:
      return floor_div(a, d);
    case IndexExpr::Kind::Mod:
      return a - wrap_mul(floor_div(a, d), d);
    case IndexExpr::Kind::Min:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

}  // namespace

struct LaneIndex::Inner {
  IndexExpr::Kind kind;
  int64_t divisor;
  LaneIndex a, b;
};

LaneSpace::LaneSpace(const std::vector<Axis>& a) : axes(a) {
  for (const Axis& x : axes) lanes *= x.extent;
}

int Scalars::slot(const std::string& name) {
  auto [it, fresh] = slots.emplace(name, int(values.size()));
  if (fresh) values.push_back(0);
  return it->second;
}

LaneIndex::LaneIndex(const IndexExpr& e, const LaneSpace& space, Scalars& scalars) {
  add(e, 1, space, scalars);
}

void LaneIndex::add(const IndexExpr& e, int64_t scale, const LaneSpace& space, Scalars& scalars) {
  switch (e.kind()) {
    case IndexExpr::Kind::Const:
      constant_ = wrap_add(constant_, wrap_mul(scale, e.constant()));
      return;
    case IndexExpr::Kind::Mul:
      return add(e.args()[0], wrap_mul(scale, e.constant()), space, scalars);
    case IndexExpr::Kind::Add:
      for (const IndexExpr& a : e.args()) add(a, scale, space, scalars);
      return;
    case IndexExpr::Kind::Var: {
      auto axis = std::find_if(space.axes.begin(), space.axes.end(),
                               [&](const Axis& a) { return a.name == e.name(); });
      if (axis == space.axes.end()) {
        scalars_.emplace_back(scale, scalars.slot(e.name()));
      } else {
        axes_.emplace_back(scale, int(axis - space.axes.begin()));
        uniform_ = false;
      }
      return;
    }
    default:
      break;
  }
  auto inner = std::make_shared<Inner>();
  inner->kind = e.kind();
  inner->divisor = e.constant();
  inner->a = LaneIndex(e.args()[0], space, scalars);
  if (e.args().size() > 1) inner->b = LaneIndex(e.args()[1], space, scalars);
  uniform_ = uniform_ && inner->a.uniform_ && inner->b.uniform_;
  inner_.emplace_back(scale, std::move(inner));
}

int64_t LaneIndex::scalar(const Scalars& s) const {
  int64_t v = constant_;
  for (auto [c, slot] : scalars_) v = wrap_add(v, wrap_mul(c, s.values[size_t(slot)]));
  for (const auto& [c, n] : inner_)
    if (n->a.uniform_ && n->b.uniform_)
      v = wrap_add(v, wrap_mul(c, combine(n->kind, n->divisor, n->a.scalar(s), n->b.scalar(s))));
  return v;
}

void LaneIndex::evaluate(const Scalars& s, const LaneSpace& space, int64_t* out) const {
  std::fill(out, out + space.lanes, scalar(s));
  for (auto [c, axis] : axes_) {
    const int64_t extent = space.axes[size_t(axis)].extent;
    int64_t inner = 1;
    for (size_t a = size_t(axis) + 1; a < space.axes.size(); ++a) inner *= space.axes[a].extent;
    for (int64_t first = 0; first < space.lanes; first += extent * inner)
      for (int64_t x = 0; x < extent; ++x) {
        const int64_t add = wrap_mul(c, x);
        int64_t* row = out + first + x * inner;
        for (int64_t l = 0; l < inner; ++l) row[l] = wrap_add(row[l], add);
      }
  }
  for (const auto& [c, n] : inner_) {
    if (n->a.uniform_ && n->b.uniform_) continue;
    std::vector<int64_t> a(size_t(space.lanes)), b(size_t(space.lanes));
    n->a.evaluate(s, space, a.data());
    n->b.evaluate(s, space, b.data());
    for (size_t l = 0; l < a.size(); ++l)
      out[l] = wrap_add(out[l], wrap_mul(c, combine(n->kind, n->divisor, a[l], b[l])));
  }
}

LaneCond::LaneCond(const Cond& c, const LaneSpace& space, Scalars& scalars)
    : always_(c.is_always()) {
  if (always_) return;
  for (const Cond::Conj& conj : c.any) {
    any_.emplace_back();
    for (const Cond::Atom& a : conj) {
      any_.back().push_back({LaneIndex(a.expr, space, scalars), a.equality});
      uniform_ = uniform_ && any_.back().back().value.uniform();
    }
  }
}

bool LaneCond::scalar(const Scalars& s) const {
  return always_ || std::any_of(any_.begin(), any_.end(), [&](const std::vector<Atom>& conj) {
           return std::all_of(conj.begin(), conj.end(), [&](const Atom& a) {
             const int64_t v = a.value.scalar(s);
             return a.equality ? v == 0 : v >= 0;
           });
         });
}

void LaneCond::evaluate(const Scalars& s, const LaneSpace& space, uint8_t* out) const {
  const size_t n = size_t(space.lanes);
  if (uniform_) {
    std::fill(out, out + n, uint8_t(scalar(s)));
    return;
  }
  std::fill(out, out + n, uint8_t(0));
  std::vector<int64_t> v(n);
  std::vector<uint8_t> all(n);
  for (const auto& conj : any_) {
    std::fill(all.begin(), all.end(), uint8_t(1));
    for (const Atom& a : conj) {
      a.value.evaluate(s, space, v.data());
      for (size_t l = 0; l < n; ++l) all[l] &= uint8_t(a.equality ? v[l] == 0 : v[l] >= 0);
    }
    for (size_t l = 0; l < n; ++l) out[l] |= all[l];
  }
}

std::vector<int32_t> broadcast_table(const std::vector<Axis>& of, const LaneSpace& space) {
  if (of == space.axes) return {};
  if (of.empty()) return {0};
  std::vector<int32_t> table(size_t(space.lanes), 0);
  int64_t stride = 1;
  for (size_t n = of.size(); n-- > 0; stride *= of[n].extent) {
    int64_t inner = 1, extent = 1;
    for (size_t a = space.axes.size();
         a-- > 0 && (extent = space.axes[a].extent, space.axes[a].name != of[n].name);)
      inner *= extent;
    for (int64_t l = 0; l < space.lanes; ++l)
      table[size_t(l)] += int32_t(l / inner % extent * stride);
  }
  return table;
}

}  // namespace nautilus::tile
