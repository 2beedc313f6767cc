// Families of accumulators: the derivatives of g with respect to the reference, closed under a
// change of it. With g^(K) = sum a_l g^(l), the sums T_k of g^(k) obey T(r') = exp(A (r' - r))
// T(r), A the companion matrix.
#include <cmath>

#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

// sum of coefficient * d^power * exp(rate * d), by (rate, power).
using ExpPoly = std::map<std::pair<double, int>, double>;
using Matrix = std::vector<std::vector<double>>;

// p' = rate p + q, p(0) = 0, solved term by term.
ExpPoly integrate(const ExpPoly& q, double rate) {
  ExpPoly p;
  double at_zero = 0;
  for (const auto& [key, coefficient] : q) {
    auto [mu, n] = key;
    if (mu == rate) {
      p[{rate, n + 1}] += coefficient / (n + 1);
      continue;
    }
    // Particular solution d^n e^(mu d): divide by (mu - rate), integrating by parts down to power
    // 0.
    double c = coefficient / (mu - rate);
    for (int k = n; k >= 0; --k) {
      p[{mu, k}] += c;
      if (k == 0) at_zero += c;
      c *= -static_cast<double>(k) / (mu - rate);
    }
  }
  p[{rate, 0}] -= at_zero;
  return p;
}

Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(a.size(), 0));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t k = 0; k < a.size(); ++k)
      for (size_t j = 0; j < a.size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}

// All K real roots of x^K = sum a_l x^l among the multiples of 1/4 up to 16, with multiplicity;
// else nothing.
std::optional<std::vector<double>> roots(const std::vector<double>& a) {
  std::vector<double> p(a.size() + 1, 1);  // p[l]: coefficient of x^l
  for (size_t l = 0; l < a.size(); ++l) p[l] = -a[l];
  std::vector<double> found;
  for (int i = 0; i <= 128; ++i) {
    const double x = (i % 2 ? 1 : -1) * ((i + 1) / 2) / 4.0;
    while (p.size() > 1) {
      std::vector<double> q(p.size() - 1);
      double carry = 0;
      for (size_t l = p.size(); l-- > 1;) q[l - 1] = carry = carry * x + p[l];
      if (std::abs(carry * x + p[0]) > 1e-12) break;
      found.push_back(x);
      p = q;
    }
  }
  if (p.size() > 1) return std::nullopt;
  return found;
}

// exp(A d) entry by entry by Putzer's algorithm: sum over k of p_k(d) * prod_{j<k} (A - rate_j I).
std::vector<std::vector<ExpPoly>> fundamental(const std::vector<double>& a,
                                              const std::vector<double>& rates) {
  const size_t k = a.size();
  Matrix companion(k, std::vector<double>(k, 0)), product(k, std::vector<double>(k, 0));
  for (size_t i = 0; i + 1 < k; ++i) companion[i][i + 1] = 1;
  companion[k - 1] = a;
  for (size_t i = 0; i < k; ++i) product[i][i] = 1;
  std::vector<std::vector<ExpPoly>> m(k, std::vector<ExpPoly>(k));
  ExpPoly p{{{rates[0], 0}, 1}};
  for (size_t step = 0; step < k; ++step) {
    for (size_t i = 0; i < k; ++i)
      for (size_t j = 0; j < k; ++j)
        for (const auto& [key, c] : p) m[i][j][key] += c * product[i][j];
    if (step + 1 == k) break;
    Matrix shifted = companion;
    for (size_t i = 0; i < k; ++i) shifted[i][i] -= rates[step];
    product = multiply(product, shifted);
    p = integrate(p, rates[step + 1]);
  }
  return m;
}

// c * e; what is no binary fraction is written as a quotient, so that it stays exact (1/6).
Expr scaled(double c, const Expr& e) {
  if (c == 1) return e;
  if (c == -1) return -e;
  for (int den : {1, 3, 9, 27, 5, 15, 45}) {
    const double n = c * den;
    if (n * 64 == std::round(n * 64) && den == 1) break;
    const double scaled = std::round(n * 64);
    if (den > 1 && std::abs(n * 64 - scaled) < 1e-12 * std::abs(scaled))
      return scaled == 64 ? e / Expr::constant(den, e->type)
                          : Expr::constant(scaled / 64, e->type) * e / Expr::constant(den, e->type);
  }
  return Expr::constant(c, e->type) * e;
}

