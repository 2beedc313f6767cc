// Coordinates of elements, and conditions on them.
#include <algorithm>

#include "compiler/backend/cuda/emitter.h"

namespace nautilus::cuda {
namespace {

Facts with_axes(const Facts& facts, const std::vector<Axis>& axes) {
  Facts f = facts;
  for (const Axis& a : axes) f.ranges[a.name] = {0, a.extent - 1};
  return f;
}

bool names_axis(const IndexExpr& e, const std::string& axis) {
  std::vector<std::string> vars;
  e.collect_vars(vars);
  return std::find(vars.begin(), vars.end(), axis) != vars.end();
}

}  // namespace

KernelEmitter::Affine KernelEmitter::split(const IndexExpr& e,
                                           const std::vector<Axis>& axes) const {
  Affine out;
  out.uniform = e;
  for (const Axis& a : axes) {
    if (!names_axis(out.uniform, a.name)) continue;
    const int64_t c = out.uniform.coefficient(a.name);
    out.uniform = out.uniform - IndexExpr::var(a.name) * c;
    if (c) out.axes[a.name] = c;
    if (names_axis(out.uniform, a.name)) out.affine = false;
  }
  return out;
}

// What lane and warp decide of a coordinate.
std::string KernelEmitter::thread_part(const Geometry& g, const std::string& axis) {
  auto any = [](const std::vector<uint64_t>& v) {
    return std::any_of(v.begin(), v.end(), [](uint64_t x) { return x != 0; });
  };
  const auto &lanes = g.lane.at(axis), &warps = g.warp.at(axis);
  std::string l, w;
  uint64_t lane_bits = 0, warp_bits = 0;
  for (uint64_t v : lanes) lane_bits |= v;
  for (uint64_t v : warps) warp_bits |= v;
  if (any(lanes)) l = bits_text("lane", lanes);
  if (any(warps)) {
    const int held = 1 << warps.size();
    w = bits_text(role_->warps == held ? "warp" : "(warp & " + std::to_string(held - 1) + ")",
                  warps);
  }
  if (l.empty() && w.empty()) return "0";
  const std::string e = l.empty()               ? w
                        : w.empty()             ? l
                        : lane_bits & warp_bits ? in_parens(l) + " ^ " + in_parens(w)
                                                : sum_text({w, l});
  return hoist("int", layout_name(g) + "_" + axis, e);
}

std::string KernelEmitter::coordinate(const Geometry& g, const std::string& axis, const Pick& p) {
  const std::string thread = thread_part(g, axis), reg = pick(p, g.at.at(axis));
  if (thread == "0" || reg == "0" || g.apart(axis)) return sum_text({thread, reg});
  return "(" + in_parens(thread) + " ^ " + in_parens(reg) + ")";
}

std::string KernelEmitter::element(const IndexExpr& e, const std::vector<Axis>& axes,
                                   const Coordinate& at) {
  auto names = text_;
  for (const Axis& a : axes)
    if (names_axis(e, a.name)) names[a.name] = at(a.name);
  return index_text(e, names, with_axes(facts_, axes));
}

KernelEmitter::Atoms KernelEmitter::simplify(const Cond& c, const std::vector<Axis>& axes) const {
  const Facts facts = with_axes(facts_, axes);
  Atoms out;
  out.never = true;
  for (const Cond::Conj& conj : c.any) {
    Cond::Conj left;
    bool never = false;
    for (const Cond::Atom& a : conj) {
      if (facts.always(a)) continue;
      const Range r = facts.range(a.expr);
      never = never || (r.high && *r.high < 0);
      if (std::find(left.begin(), left.end(), a) == left.end()) left.push_back(a);
    }
    if (never) continue;
    out.never = false;
    if (left.empty()) return {};
    out.any.push_back(std::move(left));
  }
  return out;
}

// Bounds are computed here, once; what is tested for an element is a comparison with them.
KernelEmitter::CoordinateTest KernelEmitter::ready(const Atoms& c, const std::vector<Axis>& axes) {
  if (c.never) return [](const Coordinate&) { return std::string("false"); };
  std::vector<std::vector<CoordinateTest>> any;
  for (const Cond::Conj& conj : c.any) {
    any.emplace_back();
    for (const Cond::Atom& a : conj) {
      const Affine s = split(a.expr, axes);
      if (s.affine && s.axes.empty()) {
        std::string e = uniform(a.expr);
        if (a.equality && e.starts_with("-")) e = uniform(IndexExpr(0) - a.expr);
        const std::string t = in_parens(e) + (a.equality ? " == 0" : " >= 0");
        any.back().push_back([t](const Coordinate&) { return t; });
      } else if (s.affine && s.axes.size() == 1 && std::abs(s.axes.begin()->second) == 1) {
        const auto& [axis, sign] = *s.axes.begin();
        const std::string name = axis;
        const std::string bound = local("const int",
                                        name + (a.equality ? "_at"
                                                : sign < 0 ? "_last"
                                                           : "_first"),
                                        uniform(sign < 0 ? s.uniform : IndexExpr(0) - s.uniform));
        const std::string op = a.equality ? " == " : sign < 0 ? " <= " : " >= ";
        any.back().push_back([=](const Coordinate& at) { return at(name) + op + bound; });
      } else {
        const std::string zero = a.equality ? " == 0" : " >= 0";
        const IndexExpr e = a.expr;
        any.back().push_back([this, e, axes, zero](const Coordinate& at) {
          return in_parens(element(e, axes, at)) + zero;
        });
      }
    }
  }
  return [any](const Coordinate& at) {
    std::string s;
    for (const auto& conj : any) {
      std::string t;
      for (const CoordinateTest& f : conj) t += (t.empty() ? "" : " && ") + f(at);
      s += (s.empty() ? "" : " || ") + (any.size() > 1 && conj.size() > 1 ? "(" + t + ")" : t);
    }
    return s;
  };
}

namespace {

Cond with_padding(const Cond& c, const Geometry& g) {
  Cond out = c;
  for (const Axis& a : g.axes)
    if (g.padded(a.name))
      for (Cond::Conj& conj : out.any)
        conj.push_back({IndexExpr(a.extent - 1) - IndexExpr::var(a.name), false});
  return out;
}

// Axes as far as their placement reaches.
std::vector<Axis> reached(const Geometry& g) {
  std::vector<Axis> axes = g.axes;
  for (Axis& a : axes) a.extent = g.place.extent(a.name);
  return axes;
}

}  // namespace

// With padding: elements beyond the tile's extents fail.
KernelEmitter::Test KernelEmitter::test(const Cond& c, const Geometry& g, bool padding) {
  const std::vector<Axis> axes = reached(g);
  const Atoms atoms = simplify(padding ? with_padding(c, g) : c, axes);
  if (!atoms.never && atoms.any.empty()) return [](const Pick&) { return std::string(); };
  const CoordinateTest f = ready(atoms, axes);
  return [this, f, &g](const Pick& p) {
    return f([&](const std::string& axis) { return coordinate(g, axis, p); });
  };
}

// The condition has one answer for each aligned group of elements along an axis.
bool KernelEmitter::same_along(const Atoms& c, const std::string& axis, int64_t elements) const {
  for (const Cond::Conj& conj : c.any)
    for (const Cond::Atom& a : conj) {
      if (!names_axis(a.expr, axis)) continue;
      const int64_t k = a.expr.coefficient(axis);
      const IndexExpr rest = a.expr - IndexExpr::var(axis) * k;
      if (a.equality || std::abs(k) != 1 || names_axis(rest, axis)) return false;
      if (facts_.divisor(k < 0 ? rest + 1 : rest) % elements) return false;
    }
  return true;
}

}  // namespace nautilus::cuda
