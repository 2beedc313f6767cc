// Randomized checks in 50 decimal digits, and derivatives.
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

using Real = boost::multiprecision::cpp_bin_float_50;
using Env = std::map<std::string, Real>;

Real real_op(const Expr& e, const std::vector<Real>& a) {
  using namespace boost::multiprecision;
  switch (e->op) {
    case Op::Neg:
      return -a[0];
    case Op::Abs:
      return abs(a[0]);
    case Op::Exp:
      return exp(a[0]);
    case Op::Exp2:
      return pow(Real(2), a[0]);
    case Op::Log:
      return log(a[0]);
    case Op::Log2:
      return log(a[0]) / log(Real(2));
    case Op::Sqrt:
      return sqrt(a[0]);
    case Op::Rsqrt:
      return 1 / sqrt(a[0]);
    case Op::Recip:
      return 1 / a[0];
    case Op::Tanh:
      return tanh(a[0]);
    case Op::Erf:
      return boost::math::erf(a[0]);
    case Op::Sigmoid:
      return 1 / (1 + exp(-a[0]));
    case Op::Floor:
      return floor(a[0]);
    case Op::Not:
      return a[0] == 0 ? 1 : 0;
    case Op::Cast:
      return a[0];  // over the real numbers a cast is the identity
    case Op::Add:
      return a[0] + a[1];
    case Op::Sub:
      return a[0] - a[1];
    case Op::Mul:
      return a[0] * a[1];
    case Op::Div:
      return a[0] / a[1];
    case Op::Pow:
      return pow(a[0], a[1]);
    case Op::Min:
      return a[0] < a[1] ? a[0] : a[1];
    case Op::Max:
      return a[0] < a[1] ? a[1] : a[0];
    case Op::Lt:
      return a[0] < a[1] ? 1 : 0;
    case Op::Le:
      return a[0] <= a[1] ? 1 : 0;
    case Op::Eq:
      return a[0] == a[1] ? 1 : 0;
    case Op::Ne:
      return a[0] != a[1] ? 1 : 0;
    case Op::And:
      return a[0] != 0 && a[1] != 0 ? 1 : 0;
    case Op::Or:
      return a[0] != 0 || a[1] != 0 ? 1 : 0;
    case Op::Select:
      return a[0] != 0 ? a[1] : a[2];
    default:
      return std::numeric_limits<Real>::quiet_NaN();
  }
}

// A value too large to say anything, as opposed to an undefined one.
struct TooLarge {};

// `largest`: of the magnitudes met on the way; differences of such numbers carry their rounding.
Real eval(const Expr& e, const Env& env, std::unordered_map<const ExprNode*, Real>& memo,
          Real& largest) {
  if (e->op == Op::Const) return Real(e->value);
  if (e->args.empty()) return env.at(e->op == Op::Param ? "@" + e->name : e->name);
  if (auto it = memo.find(&*e); it != memo.end()) return it->second;
  std::vector<Real> a;
  for (const Expr& x : e->args) a.push_back(eval(x, env, memo, largest));
  // Huge arguments of exp and pow say nothing and take long.
  if ((e->op == Op::Exp || e->op == Op::Exp2) && boost::multiprecision::abs(a[0]) > 1000)
    throw TooLarge();
  const Real v = real_op(e, a);
  if (const Real size = abs(v); size > largest) largest = size;
  memo.emplace(&*e, v);
  return v;
}

// Nothing where the value is not a finite number.
std::optional<Real> value_at(const Expr& e, const Env& env, Real& largest) {
  try {
    std::unordered_map<const ExprNode*, Real> memo;
    const Real v = eval(e, env, memo, largest);
    if (!boost::multiprecision::isfinite(v)) return std::nullopt;
    return v;
  } catch (const std::exception&) {  // a domain error: not a value
    return std::nullopt;
  }
}

std::set<std::string> names_in(const std::vector<Expr>& es) {
  std::set<std::string> out;
  for (const Expr& e : es)
    visit(e, [&](const Expr& x) {
      if (x->op == Op::Var) out.insert(x->name);
      if (x->op == Op::Param) out.insert("@" + x->name);
    });
  return out;
}

// A value in range: of moderate size, or of any magnitude from 1e-4 to 1e4 from where the range is
// bounded.
Real sample(const std::string& name, const Ranges& ranges, bool wide, std::mt19937_64& rng) {
  std::uniform_real_distribution<double> unit(0, 1);
  const double reach = wide ? std::pow(10.0, 8 * unit(rng) - 4) : 6;
  const auto it = ranges.find(name);
  ValueRange r = it != ranges.end() ? it->second : name[0] == '@' ? between(1, 4096) : any_value();
  if (name[0] == '@') r = between(std::max(1.0, r.lo), std::max(1.0, std::min(r.hi, 4096.0)));
  double lo = r.lo, hi = r.hi;
  if (!std::isfinite(lo) && !std::isfinite(hi)) {
    lo = -reach;
    hi = reach;
  } else if (!std::isfinite(lo)) {
    lo = hi - reach;
  } else if (!std::isfinite(hi)) {
    hi = lo + reach;
  }
  const bool below = !std::isfinite(r.lo), above = !std::isfinite(r.hi);
  const double part = unit(rng);
  double v = lo + (hi - lo) * part;
  if (wide && (below || above)) v = below && (!above || part < 0.5) ? lo : hi;
  if (v == 0 && r.excludes_zero) v = hi != 0 ? hi : lo;
  return Real(v);
}

Env sample_all(const std::set<std::string>& names, const Ranges& ranges, bool wide,
               std::mt19937_64& rng) {
  Env env;
  for (const std::string& n : names) env[n] = sample(n, ranges, wide, rng);
  return env;
}

