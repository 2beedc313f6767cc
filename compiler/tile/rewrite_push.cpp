#include "compiler/tile/rewrite_push.h"

#include <algorithm>
#include <cmath>

#include "compiler/tile/rewrite_rules.h"

namespace nautilus::tile::rw {
namespace {
constexpr int kMaxDepth = 6;
constexpr size_t kMaxProducts = 24;
}  // namespace

bool is_guarded(const Graph& g, ClassId c, ClassId f) {
  if (g.find(c) == g.find(f)) return true;
  for (const ENode& n : g.nodes(c)) {
    if (g.info(n).kind != Kind::Map || g.info(n).op != Op::Select ||
        g.find(n.children[2]) != g.find(f) || !g.constant(n.children[1]))
      continue;
    for (const ENode& e : g.nodes(n.children[0]))
      if (g.info(e).kind == Kind::Map && g.info(e).op == Op::Eq)
        for (size_t k : {0, 1})
          if (g.find(e.children[k]) == g.find(f) && g.is(e.children[1 - k], 0)) return true;
  }
  return false;
}

// Least fixed point: a class is free of x if one of its nodes has only operands that are.
void Pusher::find_free() {
  const auto classes = g_.eg.classes();
  free_.assign(classes.empty() ? 0 : size_t(classes.back()) + 1, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (ClassId c : classes) {
      if (free_[c] || c == x_) continue;
      for (const ENode& n : g_.nodes(c))
        if (std::all_of(n.children.begin(), n.children.end(),
                        [&](ClassId k) { return free_[g_.find(k)]; })) {
          free_[c] = 1;
          changed = true;
          break;
        }
    }
  }
}

std::optional<ClassId> Pusher::push(ClassId v, Factor now, bool assumed) {
  v = g_.find(v);
  const Key key{v, g_.find(now.f), now.inverse, assumed};
  if (auto it = done_.find(key); it != done_.end()) return it->second;
  if (v >= free_.size() || busy_.size() > 60 || !busy_.insert(key).second) return std::nullopt;
  const int64_t before = choices_cut_;
  const auto r = push_new(v, now, assumed);
  busy_.erase(key);
  if (r || choices_cut_ == before) done_[key] = r;  // elsewhere it may be possible
  return r;
}

std::optional<ClassId> Pusher::push_new(ClassId v, Factor now, bool assumed) {
  g_.hint = v;
  g_.has_hint = true;
  if (same(v, x_)) {
    if (assumed) return z_;
    return push_x(now, 0);
  }
  if (g_.constant(v)) return push_constant(v, now);
  const std::vector<ENode> nodes(g_.nodes(v).begin(), g_.nodes(v).end());
  for (const ENode& n : nodes)
    if (auto r = push_node(v, n, now, assumed)) return r;
  for (const Terms& t : std::vector<Terms>(products(v, false, 0)))
    if (t.size() > 1 || t[0].inverse)
      if (auto r = push_product(t, now, assumed)) return r;
  // A constant may simply be multiplied into what does not contain x.
  if (auto c = g_.constant(now.f); c && free_[v] && !now.inverse)
    return g_.map(Op::Mul, {v, now.f});
  return std::nullopt;
}

// x * now where the factor is the old one, or was made from it: scaled, chosen, or by a branch.
std::optional<ClassId> Pusher::push_x(Factor now, int depth) {
  if (same(now.f, old_.f)) return z_;
  if (depth > kMaxDepth || g_.constant(now.f)) return std::nullopt;
  const std::vector<ENode> nodes(g_.nodes(now.f).begin(), g_.nodes(now.f).end());
  for (const ENode& n : nodes) {
    const NodeInfo i = g_.info(n);
    const bool choice = i.kind == Kind::Map && i.op == Op::Select;
    if (!choice && i.kind != Kind::IfResult) continue;
    const size_t first = choice ? 1 : 0;
    const auto a = push_x({n.children[first], now.inverse}, depth + 1);
    const auto b = a ? push_x({n.children[first + 1], now.inverse}, depth + 1) : std::nullopt;
    if (!a || !b || g_.at(*a).elem != g_.at(*b).elem) continue;
    return choice ? g_.map(Op::Select, {n.children[0], *a, *b})
                  : g_.branch_result(i.control, *a, *b);
  }
  for (Terms t : std::vector<Terms>(products(now.f, false, 0))) {
    const auto old = std::find_if(t.begin(), t.end(), [&](const Term& term) {
      return same(term.c, old_.f) && !term.inverse;
    });
    if (old == t.end() || t.size() < 2 ||
        !std::all_of(t.begin(), t.end(), [&](const Term& term) { return free_of_x(term.c); }))
      continue;
    for (Term& term : t) term.inverse ^= now.inverse;
    *old = {z_, false};
    return build(t, g_.at(x_).elem);
  }
  return std::nullopt;
}

std::optional<ClassId> Pusher::push_constant(ClassId v, Factor now) {
  const double k = *g_.constant(v);
  if (k == 0) return v;
  const auto c = g_.constant(now.f);
  if (!c || now.inverse) return std::nullopt;
  return g_.derived_constant(k * *c, g_.at(v).elem);
}

std::optional<ClassId> Pusher::push_node(ClassId, const ENode& n, Factor now, bool assumed) {
  const NodeInfo i = g_.info(n);
  const auto constant = g_.constant(now.f);
  const bool monotone = constant && *constant > 0 && !now.inverse;
  auto both = [&](size_t a, size_t b) -> std::optional<std::vector<ClassId>> {
    std::vector<ClassId> out = n.children;
    for (size_t k : {a, b}) {
      const auto r = push(n.children[k], now, assumed);
      if (!r || g_.at(*r).elem != g_.at(n.children[k]).elem) return std::nullopt;
      out[k] = *r;
    }
    return out;
  };
  switch (i.kind) {
    case Kind::Map:
      if (i.op == Op::Add || i.op == Op::Sub ||
          ((i.op == Op::Max || i.op == Op::Min) && monotone)) {
        if (auto c = both(0, 1)) return g_.map(i.op, *c);
      } else if (i.op == Op::Neg) {
        if (auto r = push(n.children[0], now, assumed)) return g_.map(Op::Neg, {*r});
      } else if (i.op == Op::Select) {
        const bool equal = guards_equality(n.children[0], now.f, old_.f);
        auto a = push(n.children[1], now, assumed || equal);
        const auto b = push(n.children[2], now, assumed);
        if (b)  // there the factor is something else as well
          for (ClassId other : equals(n.children[0], now.f))
            if (!a) a = push(n.children[1], {other, now.inverse}, assumed);
        if (a && b) return g_.map(Op::Select, {n.children[0], *a, *b});
      }
      return std::nullopt;
    case Kind::Mask:
      if (auto c = both(0, 1)) return g_.same(n, *c);
      return std::nullopt;
    case Kind::Reduce: {
      const auto op = i.proto->reduce;
      const bool sum = op == poly::ReduceOp::Sum && !(g_.at(now.f).axes & i.axes);
      const bool extremum = (op == poly::ReduceOp::Max || op == poly::ReduceOp::Min) && monotone;
      if (!sum && !extremum) return std::nullopt;
      if (!free_[g_.find(n.children[0])]) return std::nullopt;
      if (auto r = push(n.children[0], now, assumed); r && is_float(g_.at(*r).elem))
        return g_.same(n, {*r});
      return std::nullopt;
    }
    case Kind::Dot:
      if (g_.at(now.f).axes & i.axes) return std::nullopt;
      for (size_t side : {0, 1}) {
        if (!free_[g_.find(n.children[side])]) continue;
        // A constant would only add a product here; the factor must cancel.
        if (constant) continue;
        if (auto r = push(n.children[side], now, assumed)) {
          std::vector<ClassId> c = n.children;
          c[side] = *r;
          return g_.same(n, c);
        }
      }
      return std::nullopt;
    case Kind::Cast:  // narrowing rounds before the factor is applied
      if (g_.numerics == Numerics::Fast && is_float(i.elem) && !constant)
        if (auto r = push(n.children[0], now, assumed)) return g_.cast(*r, i.elem);
      return std::nullopt;
    case Kind::IfResult: {
      const ENode* f = nullptr;  // the factor may itself be a result of this branch
      for (const ENode& m : g_.nodes(now.f))
        if (g_.info(m).kind == Kind::IfResult && g_.info(m).control == i.control) f = &m;
      const std::vector<ClassId> sides = f ? f->children : std::vector<ClassId>{now.f, now.f};
      const auto a = push(n.children[0], {sides[0], now.inverse}, assumed);
      const auto b = push(n.children[1], {sides[1], now.inverse}, assumed);
      if (a && b && g_.at(*a).elem == g_.at(*b).elem) return g_.branch_result(i.control, *a, *b);
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// The ways to read a class as a product of factors and inverses.
const std::vector<Pusher::Terms>& Pusher::products(ClassId v, bool inverse, int depth) const {
  const auto key = std::tuple(g_.find(v), inverse, depth);
  if (auto it = products_.find(key); it != products_.end()) return it->second;
  auto made = new_products(v, inverse, depth);
  return products_.emplace(key, std::move(made)).first->second;
}

std::vector<Pusher::Terms> Pusher::new_products(ClassId v, bool inverse, int depth) const {
  std::vector<Terms> out;
  const auto atom = [&] { out.push_back({{g_.find(v), inverse}}); };
  if (depth > kMaxDepth || same(v, x_) || g_.constant(v)) {
    atom();
    return out;
  }
  auto combine = [&](ClassId a, bool ia, ClassId b, bool ib) {
    for (const Terms& s : products(a, ia, depth + 1))
      for (const Terms& t : products(b, ib, depth + 1)) {
        if (out.size() >= kMaxProducts) return;
        Terms u = s;
        u.insert(u.end(), t.begin(), t.end());
        out.push_back(std::move(u));
      }
  };
  for (const ENode& n : g_.nodes(v)) {
    const NodeInfo& i = g_.info(n);
    if (i.kind != Kind::Map || out.size() >= kMaxProducts) continue;
    if (std::any_of(n.children.begin(), n.children.end(), [&](ClassId k) { return same(k, v); }))
      continue;
    if (i.op == Op::Mul)
      combine(n.children[0], inverse, n.children[1], inverse);
    else if (i.op == Op::Div)
      combine(n.children[0], inverse, n.children[1], !inverse);
    else if (i.op == Op::Recip)
      for (const Terms& t : products(n.children[0], !inverse, depth + 1)) out.push_back(t);
  }
  atom();
  return out;
}

// select(p == q, 1, p/q): the quotient where it is defined, and 1 for 0/0 and inf/inf.
std::optional<std::pair<ClassId, ClassId>> Pusher::guarded_quotient(ClassId c) const {
  for (const ENode& n : g_.nodes(c)) {
    const NodeInfo& i = g_.info(n);
    if (i.kind != Kind::Map || i.op != Op::Select || !g_.is(n.children[1], 1)) continue;
    for (const Terms& t : products(n.children[2], false, kMaxDepth - 1))
      if (t.size() == 2 && t[0].inverse != t[1].inverse) {
        const ClassId p = t[t[0].inverse ? 1 : 0].c, q = t[t[0].inverse ? 0 : 1].c;
        if (guards_equality(n.children[0], p, q)) return std::pair{p, q};
      }
  }
  return std::nullopt;
}

// The guard holds only where a = b.
bool Pusher::guards_equality(ClassId guard, ClassId a, ClassId b, int depth) const {
  if (depth > 4) return false;
  for (const ENode& n : g_.nodes(guard)) {
    const NodeInfo& i = g_.info(n);
    if (i.kind != Kind::Map || n.children.size() != 2) continue;
    if (i.op == Op::Eq && ((same(n.children[0], a) && same(n.children[1], b)) ||
                           (same(n.children[0], b) && same(n.children[1], a))))
      return true;
    if (i.op == Op::And && (guards_equality(n.children[0], a, b, depth + 1) ||
                            guards_equality(n.children[1], a, b, depth + 1)))
      return true;
  }
  return false;
}

// What equals a wherever the guard holds.
std::vector<ClassId> Pusher::equals(ClassId guard, ClassId a, int depth) const {
  std::vector<ClassId> out;
  if (depth > 4) return out;
  for (const ENode& n : g_.nodes(guard)) {
    const NodeInfo& i = g_.info(n);
    if (i.kind != Kind::Map || n.children.size() != 2) continue;
    for (size_t k : {0, 1}) {
      if (i.op == Op::Eq && same(n.children[k], a)) out.push_back(g_.find(n.children[1 - k]));
      if (i.op == Op::And)
        for (ClassId c : equals(n.children[k], a, depth + 1)) out.push_back(c);
    }
  }
  return out;
}

ClassId Pusher::build(const Terms& terms, Type elem) {
  std::optional<ClassId> up, down;
  for (const Term& t : terms) {
    auto& side = t.inverse ? down : up;
    side = side ? g_.map(Op::Mul, {*side, t.c}) : t.c;
  }
  if (!up) up = g_.constant_class(1, elem);
  return down ? g_.map(Op::Div, {*up, *down}) : *up;
}

// terms * now, with the factor cancelled against one term, or passed into one; what contains x, if
// a term does, must meet the old value of the factor, which turns x into z.
std::optional<ClassId> Pusher::push_product(Terms terms, Factor now, bool assumed) {
  const Type elem = g_.at(x_).elem;
  const size_t n = terms.size();
  size_t x_at = n;
  for (size_t k = 0; k < n; ++k) {
    if (free_[g_.find(terms[k].c)]) continue;
    if (x_at < n || terms[k].inverse) return std::nullopt;
    x_at = k;
  }
  // The product with its term in x multiplied by f.
  auto with_x = [&](Terms t, Factor f, bool equal) -> std::optional<ClassId> {
    const ClassId x = terms[x_at].c;
    const auto r = push(x, f, equal);
    if (!r) return std::nullopt;
    std::find_if(t.begin(), t.end(), [&](const Term& term) { return same(term.c, x); })->c = *r;
    return build(t, elem);
  };
  if (x_at < n && (assumed || same(now.f, old_.f))) return with_x(terms, now, assumed);
  // Cancel: against f to the opposite power, or within a guarded quotient, which leaves its other
  // side.
  std::optional<Terms> rest;
  for (size_t k = 0; k < n && !rest; ++k) {
    if (k == x_at) continue;
    Terms others = terms;
    others.erase(others.begin() + long(k));
    // A guarded divisor too: where f is 0, x is z, and nothing is divided.
    if (terms[k].inverse != now.inverse &&
        (same(terms[k].c, now.f) || (terms[k].inverse && is_guarded(g_, terms[k].c, now.f)))) {
      rest = others;
    } else if (auto q = guarded_quotient(terms[k].c)) {
      const bool upside_down = terms[k].inverse;
      const ClassId p = upside_down ? q->second : q->first, d = upside_down ? q->first : q->second;
      if (!now.inverse && same(d, now.f))
        others.push_back({p, false}), rest = others;
      else if (now.inverse && same(p, now.f))
        others.push_back({d, true}), rest = others;
    }
  }
  if (rest && x_at >= n) return build(*rest, elem);
  if (rest)
    for (size_t k = 0; k < rest->size(); ++k)
      if (same((*rest)[k].c, old_.f) && (*rest)[k].inverse == now.inverse) {
        Terms others = *rest;
        others.erase(others.begin() + long(k));
        return with_x(others, {old_.f, now.inverse}, false);
      }
  if (rest && x_at < n)  // something made from the old value of the factor
    for (size_t k = 0; k < rest->size(); ++k) {
      if (same((*rest)[k].c, terms[x_at].c) || (*rest)[k].inverse != now.inverse) continue;
      Terms others = *rest;
      others.erase(others.begin() + long(k));
      if (auto r = with_x(others, {(*rest)[k].c, now.inverse}, false)) return r;
    }
  if (x_at < n && !same(terms[x_at].c, x_))
    if (auto r = with_x(terms, now, assumed)) return r;
  // Into one term; with x, only through a choice, whose branches get all of the product.
  for (size_t k = 0; k < n; ++k) {
    if (k == x_at || terms[k].inverse) continue;
    Terms others = terms;
    others.erase(others.begin() + long(k));
    if (x_at >= n) {
      if (g_.constant(terms[k].c)) continue;
      if (g_.constant(now.f)) continue;
      if (auto r = push(terms[k].c, now, assumed)) {
        others.push_back({*r, false});
        return build(others, elem);
      }
      continue;
    }
    // A branch of a choice may be a product of the choice itself (select(c, a, a), or one whose
    // guard decides nothing): each is gone into once.
    const ClassId choice = g_.find(terms[k].c);
    if (chosen_.size() >= size_t(kMaxDepth) || !chosen_.insert(choice).second) {
      ++choices_cut_;
      continue;
    }
    const std::vector<ENode> nodes(g_.nodes(choice).begin(), g_.nodes(choice).end());
    std::optional<ClassId> made;
    for (const ENode& s : nodes) {
      if (made || g_.info(s).kind != Kind::Map || g_.info(s).op != Op::Select) continue;
      auto branch = [&](ClassId side, Factor by, bool equal) -> std::optional<ClassId> {
        for (const Terms& t : products(side, false, 0)) {
          Terms all = others;
          all.insert(all.end(), t.begin(), t.end());
          if (auto r = push_product(all, by, equal)) return r;
        }
        return std::nullopt;
      };
      const bool equal = guards_equality(s.children[0], now.f, old_.f);
      auto a = branch(s.children[1], now, assumed || equal);
      const auto b = branch(s.children[2], now, assumed);
      if (b)
        for (ClassId other : equals(s.children[0], now.f))
          if (!a) a = branch(s.children[1], {other, now.inverse}, assumed);
      if (a && b) made = g_.map(Op::Select, {s.children[0], *a, *b});
    }
    chosen_.erase(choice);
    if (made) return made;
  }
  return std::nullopt;
}

}  // namespace nautilus::tile::rw
