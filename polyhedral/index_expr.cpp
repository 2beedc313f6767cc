#include "polyhedral/index_expr.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace nautilus {

struct IndexExpr::Node {
  Kind kind = Kind::Const;
  int64_t constant = 0;
  std::string name;
  std::vector<IndexExpr> args;
};

namespace {

using Kind = IndexExpr::Kind;

// Two's complement arithmetic: parsed text may hold any int64, and wrapping is defined where
// overflow is not.
int64_t wrap_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t wrap_mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

int64_t floor_mod(int64_t a, int64_t d) {
  int64_t r = a % d;
  return r < 0 ? r + d : r;
}
uint64_t magnitude(int64_t c) { return c < 0 ? uint64_t(0) - uint64_t(c) : uint64_t(c); }

// Total structural order.
int compare(const IndexExpr& a, const IndexExpr& b) {
  if (a.kind() != b.kind()) return a.kind() < b.kind() ? -1 : 1;
  if (a.kind() == Kind::Var) return a.name().compare(b.name());
  if (a.constant() != b.constant()) return a.constant() < b.constant() ? -1 : 1;
  if (a.args().size() != b.args().size()) return a.args().size() < b.args().size() ? -1 : 1;
  for (size_t i = 0; i < a.args().size(); ++i)
    if (int c = compare(a.args()[i], b.args()[i])) return c;
  return 0;
}

// constant + sum of coefficient * atom, where an atom is a Var, FloorDiv, Mod, Min or Max.
struct Linear {
  int64_t constant = 0;
  std::vector<std::pair<int64_t, IndexExpr>> terms;
};

void add_to(Linear& l, const IndexExpr& e, int64_t scale) {
  switch (e.kind()) {
    case Kind::Const:
      l.constant = wrap_add(l.constant, wrap_mul(scale, e.constant()));
      return;
    case Kind::Mul:
      add_to(l, e.args()[0], wrap_mul(scale, e.constant()));
      return;
    case Kind::Add:
      for (const IndexExpr& a : e.args()) add_to(l, a, scale);
      return;
    default:
      break;
  }
  for (auto& [c, atom] : l.terms)
    if (atom == e) {
      c = wrap_add(c, scale);
      return;
    }
  l.terms.emplace_back(scale, e);
}

Linear linear(const IndexExpr& e) {
  Linear l;
  add_to(l, e, 1);
  return l;
}

void drop_zeros(Linear& l) {
  std::erase_if(l.terms, [](const auto& t) { return t.first == 0; });
}

}  // namespace

IndexExpr::IndexExpr(int64_t c) {
  static const auto zero = std::make_shared<const Node>();
  if (c == 0)
    node_ = zero;
  else
    node_ = std::make_shared<const Node>(Node{Kind::Const, c, {}, {}});
}

IndexExpr IndexExpr::var(std::string name) {
  return IndexExpr(std::make_shared<const Node>(Node{Kind::Var, 0, std::move(name), {}}));
}

IndexExpr::Kind IndexExpr::kind() const { return node_->kind; }
int64_t IndexExpr::constant() const { return node_->constant; }
const std::string& IndexExpr::name() const { return node_->name; }
const std::vector<IndexExpr>& IndexExpr::args() const { return node_->args; }

bool IndexExpr::operator==(const IndexExpr& o) const {
  return node_ == o.node_ || compare(*this, o) == 0;
}

IndexExpr IndexExpr::make(Kind k, int64_t c, std::vector<IndexExpr> args) {
  return IndexExpr(std::make_shared<const Node>(Node{k, c, {}, std::move(args)}));
}

// Normal form of a sum: positive coefficients first, larger ones first, then by structure; constant
// last.
IndexExpr IndexExpr::sum(std::vector<std::pair<int64_t, IndexExpr>> terms, int64_t constant) {
  std::erase_if(terms, [](const auto& t) { return t.first == 0; });
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    if ((a.first > 0) != (b.first > 0)) return a.first > 0;
    if (a.first != b.first) return magnitude(a.first) > magnitude(b.first);
    return compare(a.second, b.second) < 0;
  });
  std::vector<IndexExpr> args;
  for (auto& [c, atom] : terms) args.push_back(c == 1 ? atom : make(Kind::Mul, c, {atom}));
  if (constant != 0 || args.empty()) args.push_back(IndexExpr(constant));
  if (args.size() == 1) return args[0];
  return make(Kind::Add, 0, std::move(args));
}

IndexExpr operator+(IndexExpr a, IndexExpr b) {
  if (a.is_const() && b.is_const()) return IndexExpr(wrap_add(a.constant(), b.constant()));
  Linear l = linear(a);
  add_to(l, b, 1);
  return IndexExpr::sum(std::move(l.terms), l.constant);
}

IndexExpr operator-(IndexExpr a, IndexExpr b) {
  Linear l = linear(a);
  add_to(l, b, -1);
  return IndexExpr::sum(std::move(l.terms), l.constant);
}

IndexExpr operator*(IndexExpr a, int64_t c) {
  Linear l;
  add_to(l, a, c);
  return IndexExpr::sum(std::move(l.terms), l.constant);
}