std::string point_text(const Env& env) {
  std::string out;
  for (const auto& [n, v] : env) out += (out.empty() ? "" : ", ") + n + " = " + v.str(6);
  return out;
}

}  // namespace

std::optional<std::string> refute_equal(const Expr& a, const Expr& b, const Ranges& ranges,
                                        int points, uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto names = names_in({a, b});
  int valid = 0;
  for (int tries = 0; valid < points && tries < 4 * points; ++tries) {
    // One point in two is moderate, so that enough of them are where everything can be evaluated
    // exactly.
    const Env env = sample_all(names, ranges, tries % 2 == 1, rng);
    std::optional<Real> va, vb;
    Real largest = 0;
    try {
      va = value_at(a, env, largest);
      vb = value_at(b, env, largest);
    } catch (const TooLarge&) {
      continue;
    }
    if (!va && !vb) continue;  // outside the domain of both
    if (!va || !vb) return "one side is undefined at " + point_text(env);
    ++valid;
    const Real scale = 1 + abs(*va) + abs(*vb);
    if (abs(*va - *vb) > Real("1e-38") * scale + Real("1e-46") * largest)
      return va->str(10) + " against " + vb->str(10) + " at " + point_text(env);
  }
  if (valid < std::max(1, points / 4)) return "too few points at which both sides are defined";
  return std::nullopt;
}

// Solves for a at K random points and tests that a holds at K + 12 others; each a must be a
// multiple of 1/8.
std::vector<double> constant_coefficients(const std::vector<Expr>& d, const Ranges& ranges) {
  const size_t k = d.size() - 1;
  std::mt19937_64 rng(29);
  const auto names = names_in(d);
  std::vector<std::vector<Real>> rows;  // d^0 .. d^K at one point
  for (int tries = 0; rows.size() < 2 * k + 12 && tries < 400; ++tries) {
    const Env env = sample_all(names, ranges, false, rng);
    std::vector<Real> row;
    Real largest = 0;
    try {
      for (const Expr& e : d)
        if (auto v = value_at(e, env, largest)) row.push_back(*v);
    } catch (const TooLarge&) {
      continue;
    }
    if (row.size() == d.size()) rows.push_back(std::move(row));
  }
  if (rows.size() < 2 * k + 12) return {};
  auto m = std::vector(rows.begin(), rows.begin() + static_cast<long>(k));
  for (size_t c = 0; c < k; ++c) {  // Gauss-Jordan with pivoting
    size_t best = c;
    for (size_t r = c; r < k; ++r)
      if (abs(m[r][c]) > abs(m[best][c])) best = r;
    std::swap(m[c], m[best]);
    if (abs(m[c][c]) < Real("1e-25")) return {};
    for (size_t r = 0; r < k; ++r) {
      if (r == c) continue;
      const Real f = m[r][c] / m[c][c];
      for (size_t j = c; j <= k; ++j) m[r][j] -= f * m[c][j];
    }
  }
  std::vector<double> a;
  for (size_t c = 0; c < k; ++c) {
    const double v = static_cast<double>(m[c][k] / m[c][c]);
    const double rounded = std::round(v * 8) / 8;
    if (!(std::abs(v - rounded) < 1e-15 * (1 + std::abs(v)))) return {};
    a.push_back(rounded == 0 ? 0.0 : rounded);
  }
  for (const auto& row : rows) {
    Real rest = row[k];
    Real scale = 1 + abs(row[k]);
    for (size_t c = 0; c < k; ++c) rest -= Real(a[c]) * row[c], scale += abs(Real(a[c]) * row[c]);
    if (abs(rest) > Real("1e-35") * scale) return {};
  }
  return a;
}

// Symbolic differentiation; conditions must not depend on the variable.
std::optional<Expr> derivative(const Expr& e, const std::string& var) {
  const auto c = [&](double v) {
    return Expr::constant(v, e->type == Type::F64 ? Type::F64 : Type::F32);
  };
  if (!contains_var(e, var)) return c(0);
  if (e->op == Op::Var) return c(1);
  std::vector<Expr> d;
  for (const Expr& a : e->args) {
    auto x = derivative(a, var);
    if (!x) return std::nullopt;
    d.push_back(*x);
  }
  const Expr& a = e->args[0];
  switch (e->op) {
    case Op::Neg:
      return -d[0];
    case Op::Exp:
      return e * d[0];
    case Op::Exp2:
      return c(M_LN2) * e * d[0];
    case Op::Log:
      return d[0] / a;
    case Op::Log2:
      return c(1 / M_LN2) * d[0] / a;
    case Op::Sqrt:
      return d[0] / (c(2) * e);
    case Op::Rsqrt:
      return c(-0.5) * e / a * d[0];
    case Op::Recip:
      return -(e * e * d[0]);
    case Op::Tanh:
      return (c(1) - e * e) * d[0];
    case Op::Sigmoid:
      return e * (c(1) - e) * d[0];
    case Op::Cast:
      return d[0];
    case Op::Add:
      return d[0] + d[1];
    case Op::Sub:
      return d[0] - d[1];
    case Op::Mul:
      return d[0] * e->args[1] + a * d[1];
    case Op::Div:
      return d[0] / e->args[1] - e / e->args[1] * d[1];
    case Op::Pow:
      if (contains_var(e->args[1], var)) return std::nullopt;
      return e->args[1] * Expr::make(Op::Pow, {a, e->args[1] - c(1)}) * d[0];
    case Op::Select:
      if (contains_var(a, var)) return std::nullopt;
      return Expr::make(Op::Select, {a, d[1], d[2]});
    default:
      return std::nullopt;
  }
}

}  // namespace nautilus::poly::algebra