// coefficient * d^power, as products; nothing for power 0 and no coefficient.
Expr power_of(const Expr& d, int n) {
  Expr p = d;
  for (int i = 1; i < n; ++i) p = p * d;
  return p;
}

// Row k of exp(A d) applied to t0..t{K-1}: exponentials of one rate are shared, polynomials are
// expanded.
Expr apply_row(const std::vector<ExpPoly>& row, const Expr& d, Type type) {
  std::map<double, Expr> by_rate;
  for (size_t l = 0; l < row.size(); ++l)
    for (const auto& [key, c] : row[l]) {
      if (std::abs(c) < 1e-14) continue;
      const Expr t = Expr::var("t" + std::to_string(l), type);
      const Expr term = key.second == 0 ? scaled(c, t) : scaled(c, power_of(d, key.second)) * t;
      auto [it, fresh] = by_rate.emplace(key.first, term);
      if (!fresh) it->second = it->second + term;
    }
  Expr out;
  for (const auto& [rate, sum] : by_rate) {
    const Expr part = rate == 0 ? sum : sum * exp(scaled(rate, d));
    out = out ? out + part : part;
  }
  return out ? out : Expr::constant(0, type);
}

}  // namespace

Expected<Family> by_family(const Expr& g, const std::string& ref, const Ranges& ranges,
                           int max_members) {
  Refusal no{"find a closed family of accumulators", "", "", ""};
  std::vector<Expr> d{g};
  for (int k = 1; k <= max_members; ++k) {
    const auto next = derivative(d.back(), ref);
    if (!next) {
      no.why = to_string(d.back()) + " cannot be differentiated with respect to " + ref;
      return no;
    }
    const auto tidy = rewrite_without(*next, {}, ranges);
    d.push_back(tidy ? *tidy : simplify(*next));
    const Expr zero = Expr::constant(0, g->type);
    Proof closed = prove_equal(d.back(), zero, ranges);
    std::vector<double> a(static_cast<size_t>(k), 0.0);
    Expr combination = zero;
    if (!closed.ok) {
      a = constant_coefficients(d, ranges);
      if (a.empty()) continue;
      for (size_t l = 0; l < a.size(); ++l)
        if (a[l] != 0)
          combination = combination == zero ? scaled(a[l], d[l]) : combination + scaled(a[l], d[l]);
      closed = prove_equal(d.back(), combination, ranges);
      if (!closed.ok) continue;
    }
    const auto rates = roots(a);
    if (!rates) {
      no.why = "the family of " + std::to_string(k) +
               " derivatives is closed, but its rates are not small rational numbers";
      return no;
    }
    Family f;
    f.members.assign(d.begin(), d.begin() + k);
    const Expr delta = Expr::var(ref + "'", var_type(g, ref)) - Expr::var(ref, var_type(g, ref));
    for (const auto& row : fundamental(a, *rates))
      f.h.push_back(simplify(apply_row(row, delta, g->type)));
    for (int i = 1; i <= k; ++i)
      f.steps.push_back("d^" + std::to_string(i) + " g / d " + ref + "^" + std::to_string(i) +
                        " = " + to_string(d[static_cast<size_t>(i)]));
    f.steps.push_back("closed: the last is " + to_string(combination) + " (" + closed.method + ")");
    for (size_t i = 0; i < f.h.size(); ++i)
      f.steps.push_back("h" + std::to_string(i) + " = " + to_string(f.h[i]));
    f.obligations.push_back({"derivative " + std::to_string(k) + " of " + to_string(g) +
                                 " with respect to " + ref + " is " + to_string(combination),
                             closed.method, true});
    return f;
  }
  no.why = "the derivatives of " + to_string(g) + " with respect to " + ref +
           " are not closed up to order " + std::to_string(max_members);
  return no;
}

}  // namespace nautilus::poly::algebra