// floor((d*x + r)/d) = x + floor(r/d); a common factor of what remains and d is cancelled.
IndexExpr IndexExpr::floordiv(IndexExpr a, int64_t d) {
  if (d <= 0) throw std::invalid_argument("floordiv by " + std::to_string(d));
  if (d == 1) return a;
  Linear out, rest;
  Linear l = linear(a);
  drop_zeros(l);
  out.constant = floor_div(l.constant, d);
  rest.constant = floor_mod(l.constant, d);
  int64_t g = d;
  for (auto& [c, atom] : l.terms) {
    if (c % d == 0) {
      out.terms.emplace_back(c / d, atom);
    } else {
      rest.terms.emplace_back(c, atom);
      g = int64_t(std::gcd(uint64_t(g), magnitude(c)));
    }
  }
  if (rest.terms.empty()) return IndexExpr::sum(std::move(out.terms), out.constant);
  if (g > 1) {
    for (auto& t : rest.terms) t.first /= g;
    rest.constant = floor_div(rest.constant, g);
    d /= g;
  }
  IndexExpr inner = IndexExpr::sum(std::move(rest.terms), rest.constant);
  IndexExpr whole = IndexExpr::sum(std::move(out.terms), out.constant);
  if (d == 1) return whole + inner;
  int64_t product = 0;
  if (inner.kind() == Kind::FloorDiv && !__builtin_mul_overflow(inner.constant(), d, &product))
    return whole + floordiv(inner.args()[0], product);
  return whole + make(Kind::FloorDiv, d, {inner});
}

// Coefficients are reduced into [0, d); terms that are multiples of d vanish.
IndexExpr IndexExpr::mod(IndexExpr a, int64_t d) {
  if (d <= 0) throw std::invalid_argument("mod by " + std::to_string(d));
  Linear l = linear(a);
  l.constant = floor_mod(l.constant, d);
  for (auto& t : l.terms) t.first = floor_mod(t.first, d);
  IndexExpr inner = IndexExpr::sum(std::move(l.terms), l.constant);
  if (inner.is_const()) return inner;
  if (inner.kind() == Kind::Mod && d % inner.constant() == 0) return inner;
  return make(Kind::Mod, d, {inner});
}

IndexExpr IndexExpr::min(IndexExpr a, IndexExpr b) {
  IndexExpr d = a - b;
  if (d.is_const()) return d.constant() <= 0 ? a : b;
  if (compare(b, a) < 0) std::swap(a, b);
  return make(Kind::Min, 0, {std::move(a), std::move(b)});
}

IndexExpr IndexExpr::max(IndexExpr a, IndexExpr b) {
  IndexExpr d = a - b;
  if (d.is_const()) return d.constant() >= 0 ? a : b;
  if (compare(b, a) < 0) std::swap(a, b);
  return make(Kind::Max, 0, {std::move(a), std::move(b)});
}

int64_t IndexExpr::evaluate(const std::map<std::string, int64_t>& env) const {
  switch (kind()) {
    case Kind::Const:
      return constant();
    case Kind::Var: {
      auto it = env.find(name());
      if (it == env.end()) throw std::out_of_range("index expression: unbound name " + name());
      return it->second;
    }
    case Kind::Add: {
      int64_t s = 0;
      for (const IndexExpr& a : args()) s = wrap_add(s, a.evaluate(env));
      return s;
    }
    case Kind::Mul:
      return wrap_mul(constant(), args()[0].evaluate(env));
    case Kind::FloorDiv:
      return floor_div(args()[0].evaluate(env), constant());
    case Kind::Mod:
      return floor_mod(args()[0].evaluate(env), constant());
    case Kind::Min:
      return std::min(args()[0].evaluate(env), args()[1].evaluate(env));
    case Kind::Max:
      return std::max(args()[0].evaluate(env), args()[1].evaluate(env));
  }
  return 0;
}

IndexExpr IndexExpr::substitute(const std::map<std::string, IndexExpr>& by) const {
  switch (kind()) {
    case Kind::Const:
      return *this;
    case Kind::Var: {
      auto it = by.find(name());
      return it == by.end() ? *this : it->second;
    }
    case Kind::Add: {
      IndexExpr s;
      for (const IndexExpr& a : args()) s = s + a.substitute(by);
      return s;
    }
    case Kind::Mul:
      return args()[0].substitute(by) * constant();
    case Kind::FloorDiv:
      return floordiv(args()[0].substitute(by), constant());
    case Kind::Mod:
      return mod(args()[0].substitute(by), constant());
    case Kind::Min:
      return min(args()[0].substitute(by), args()[1].substitute(by));
    case Kind::Max:
      return max(args()[0].substitute(by), args()[1].substitute(by));
  }
  return *this;
}

void IndexExpr::collect_vars(std::vector<std::string>& out) const {
  if (kind() == Kind::Var) {
    if (std::find(out.begin(), out.end(), name()) == out.end()) out.push_back(name());
    return;
  }
  for (const IndexExpr& a : args()) a.collect_vars(out);
}

int64_t IndexExpr::coefficient(const std::string& name) const {
  for (const auto& [c, atom] : linear(*this).terms)
    if (atom.kind() == Kind::Var && atom.name() == name) return c;
  return 0;
}

bool Cond::is_always() const {
  return std::any_of(any.begin(), any.end(), [](const Conj& c) {
    return std::all_of(c.begin(), c.end(), [](const Atom& a) {
      return a.expr.is_const() && (a.equality ? a.expr.constant() == 0 : a.expr.constant() >= 0);
    });
  });
}

bool Cond::evaluate(const std::map<std::string, int64_t>& env) const {
  return std::any_of(any.begin(), any.end(), [&](const Conj& c) {
    return std::all_of(c.begin(), c.end(), [&](const Atom& a) {
      int64_t v = a.expr.evaluate(env);
      return a.equality ? v == 0 : v >= 0;
    });
  });
}

Cond Cond::substitute(const std::map<std::string, IndexExpr>& by) const {
  Cond r;
  for (const Conj& c : any) {
    Conj n;
    for (const Atom& a : c) n.push_back({a.expr.substitute(by), a.equality});
    r.any.push_back(std::move(n));
  }
  return r;
}

}  // namespace nautilus
