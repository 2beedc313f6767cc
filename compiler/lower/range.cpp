#include "compiler/lower/range.h"

#include <algorithm>

namespace nautilus::lower {
namespace {

// Absent on overflow: an unknown bound is always sound.
std::optional<int64_t> add(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t r = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &r)) return {};
  return r;
}
std::optional<int64_t> mul(std::optional<int64_t> a, int64_t c) {
  int64_t r = 0;
  if (!a || __builtin_mul_overflow(*a, c, &r)) return {};
  return r;
}

// min/max of two intervals' lower or upper ends; `both`: the result needs both ends to be known.
std::optional<int64_t> pick(std::optional<int64_t> a, std::optional<int64_t> b, bool smaller,
                            bool both) {
  if (a && b) return smaller ? std::min(*a, *b) : std::max(*a, *b);
  if (both) return {};
  return a ? a : b;
}

// The variable of e that is put at an end next: it has one over others, and no variable beside it
// is bounded by it.
std::optional<std::string> innermost(const IndexExpr& e, const Ranges& vars) {
  std::vector<std::string> names;
  e.collect_vars(names);
  const auto mentions = [](const std::optional<IndexExpr>& bound, const std::string& name) {
    std::vector<std::string> in;
    if (bound) bound->collect_vars(in);
    return std::find(in.begin(), in.end(), name) != in.end();
  };
  for (const std::string& name : names) {
    const auto at = vars.find(name);
    const int64_t c = e.coefficient(name);
    if (at == vars.end() || c == 0 || !(c > 0 ? at->second.from : at->second.to)) continue;
    const bool inner = std::none_of(names.begin(), names.end(), [&](const std::string& other) {
      const auto o = vars.find(other);
      return other != name && o != vars.end() &&
             (mentions(o->second.from, name) || mentions(o->second.to, name));
    });
    if (inner) return name;
  }
  return {};
}

// e >= 0 with variables at the end where e is least.
bool least_is_positive(IndexExpr e, const Ranges& vars) {
  for (int step = 0; step < 16; ++step) {
    const auto name = innermost(e, vars);
    if (!name) return false;
    const int64_t c = e.coefficient(*name);
    const Range& r = vars.at(*name);
    e = e - IndexExpr::var(*name) * c + (c > 0 ? *r.from : *r.to) * c;
    const auto lo = range_of(e, vars).lo;
    if (lo && *lo >= 0) return true;
  }
  return false;
}

}  // namespace

Range range_of(const IndexExpr& e, const Ranges& vars) {
  using Kind = IndexExpr::Kind;
  switch (e.kind()) {
    case Kind::Const:
      return {e.constant(), e.constant()};
    case Kind::Var: {
      auto it = vars.find(e.name());
      return it == vars.end() ? Range{} : Range{it->second.lo, it->second.hi};
    }
    case Kind::Add: {
      Range r{0, 0};
      for (const IndexExpr& a : e.args()) {
        Range t = range_of(a, vars);
        r = {add(r.lo, t.lo), add(r.hi, t.hi)};
      }
      return r;
    }
    case Kind::Mul: {
      Range t = range_of(e.args()[0], vars);
      Range r{mul(t.lo, e.constant()), mul(t.hi, e.constant())};
      if (e.constant() < 0) std::swap(r.lo, r.hi);
      return r;
    }
    case Kind::FloorDiv: {
      Range t = range_of(e.args()[0], vars);
      Range r;
      if (t.lo) r.lo = floor_div(*t.lo, e.constant());
      if (t.hi) r.hi = floor_div(*t.hi, e.constant());
      return r;
    }
    case Kind::Mod: {
      Range t = range_of(e.args()[0], vars);
      const int64_t d = e.constant();
      if (t.lo && t.hi && floor_div(*t.lo, d) == floor_div(*t.hi, d)) {
        const int64_t base = floor_div(*t.lo, d) * d;
        return {*t.lo - base, *t.hi - base};
      }
      return {0, d - 1};
    }
    case Kind::Min: {
      Range a = range_of(e.args()[0], vars), b = range_of(e.args()[1], vars);
      return {pick(a.lo, b.lo, true, true), pick(a.hi, b.hi, true, false)};
    }
    case Kind::Max: {
      Range a = range_of(e.args()[0], vars), b = range_of(e.args()[1], vars);
      return {pick(a.lo, b.lo, false, false), pick(a.hi, b.hi, false, true)};
    }
  }
  return {};
}

