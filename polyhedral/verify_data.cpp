#include "polyhedral/verify_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "polyhedral/context_hash.h"

namespace nautilus::poly::verifying {

namespace {

constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

Real truncated(Real v) { return std::isfinite(v) ? std::trunc(v) : v; }

Real unary(Op op, Real a) {
  switch (op) {
    case Op::Neg:
      return -a;
    case Op::Abs:
      return std::fabs(a);
    case Op::Exp:
      return std::exp(a);
    case Op::Exp2:
      return std::exp2(a);
    case Op::Log:
      return std::log(a);
    case Op::Log2:
      return std::log2(a);
    case Op::Sqrt:
      return std::sqrt(a);
    case Op::Rsqrt:
      return 1 / std::sqrt(a);
    case Op::Recip:
      return 1 / a;
    case Op::Tanh:
      return std::tanh(a);
    case Op::Erf:
      return std::erf(a);
    case Op::Sigmoid:
      return 1 / (1 + std::exp(-a));
    case Op::Floor:
      return std::floor(a);
    case Op::Not:
      return a == 0;
    default:
      return kNan;
  }
}

Real binary(Op op, Real a, Real b) {
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return a / b;
    case Op::Pow:
      return std::pow(a, b);
    case Op::Min:
      return std::fmin(a, b);
    case Op::Max:
      return std::fmax(a, b);
    case Op::Lt:
      return a < b;
    case Op::Le:
      return a <= b;
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::And:
      return a != 0 && b != 0;
    case Op::Or:
      return a != 0 || b != 0;
    default:
      return kNan;
  }
}

// Expressions are DAGs: each distinct subterm once.
Real value_of(const Expr& e, const Operands& o, std::map<const ExprNode*, Real>& done) {
  if (e->args.empty()) {
    switch (e->op) {
      case Op::Const:
        return e->value;
      case Op::Read:
        return o.read(e->index);
      case Op::Index:
        return o.index(e->index);
      case Op::Var:
        return o.vars ? o.vars->at(e->name) : kNan;
      default:
        return o.sizes ? static_cast<Real>(o.sizes->at(e->name)) : kNan;
    }
  }
  if (const auto at = done.find(&*e); at != done.end()) return at->second;
  Real v;
  const Real a = value_of(e->args[0], o, done);
  if (e->op == Op::Select)
    v = value_of(e->args[a != 0 ? 1 : 2], o, done);
  else if (e->op == Op::Cast)
    v = is_float(e->type) ? a : e->type == Type::Bool ? a != 0 : truncated(a);
  else
    v = e->args.size() == 1 ? unary(e->op, a) : binary(e->op, a, value_of(e->args[1], o, done));
  done.emplace(&*e, v);
  return v;
}

uint64_t mixed(uint64_t a, uint64_t b) {
  a = (a ^ (b + 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
  return a ^ (a >> 29);
}

}  // namespace

Real number(const Expr& e, const Operands& operands) {
  std::map<const ExprNode*, Real> done;
  return value_of(e, operands, done);
}

Real combined(const Reduction& r, Real a, Real b) {
  switch (r.op) {
    case ReduceOp::Sum:
      return a + b;
    case ReduceOp::Prod:
      return a * b;
    case ReduceOp::Max:
      return std::fmax(a, b);
    case ReduceOp::Min:
      return std::fmin(a, b);
    case ReduceOp::Any:
      return a != 0 || b != 0;
    case ReduceOp::All:
      return a != 0 && b != 0;
    case ReduceOp::User:
      break;
  }
  const std::map<std::string, Real> vars{{"a", a}, {"b", b}};
  return number(r.combine, {{}, {}, &vars, nullptr});
}

bool close(Real a, Real b, Real scale) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::fabs(a - b) <= 1e-9L * (scale + std::fabs(a) + std::fabs(b));
}

// --- data --------------------------------------------------------------------------------------

void Data::limit(const std::string& tensor, int64_t below) {
  const auto at = limits_.find(tensor);
  if (at == limits_.end() || below < at->second) limits_[tensor] = std::max<int64_t>(1, below);
}

Real Data::at(const Tensor& t, const Element& e) const {
  if (const auto one = single_.find({t.name, e}); one != single_.end()) return one->second;
  if (const auto all = fixed_.find(t.name); all != fixed_.end()) return all->second;
  uint64_t h = mixed(seed_, hash_bytes(kHashSeed, t.name));
  for (int64_t x : e) h = mixed(h, static_cast<uint64_t>(x));
  h = mixed(h, 77);
  if (t.type == Type::Bool) return h & 1;
  if (!is_float(t.type)) {
    const auto below = limits_.find(t.name);
    return static_cast<Real>(h % static_cast<uint64_t>(below == limits_.end() ? 7 : below->second));
  }
  const Real unit = static_cast<Real>(h >> 11) / static_cast<Real>(uint64_t{1} << 53);
  return low_ + (high_ - low_) * unit;
}

// An integer that chooses an element must be inside its extent; one that is compared lies inside
// the largest extent, so that both outcomes occur.
void limit_integers(Data& data, const Program& bound) {
  std::map<std::string, std::vector<int64_t>> extents;
  int64_t largest = 1;
  for (const Tensor& t : bound.tensors)
    for (const isl::pw_aff& e : t.extents) {
      const int64_t n = dim_max(e.as_set(), 0).value_or(0);
      extents[t.name].push_back(n);
      largest = std::max(largest, n);
    }
  for (const Tensor& t : bound.tensors)
    if (!is_float(t.type) && t.type != Type::Bool) data.limit(t.name, largest + 1);
  for (const Statement& s : bound.statements) {
    const auto note = [&](const Access& a) {
      for (const Access::Gather& g : a.gathers)
        data.limit(s.reads.at(static_cast<size_t>(g.read)).tensor,
                   extents[a.tensor].at(static_cast<size_t>(g.dim)));
    };
    note(s.write);
    for (const Access& a : s.reads) note(a);
  }
}

// --- points ------------------------------------------------------------------------------------

int64_t Picker::value(int64_t low, int64_t high) {
  const uint64_t r = random_();
  switch (mode_ == Mode::Mixed ? static_cast<Mode>(r % 3) : mode_) {
    case Mode::Low:
      return low;
    case Mode::High:
      return high;
    default:
      return low + static_cast<int64_t>((r >> 8) % static_cast<uint64_t>(high - low + 1));
  }
}

std::optional<Element> Picker::operator()(isl::set s) {
  if (s.is_empty()) return std::nullopt;
  Element out;
  for (unsigned k = 0; k < n_dim(s); ++k) {
    const auto low = dim_min(s, k), high = dim_max(s, k);
    if (!low || !high) throw Undecided{"its instances are not bounded"};
    int64_t v = value(*low, *high);
    isl::set fixed = fix_dim(s, k, v);
    if (fixed.is_empty()) v = *low, fixed = fix_dim(s, k, v);  // a hole
    out.push_back(v);
    s = std::move(fixed);
  }
  return out;
}

std::vector<Element> points(const isl::set& s, size_t most) {
  struct Enough {};
  std::vector<Element> out;
  if (s.is_empty()) return out;
  if (!is_bounded(s)) throw Undecided{"its instances are not bounded"};
  const unsigned n = n_dim(s);
  try {
    s.foreach_point([&](isl::point p) {
      if (out.size() >= most) throw Enough{};
      Element e;
      const isl::multi_val v = p.multi_val();
      for (unsigned k = 0; k < n; ++k) e.push_back(to_int(v.at(static_cast<int>(k))));
      out.push_back(std::move(e));
    });
  } catch (const Enough&) {
    throw Undecided{"a sample of it has more than " + std::to_string(most) + " instances"};
  }
  std::sort(out.begin(), out.end());
  return out;
}

isl::set at_element(const isl::space& space, const Element& e, int64_t radius) {
  isl::set out = space.universe_set();
  const isl::multi_aff x = space.identity_multi_aff_on_domain();
  for (size_t k = 0; k < e.size(); ++k) {
    const isl::aff at = x.at(static_cast<int>(k));
    const isl::aff zero = space.zero_aff_on_domain();
    out = out.intersect(at.ge_set(zero.add_constant(static_cast<long>(e[k] - radius))))
              .intersect(at.le_set(zero.add_constant(static_cast<long>(e[k] + radius))));
  }
  return out;
}

// --- sizes ---

namespace {

// Sizes at which these statements have instances, and nothing is one alone where that may be.
isl::set with_instances(const Program& p, const std::vector<const Statement*>& statements,
                        int64_t least) {
  isl::set out = p.param_context;
  for (const Statement* s : statements) out = out.intersect(s->domain.params());
  for (const std::string& n : p.params) {
    const std::string text = "[" + n + "] -> { : " + n + " >= " + std::to_string(least) + " }";
    const isl::set more = out.intersect(isl::set(p.context->get(), text));
    if (!more.is_empty()) out = more;
  }
  return out;
}

}  // namespace

std::vector<Sizes> sample_sizes(const Program& p) {
  std::vector<Sizes> out;
  const auto add = [&](const Sizes& s) {
    if (std::find(out.begin(), out.end(), s) == out.end()) out.push_back(s);
  };
  const auto met = [&](const isl::set& sizes) {
    return std::any_of(out.begin(), out.end(),
                       [&](const Sizes& s) { return !fix_params(sizes, s).is_empty(); });
  };
  if (p.params.empty()) return {Sizes{}};
  constexpr int64_t kPrimes[] = {5, 3, 7, 2};
  for (int64_t v : {0, 1, -1, -2}) {  // all alike, or primes in turn
    Sizes s;
    for (size_t k = 0; k < p.params.size(); ++k)
      s[p.params[k]] = v >= 0 ? v : kPrimes[(k + static_cast<size_t>(-v)) % 4];
    if (!fix_params(p.param_context, s).is_empty()) add(s);
  }
  if (out.size() < 2)
    if (const auto least = lexmin_point(p.param_context)) add(least->params);
  // Where these leave statements without instances (multiples of 16, rows of N - 8), others do not.
  std::vector<std::vector<const Statement*>> groups(1);
  for (const Statement& s : p.statements) {
    if (s.domain.intersect_params(p.param_context).is_empty()) continue;
    groups[0].push_back(&s);
    groups.push_back({&s});
  }
  for (const auto& group : groups) {
    if (met(with_instances(p, group, 2))) continue;
    if (const auto least = lexmin_point(with_instances(p, group, 3))) add(least->params);
  }
  return out;
}

std::string text(Real v) { return to_string(Expr::constant(static_cast<double>(v), Type::F64)); }

}  // namespace nautilus::poly::verifying
