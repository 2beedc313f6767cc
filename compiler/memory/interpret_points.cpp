#include "compiler/memory/interpret_points.h"

#include <algorithm>

namespace nautilus::memory {
namespace {

// Addresses that overflow wrap, and are then outside what they index.
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

int Names::slot(const std::string& name) {
  return slots.emplace(name, int(slots.size())).first->second;
}

struct PointIndex::Inner {
  IndexExpr::Kind kind;
  int64_t divisor;
  PointIndex a, b;
};

PointIndex::PointIndex(const IndexExpr& e, const std::vector<std::string>& axes, Names& names) {
  add(e, 1, axes, names);
}

// Adds scale * e: a sum of uniform integers, of axes, and of what is not affine.
void PointIndex::add(const IndexExpr& e, int64_t scale, const std::vector<std::string>& axes,
                     Names& names) {
  switch (e.kind()) {
    case IndexExpr::Kind::Const:
      constant_ = wrap_add(constant_, wrap_mul(scale, e.constant()));
      return;
    case IndexExpr::Kind::Mul:
      return add(e.args()[0], wrap_mul(scale, e.constant()), axes, names);
    case IndexExpr::Kind::Add:
      for (const IndexExpr& a : e.args()) add(a, scale, axes, names);
      return;
    case IndexExpr::Kind::Var: {
      const auto axis = std::find(axes.begin(), axes.end(), e.name());
      if (axis == axes.end()) {
        scalars_.emplace_back(scale, names.slot(e.name()));
      } else {
        axes_.emplace_back(scale, int(axis - axes.begin()));
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
  inner->a = PointIndex(e.args()[0], axes, names);
  if (e.args().size() > 1) inner->b = PointIndex(e.args()[1], axes, names);
  uniform_ = uniform_ && inner->a.uniform_ && inner->b.uniform_;
  inner_.emplace_back(scale, std::move(inner));
}

int64_t PointIndex::scalar(const Env& env) const {
  int64_t v = constant_;
  for (auto [c, slot] : scalars_) v = wrap_add(v, wrap_mul(c, env[size_t(slot)]));
  for (const auto& [c, n] : inner_)
    if (n->a.uniform_ && n->b.uniform_)
      v = wrap_add(v,
                   wrap_mul(c, combine(n->kind, n->divisor, n->a.scalar(env), n->b.scalar(env))));
  return v;
}

void PointIndex::evaluate(const Env& env, const Points& points, std::vector<int64_t>& out) const {
  out.assign(points.count, scalar(env));
  for (auto [c, axis] : axes_) {
    const std::vector<int32_t>& at = points.at[size_t(axis)];
    for (size_t p = 0; p < out.size(); ++p) out[p] = wrap_add(out[p], wrap_mul(c, at[p]));
  }
  for (const auto& [c, n] : inner_) {
    if (n->a.uniform_ && n->b.uniform_) continue;
    std::vector<int64_t> a, b;
    n->a.evaluate(env, points, a);
    n->b.evaluate(env, points, b);
    for (size_t p = 0; p < out.size(); ++p)
      out[p] = wrap_add(out[p], wrap_mul(c, combine(n->kind, n->divisor, a[p], b[p])));
  }
}

PointCond::PointCond(const Cond& c, const std::vector<std::string>& axes, Names& names)
    : always_(c.is_always()) {
  if (always_) return;
  for (const Cond::Conj& conj : c.any) {
    any_.emplace_back();
    for (const Cond::Atom& a : conj) {
      any_.back().push_back({PointIndex(a.expr, axes, names), a.equality});
      uniform_ = uniform_ && any_.back().back().value.uniform();
    }
  }
}

bool PointCond::scalar(const Env& env) const {
  return always_ || std::any_of(any_.begin(), any_.end(), [&](const std::vector<Atom>& conj) {
           return std::all_of(conj.begin(), conj.end(), [&](const Atom& a) {
             const int64_t v = a.value.scalar(env);
             return a.equality ? v == 0 : v >= 0;
           });
         });
}

void PointCond::evaluate(const Env& env, const Points& points, std::vector<uint8_t>& out) const {
  if (uniform_) {
    out.assign(points.count, uint8_t(scalar(env)));
    return;
  }
  out.assign(points.count, 0);
  std::vector<int64_t> v;
  std::vector<uint8_t> all;
  for (const auto& conj : any_) {
    all.assign(points.count, 1);
    for (const Atom& a : conj) {
      a.value.evaluate(env, points, v);
      for (size_t p = 0; p < v.size(); ++p) all[p] &= uint8_t(a.equality ? v[p] == 0 : v[p] >= 0);
    }
    for (size_t p = 0; p < all.size(); ++p) out[p] |= all[p];
  }
}

}  // namespace nautilus::memory