bool always_holds(const Cond::Atom& a, const Ranges& vars) {
  Range r = range_of(a.expr, vars);
  if (a.equality) return r.lo && r.hi && *r.lo == 0 && *r.hi == 0;
  return (r.lo && *r.lo >= 0) || least_is_positive(a.expr, vars);
}

bool never_holds(const Cond::Atom& a, const Ranges& vars) {
  Range r = range_of(a.expr, vars);
  if (r.hi && *r.hi < 0) return true;
  if (least_is_positive(IndexExpr(-1) - a.expr, vars)) return true;
  return a.equality && r.lo && *r.lo > 0;
}

Cond simplify(const Cond& c, const Ranges& vars) {
  Cond out;
  for (const Cond::Conj& conj : c.any) {
    Cond::Conj kept;
    bool possible = true;
    for (const Cond::Atom& a : conj) {
      if (never_holds(a, vars)) possible = false;
      if (!always_holds(a, vars)) kept.push_back(a);
    }
    if (!possible) continue;
    if (kept.empty()) return Cond::always();
    out.any.push_back(std::move(kept));
  }
  return out;
}

namespace {

// factor * v + constant, of one variable.
struct Line {
  std::string name;
  int64_t factor = 0, constant = 0;
};
std::optional<Line> line(const IndexExpr& e) {
  using Kind = IndexExpr::Kind;
  switch (e.kind()) {
    case Kind::Const:
      return Line{"", 0, e.constant()};
    case Kind::Var:
      return Line{e.name(), 1, 0};
    case Kind::Mul: {
      auto l = line(e.args()[0]);
      if (l) l->factor *= e.constant(), l->constant *= e.constant();
      return l;
    }
    case Kind::Add: {
      Line sum;
      for (const IndexExpr& a : e.args()) {
        const auto l = line(a);
        if (!l || (!sum.name.empty() && !l->name.empty() && sum.name != l->name))
          return std::nullopt;
        if (!l->name.empty()) sum.name = l->name;
        sum.factor += l->factor, sum.constant += l->constant;
      }
      return sum;
    }
    default:
      return std::nullopt;
  }
}

// Variables where e >= 0.
void narrow(Ranges& ranges, const IndexExpr& e) {
  const auto l = line(e);
  if (!l || l->name.empty() || l->factor == 0 || !ranges.count(l->name)) return;
  Range& r = ranges[l->name];
  if (l->factor > 0) {
    const int64_t least = -floor_div(l->constant, l->factor);  // v >= -constant / factor, up
    r.lo = r.lo ? std::max(*r.lo, least) : least;
  } else {
    const int64_t most = floor_div(l->constant, -l->factor);
    r.hi = r.hi ? std::min(*r.hi, most) : most;
  }
}

}  // namespace

Ranges ranges_where(Ranges ranges, const Cond& c, bool holds) {
  if (c.any.size() != 1 || (!holds && c.any[0].size() != 1)) return ranges;
  for (const Cond::Atom& a : c.any[0]) {
    if (!a.equality) {
      narrow(ranges, holds ? a.expr : IndexExpr(-1) - a.expr);
    } else if (holds) {
      narrow(ranges, a.expr);
      narrow(ranges, IndexExpr(0) - a.expr);
    } else if (always_holds({a.expr, false}, ranges)) {
      narrow(ranges, a.expr - IndexExpr(1));  // not at its lower end
    } else if (always_holds({IndexExpr(0) - a.expr, false}, ranges)) {
      narrow(ranges, IndexExpr(-1) - a.expr);  // not at its upper end
    }
  }
  return ranges;
}

}  // namespace nautilus::lower
